"""Samples: what every kind of selector is grown on, in whole numbers.

Costs are integers (in millionths, weight times the regret and its square), so that their sums do
not depend on the order of addition, equal splits are equal exactly, and the same table gives the
same selector on any machine. The square makes one choice that is twice as slow worse than seventy
that are a hundredth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.arrays import BoolArray, FloatArray, IntArray
from tuner.fit.problem import Problem
from tuner.fit.surroundings import nearest, surroundings
from tuner.fit.teacher import Teacher

__all__ = ["UNIT", "Evidence", "Samples", "samples_of"]

UNIT = 10**6
# Beyond e**2 (7 times slower) one config is as hopeless as another.
_CEILING = 2.0
# Times a million samples it still fits in 64 bits.
_FORBIDDEN = 2**43
# A measured shape counts as much as so many made up from it.
_MEASURED = 20
# A point is like so many of the measured shapes.
_LIKE = 2
# A leaf of one shape must gain this many bands: the best of a few dozen configs that are all the
# same seems better than a given one by about that much.
_SURE = 3.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """Measured shapes and their surroundings.

    Attributes:
        sizes: int64 (n_samples, n_axes).
        cost: int64 (n_samples, n_configs), weight * (regret + regret**2) * `UNIT`; 0 where there
            is a hole.
        hole: bool (n_samples, n_configs): the config failed there, or on a shape that the sample
            stems from, and may not be chosen.
        weight: int64 (n_samples,).
        measured: bool (n_samples,), False for surroundings.
        per_shape: the weight of a measured shape that counts once, with its surroundings.
        assumed: float64 (n_shapes, n_configs), the regret on the measured shapes, with what is
            expected where nobody tried; NaN where a config failed.
        rank, band: as in `Problem`.
        default: the config that is safe everywhere.
    """

    axis_names: tuple[str, ...]
    sizes: IntArray
    cost: IntArray
    hole: BoolArray
    weight: IntArray
    measured: BoolArray
    per_shape: int
    assumed: FloatArray
    rank: IntArray
    band: float
    default: int

    def evidence(self, rows: IntArray) -> Evidence:
        """Return what the samples `rows` say of the configs."""
        cost, measured = self.cost[rows], self.measured[rows]
        return Evidence(
            cost=cost.sum(axis=0),
            valid=self.hole[rows].sum(axis=0) == 0,
            weight=int(self.weight[rows].sum()),
            measured_cost=cost[measured].sum(axis=0),
            measured_weight=int(self.weight[rows][measured].sum()),
        )

    def allowed_cost(self) -> IntArray:
        """Return `cost`, with what no sum of others comes near where there is a hole."""
        return np.where(self.hole, _FORBIDDEN, self.cost)

    def cheapest(self, rows: IntArray) -> int:
        """Return the config that the samples `rows` cost least with; no hole, if any has none."""
        cost = np.where(self.hole[rows], _FORBIDDEN, self.cost[rows]).sum(axis=0)
        return int(cost.argmin())

    def certain_gain(self, weight: IntArray | int) -> FloatArray:
        """Return the gain in cost that noise does not reach when samples of `weight` change.

        One band for each shape; noise adds up as the square root, so few shapes must gain more.
        """
        shapes = np.maximum(weight / self.per_shape, 1.0)
        bands = weight * np.maximum(1.0, _SURE / np.sqrt(shapes))
        gain: FloatArray = np.maximum(UNIT * self.band * bands, 1.0)
        return gain


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """What the samples in one leaf say of each config; arrays are (n_configs,)."""

    cost: IntArray
    valid: BoolArray
    weight: int
    measured_cost: IntArray
    measured_weight: int

    def acceptable(self, samples: Samples, bands: float = 1.0) -> BoolArray:
        """Say of each config whether it may be chosen here.

        It is valid, costs at most so many `bands` more than the best, and not as much more than
        the default on what was measured. Where no config can be shown to be any good there is only
        the default.
        """
        slack = UNIT * samples.band * bands
        best = self.cost[self.valid].min()
        tied = self.valid & (self.cost <= best + slack * self.weight)
        limit = self.measured_cost[samples.default] + slack * self.measured_weight
        good: BoolArray = tied & (self.measured_cost <= limit)
        if self.weight == 0 or not good.any():
            good = np.zeros_like(self.valid)
            good[samples.default] = True
        return good


def samples_of(problem: Problem, most_configs: int | None = None) -> Samples:
    """Return the samples of `problem`; at most so many configs may be chosen, the default one.

    Raises:
        FitError: no config was measured on every shape.
    """
    default = problem.default()
    n_shapes, n_axes = problem.shapes.shape
    points, near = surroundings(problem.shapes)
    n_around = points.shape[1]
    points = points.reshape(-1, n_axes)
    teacher = Teacher(problem)
    around, around_doubt = teacher.regret(points)
    here, here_doubt = _filled(problem, teacher)
    failed = np.isnan(here)
    # What failed on a shape is not tried on shapes like it.
    around[failed[nearest(points, problem.shapes, _LIKE)].any(axis=1)] = np.nan
    # Points that may lie anywhere do not stem from a shape: they count once, however much it does.
    counts = np.tile(np.arange(n_around) < near, (n_shapes, 1))
    counts = np.where(counts, problem.weights[:, None], 1)
    weight = np.concatenate([_MEASURED * problem.weights, counts.ravel()])
    regret = np.concatenate([here, around])
    hole = np.isnan(regret)
    if most_configs is not None:
        hole[:, _superfluous(regret, weight, default, most_configs)] = True
    regret = np.minimum(np.where(hole, 0.0, regret), _CEILING)
    doubt = np.concatenate([here_doubt, around_doubt])
    squares = regret**2 + np.where(hole, 0.0, doubt)
    units = np.rint((regret + squares) * UNIT).astype(np.int64)
    return Samples(
        axis_names=problem.axis_names,
        sizes=np.concatenate([problem.shapes, points]),
        cost=units * weight[:, None],
        hole=hole,
        weight=weight,
        measured=np.arange(len(weight)) < n_shapes,
        per_shape=_MEASURED + n_around,
        assumed=here,
        rank=problem.rank,
        band=problem.band,
        default=default,
    )


def _filled(problem: Problem, teacher: Teacher) -> tuple[FloatArray, FloatArray]:
    """Return the regret on the measured shapes, what was not tried as `teacher` expects it.

    And the variance of that, 0 where it was measured; both are (n_shapes, n_configs).
    """
    if not problem.untried.any():
        return problem.regret, np.zeros_like(problem.regret)
    expected, doubt = teacher.regret(problem.shapes)
    regret = np.where(problem.untried, expected, problem.regret)
    return regret, np.where(problem.untried, doubt, 0.0)


def _superfluous(regret: FloatArray, weight: IntArray, default: int, most: int) -> BoolArray:
    """Say of each config whether it is not among the `most` that serve all samples best.

    The default comes first, then greedily the one with which the best choice of each sample costs
    least (Cornuéjols, Fisher and Nemhauser, 1977).
    """
    cost = np.rint(np.minimum(np.nan_to_num(regret, nan=_CEILING), _CEILING) * UNIT)
    cost = cost.astype(np.int64) * weight[:, None]
    left = np.ones(regret.shape[1], dtype=np.bool_)
    config, least = default, cost[:, default]
    for _ in range(most):
        left[config] = False
        least = np.minimum(least, cost[:, config])
        total = np.minimum(cost, least[:, None]).sum(axis=0)
        config = int(np.where(left, total, np.iinfo(np.int64).max).argmin())
    return left
