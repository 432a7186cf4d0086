"""A forest of extremely randomised trees (Geurts, Ernst and Wehenkel, 2006).

Each tree splits until its leaves are pure. At a node a few features are drawn, for each a threshold
between the least and the largest value there, and of these splits the one is taken that explains
most of the variance, over all targets. What the forest predicts is the mean of its trees.

Inputs and targets are integers, so that all sums are exact and no order of addition can tip a
split: the same data give the same forest on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.arrays import BoolArray, FloatArray, IntArray
from tuner.fit.dice import Dice

__all__ = ["Forest", "RandomTree", "grow_forest", "grow_tree"]

_NOWHERE = np.iinfo(np.int32).max
_COUNT_BITS = 16
_COUNT_MASK = 2**_COUNT_BITS - 1
_TRIES_AT_ONCE = 8
_ANY_DEPTH = 2**31
_Narrow = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomTree:
    """Nodes in the order of their making, the root first.

    A row at a node goes to `child`, or to the one after it if its value of `feature` is greater
    than `threshold`. A leaf leads to itself, and no value is greater than its threshold.
    """

    feature: IntArray
    threshold: _Narrow
    child: IntArray
    value: FloatArray
    depth: int

    def predict(self, inputs: _Narrow) -> FloatArray:
        """Return what the tree expects at `inputs`, int32 (n, n_features): (n, n_targets)."""
        node = np.zeros(len(inputs), dtype=np.int64)
        flat, row = inputs.ravel(), np.arange(0, inputs.size, inputs.shape[1])
        for _ in range(self.depth):
            value = flat.take(row + self.feature.take(node))
            node = self.child.take(node) + (value > self.threshold.take(node))
        return self.value[node]


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees that agree by their mean."""

    trees: tuple[RandomTree, ...]

    def predict(self, inputs: _Narrow) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance of what the trees expect at `inputs`.

        `inputs` is int32 (n, n_features), what is returned float64 (n, n_targets).
        """
        total = self.trees[0].predict(inputs)
        squares = total**2
        for tree in self.trees[1:]:
            expected = tree.predict(inputs)
            total += expected
            squares += expected**2
        mean = total / len(self.trees)
        return mean, np.maximum(squares / len(self.trees) - mean**2, 0.0)


def grow_forest(
    inputs: _Narrow, targets: IntArray, *, trees: int, tries: int, rows: int, seed: int
) -> Forest:
    """Return a forest of `trees` trees.

    Args:
        inputs: int32 (n, n_features), each less than 2**31 - 1.
        targets: int64 (n, n_targets), each less than 2**31.
        trees: how many.
        tries: how many features are drawn at each node.
        rows: each tree sees so many of the rows, drawn anew, or all if there are no more; less
            than 2**16.
        seed: of the dice.
    """
    dice = Dice(seed)
    grown = []
    for _ in range(trees):
        seen = dice.some(len(inputs), rows)
        grown.append(grow_tree(inputs[seen], targets[seen], tries, dice))
    return Forest(tuple(grown))


def grow_tree(
    inputs: _Narrow, targets: IntArray, tries: int, dice: Dice, deepest: int = _ANY_DEPTH
) -> RandomTree:
    """Return a tree of at most `deepest` splits one below the other; the rest as in `grow_forest`.

    It is grown level by level; the rows of a node stand together.
    """
    rows, ends = np.arange(len(inputs)), np.array([len(inputs)])
    feature, threshold, child, value = [], [], [], []
    made, depth = 1, 0
    while True:
        level = _Level.of(inputs, targets, rows, ends)
        value.append(level.total / level.counts[:, None])
        drawn, cut, split = level.best_splits(tries, dice)
        split &= depth < deepest
        children = np.arange(made - len(ends), made)
        children[split] = made + 2 * np.arange(split.sum())
        feature.append(drawn)
        threshold.append(np.where(split, cut, _NOWHERE).astype(np.int32))
        child.append(children)
        if not split.any():
            break
        rows, ends = level.parted(drawn, cut, split)
        made += len(ends)
        depth += 1
    return RandomTree(
        feature=np.concatenate(feature),
        threshold=np.concatenate(threshold),
        child=np.concatenate(child),
        value=np.concatenate(value),
        depth=depth,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Level:
    """The nodes of one depth: a node has the `rows` from the end of the one before up to its own.

    `total` is the sum of the targets of each node, `mean` their mean rounded down, and `centred`
    what the target of each row is beyond it.
    """

    inputs: _Narrow
    rows: IntArray
    ends: IntArray
    counts: IntArray
    total: IntArray
    mean: IntArray
    centred: IntArray

    @classmethod
    def of(cls, inputs: _Narrow, targets: IntArray, rows: IntArray, ends: IntArray) -> _Level:
        counts = np.diff(ends, prepend=0)
        total = _sums(targets[rows], ends)
        mean = total // counts[:, None]
        return cls(
            inputs=inputs,
            rows=rows,
            ends=ends,
            counts=counts,
            total=total,
            mean=mean,
            centred=targets[rows] - np.repeat(mean, counts, axis=0),
        )

    def best_splits(self, tries: int, dice: Dice) -> tuple[IntArray, _Narrow, BoolArray]:
        """Return feature and threshold of each node's best split, and whether it parts anything.

        Of equal splits the first one drawn.
        """
        n_nodes = len(self.ends)
        drawn = dice.below(self.inputs.shape[1], n_nodes, tries)
        chance = dice.fractions(n_nodes, tries)
        # A few at a time: their values then stay in the processor's cache, which is twice as fast.
        parts = [slice(at, at + _TRIES_AT_ONCE) for at in range(0, tries, _TRIES_AT_ONCE)]
        tried = [self._scored(drawn[:, part], chance[:, part]) for part in parts]
        cut, score = (np.concatenate(each, axis=1) for each in zip(*tried, strict=True))
        spot = np.arange(n_nodes), score.argmax(axis=1)
        impure = np.logical_or.reduceat((self.centred != 0).any(axis=1), self.ends - self.counts)
        return drawn[spot], cut[spot], impure & (score[spot] >= 0.0)

    def _scored(self, drawn: IntArray, chance: FloatArray) -> tuple[_Narrow, FloatArray]:
        """Return the threshold of each try, and the variance that it explains; -1.0 for none."""
        starts = self.ends - self.counts
        spots = (self.rows * self.inputs.shape[1])[:, None] + np.repeat(drawn, self.counts, axis=0)
        values = self.inputs.ravel()[spots]
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        cut = low + (chance * (high - low)).astype(np.int32)
        left = values <= np.repeat(cut, self.counts, axis=0)
        # Sum and count in one pass: the count takes the low bits. (n_nodes, n_tries, n_targets)
        packed = (self.centred << _COUNT_BITS) + 1
        packed = _sums(left[:, :, None] * packed[:, None, :], self.ends)
        n_left = packed & _COUNT_MASK
        n_right = np.maximum(self.counts[:, None, None] - n_left, 1)
        below = (packed >> _COUNT_BITS).astype(np.float64)
        rest = (self.total - self.mean * self.counts[:, None]).astype(np.float64)[:, None] - below
        score = (below**2 / np.maximum(n_left, 1) + rest**2 / n_right).sum(axis=2)
        score[low == high] = -1.0
        return cut, score

    def parted(self, drawn: IntArray, cut: _Narrow, split: BoolArray) -> tuple[IntArray, IntArray]:
        """Return rows and ends of the level below: two nodes for each that is split."""
        node = np.repeat(np.arange(len(self.ends)), self.counts)
        right = self.inputs[self.rows, drawn[node]] > cut[node]
        staying = split[node]
        keys = (2 * node + right)[staying]
        order = np.argsort(keys, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(keys[order])), len(keys) - 1) + 1
        return self.rows[staying][order], ends


def _sums(values: NDArray[np.generic], ends: IntArray) -> IntArray:
    """Return `values` added up along the first axis from one of `ends` to the next."""
    upto = np.cumsum(values, axis=0, dtype=np.int64)[ends - 1]
    return np.diff(upto, axis=0, prepend=np.zeros_like(upto[:1]))
