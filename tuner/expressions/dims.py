"""What an expression may do with the inputs of a kernel: read their shapes, and count with them."""

from __future__ import annotations

import ast
from numbers import Integral

from tuner.expressions.integers import INTEGERS, ReasonError, integer, kind, limited
from tuner.records import Shape

__all__ = [
    "MOST_AXES",
    "add",
    "as_tuple",
    "count",
    "cut",
    "dims",
    "greatest",
    "integers",
    "item",
    "least",
    "plain",
    "size",
    "sizes_of",
]

MOST_AXES = 32  # a table's


def sizes_of(value: object) -> Shape:
    """Return `value` as a shape; raises ReasonError where it is none."""
    if isinstance(value, int):
        value = (value,)
    if not isinstance(value, tuple):
        raise ReasonError(f"gives {kind(value)}; the shape of an input is its .shape")
    if not 1 <= len(value) <= MOST_AXES:
        raise ReasonError(f"gives {len(value)} sizes; 1 to {MOST_AXES} make a shape")
    sizes = tuple(plain(size) for size in value)
    for i, size in enumerate(sizes):
        if isinstance(size, bool) or not isinstance(size, int):
            star = "; write * before it" if isinstance(size, tuple) else ""
            raise ReasonError(f"gives {kind(size)} as size {i}{star}")
        if size < 0:
            raise ReasonError(f"gives {size} as size {i}, which is negative")
    return tuple(integer(size) for size in sizes)


def plain(value: object) -> object:
    """Return an input or an element of one: integers of any kind as int, lists as tuples."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return limited(int(value))
    return tuple(value) if isinstance(value, list) else value


def dims(value: object) -> tuple[int, ...]:
    """Return the shape of the input `value`; raises ReasonError if it has none."""
    try:
        found = tuple(getattr(value, "shape"))  # noqa: B009 (an attribute of what is any object)
    except Exception:  # noqa: BLE001 (what the attribute of a user's object may raise)
        own = ", which is a size itself" if isinstance(value, int) else ""
        raise ReasonError(f"asks for the shape of {kind(value)}{own}") from None
    return tuple(integer(plain(size)) for size in found)


def as_tuple(value: object) -> tuple[object, ...]:
    """Return `value`; raises ReasonError where it is not a tuple."""
    if isinstance(value, tuple):
        return value
    raise ReasonError(f"needs a tuple, not {kind(value)}")


def integers(value: object) -> list[int]:
    """Return the integers in a tuple."""
    return [integer(plain(item)) for item in as_tuple(value)]


def size(value: object, *index: object) -> object:
    """Return what `value.size(…)` is to torch."""
    return item(dims(value), index[0]) if index else dims(value)


def item(value: object, index: object) -> object:
    """Return `value[index]`."""
    if not isinstance(value, tuple) and hasattr(value, "shape"):
        raise ReasonError(f"indexes {kind(value)}; write .shape before the [")
    items, i = as_tuple(value), integer(index)
    if not -len(items) <= i < len(items):
        raise ReasonError(f"takes number {i} of {len(items)}, which there is not")
    return plain(items[i])


def cut(value: object, *bounds: object) -> object:
    """Return `value[start:stop:step]`."""
    start, stop, step = (None if bound is None else integer(bound) for bound in bounds)
    if step == 0:
        raise ReasonError("has a step of 0")
    return as_tuple(value)[start:stop:step]


def count(value: object) -> int:
    """Return `len(value)`."""
    if isinstance(value, tuple):
        return len(value)
    if not dims(value):
        raise ReasonError(f"asks for the length of {kind(value)} without dimensions")
    return dims(value)[0]


def add(a: object, b: object) -> object:
    """Return the sum of two integers, or two tuples in one."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a + b
    return INTEGERS[ast.Add](a, b)


def least(*values: object) -> int:
    """Return the least of several integers, or of those in a tuple."""
    return min(_several(values))


def greatest(*values: object) -> int:
    """Return the greatest of several integers, or of those in a tuple."""
    return max(_several(values))


def _several(values: tuple[object, ...]) -> list[int]:
    found = integers(values[0] if len(values) == 1 else values)
    if not found:
        raise ReasonError("is of an empty tuple")
    return found
