"""The order of the work: which shapes are tried first, and on which a config must prove itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from math import prod

import numpy as np

from tuner.arrays import FloatArray
from tuner.records import Shape

__all__ = ["gate_shapes", "nearest_first", "shapes_ahead", "spread_order"]

# One shape of each kind that a compiler may treat apart, and no more: each costs every config a
# compilation.
_MOST_GATE_SHAPES = 8
# Triton compiles anew for a size of 1 and for one that 16 divides.
_ALIGNED = 16


def gate_shapes(shapes: Sequence[Shape], sanity: Shape | None = None) -> tuple[Shape, ...]:
    """Return the shapes on which each config is tried before any is measured.

    The smallest, the largest, `sanity` or the middle one, one with odd sizes, and one of each
    pattern of sizes that are 1, multiples of 16, or neither; each once, 8 at most.
    """
    by_size = sorted(shapes, key=lambda shape: (prod(shape), shape))
    most_odd = max(by_size, key=lambda shape: sum(size % 2 == 1 and size > 1 for size in shape))
    chosen = [by_size[0], by_size[-1], sanity or by_size[len(by_size) // 2], most_odd]
    patterns: dict[tuple[int, ...], Shape] = {}
    for shape in chain(chosen, by_size):
        patterns.setdefault(_patterns(shape), shape)
    return tuple(dict.fromkeys([*chosen, *patterns.values()]))[:_MOST_GATE_SHAPES]


def shapes_ahead(shapes: Sequence[Shape], gate: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return the smallest of `shapes` of each pattern that no shape of `gate` has.

    For the others a compiler has nothing left to do once these, and those of `gate`, were tried.
    """
    known = {_patterns(shape) for shape in gate}
    chosen: dict[tuple[int, ...], Shape] = {}
    for shape in sorted(shapes, key=lambda shape: (prod(shape), shape)):
        if _patterns(shape) not in known:
            chosen.setdefault(_patterns(shape), shape)
    return tuple(chosen.values())


def _patterns(shape: Shape) -> tuple[int, ...]:
    return tuple(map(_pattern, shape))


def _pattern(size: int) -> int:
    return 1 if size == 1 else _ALIGNED * (size % _ALIGNED == 0)


def spread_order(shapes: Sequence[Shape], first: Sequence[Shape] = ()) -> tuple[Shape, ...]:
    """Return `shapes` such that however many are measured lie well spread among all.

    After `first` comes always the one that is farthest, in the logarithm of its sizes, from all
    that came before (Gonzalez, 1985).
    """
    order = list(first)
    if shapes and not order:
        order = [min(shapes, key=lambda shape: (prod(shape), shape))]
    rest = [shape for shape in shapes if shape not in set(order)]
    if not rest:
        return tuple(order)
    points = np.log2(np.array(rest, dtype=np.float64).reshape(len(rest), -1) + 1)
    distance = np.full(len(rest), np.inf)
    for shape in order:
        distance = np.minimum(distance, _distances(points, shape))
    for _ in range(len(rest)):
        farthest = int(distance.argmax())
        order.append(rest[farthest])
        distance = np.minimum(distance, _distances(points, rest[farthest]))
        distance[farthest] = -np.inf
    return tuple(order)


def nearest_first(shape: Shape, others: Iterable[Shape]) -> tuple[Shape, ...]:
    """Return `others`, the nearest to `shape` in the logarithm of its sizes first."""
    given = tuple(others)
    if not given:
        return ()
    points = np.log2(np.array(given, dtype=np.float64).reshape(len(given), -1) + 1)
    offsets = points - np.log2(np.array(shape, dtype=np.float64) + 1)
    distance = np.sqrt((offsets**2).sum(axis=1)).round(9).tolist()
    order = sorted(range(len(given)), key=lambda i: (distance[i], given[i]))
    return tuple(given[i] for i in order)


def _distances(points: FloatArray, shape: Shape) -> FloatArray:
    offsets: FloatArray = np.abs(points - np.log2(np.array(shape, dtype=np.float64) + 1))
    return np.asarray(offsets.max(axis=1), dtype=np.float64)
