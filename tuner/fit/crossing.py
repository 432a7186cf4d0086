"""Crossing: selectors fitted to all shapes but some, and tried on those.

k-fold cross-validation by shape (Stone, 1974). It serves twice: it chooses the size of a selector,
the one that errs least (Breiman and others, 1984, Classification and regression trees, 3.4), and it
says how good one is. For the second, the size without a fold is chosen by the others alone.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from codegen.selectors import Selector
from tuner.arrays import BoolArray, FloatArray, IntArray
from tuner.fit.folds import Folds
from tuner.fit.growth import Grow, Growth, Limits
from tuner.fit.problem import Problem

__all__ = ["Crossing", "sizes_up_to"]

# With fewer shapes a fold is one or two and says nothing of the size; the noise alone limits it.
_FEW_SHAPES = 10
# The size of what is replaced is taken if it loses less than this part of a band: noise moves the
# best one by a factor of two, and a tree of another size has to be grown anew.
_LOYALTY = 0.5


class Crossing:
    """One kind of selector, fitted without each of the folds in turn."""

    def __init__(self, folds: Folds, grow: Grow, limits: Limits) -> None:
        self._folds, self._grow, self._limits = folds, grow, limits
        self._sizes = sizes_up_to(limits.leaves)

    def grown(self) -> Growth:
        """Return what grows on all shapes.

        Raises:
            FitError: no config was measured on every shape.
        """
        return self._grow(self._folds.samples(None), self._limits)

    def size(self, previous: int | None = None) -> int:
        """Return how many leaves are enough; `previous`, or a few more, unless that is worse."""
        every = np.ones(len(self._folds.problem.shapes), dtype=np.bool_)
        return self._size(every, previous)

    def regret(self) -> FloatArray:
        """Return the regret on each shape of a selector fitted without its fold, (n_shapes,).

        NaN where the chosen config failed or was not tried, and everywhere when there is a single
        shape.
        """
        regret = np.full(len(self._folds.problem.shapes), np.nan)
        for _, rows in self._folds.to_leave_out():
            others = np.ones(len(regret), dtype=np.bool_)
            others[rows] = False
            chosen = self._by_size[self._sizes.index(self._size(others)), rows]
            regret[rows] = self._folds.problem.regret[rows, chosen]
        return regret

    def _size(self, asked: BoolArray, previous: int | None = None) -> int:
        """Return the smallest size as good as any on the shapes `asked`; NaN counts as worst."""
        if len(self._sizes) == 1 or asked.sum() < _FEW_SHAPES:
            return self._sizes[-1]
        problem = self._folds.problem
        every = np.arange(len(problem.shapes))
        regret = self._assumed[every, self._by_size][:, asked]
        weights = problem.weights[asked]
        failed = np.isnan(regret).sum(axis=1)
        mean = (np.nan_to_num(regret) * weights).sum(axis=1) / weights.sum()
        sound = failed == failed.min()
        enough = sound & (mean <= mean[sound].min())
        if previous is not None and previous <= self._sizes[-1]:
            place = next(i for i, size in enumerate(self._sizes) if size >= previous)
            if sound[place] and mean[place] <= mean[sound].min() + _LOYALTY * problem.band:
                return self._sizes[place]
        return self._sizes[int(enough.argmax())]

    @cached_property
    def _assumed(self) -> FloatArray:
        """The regret of each config on each shape, of those not tried what is expected."""
        return self._folds.samples(None).assumed

    @cached_property
    def _by_size(self) -> IntArray:
        """The config chosen for each shape left out, at each size, (n_sizes, n_shapes)."""
        problem = self._folds.problem
        chosen = np.zeros((len(self._sizes), len(problem.shapes)), dtype=np.int64)
        for fold, rows in self._folds.to_leave_out():
            growth = self._grow(self._folds.samples(fold), self._limits)
            left_out = problem.of_shapes(rows)
            for i, size in enumerate(self._sizes):
                chosen[i, rows] = _choices(growth.at(size), left_out)
        return chosen


def sizes_up_to(most: int) -> tuple[int, ...]:
    """Return the sizes that are tried: 1, 2, 3, 4, 6, 8, 12, 16, 24, … and `most`."""
    sizes = {most} | {size << bit for bit in range(most.bit_length()) for size in (1, 3)}
    return tuple(sorted(size for size in sizes if size <= most))


def _choices(selector: Selector, problem: Problem) -> IntArray:
    """Return what `selector` chooses on each shape, (n_shapes,)."""
    names = problem.axis_names
    shapes = [dict(zip(names, shape, strict=True)) for shape in problem.shapes.tolist()]
    return np.array([selector.choose(shape) for shape in shapes], dtype=np.int64)
