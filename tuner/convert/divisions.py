"""Divisions, by which a grid covers a size with blocks: what they divide by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tuner.convert.source import Source, dotted

__all__ = ["Divisor", "divisors"]

_CEIL_DIV = frozenset({"cdiv", "ceil_div", "ceildiv", "div_up"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Divisor:
    """What is divided by.

    Attributes:
        others: numbers that go with it, as b - 1 in (a + b - 1) // b, and what is taken off it.
        rounds_up: the division is surely one that rounds up.
        is_power: it is the exponent of 2, as in a >> 10.
    """

    node: cst.BaseExpression
    others: tuple[tuple[cst.Integer, int], ...] = ()
    rounds_up: bool = False
    is_power: bool = False


def divisors(source: Source, part: cst.CSTNode) -> Iterator[Divisor]:
    """Yield what `part` divides by.

    Known to round up are cdiv(a, b), (a + b - 1) // b, (a + 1023) // 1024, -(-a // b) and
    ceil(a / b), b being a number.
    """
    for node in source.within(part):
        if isinstance(node, cst.Call):
            if dotted(node.func).split(".")[-1] in _CEIL_DIV and len(node.args) == 2:
                yield Divisor(node=node.args[1].value, rounds_up=True)
        elif isinstance(node, cst.BinaryOperation):
            match node.operator:
                case cst.FloorDivide():
                    yield _floored(source, node)
                case cst.Divide():
                    yield Divisor(node=node.right, rounds_up=_is_ceiled(source, node))
                case cst.RightShift():
                    yield Divisor(node=node.right, is_power=True)


def _floored(source: Source, division: cst.BinaryOperation) -> Divisor:
    divisor = division.right
    if not isinstance(divisor, cst.Integer):
        return Divisor(node=divisor)
    numerator, number = division.left, divisor.evaluated_value
    terms = [*_terms(numerator, 1)]
    numbers = [(n, sign * n.evaluated_value) for n, sign in terms if isinstance(n, cst.Integer)]
    values = sorted(value for _, value in numbers)
    if values == [-1, number]:
        others = tuple((node, 0) for node, value in numbers if value == number)
        return Divisor(node=divisor, others=others, rounds_up=True)
    if values == [number - 1] and len(terms) > 1:
        return Divisor(node=divisor, others=((numbers[0][0], 1),), rounds_up=True)
    negated = _is_minus(numerator) and _is_minus(source.parent(division))
    return Divisor(node=divisor, rounds_up=negated)


def _is_minus(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus)


def _terms(node: cst.BaseExpression, sign: int) -> Iterator[tuple[cst.BaseExpression, int]]:
    """Yield the terms of a sum, each with its sign."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add | cst.Subtract):
        yield from _terms(node.left, sign)
        yield from _terms(node.right, sign if isinstance(node.operator, cst.Add) else -sign)
    else:
        yield node, sign


def _is_ceiled(source: Source, division: cst.BinaryOperation) -> bool:
    arg = source.parent(division)
    call = source.parent(arg) if isinstance(arg, cst.Arg) else None
    return isinstance(call, cst.Call) and dotted(call.func).split(".")[-1] == "ceil"
