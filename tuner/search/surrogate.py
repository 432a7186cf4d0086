"""The surrogate: what a config can be expected to take, judged by those that were measured.

Gaussian-process regression (Rasmussen and Williams, 2006) over configs and shapes together, the
covariance a product of one over both (contextual optimisation: Krause and Ong, 2011), so that a
shape learns from its neighbours. What is asked next has the largest expected improvement (Jones,
Schonlau and Welch, 1998); of several at once, each takes the others for measured, at what they
were expected to take (the kriging believer: Ginsbourger, Le Riche and Carraro, 2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, exp, pi, sqrt

import numpy as np

from tuner.arrays import FloatArray, IntArray

__all__ = ["Observed", "Scales", "Surrogate", "fitted_scales"]

# Lengths that are tried, in the range of a param; nothing is known beforehand.
_LENGTHS = (0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
_SHAPE_LENGTHS = (1.0, 2.0, 4.0, 8.0, 16.0)
_NOISES = (1e-4, 1e-3, 1e-2)
# As much of the points as the scales are fitted to: the cost grows with the cube.
_MOST_FITTED = 192
# Each shape has a level of its own, of which the best that is known there is a guess.
_LEVEL = 0.2
_JITTER = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observed:
    """What was measured.

    Attributes:
        points: float64 (n, n_columns), configs as in `Encoding`.
        shapes: float64 (n, n_logs), shapes as by `logs_of`.
        place: int64 (n,), the number of the shape: equal for the same shape.
        y: float64 (n,), what is to be small: the log of the time over the best on that shape.
    """

    points: FloatArray
    shapes: FloatArray
    place: IntArray
    y: FloatArray

    def rows(self, chosen: IntArray) -> Observed:
        """Return some of it, by index."""
        return Observed(
            points=self.points[chosen],
            shapes=self.shapes[chosen],
            place=self.place[chosen],
            y=self.y[chosen],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    """Over which distance times resemble each other: for each param, for shapes; and the noise."""

    lengths: tuple[float, ...]
    shape_length: float
    noise: float


class Surrogate:
    """The process, given what was observed."""

    def __init__(self, observed: Observed, scales: Scales, column_of: IntArray) -> None:
        """Condition on `observed`, of which there is one at least."""
        self._observed, self._scales, self._column_of = observed, scales, column_of
        self._mean = float(observed.y.mean())
        self._variance = max(float(observed.y.var()), 1e-6)
        covariance = _covariance(observed, observed, scales, column_of)
        covariance[np.diag_indices_from(covariance)] += scales.noise + _JITTER
        self._root = np.linalg.cholesky(covariance)
        self._weights = np.linalg.solve(self._root, (observed.y - self._mean))

    def chosen(self, candidates: Observed, best: float, count: int) -> list[int]:
        """Return the indices of the `count` candidates to ask about next, in that order.

        Args:
            candidates: all on one shape; their `y` is not looked at.
            best: the least `y` known on that shape.
            count: fewer where there are fewer candidates.
        """
        cross = _covariance(self._observed, candidates, self._scales, self._column_of)
        known = np.linalg.solve(self._root, cross)
        mean = self._mean + known.T @ self._weights
        variance = np.maximum(1.0 + _LEVEL - (known**2).sum(axis=0), 1e-9)
        found: list[int] = []
        for _ in range(min(count, len(mean))):
            spread = np.sqrt(variance * self._variance)
            gain = _expected_improvement(best - mean, spread)
            gain[found] = -1.0
            one = int(gain.argmax())
            found.append(one)
            self._believe(one, candidates, known, variance)
        return found

    def _believe(
        self, one: int, candidates: Observed, known: FloatArray, variance: FloatArray
    ) -> None:
        """Take candidate `one` for measured: `variance` becomes what is left of it, in place.

        What stands in `known` is what the observations explain; that of former picks is small
        beside it, and is left out.
        """
        row = candidates.rows(np.array([one]))
        shared = _covariance(row, candidates, self._scales, self._column_of)[0]
        shared -= known[:, one] @ known
        variance -= shared**2 / (max(variance[one], 1e-9) + self._scales.noise)
        np.maximum(variance, 1e-9, out=variance)


def fitted_scales(observed: Observed, column_of: IntArray, before: Scales | None = None) -> Scales:
    """Return the scales of greatest likelihood, found by changing one at a time.

    Args:
        observed: of which the last 192 are looked at.
        column_of: as in `Encoding`.
        before: where to begin; the middle of all if None.
    """
    n = len(observed.y)
    part = observed.rows(np.arange(max(0, n - _MOST_FITTED), n))
    params = int(column_of.max()) + 1 if len(column_of) else 0
    best = before or Scales(lengths=(1.6,) * params, shape_length=4.0, noise=1e-3)
    score = _likelihood(part, best, column_of)
    for _ in range(2 if before is None else 1):
        for one in _changes(params):
            found = _likelihood(part, one(best), column_of)
            if found > score + 1e-9:
                best, score = one(best), found
    return best


def _changes(params: int) -> list[_Change]:
    changes = [_Change(i, length) for i in range(params) for length in _LENGTHS]
    changes += [_Change(-1, length) for length in _SHAPE_LENGTHS]
    return changes + [_Change(-2, noise) for noise in _NOISES]


@dataclass(frozen=True, slots=True)
class _Change:
    """Scale number `which` is set to `value`: a param's, or -1 for shapes, -2 for the noise."""

    which: int
    value: float

    def __call__(self, scales: Scales) -> Scales:
        lengths = list(scales.lengths)
        if self.which >= 0:
            lengths[self.which] = self.value
        return Scales(
            lengths=tuple(lengths),
            shape_length=self.value if self.which == -1 else scales.shape_length,
            noise=self.value if self.which == -2 else scales.noise,
        )


