"""Thresholds: where to cut between two sizes that were observed."""

from __future__ import annotations

from functools import lru_cache
from math import log

__all__ = ["candidates"]

# Largest first. A multiple of 64 is rounder here than one of 100, but 700000 than 720896.
_STEPS = sorted([2**i for i in range(63)] + [10**i for i in range(3, 19)], reverse=True)
_POWERS = [2**i for i in range(63)]


@lru_cache(maxsize=2**16)
def candidates(low: int, high: int) -> tuple[int, ...]:
    """Return the roundest integers of the gap [`low`, `high`), those nearest to its middle first.

    A split `size <= threshold` parts `low` from `high` with any of them. Powers of two are the
    roundest, as tiles and caches end there: [16, 100) gives 32, 64, 16. Without one it is the
    multiple of the largest power of two, or of ten from a thousand on: [700, 719) gives 704.
    Where `low` itself is the only power of two, sizes above it may yet behave like it, so the
    roundest of those is another candidate: [128, 256) gives 192, 128. The middle is the
    geometric one.
    """
    found = [power for power in _POWERS if low <= power < high]
    if not found:
        found = _roundest(low, high)
    elif found == [low] and low + 1 < high:
        found += _roundest(low + 1, high)
    middle = log(low + 1) + log(high + 1)
    return tuple(sorted(found, key=lambda size: (abs(2 * log(size + 1) - middle), size)))


def _roundest(low: int, high: int) -> list[int]:
    """Return the multiples in [`low`, `high`) of the largest step that has one."""
    step = next(step for step in _STEPS if -(-low // step) * step < high)
    return list(range(-(-low // step) * step, high, step))
