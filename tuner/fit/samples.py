"""Samples: what every kind of selector is grown on, in whole numbers.

Costs are integers (weight times regret, in millionths), so that their sums do not depend on the
order of addition, equal splits are equal exactly, and the same table gives the same selector on
any machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.arrays import BoolArray, FloatArray, IntArray
from tuner.fit.problem import Problem
from tuner.fit.surroundings import expected_regret, surroundings

__all__ = ["UNIT", "Evidence", "Samples", "samples_of"]

UNIT = 10**6
# Beyond e**20 one config is as hopeless as another, and no sum comes near 64 bits.
_CEILING = 20.0
# A leaf of one shape must gain this many bands: the best of a few dozen configs that are all the
# same seems better than a given one by about that much.
_SURE = 3.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """Measured shapes and their surroundings.

    Attributes:
        sizes: int64 (n_samples, n_axes).
        cost: int64 (n_samples, n_configs), weight * regret * `UNIT`; 0 where there is a hole.
        hole: bool (n_samples, n_configs): the config was not measured there, or not on a shape
            that the sample stems from, and may not be chosen.
        weight: int64 (n_samples,).
        measured: bool (n_samples,), False for surroundings.
        per_shape: the weight of a measured shape that counts once, with its surroundings.
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

    def certain_gain(self, weight: IntArray) -> FloatArray:
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

    def acceptable(self, samples: Samples) -> BoolArray:
        """Say of each config whether it may be chosen here.

        It is valid, tied with the best, and does not lose to the default on what was measured.
        Where no config can be shown to be any good there is only the default.
        """
        best = self.cost[self.valid].min()
        tied = self.valid & (self.cost <= best + UNIT * samples.band * self.weight)
        limit = self.measured_cost[samples.default] + UNIT * samples.band * self.measured_weight
        good: BoolArray = tied & (self.measured_cost <= limit)
        if self.weight == 0 or not good.any():
            good = np.zeros_like(self.valid)
            good[samples.default] = True
        return good


def samples_of(problem: Problem) -> Samples:
    """Return the samples of `problem`.

    Raises:
        FitError: no config was measured on every shape.
    """
    sizes, regret = problem.shapes, problem.regret
    points, other = surroundings(sizes)
    n_shapes, n_around, n_axes = points.shape
    around = expected_regret(sizes, regret, points)
    around[np.isnan(regret)[:, None, :] | np.isnan(regret[other])] = np.nan
    # Together the surroundings of a shape weigh twice as much as the shape.
    weight = np.repeat([n_around // 2, 1], [n_shapes, n_shapes * n_around])
    weight *= np.concatenate([problem.weights, np.repeat(problem.weights, n_around)])
    measured = np.arange(len(weight)) < n_shapes
    sizes = np.concatenate([sizes, points.reshape(-1, n_axes)])
    regret = np.concatenate([regret, around.reshape(len(weight) - n_shapes, -1)])
    hole = np.isnan(regret)
    units = np.rint(np.minimum(np.where(hole, 0.0, regret), _CEILING) * UNIT).astype(np.int64)
    return Samples(
        axis_names=problem.axis_names,
        sizes=sizes,
        cost=units * weight[:, None],
        hole=hole,
        weight=weight,
        measured=measured,
        per_shape=n_around // 2 + n_around,
        rank=problem.rank,
        band=problem.band,
        default=problem.default(),
    )
