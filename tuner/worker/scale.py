"""How large the elements of an array usually are: the scale of the errors it may have.

It is the root mean square of those that do not stand far above the rest: beside a mask's -1e9 or a
single 1e6, an error in all other elements would be small.

The elements are sorted by their exponents, and all is worked out of how many there are of each: so
nothing overflows, and an array of any size is looked at in pieces.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from math import ldexp
from typing import Any

from tuner.worker.values import is_array

__all__ = ["scale_of"]

# One eighth of the elements that are not 0 are below the lowest that counts; those of more than
# 2**8 times as much are left out. Of a normal distribution that takes none; of a causal mask, all.
_LOW = 8
_FAR = 8
# The root of the mean of x*x over x from 2**(e - 1) to 2**e, where log x is even, over 2**e.
_WITHIN = 0.736
_LEAST = -1100  # No float64 has a lesser exponent.


def scale_of(pieces: Iterable[Any]) -> float:
    """Return the scale of an array of floats, in `pieces` of float32 or float64; 0.0 if it is 0.

    Infinities and NaN do not count, elements that are 0 do.
    """
    zeros = 0
    counts: Counter[int] = Counter()
    for piece in pieces:
        zeros += _count(piece, counts)
    kept = _not_far(counts)
    if not kept:
        return 0.0
    top = max(kept)
    mean = sum(n * 4.0 ** (e - top) for e, n in kept.items()) / (sum(kept.values()) + zeros)
    return ldexp(_WITHIN * float(mean**0.5), top)


def _count(piece: Any, counts: Counter[int]) -> int:
    """Count the finite elements by their exponents, and return how many are 0."""
    library: Any = sys.modules["numpy" if is_array(piece) else "torch"]
    finite = abs(piece[library.isfinite(piece)])
    some = finite[finite > 0]
    found = library.bincount(library.frexp(some)[1] - _LEAST)
    counts.update({e + _LEAST: n for e, n in enumerate(found.tolist()) if n})
    return int(finite.shape[0] - some.shape[0])


def _not_far(counts: Counter[int]) -> dict[int, int]:
    """Return `counts` without the exponents that are far above the lowest that count."""
    below, low = 0, 0
    for low in sorted(counts):
        below += counts[low]
        if below * _LOW >= sum(counts.values()):
            break
    return {e: n for e, n in counts.items() if e <= low + _FAR}
