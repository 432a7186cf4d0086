"""The n-ary form of a decision, in which neighbours can be seen and merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from codegen.axes import AxisValue
from codegen.features import Product, Ratio, Term
from codegen.grid import Blocks

__all__ = [
    "DEFAULT",
    "OUTSIDE",
    "REFUSED",
    "Ask",
    "Cases",
    "Cut",
    "Guard",
    "Leaf",
    "Node",
    "Outside",
    "Refused",
    "cases",
    "children",
    "cut",
]


@dataclass(frozen=True, slots=True)
class Leaf:
    """The config with this index."""

    config: int


@dataclass(frozen=True, slots=True)
class Outside:
    """Outside the envelope: the default config, or an error."""


@dataclass(frozen=True, slots=True)
class Cut:
    """An integer feature cut at ascending `cuts`; `parts[i]` is for values up to `cuts[i]`."""

    feature: Term | Product
    cuts: tuple[int, ...]
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Cases:
    """A category axis: groups of values, a part each, and what is done with any other value."""

    axis: str
    groups: tuple[tuple[tuple[AxisValue, ...], Node], ...]
    otherwise: Outside | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """Any other question: whether `ratio <= threshold / denominator`."""

    ratio: Ratio
    threshold: int
    denominator: int
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class Guard:
    """Whether a config's grid, counted in `blocks`, stays within `limit`."""

    blocks: tuple[Blocks, ...]
    limit: int
    yes: Leaf
    no: Node


@dataclass(frozen=True, slots=True)
class Refused:
    """No config that may be taken launches few enough programs."""


Node: TypeAlias = Leaf | Outside | Cut | Cases | Ask | Guard | Refused

OUTSIDE = Outside()
REFUSED = Refused()
# The index of a default config that the selector never chooses.
DEFAULT = -1


def cut(feature: Term | Product, cuts: Sequence[int], parts: Sequence[Node]) -> Node:
    """Return `parts` side by side: cuts of the same feature opened, equal neighbours merged."""
    flat_cuts: list[int] = []
    flat_parts: list[Node] = []
    for i, part in enumerate(parts):
        if isinstance(part, Cut) and part.feature == feature:
            flat_parts += part.parts
            flat_cuts += part.cuts
        else:
            flat_parts.append(part)
        flat_cuts += cuts[i : i + 1]
    kept = [i for i in range(len(flat_cuts)) if flat_parts[i] != flat_parts[i + 1]]
    if not kept:
        return flat_parts[0]
    merged = [*(flat_parts[i] for i in kept), flat_parts[-1]]
    return Cut(feature, tuple(flat_cuts[i] for i in kept), tuple(merged))


def cases(axis: str, by_value: Sequence[tuple[AxisValue, Node]]) -> Node:
    """Return one part a value: cases of the same axis opened, equal parts in one group."""
    groups: dict[Node, list[AxisValue]] = {}
    for value, part in by_value:
        groups.setdefault(_opened(part, axis, value), []).append(value)
    if len(groups) == 1:
        return next(iter(groups))
    return Cases(axis, tuple((tuple(values), part) for part, values in groups.items()))


def _opened(part: Node, axis: str, value: AxisValue) -> Node:
    """Return what `part` comes to once `axis` is known to be `value`."""
    if isinstance(part, Cases) and part.axis == axis:
        return next(inner for values, inner in part.groups if value in values)
    return part


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes right below `node`."""
    match node:
        case Cut():
            return node.parts
        case Cases():
            return tuple(part for _, part in node.groups)
        case Ask() | Guard():
            return (node.yes, node.no)
        case _:
            return ()
