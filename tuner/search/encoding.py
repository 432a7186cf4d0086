"""Configs and shapes as points, such that what behaves alike lies close together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from codegen.config import Config, Value
from tuner.arrays import FloatArray
from tuner.records import Shape

__all__ = ["Encoding", "encoded", "logs_of"]

# A size that a power of two divides is read in wider words; beyond this it makes no difference.
_WIDEST = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Encoding:
    """The configs of a space as points.

    Attributes:
        names: the params and options that take more than one value.
        levels: for each name its values, ascending where they are numbers.
        ranks: int64 (n_configs, n_names), the place of a config's value among the levels.
        points: float64 (n_configs, n_columns) in [0, 1]: a column for a name whose values are
            numbers, on a logarithmic scale where all are positive; one a value for another.
        column_of: int64 (n_columns,), the index of the name that a column stands for.
    """

    names: tuple[str, ...]
    levels: tuple[tuple[Value, ...], ...]
    ranks: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    points: FloatArray
    column_of: np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def encoded(configs: Sequence[Config]) -> Encoding:
    """Return the encoding of `configs`, of which there is one at least."""
    values = [config.all_kwargs() for config in configs]
    names = tuple(dict.fromkeys(name for one in values for name in one))
    kept, levels, column_of = list[str](), list[tuple[Value, ...]](), list[int]()
    ranks, columns = [], []
    for name in names:
        own = [one.get(name) for one in values]
        found = _levels(own)
        if len(found) < 2:
            continue
        place = {(type(level), level): i for i, level in enumerate(found)}
        rank = np.array([place[type(value), value] for value in own], dtype=np.int64)
        scale = _scale(found)
        columns.append(scale[rank])
        column_of += [len(kept)] * scale.shape[1]
        kept.append(name)
        levels.append(found)
        ranks.append(rank)
    n = len(configs)
    return Encoding(
        names=tuple(kept),
        levels=tuple(levels),
        ranks=np.stack(ranks, axis=1) if ranks else np.zeros((n, 0), dtype=np.int64),
        points=np.concatenate(columns, axis=1) if columns else np.zeros((n, 0)),
        column_of=np.array(column_of, dtype=np.int64),
    )


def _levels(values: Sequence[Value]) -> tuple[Value, ...]:
    """Return the different values, 1, 1.0 and True being three; numbers ascending."""
    found = list({(type(value), value): value for value in values}.values())
    if all(_is_number(value) for value in found):
        return tuple(sorted(found, key=lambda value: (float(value or 0), str(type(value)))))
    return tuple(sorted(found, key=lambda value: (str(type(value)), str(value))))


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _scale(levels: Sequence[Value]) -> FloatArray:
    """Return where each level lies, (n_levels, n_columns)."""
    if not all(_is_number(level) for level in levels):
        # Any two are one apart.
        corners: FloatArray = np.eye(len(levels)) / np.sqrt(2)
        return corners
    numbers = np.array([float(level or 0) for level in levels])
    if numbers.min() > 0:
        numbers = np.log2(numbers)
    numbers -= numbers.min()
    scaled: FloatArray = (numbers / max(numbers.max(), 1e-300))[:, None]
    return scaled


def logs_of(shapes: Sequence[Shape]) -> FloatArray:
    """Return shapes as points, float64 (n_shapes, 2 * n_axes).

    The sizes in doublings, then in doublings too the power of two, up to 64, that divides each.
    """
    sizes = np.array(shapes, dtype=np.int64).reshape(len(shapes), -1)
    powers = np.where(sizes > 0, sizes & -sizes, _WIDEST).clip(max=_WIDEST)
    return np.concatenate([np.log2(sizes + 1.0), np.log2(np.maximum(powers, 1))], axis=1)
