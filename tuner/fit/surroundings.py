"""Surroundings: shapes that were not measured, of the kind that were.

A selector fitted to the measured shapes alone puts its thresholds where the sample happens to have
gaps, and makes leaves for single shapes. So it is fitted to many more, made up from the measured
ones and within their range: between a shape and its neighbours, further off, with axes exchanged
between shapes, and anywhere. Sizes keep the alignment of those that they stem from, and sizes that
stand in many shapes, such as a model's widths, often stay as they are.
"""

from __future__ import annotations

import numpy as np

from tuner.arrays import BoolArray, FloatArray, IntArray
from tuner.fit.dice import Dice

__all__ = ["nearest", "surroundings"]

# Of the shapes made up from one: near it, further off, with axes of others, anywhere.
_SHARES = (16, 4, 4, 8)
_AROUND = sum(_SHARES)
# So many are made up in all, or one a shape if that is more.
_MOST_POINTS = 8192
_NEIGHBOURS = 6
# How far a shape strays, in doublings.
_LITTLE, _FAR = 0.7, 1.5
# A size is kept with this probability, and with that if it stands in three shapes or more.
_KEPT, _COMMON_KEPT = 0.25, 0.7
_EXCHANGED = 0.4
_ALIGNED = 128
_TOP = 2.0**63 - 1024.0  # The largest float64 that is an int64.
_ROWS_AT_ONCE = 256


def surroundings(shapes: IntArray) -> tuple[IntArray, int]:
    """Return shapes around each of `shapes`, within their range, and how many are near it.

    Args:
        shapes: int64 (n_shapes, n_axes), all sizes >= 0.

    Returns:
        The new shapes (n_shapes, n_around, n_axes), the near ones first.
    """
    dice = Dice(2)
    neighbours = nearest(shapes, shapes, 1 + _NEIGHBOURS)[:, 1:]
    scale = min(1.0, _MOST_POINTS / (_AROUND * len(shapes)))
    beside, further, exchanged, anywhere = (round(share * scale) for share in _SHARES)
    parts = [_beside(shapes, neighbours, dice, _LITTLE) for _ in range(max(beside, 1))]
    parts += [_beside(shapes, neighbours, dice, _FAR) for _ in range(further)]
    near = len(parts)
    parts += [_exchanged(shapes, dice) for _ in range(exchanged)]
    parts += [_anywhere(shapes, dice) for _ in range(anywhere)]
    points = np.clip(np.stack(parts, axis=1), shapes.min(axis=0), shapes.max(axis=0))
    return points, near


def _beside(shapes: IntArray, near: IntArray, dice: Dice, stray: float) -> IntArray:
    """Return each shape moved towards one of the neighbours `near`, and `stray` doublings off."""
    n_shapes = len(shapes)
    other = shapes
    if near.size:
        other = shapes[near[np.arange(n_shapes), dice.below(near.shape[1], n_shapes)]]
    way = 0.6 * dice.fractions(n_shapes, 1)
    logs = _logs(shapes) * (1 - way) + _logs(other) * way + stray * dice.bells(*shapes.shape)
    unit = np.where(dice.fractions(*shapes.shape) < 0.5, _units(shapes), _units(other))
    kept = dice.fractions(*shapes.shape) < np.where(_common(shapes), _COMMON_KEPT, _KEPT)
    return np.where(kept, shapes, _sizes(logs, unit))


def _exchanged(shapes: IntArray, dice: Dice) -> IntArray:
    """Return each shape with some axes as another has them."""
    swapped = dice.fractions(*shapes.shape) < _EXCHANGED
    return np.where(swapped, _drawn(shapes, dice), shapes)


def _anywhere(shapes: IntArray, dice: Dice) -> IntArray:
    """Return shapes spread over the range, some sizes those of a shape."""
    logs = _logs(shapes)
    low, high = logs.min(axis=0), logs.max(axis=0)
    spread = _sizes(
        low + dice.fractions(*shapes.shape) * (high - low), _units(_drawn(shapes, dice))
    )
    kept = dice.fractions(*shapes.shape) < _KEPT
    return np.where(kept, _drawn(shapes, dice), spread)


def _drawn(shapes: IntArray, dice: Dice) -> IntArray:
    """Return sizes of each axis in the shape of `shapes`, drawn from it one by one."""
    return np.take_along_axis(shapes, dice.below(len(shapes), *shapes.shape), axis=0)


def _common(shapes: IntArray) -> BoolArray:
    """Say of each size whether it stands in three shapes or more."""
    common = np.zeros(shapes.shape, dtype=np.bool_)
    for axis in range(shapes.shape[1]):
        _, place, counts = np.unique(shapes[:, axis], return_inverse=True, return_counts=True)
        common[:, axis] = counts[place] > 2
    return common


def _units(shapes: IntArray) -> IntArray:
    """Return the largest power of two, up to 128, that divides each size."""
    return np.gcd(shapes, _ALIGNED)


def _logs(shapes: IntArray) -> FloatArray:
    logs: FloatArray = np.log2(shapes + 1.0)
    return logs


def _sizes(logs: FloatArray, units: IntArray) -> IntArray:
    """Return the multiples of `units` nearest to the sizes that `logs` are of."""
    rounded = np.rint((np.exp2(logs) - 1.0) / units) * units
    sizes: IntArray = np.clip(rounded, 0.0, _TOP).astype(np.int64)
    return sizes


def nearest(points: IntArray, shapes: IntArray, count: int) -> IntArray:
    """Return the indices (n_points, count) of the `shapes` nearest to each point.

    Fewer when there are fewer shapes. Distance is in doublings; of a shape itself it is 0.
    """
    found = []
    theirs = _logs(shapes)
    for start in range(0, len(points), _ROWS_AT_ONCE):
        mine = _logs(points[start : start + _ROWS_AT_ONCE])
        squares = np.zeros((len(mine), len(theirs)))
        for axis in range(shapes.shape[1]):
            squares += (mine[:, axis, None] - theirs[None, :, axis]) ** 2
        found.append(np.argsort(squares, axis=1, kind="stable")[:, :count])
    return np.concatenate(found)
