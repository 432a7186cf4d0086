"""Surroundings: shapes near the measured ones, with the regrets they can be expected to have.

A selector fitted to the measured shapes alone puts its thresholds where the sample happens to
have gaps, and makes leaves for single shapes. So each measured shape is also put where it was not
measured: at half and at twice its size along each axis in turn, and half way to its two nearest
neighbours. What the configs cost there is estimated by kriging (Gaussian-process regression with
the exponential covariance; Matheron, 1963) on the logarithms of the sizes, from the 16 measured
shapes nearest to the one in the middle.
"""

from __future__ import annotations

import numpy as np

from tuner.arrays import FloatArray, IntArray

__all__ = ["expected_regret", "surroundings"]

# Half way to this many neighbours.
_NEIGHBOURS = 2
# Estimated from this many; 8 to 32, and all of them, do as well.
_KNOWN = 16
# Correlation falls by e over six doublings; half or three times that changes little.
_LENGTH = 6.0
# Measurement noise, as a share of the variance between shapes.
_NUGGET = 0.02
# Regrets are cut here (7 times slower): a hopeless config must not shape the estimate elsewhere.
_CEILING = 2.0
_TOP = 2.0**63 - 1024.0  # The largest float64 that is an int64.


def surroundings(shapes: IntArray) -> tuple[IntArray, IntArray]:
    """Return shapes around `shapes`, within their range.

    Args:
        shapes: int64 (n_shapes, n_axes), all sizes >= 0.

    Returns:
        The new shapes (n_shapes, n_around, n_axes), and the index (n_shapes, n_around) of the
        neighbour that each leads to, which is the shape itself when there is none.
    """
    own = np.arange(len(shapes))
    parts = [(points, own) for points in _scaled(shapes)]
    nearest = _nearest(shapes)[:, 1 : 1 + _NEIGHBOURS]
    parts += [(_midpoints(shapes, shapes[other]), other) for other in nearest.T]
    points, others = zip(*parts, strict=True)
    return np.stack(points, axis=1), np.stack(others, axis=1)


def expected_regret(shapes: IntArray, regret: FloatArray, points: IntArray) -> FloatArray:
    """Return the regret expected around each shape, (n_shapes, n_around, n_configs), no holes.

    Args:
        shapes: int64 (n_shapes, n_axes), where `regret` was measured.
        regret: float64 (n_shapes, n_configs); a hole counts as hopeless.
        points: int64 (n_shapes, n_around, n_axes).
    """
    regret = np.minimum(np.where(np.isnan(regret), _CEILING, regret), _CEILING)
    mean = regret.mean(axis=0)
    near = _nearest(shapes)[:, :_KNOWN]
    known = shapes[near]
    covariance = _covariance(known, known) + _NUGGET * np.eye(near.shape[1])
    weights = np.linalg.solve(covariance, _covariance(known, points))
    expected: FloatArray = np.einsum("nka,nkc->nac", weights, (regret - mean)[near]) + mean
    expected -= expected.min(axis=2, keepdims=True)
    return expected


def _scaled(shapes: IntArray) -> list[IntArray]:
    """Return the shapes at half and at twice their size along each axis, kept in their range."""
    parts = []
    for axis in range(shapes.shape[1]):
        sizes = shapes[:, axis]
        low, high = sizes.min(), sizes.max()
        halves = np.maximum(sizes - sizes // 2, low)
        doubles = np.where(sizes > high // 2, high, 2 * np.minimum(sizes, high // 2))
        for changed in (halves, doubles):
            part = shapes.copy()
            part[:, axis] = changed
            parts.append(part)
    return parts


def _midpoints(ones: IntArray, others: IntArray) -> IntArray:
    """Return the shapes half way between, on the scale of the logarithm."""
    middle = np.exp2((np.log2(ones + 1.0) + np.log2(others + 1.0)) / 2) - 1
    rounded = np.minimum(np.round(middle), _TOP).astype(np.int64)
    within: IntArray = np.clip(rounded, np.minimum(ones, others), np.maximum(ones, others))
    return within


def _nearest(shapes: IntArray) -> IntArray:
    """Return the indices (n_shapes, n_shapes) of the shapes by distance, itself first."""
    distances = _distances(shapes, shapes)
    np.fill_diagonal(distances, -1.0)
    return np.argsort(distances, axis=1, kind="stable")


def _covariance(ones: IntArray, others: IntArray) -> FloatArray:
    covariance: FloatArray = np.exp(-_distances(ones, others) / _LENGTH)
    return covariance


def _distances(ones: IntArray, others: IntArray) -> FloatArray:
    """Return the distances (…, n_ones, n_others) in doublings; sizes are (…, n, n_axes)."""
    squares = np.zeros((*ones.shape[:-1], others.shape[-2]))
    for axis in range(ones.shape[-1]):
        mine, theirs = np.log2(ones[..., axis] + 1.0), np.log2(others[..., axis] + 1.0)
        squares += (mine[..., :, None] - theirs[..., None, :]) ** 2
    distances: FloatArray = np.sqrt(squares)
    return distances
