"""Folds: the shapes divided into five parts, to be left out in turn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from tuner.arrays import IntArray
from tuner.fit.problem import Problem
from tuner.fit.samples import Samples, samples_of

__all__ = ["Folds", "fold_numbers"]

_FOLDS = 5
# 2**32 times the golden ratio (as in Knuth's multiplicative hashing): multiples of it fill a range
# evenly and have no period.
_RATIO = 0x9E3779B9


class Folds:
    """The shapes of `problem` in parts, and the samples that all but one of them give."""

    def __init__(self, problem: Problem, most_configs: int | None = None) -> None:
        self.problem = problem
        self._most_configs = most_configs
        self._number = fold_numbers(len(problem.shapes))
        # The same samples are asked for by each kind of selector.
        self.samples = cache(self._samples)

    def to_leave_out(self) -> Iterator[tuple[int, IntArray]]:
        """Yield the folds and the indices of their shapes; none when there is a single one."""
        folds = np.unique(self._number).tolist()
        for fold in folds if len(folds) > 1 else ():
            yield fold, np.flatnonzero(self._number == fold)

    def _samples(self, without: int | None = None) -> Samples:
        """Return the samples of all shapes but those of one fold."""
        rows = np.flatnonzero(self._number != (-1 if without is None else without))
        return samples_of(self.problem.of_shapes(rows), self._most_configs)


def fold_numbers(n_shapes: int) -> IntArray:
    """Return the fold of each shape, (n_shapes,): the fraction of index times ratio, cut in 5.

    There is nothing random in it, the first 5 have a fold each, and unlike the index modulo 5 it
    has no period: of a table that lists a grid no whole line is left out.
    """
    spread = np.arange(n_shapes, dtype=np.int64) * _RATIO % 2**32
    return spread * _FOLDS >> 32