def _likelihood(observed: Observed, scales: Scales, column_of: IntArray) -> float:
    """Return the log likelihood, the variance chosen for the best; minus infinity if undefined."""
    covariance = _covariance(observed, observed, scales, column_of)
    covariance[np.diag_indices_from(covariance)] += scales.noise + _JITTER
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return -np.inf
    y = observed.y - observed.y.mean()
    rest = np.linalg.solve(root, y)
    n = len(y)
    variance = max(float(rest @ rest) / n, 1e-12)
    return float(-0.5 * n * np.log(variance) - np.log(np.diag(root)).sum())


def _covariance(left: Observed, right: Observed, scales: Scales, column_of: IntArray) -> FloatArray:
    """Return the covariance of each of `left` with each of `right`, 1 + `_LEVEL` for itself."""
    lengths = np.array(scales.lengths)[column_of]
    configs = _matern(left.points / lengths, right.points / lengths)
    shapes = _matern(left.shapes / scales.shape_length, right.shapes / scales.shape_length)
    same: FloatArray = (left.place[:, None] == right.place[None, :]).astype(np.float64)
    covariance: FloatArray = configs * shapes + _LEVEL * same
    return covariance


def _matern(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return Matern's covariance of smoothness 5/2 (Stein, 1999)."""
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :]
    distance = np.sqrt(5.0 * np.maximum(squares - 2.0 * left @ right.T, 0.0))
    value: FloatArray = (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
    return value


_normal = np.vectorize(
    lambda z: (exp(-0.5 * z * z) / sqrt(2 * pi), 0.5 * (1 + erf(z / sqrt(2)))), otypes="dd"
)


def _expected_improvement(gap: FloatArray, spread: FloatArray) -> FloatArray:
    """Return how much below the best a candidate can be expected to come; `gap` is best - mean."""
    z = np.clip(gap / spread, -30.0, 30.0)
    density, share = _normal(z)
    value: FloatArray = spread * (z * share + density)
    return value
