"""Facts: what a forest is told of a shape and of a config on it, as whole numbers.

A kernel's latency turns on how many tiles there are, how much of the last one is waste, and how
the sizes are aligned. None of it takes knowing the kernel: any numeric parameter may be a tile of
any axis, and a forest finds out which is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from codegen.config import Config
from tuner.arrays import FloatArray, IntArray

__all__ = ["cell_facts", "shape_facts", "shape_place"]

# Logarithms are told in steps of 1/256 of a doubling: far finer than matters, and whole.
_STEPS = 256
# An axis divisible by more than this is as aligned as it can be.
_ALIGNED = 32
# With more there are too many products to search.
_MOST_AXES = 4
_MOST_TILES = 4

_Narrow = NDArray[np.int32]


def shape_facts(shapes: IntArray) -> _Narrow:
    """Return the facts about `shapes`, int64 (n_shapes, n_axes); int32 (n_shapes, n_facts)."""
    return _whole([*_volumes(shapes), *_alignments(shapes)])


def shape_place(shapes: IntArray) -> FloatArray:
    """Return where `shapes` lie, for distances between them; float64 (n_shapes, n_facts).

    The facts are those of `shape_facts`, in doublings; products count half, as they repeat what
    the axes say.
    """
    n_axes = shapes.shape[1]
    axes, products = _volumes(shapes)[:n_axes], _volumes(shapes)[n_axes:]
    return np.stack([*axes, *(0.5 * each for each in products), *_alignments(shapes)], axis=1)


def cell_facts(shapes: IntArray, configs: Sequence[Config]) -> _Narrow:
    """Return the facts about each config on each shape, int32 (n_shapes, n_configs, n_facts)."""
    options, tiles = _options(configs), _tiles(configs)
    volumes = [volume[:, None] for volume in _volumes(shapes)]
    of_shapes = [*volumes, *(each[:, None] for each in _alignments(shapes))]
    facts = [*of_shapes, *options, *_tilings(shapes, tiles)]
    whole = (len(shapes), len(configs))
    return _whole([np.broadcast_to(fact, whole) for fact in facts])


def _whole(facts: Sequence[FloatArray]) -> _Narrow:
    return np.stack([np.rint(fact * _STEPS).astype(np.int32) for fact in facts], axis=-1)


def _log(values: FloatArray) -> FloatArray:
    logs: FloatArray = np.log2(np.maximum(values, 1.0))
    return logs


def _groups(n_axes: int) -> list[tuple[int, ...]]:
    """Return the axes, and the groups whose product is told too."""
    most = n_axes if n_axes <= _MOST_AXES else 1
    return [group for size in range(1, most + 1) for group in combinations(range(n_axes), size)]


def _products(shapes: IntArray) -> list[FloatArray]:
    sizes = shapes.astype(np.float64)
    return [sizes[:, group].prod(axis=1) for group in _groups(shapes.shape[1])]


def _volumes(shapes: IntArray) -> list[FloatArray]:
    return [np.log2(product + 1.0) for product in _products(shapes)]


def _alignments(shapes: IntArray) -> list[FloatArray]:
    """Return the logarithm of the largest power of two that divides each axis."""
    return [np.log2(np.gcd(axis, _ALIGNED).astype(np.float64)) for axis in shapes.T]


def _options(configs: Sequence[Config]) -> list[FloatArray]:
    """Return the values of each parameter and launch option that differs between `configs`."""
    values = [config.all_kwargs() for config in configs]
    names = sorted({name for each in values for name in each})
    found = [_scale([each.get(name) for each in values]) for name in names]
    return [scale for scale in found if scale.min() < scale.max()]


def _scale(values: Sequence[object]) -> FloatArray:
    """Return numbers for `values`: logarithms of sizes, else the place in the order of texts."""
    if all(_is_size(value) for value in values):
        return _log(np.array(values, dtype=np.float64))
    texts = [f"{type(value).__name__} {value!r}" for value in values]
    order = sorted(set(texts))
    return np.array([order.index(text) for text in texts], dtype=np.float64)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63


def _tiles(configs: Sequence[Config]) -> list[FloatArray]:
    """Return the sizes of the parameters that may be the size of a tile, the most varied first."""
    params = [dict(config.params) for config in configs]
    sizes = {name: [each.get(name) for each in params] for name in sorted(params[0])}
    varied = [
        np.array(values, dtype=np.float64)
        for values in sizes.values()
        if len(set(values)) > 1 and all(_is_size(value) for value in values)
    ]
    # The sort is stable: equally varied ones stand by their names.
    return sorted(varied, key=lambda values: -len(np.unique(values)))[:_MOST_TILES]


def _tilings(shapes: IntArray, tiles: Sequence[FloatArray]) -> list[FloatArray]:
    """Return how many tiles cover an axis or a product, how full they are, and pairs of counts."""
    facts = []
    n_axes = shapes.shape[1]
    for place, product in enumerate(_products(shapes)):
        for tile in tiles:
            count = np.ceil(product[:, None] / tile)
            facts.append(_log(count))
            if place < n_axes:
                facts.append(_log(count * tile / np.maximum(product[:, None], 1.0)))
    if n_axes <= _MOST_AXES:
        counts = [[np.ceil(axis[:, None] / tile) for tile in tiles] for axis in shapes.T]
        for one, other in combinations(counts, 2):
            facts += [_log(one[i] * other[j]) for i, j in permutations(range(len(tiles)), 2)]
    return facts
