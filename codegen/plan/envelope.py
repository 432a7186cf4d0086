"""The envelope's checks, folded into the questions that are asked anyway.

Checking every axis at the entry costs two comparisons an axis on every call. Where each way
through the tree asks about an axis, the same check is two more ranges at the ends of what is cut
there, and costs one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codegen.axes import Axis, CategoryAxis, IntegerAxis
from codegen.features import AxisTerm
from codegen.plan.nodes import OUTSIDE, Ask, Cases, Cut, Leaf, Node, children

__all__ = ["Folded", "fold"]

# More places than these, and one check at the entry reads better than the time is worth.
_MAX_PLACES = 16


@dataclass(frozen=True, slots=True)
class Folded:
    """The tree with checks in it, and the axes that must be checked at the entry."""

    node: Node
    at_entry: tuple[Axis, ...]


def fold(
    node: Node, axes: Sequence[Axis], default: int | None, *, places: int = _MAX_PLACES
) -> Folded:
    """Return `node` with the envelope of `axes` checked.

    `default` is the config taken outside, None where something else is done: a part that is this
    config already needs no check. `places` are the most in which a check may stand.
    """
    at_entry = []
    for axis in axes:
        if isinstance(axis, IntegerAxis) and axis.low is None and axis.high is None:
            continue
        folded = _folded(node, axis, default)
        if folded is None or _places(node, axis.name) > places:
            at_entry.append(axis)
        else:
            node = folded
    return Folded(node, tuple(at_entry))


def _folded(node: Node, axis: Axis, default: int | None) -> Node | None:
    """Return `node` with `axis` checked on every way through it; None where a way never asks."""
    if node == OUTSIDE or (isinstance(node, Leaf) and node.config == default):
        return node
    if isinstance(axis, IntegerAxis) and isinstance(node, Cut) and _asks_about(node, axis.name):
        return _with_ends(node, axis, default)
    if isinstance(axis, CategoryAxis) and isinstance(node, Cases) and _asks_about(node, axis.name):
        return replace(node, otherwise=OUTSIDE)
    parts = [_folded(child, axis, default) for child in children(node)]
    found = [part for part in parts if part is not None]
    return None if not parts or len(found) < len(parts) else _rebuilt(node, found)


def _with_ends(node: Cut, axis: IntegerAxis, default: int | None) -> Node:
    cuts, parts = node.cuts, node.parts
    if axis.low is not None and parts[0] != Leaf(-1 if default is None else default):
        cuts, parts = (axis.low - 1, *cuts), (OUTSIDE, *parts)
    if axis.high is not None and parts[-1] != Leaf(-1 if default is None else default):
        cuts, parts = (*cuts, axis.high), (*parts, OUTSIDE)
    return Cut(node.feature, cuts, parts)


def _rebuilt(node: Node, parts: Sequence[Node]) -> Node:
    match node:
        case Cut():
            return replace(node, parts=tuple(parts))
        case Cases():
            pairs = zip(node.groups, parts, strict=True)
            return replace(node, groups=tuple((values, part) for (values, _), part in pairs))
        case Ask():
            return replace(node, yes=parts[0], no=parts[1])
        case _:
            return node


def _places(node: Node, axis: str) -> int:
    """Count the topmost questions about `axis`."""
    if _asks_about(node, axis):
        return 1
    return sum(_places(child, axis) for child in children(node))


def _asks_about(node: Node, axis: str) -> bool:
    """Say whether `node` asks for the value of `axis` itself."""
    if isinstance(node, Cut):
        return node.feature == AxisTerm(axis)
    return isinstance(node, Cases) and node.axis == axis
