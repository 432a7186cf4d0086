"""Crossing: selectors fitted to all shapes but some, and tried on those.

k-fold cross-validation by shape (Stone, 1974). It serves twice: it chooses the size of a
selector, and it says how good one is; for the second the first is done anew without the shapes
in question (Varma and Simon, 2006), so that no figure stems from shapes that had a say in it.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from codegen.selectors import Selector
from tuner.arrays import FloatArray
from tuner.fit.folds import WHOLE, Folds
from tuner.fit.growth import Grow, Growth, Limits
from tuner.fit.problem import Problem

__all__ = ["Crossing", "sizes_up_to"]

# With fewer shapes a fold is one or two and says nothing of the size; the noise alone limits it.
_FEW_SHAPES = 10


class Crossing:
    """One kind of selector, fitted without some of the folds."""

    def __init__(self, folds: Folds, grow: Grow, limits: Limits) -> None:
        self._folds = folds
        self._grow = grow
        self._limits = limits
        # Each growth is asked for by every set of folds that it is part of.
        self._growth = cache(self._grown)

    def selector(self, without: frozenset[int] = WHOLE) -> Selector:
        """Return the selector fitted without some folds, of the size that the others choose.

        Raises:
            FitError: no config was measured on every shape.
        """
        return self._growth(without).at(self._size(without))

    def regret(self) -> FloatArray:
        """Return the regret on each shape of a selector fitted without its fold, (n_shapes,).

        NaN where the chosen config was not measured, and everywhere when there is a single shape.
        """
        problem = self._folds.problem
        regret = np.full(len(problem.shapes), np.nan)
        for fold, rows in self._folds.to_leave_out(WHOLE):
            regret[rows] = _regret_of(self.selector(frozenset({fold})), problem.of_shapes(rows))
        return regret

    def _size(self, without: frozenset[int]) -> int:
        """Return the size with the least mean regret on the other folds, left out in turn.

        The mean is weighted by how much a shape counts. Sizes on which fewer choices fail go
        first; of equal ones the smallest. With few shapes the size is not limited.
        """
        sizes, problem = sizes_up_to(self._limits.leaves), self._folds.problem
        if len(sizes) == 1 or self._folds.size(without) < _FEW_SHAPES:
            return sizes[-1]
        regret = np.zeros((len(sizes), len(problem.shapes)))
        weights = problem.weights
        for fold, rows in self._folds.to_leave_out(without):
            growth, left_out = self._growth(without | {fold}), problem.of_shapes(rows)
            for i, size in enumerate(sizes):
                regret[i, rows] = _regret_of(growth.at(size), left_out)
        failed = np.isnan(regret).sum(axis=1)
        return sizes[int(np.lexsort((np.nansum(regret * weights, axis=1).round(9), failed))[0])]

    def _grown(self, without: frozenset[int]) -> Growth:
        return self._grow(self._folds.samples(without), self._limits)


def sizes_up_to(most: int) -> tuple[int, ...]:
    """Return the sizes that are tried: 1, 2, 3, 4, 6, 8, 12, 16, 24, … and `most`."""
    sizes = {most} | {size << bit for bit in range(most.bit_length()) for size in (1, 3)}
    return tuple(sorted(size for size in sizes if size <= most))


def _regret_of(selector: Selector, problem: Problem) -> FloatArray:
    """Return the regret of what `selector` chooses on each shape, (n_shapes,); NaN for a hole."""
    names = problem.axis_names
    shapes = [dict(zip(names, shape, strict=True)) for shape in problem.shapes.tolist()]
    chosen = [selector.choose(shape) for shape in shapes]
    return problem.regret[np.arange(len(chosen)), chosen]
