"""Other ways to choose a config for a shape that was not measured, stated again in a few lines.

Each takes shapes, int64 (n, n_axes), and regrets, float64 (n, n_configs) with NaN for a hole, and
gives a function from such shapes to the indices of configs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

__all__ = ["RIVALS", "Chooser", "Rival"]

Array: TypeAlias = Any
Chooser: TypeAlias = Callable[[Array], Array]
Rival: TypeAlias = Callable[[Array, Array], Chooser]

_HOPELESS = 20.0


@dataclass(frozen=True, slots=True)
class _Node:
    config: int
    axis: int = 0
    threshold: float = 0.0
    left: _Node | None = None
    right: _Node | None = None

    def choose(self, shape: Array) -> int:
        if self.left is None or self.right is None:
            return self.config
        return (self.left if shape[self.axis] <= self.threshold else self.right).choose(shape)


def best_single(shapes: Array, regret: Array) -> Chooser:  # noqa: ARG001 (a rival's)
    """The config with the least mean regret."""
    config = int(_filled(regret).mean(axis=0).argmin())
    return lambda asked: np.full(len(asked), config)


def nearest(shapes: Array, regret: Array) -> Chooser:
    """The best config of the nearest measured shape, in doublings."""
    known, best = np.log2(shapes + 1.0), _filled(regret).argmin(axis=1)

    def choose(asked: Array) -> Array:
        squares = ((np.log2(asked + 1.0)[:, None] - known[None]) ** 2).sum(axis=2)
        return best[squares.argmin(axis=1)]

    return choose


def greedy_tree(shapes: Array, regret: Array) -> Chooser:
    """AKG's: least sum of log latency, thresholds as observed, depth 8, nothing validated."""
    filled = _filled(regret)

    def grow(rows: Array, depth: int) -> _Node:
        total = filled[rows].sum(axis=0)
        config, best = int(total.argmin()), (1e-6, 0, 0.0)
        for axis in range(shapes.shape[1] if depth else 0):
            for threshold in np.unique(shapes[rows, axis])[:-1]:
                below = filled[rows[shapes[rows, axis] <= threshold]].sum(axis=0)
                gain = total.min() - below.min() - (total - below).min()
                if gain > best[0] + 1e-12:
                    best = (gain, axis, float(threshold))
        if best[0] <= 1e-6:
            return _Node(config)
        left = shapes[rows, best[1]] <= best[2]
        sides = (grow(rows[side], depth - 1) for side in (left, ~left))
        return _Node(config, best[1], best[2], *sides)

    return _walking(grow(np.arange(len(shapes)), 8))


def covered_entropy_tree(shapes: Array, regret: Array) -> Chooser:
    """Like Helion's: at most 10 configs by greedy cover, an entropy tree of depth 6 among them."""
    filled = _filled(regret)
    kept: list[int] = []
    for _ in range(10):
        least = filled[:, kept].min(axis=1) if kept else np.full(len(filled), _HOPELESS)
        total = np.minimum(filled, least[:, None]).mean(axis=0)
        if kept and least.mean() - total.min() < 1e-4:
            break
        kept.append(int(total.argmin()))
    label = np.array(kept)[filled[:, kept].argmin(axis=1)]

    def grow(rows: Array, depth: int) -> _Node:
        names, counts = np.unique(label[rows], return_counts=True)
        config, best = int(names[counts.argmax()]), (1e-9, 0, 0.0)
        for axis in range(shapes.shape[1] if depth and len(names) > 1 else 0):
            for low, high in pairwise(np.unique(shapes[rows, axis])):
                left = shapes[rows, axis] <= low
                after = _entropy(label[rows[left]]) + _entropy(label[rows[~left]])
                gain = _entropy(label[rows]) - after
                if gain > best[0] + 1e-12:
                    best = (gain, axis, (low + high) / 2)
        if best[0] <= 1e-9:
            return _Node(config)
        left = shapes[rows, best[1]] <= best[2]
        return _Node(config, best[1], best[2], *(grow(rows[s], depth - 1) for s in (left, ~left)))

    return _walking(grow(np.arange(len(shapes)), 6))


def _entropy(labels: Array) -> float:
    """Return the entropy of `labels` times how many there are."""
    counts = np.unique(labels, return_counts=True)[1]
    return float(-(counts * np.log2(counts / counts.sum())).sum())


def _walking(root: _Node) -> Chooser:
    return lambda asked: np.array([root.choose(shape) for shape in asked])


def _filled(regret: Array) -> Array:
    return np.where(np.isnan(regret), _HOPELESS, regret)


RIVALS: dict[str, Rival] = {
    "AKG's tree": greedy_tree,
    "Helion-like tree": covered_entropy_tree,
    "nearest, log2": nearest,
    "best single": best_single,
}
