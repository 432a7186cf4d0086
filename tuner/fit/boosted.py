"""Boosted trees: each of a series learns what the ones before it have left over.

Gradient boosting of squares (Friedman, 2001, "Greedy function approximation"), each tree on some of
the rows (Friedman, 2002, "Stochastic gradient boosting"); the trees are those of the forest, with
thresholds drawn, and shallow. What a tree adds is rounded to whole numbers, so that sums are exact
here too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.arrays import FloatArray, IntArray
from tuner.fit.dice import Dice
from tuner.fit.forest import RandomTree, grow_tree

__all__ = ["Boosted", "grow_boosted"]

# How much of what a tree says is believed.
_RATE = 0.15
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Boosted:
    """Trees that are added up, each by a part, to what all rows have on the mean."""

    base: IntArray
    trees: tuple[RandomTree, ...]

    def predict(self, inputs: NDArray[np.int32]) -> IntArray:
        """Return what is expected at `inputs`, int32 (n, n_features): (n, n_targets)."""
        total = np.tile(self.base, (len(inputs), 1))
        for tree in self.trees:
            total += _step(tree.predict(inputs))
        return total


def grow_boosted(
    inputs: NDArray[np.int32], targets: IntArray, *, trees: int, tries: int, rows: int, seed: int
) -> Boosted:
    """Return a series of `trees` trees; the arguments are those of `grow_forest`."""
    dice = Dice(seed)
    base = targets.sum(axis=0) // len(targets)
    left, grown = targets - base, []
    for _ in range(trees):
        seen = dice.some(len(inputs), rows)
        tree = grow_tree(inputs[seen], left[seen], tries, dice, _DEPTH)
        left -= _step(tree.predict(inputs))
        grown.append(tree)
    return Boosted(base, tuple(grown))


def _step(said: FloatArray) -> IntArray:
    step: IntArray = np.rint(_RATE * said).astype(np.int64)
    return step
