"""Splits: the best question to ask about some samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import prod

import numpy as np

from codegen.features import AxisTerm, Feature, Mod, Product
from tuner.arrays import BoolArray, IntArray
from tuner.fit.samples import Samples
from tuner.fit.thresholds import candidates

__all__ = ["Column", "Cut", "best_cut", "columns", "side_gain", "thresholds_within"]

# With more axes there are too many pairs to search, and to read.
_MOST_AXES_FOR_PAIRS = 6
_MOST_TERMS = 4  # The manifest's.
# So many values of a feature are parted from each other; twice as many gain nothing.
_MOST_VALUES = 64
_LARGEST = 2**63 - 1
# A size that this divides is aligned: Triton compiles another kernel for it.
_ALIGNED = 16
_IMPOSSIBLE = np.iinfo(np.int64).max // 4


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A feature and its value at each sample, int64 (n_samples,)."""

    feature: Feature
    values: IntArray

    def thresholds(self, rows: IntArray) -> IntArray:
        """Return those worth trying between the samples `rows`: of a remainder, 0 alone."""
        values = self.values[rows]
        if not isinstance(self.feature, Mod):
            return thresholds_within(values)
        return np.zeros(int((values == 0).any() and (values > 0).any()), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """`column <= threshold` parts the samples `left` from `right`, which saves `gain` of cost."""

    column: Column
    threshold: int
    gain: int
    left: IntArray
    right: IntArray


def columns(samples: Samples) -> tuple[Column, ...]:
    """Return the features: the axes, the products of two of them and of all, the remainders by 16.

    Of other remainders, tile counts and ratios, tried on the tables in tests/data, nothing was
    gained on shapes left out, and ratios lost.

    A product that may not fit in 64 bits is left out.
    """
    axes = range(len(samples.axis_names))
    groups: list[tuple[int, ...]] = [(axis,) for axis in axes]
    if len(axes) <= _MOST_AXES_FOR_PAIRS:
        groups += combinations(axes, 2)
    if 2 < len(axes) <= _MOST_TERMS:
        groups.append(tuple(axes))
    largest = samples.sizes.max(axis=0).tolist()
    fitting = (group for group in groups if prod(largest[axis] for axis in group) <= _LARGEST)
    sizes = (
        Column(_feature(samples.axis_names, group), samples.sizes[:, group].prod(axis=1))
        for group in fitting
    )
    remainders = (
        Column(Mod(name, _ALIGNED), samples.sizes[:, axis] % _ALIGNED)
        for axis, name in enumerate(samples.axis_names)
    )
    return (*sizes, *remainders)


def _feature(names: Sequence[str], group: Sequence[int]) -> Feature:
    terms = tuple(AxisTerm(names[axis]) for axis in group)
    return Product(terms) if len(terms) > 1 else terms[0]


def best_cut(samples: Samples, features: tuple[Column, ...], rows: IntArray) -> Cut | None:
    """Return the cut of the samples `rows` that gains most, None if none gains for certain.

    Equal gains go to the earlier feature and the smaller size.
    """
    found = _best_of_each(samples, features, rows)
    best = max(found, key=lambda each: each[2], default=None)
    if best is None:
        return None
    column, threshold, gain = best
    left = column.values[rows] <= threshold
    return Cut(
        column=column,
        threshold=threshold,
        gain=gain,
        left=rows[left],
        right=rows[~left],
    )


def thresholds_within(values: IntArray) -> IntArray:
    """Return the thresholds worth trying between the different ones of `values`, ascending gaps.

    Of many values only some are looked at, as many below each as above it.
    """
    seen = np.unique(values)
    if len(seen) > _MOST_VALUES:
        order = np.sort(values)
        seen = np.unique(order[np.linspace(0, len(order) - 1, _MOST_VALUES).astype(np.int64)])
    found = [t for low, high in pairwise(seen.tolist()) for t in candidates(low, high)]
    return np.array(found, dtype=np.int64)


def side_gain(
    samples: Samples, cost: IntArray, hole: BoolArray, weight: IntArray, current: IntArray | int
) -> IntArray:
    """Return what the best config of each side saves over `current`; 0 if that may be noise.

    Args:
        samples: gives the band.
        cost: int64 (n_sides, n_configs), the costs on each side.
        hole: bool (n_sides, n_configs), the configs that a side may not choose.
        weight: int64 (n_sides,).
        current: the config that is used so far, one a side or one for all.
    """
    allowed = np.where(hole, _IMPOSSIBLE, cost)
    sides = np.arange(len(cost))
    gain = cost[sides, current] - allowed.min(axis=1)
    return np.where(gain >= samples.certain_gain(weight), gain, 0)


def _best_of_each(
    samples: Samples, features: tuple[Column, ...], rows: IntArray
) -> Iterator[tuple[Column, int, int]]:
    """Yield the best threshold of each feature and its gain, where there is one."""
    cost, hole, weight = samples.cost[rows], samples.hole[rows], samples.weight[rows]
    total = cost.sum(axis=0)
    current = int(np.where(hole.any(axis=0), _IMPOSSIBLE, total).argmin())
    for column in features:
        values, thresholds = column.values[rows], column.thresholds(rows)
        if not thresholds.size:
            continue
        order = np.argsort(values, kind="stable")
        last = np.searchsorted(values[order], thresholds, side="right") - 1
        gains = np.zeros(len(thresholds), dtype=np.int64)
        costs = cost[order].cumsum(axis=0)[last]
        weights = weight[order].cumsum()[last]
        left_hole, right_hole = _holes(hole[order], last)
        gains += side_gain(samples, costs, left_hole, weights, current)
        gains += side_gain(samples, total - costs, right_hole, weight.sum() - weights, current)
        k = int(gains.argmax())
        if gains[k] > 0:
            yield column, int(thresholds[k]), int(gains[k])


def _holes(hole: BoolArray, last: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return which configs have a hole up to row `last`, and after it; (n_cuts, n_configs)."""
    if not hole.any():
        none = np.zeros((len(last), hole.shape[1]), dtype=np.bool_)
        return none, none
    counts = hole.cumsum(axis=0)
    return counts[last] > 0, counts[-1] > counts[last]
