"""Dice: chance that falls alike on every machine.

Only the raw 64-bit stream of PCG64 (O'Neill, 2014) is used, which numpy promises not to change;
what its other methods draw from it may differ between versions of numpy.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tuner.arrays import FloatArray, IntArray

__all__ = ["Dice"]

# A float64 holds so many bits exactly.
_BITS = 53


class Dice:
    """A stream of numbers that depends on `seed` alone."""

    def __init__(self, seed: int) -> None:
        self._stream = np.random.PCG64(seed)

    def fractions(self, *shape: int) -> FloatArray:
        """Return numbers of [0, 1), evenly spread."""
        raw = np.asarray(self._stream.random_raw(prod(shape)), dtype=np.uint64)
        fractions: FloatArray = (raw >> np.uint64(64 - _BITS)).astype(np.float64) / 2**_BITS
        return fractions.reshape(shape)

    def below(self, end: int, *shape: int) -> IntArray:
        """Return integers of [0, `end`), evenly spread; `end` is less than 2**31."""
        whole: IntArray = (self.fractions(*shape) * end).astype(np.int64)
        return whole

    def bells(self, *shape: int) -> FloatArray:
        """Return numbers of mean 0 and variance 1, nearly normal: three fractions added up."""
        bells: FloatArray = 2.0 * (self.fractions(3, *shape).sum(axis=0) - 1.5)
        return bells

    def some(self, end: int, count: int) -> IntArray:
        """Return `count` different integers of [0, `end`), ascending, or all of them."""
        if count >= end:
            return np.arange(end, dtype=np.int64)
        return np.sort(np.argsort(self.fractions(end), kind="stable")[:count])
