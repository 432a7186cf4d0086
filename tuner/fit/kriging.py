"""Kriging: what is expected between points, as a smooth surface through those that are known.

Kriging with a fixed covariance (Krige, 1951; Rasmussen and Williams, 2006, chapter 2): the nearer
two shapes, the more one tells of the other. The covariance is a product over facts, of a constant
and of what falls off exponentially with the difference, so that shapes alike in most facts tell of
each other though one is far off (Durrande and others, 2012, "Additive covariance kernels"). Trees
are constant in between and cut across one fact at a time; this errs elsewhere.
"""

from __future__ import annotations

import numpy as np

from tuner.arrays import FloatArray
from tuner.fit.dice import Dice

__all__ = ["Kriging"]

# At so many doublings a fact's covariance has fallen by e.
_RANGE = 16.0
# The variance of a measurement, where that of the surface is 1.
_NUGGET = 0.02
# More points make it slow: it takes their square in memory, their cube in time.
_MOST_POINTS = 1024
_ROWS_AT_ONCE = 2**10


class Kriging:
    """A surface through `values`, float64 (n, n_targets), at `points`, float64 (n, n_facts).

    Each target goes by the points where it is known: NaN says that it is not.
    """

    def __init__(self, points: FloatArray, values: FloatArray) -> None:
        seen = Dice(3).some(len(points), _MOST_POINTS)
        self._points, values = points[seen], values[seen]
        self._mean = _means(values)
        covariance = _covariance(self._points, self._points)
        covariance[np.diag_indices_from(covariance)] += _NUGGET
        known = ~np.isnan(values)
        self._pull = np.zeros_like(values)
        # Targets that are known at the same points, most often all of them, are solved for at once.
        for at in np.unique(known, axis=1).T:
            together = (known == at[:, None]).all(axis=0)
            cells, rows = np.ix_(at, together), np.ix_(at, at)
            apart = values[cells] - self._mean[together]
            self._pull[cells] = np.linalg.solve(covariance[rows], apart)

    def predict(self, points: FloatArray) -> FloatArray:
        """Return what is expected at `points`, (n, n_targets), to within 1e-4.

        It is rounded to that: another machine's arithmetic differs in far less, and what is built
        on it is then the same.
        """
        starts = range(0, len(points), _ROWS_AT_ONCE)
        parts = [points[start : start + _ROWS_AT_ONCE] for start in starts]
        pulled = [_covariance(part, self._points) @ self._pull for part in parts]
        expected: FloatArray = (np.concatenate(pulled) + self._mean).round(4)
        return expected


def _means(values: FloatArray) -> FloatArray:
    """Return the mean of each target; of one that is known nowhere, that of all."""
    known = ~np.isnan(values)
    counts, total = known.sum(axis=0), np.where(known, values, 0.0).sum(axis=0)
    means: FloatArray = np.where(counts, total / np.maximum(counts, 1), total.sum() / counts.sum())
    return means


def _covariance(some: FloatArray, others: FloatArray) -> FloatArray:
    found = np.ones((len(some), len(others)))
    for mine, theirs in zip(some.T, others.T, strict=True):
        found *= 0.5 + 0.5 * np.exp(-np.abs(mine[:, None] - theirs) / _RANGE)
    return found
