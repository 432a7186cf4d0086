"""Shapes that were not tuned, between those that were."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import isqrt

from tuner.records import Shape

__all__ = ["shapes_between"]

_MOST = 200


def shapes_between(shapes: Sequence[Shape], count: int) -> tuple[Shape, ...]:
    """Return up to `count` shapes that lie between two of `shapes`, and are none of them.

    Each size is the geometric mean of the two, rounded down; the pairs are spread over all. The
    same shapes give the same ones, always.
    """
    known = set(shapes)
    between: dict[Shape, None] = {}
    ordered = sorted(known)
    # Of many shapes some are enough: there are as many pairs as the square of their number.
    for low, high in combinations(ordered[:: max(1, -(-len(ordered) // _MOST))], 2):
        shape = tuple(isqrt(a * b) for a, b in zip(low, high, strict=True))
        if shape not in known:
            between[shape] = None
    found = list(between)
    step = max(1, len(found) // count)
    return tuple(found[::step][:count])
