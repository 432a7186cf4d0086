"""Arithmetic on integers, and on nothing that merely passes for one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TypeAlias

__all__ = ["INTEGERS", "Operation", "ReasonError", "divisor", "integer", "kind", "limited", "minus"]

_INT64 = 2**63


class ReasonError(Exception):
    """Why an operation cannot be applied to its values: a predicate of it, as in FaultError."""


def kind(value: object) -> str:
    """Return what `value` is, in words."""
    names = {bool: "a boolean", int: "an integer", float: "a float", str: "a string"}
    if value is None:
        return "null"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return names.get(type(value), f"a value of type {type(value).__name__}")


def limited(value: int) -> int:
    """Return `value`; raises ReasonError where it does not fit in 64 bits."""
    if not -_INT64 <= value < _INT64:
        raise ReasonError("does not fit in 64 bits")
    return value


def integer(value: object) -> int:
    """Return `value`; raises ReasonError where it is not an integer, or a boolean."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ReasonError(f"needs an integer, not {kind(value)}")


def minus(value: object) -> int:
    """Return -`value`."""
    return limited(-integer(value))


def _add(a: object, b: object) -> int:
    return limited(integer(a) + integer(b))


def _subtract(a: object, b: object) -> int:
    return limited(integer(a) - integer(b))


def _multiply(a: object, b: object) -> int:
    return limited(integer(a) * integer(b))


def _divide(a: object, b: object) -> int:
    return limited(integer(a) // divisor(b))


def _remainder(a: object, b: object) -> int:
    return integer(a) % divisor(b)


def divisor(value: object) -> int:
    """Return `value`; raises ReasonError where it is not an integer, or is 0."""
    if integer(value) == 0:
        raise ReasonError("divides by zero")
    return integer(value)


Operation: TypeAlias = Callable[..., object]
INTEGERS: Mapping[type[ast.operator], Operation] = {
    ast.Add: _add,
    ast.Sub: _subtract,
    ast.Mult: _multiply,
    ast.FloorDiv: _divide,
    ast.Mod: _remainder,
}
