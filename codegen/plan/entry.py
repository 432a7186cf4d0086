"""What is done about the envelope at the function's entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codegen.axes import Axis, CategoryAxis, IntegerAxis
from codegen.literals import literal
from codegen.plan.statements import Block, Clamp, Note, branch, grouped, is_among

__all__ = ["clamps", "guard"]


def guard(axes: Sequence[Axis], names: Mapping[str, str], outside: Block) -> Block:
    """Return the check that each of `axes` lies inside its envelope."""
    if not axes:
        return ()
    ranges = [_range(axis, names[axis.name]) for axis in axes]
    if len(axes) > 1 and all(ranges):
        condition = f"not ({' and '.join(ranges)})"
    else:
        condition = " or ".join(grouped(_beyond(axis, names[axis.name]), "and") for axis in axes)
    return branch(condition, outside, ())


def _range(axis: Axis, name: str) -> str:
    """Return the test for inside as a chained comparison, "" where it is none."""
    if isinstance(axis, CategoryAxis) or axis.low is None or axis.high is None:
        return ""
    return f"{literal(axis.low)} <= {name} <= {literal(axis.high)}"


def _beyond(axis: Axis, name: str) -> str:
    """Return the test for outside."""
    if isinstance(axis, CategoryAxis):
        among = is_among(name, axis.values)
        operator, negated = (" == ", " != ") if len(axis.values) == 1 else (" in ", " not in ")
        return among.replace(operator, negated, 1)
    if axis.low is None:
        return f"{name} > {literal(axis.high)}"
    if axis.high is None:
        return f"{name} < {literal(axis.low)}"
    return f"not {_range(axis, name)}"


def clamps(axes: Sequence[IntegerAxis | CategoryAxis], names: Mapping[str, str]) -> Block:
    """Return the statements that move each of `axes` to the nearest point of its envelope."""
    moves = [
        Clamp(
            names[axis.name],
            None if axis.low is None else literal(axis.low),
            None if axis.high is None else literal(axis.high),
        )
        for axis in axes
        if isinstance(axis, IntegerAxis)
    ]
    return (Note("outside the tuned envelope: as at its nearest point"), *moves) if moves else ()
