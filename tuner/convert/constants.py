"""Expressions that are a constant as they stand."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import libcst as cst

from codegen.config import Value

__all__ = ["Constant", "constant", "same"]

_MOST_DIGITS = 40
_LIMIT = 2**64
_WORDS: Mapping[str, bool | None] = {"True": True, "False": False, "None": None}
_BINARY: Mapping[type[cst.BaseBinaryOp], Callable[[Any, Any], Any]] = {
    cst.Add: operator.add,
    cst.Subtract: operator.sub,
    cst.Multiply: operator.mul,
    cst.FloorDivide: operator.floordiv,
    cst.Modulo: operator.mod,
    cst.LeftShift: operator.lshift,
    cst.RightShift: operator.rshift,
    cst.Power: operator.pow,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """The value of an expression."""

    value: Value


def constant(node: cst.CSTNode) -> Constant | None:
    """Return the value of `node` if it is a literal, or integers that are reckoned with."""
    match node:
        case cst.Name(value=word) if word in _WORDS:
            return Constant(value=_WORDS[word])
        case cst.Integer(value=digits) if len(digits) <= _MOST_DIGITS:
            return Constant(value=node.evaluated_value)
        case cst.Float(value=digits) if len(digits) <= _MOST_DIGITS:
            return Constant(value=float(node.evaluated_value))
        case cst.SimpleString() if isinstance(node.evaluated_value, str):
            return Constant(value=node.evaluated_value)
        case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
            return _negated(constant(inner))
        case cst.BinaryOperation():
            return _reckoned(node)
    return None


def _negated(found: Constant | None) -> Constant | None:
    if found is None or isinstance(found.value, bool | str) or found.value is None:
        return None
    return Constant(value=-found.value)


def _reckoned(node: cst.BinaryOperation) -> Constant | None:
    left, right = constant(node.left), constant(node.right)
    apply = _BINARY.get(type(node.operator))
    if left is None or right is None or apply is None:
        return None
    a, b = left.value, right.value
    if type(a) is not int or type(b) is not int:
        return None
    if isinstance(node.operator, cst.Power | cst.LeftShift | cst.RightShift) and not 0 <= b < 64:
        return None
    try:
        value = apply(a, b)
    except ArithmeticError:
        return None
    return Constant(value=value) if abs(value) < _LIMIT else None


def same(a: Value, b: Value) -> bool:
    """Say whether two values are one: 1 is not True."""
    return type(a) is type(b) and a == b
