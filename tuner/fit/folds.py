"""Folds: the shapes divided into five parts, to be left out in turn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from tuner.arrays import IntArray
from tuner.fit.problem import Problem
from tuner.fit.samples import Samples, samples_of

__all__ = ["TURNS", "WHOLE", "Folds", "fold_numbers"]

# No fold left out.
WHOLE: frozenset[int] = frozenset()
_FOLDS = 5
# 2**32 times the golden ratio (as in Knuth's multiplicative hashing), √2 and the plastic ratio of
# three dimensions: multiples of these fill a range evenly and have no period.
_RATIOS = (0x9E3779B9, 0x6A09E667, 0xD1B54A33)
TURNS = len(_RATIOS)


class Folds:
    """The shapes of `problem` without some of the folds; `turn` < `TURNS` divides them anew."""

    def __init__(self, problem: Problem, turn: int = 0) -> None:
        self.problem = problem
        self._number = fold_numbers(len(problem.shapes), turn)
        # The same samples are asked for by each kind of selector, at each size.
        self.samples = cache(self._samples)

    def size(self, without: frozenset[int]) -> int:
        """Return how many shapes there are without some folds."""
        return len(self._rows(without))

    def to_leave_out(self, without: frozenset[int]) -> Iterator[tuple[int, IntArray]]:
        """Yield the folds that can still be left out, and the indices of their shapes."""
        folds = [fold for fold in np.unique(self._number).tolist() if fold not in without]
        for fold in folds if len(folds) > 1 else ():
            yield fold, np.flatnonzero(self._number == fold)

    def _samples(self, without: frozenset[int]) -> Samples:
        return samples_of(self.problem.of_shapes(self._rows(without)))

    def _rows(self, without: frozenset[int]) -> IntArray:
        return np.flatnonzero(~np.isin(self._number, sorted(without)))


def fold_numbers(n_shapes: int, turn: int) -> IntArray:
    """Return the fold of each shape, (n_shapes,): the fraction of index times ratio, cut in 5.

    There is nothing random in it, the first 5 have a fold each, and unlike the index modulo 5 it
    has no period: of a table that lists a grid no whole line is left out.
    """
    spread = np.arange(n_shapes, dtype=np.int64) * _RATIOS[turn] % 2**32
    return spread * _FOLDS >> 32
