"""Nodes → the statements of the emitted function, conditions as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from codegen.axes import Axis, AxisValue, IntegerAxis, Shape
from codegen.features import Product, Term
from codegen.literals import literal
from codegen.plan.conditions import asks, launched, spelled
from codegen.plan.nodes import DEFAULT, OUTSIDE, Ask, Cases, Cut, Guard, Leaf, Node, Refused

__all__ = [
    "Block",
    "Branch",
    "Clamp",
    "Note",
    "Raise",
    "Refuse",
    "Return",
    "Writer",
    "branch",
    "levels",
]

# So many values are compared one after the other before a search by halves takes over.
_CHAIN = 4
_LONG_CHAIN = 32


@dataclass(frozen=True, slots=True)
class Return:
    """`return NAME`, with a word on why where it is not plain."""

    name: str
    note: str = ""
    kind: str = "return"


@dataclass(frozen=True, slots=True)
class Note:
    """A comment on what follows."""

    text: str
    kind: str = "note"


@dataclass(frozen=True, slots=True)
class Raise:
    """Raise the error that names the envelope."""

    kind: str = "raise"


@dataclass(frozen=True, slots=True)
class Refuse:
    """Raise the error that names the limit of the launch grid."""

    kind: str = "refuse"


@dataclass(frozen=True, slots=True)
class Clamp:
    """Move a local to the nearest point of its range."""

    name: str
    low: str | None
    high: str | None
    kind: str = "clamp"


@dataclass(frozen=True, slots=True)
class Branch:
    """`if`, `elif` …, `else`: conditions with a block each; the last may be None for `else`."""

    arms: tuple[tuple[str | None, Block], ...]
    kind: str = "branch"


Statement: TypeAlias = Return | Raise | Refuse | Note | Clamp | Branch
Block: TypeAlias = tuple[Statement, ...]
_Group: TypeAlias = tuple[AxisValue, list[tuple[Shape, int]]]


def levels(block: Block) -> int:
    """Return how many levels of indentation `block` adds."""
    inner = (arm for only in block if isinstance(only, Branch) for _, arm in only.arms)
    return max((1 + levels(arm) for arm in inner), default=0)


def branch(condition: str, yes: Block, no: Block) -> Block:
    """Return `if condition` with both sides: a branch in `no` continues as `elif`.

    Arms that follow each other with the same block are joined by `or`.
    """
    arms: tuple[tuple[str | None, Block], ...] = ((condition, yes),)
    if len(no) == 1 and isinstance(no[0], Branch):
        arms += no[0].arms
    elif no:
        arms += ((None, no),)
    (first, block), *rest = arms
    if rest and rest[0][0] is not None and rest[0][1] == block:
        either = f"{grouped(first or '', 'and')} or {grouped(rest[0][0], 'and')}"
        return (Branch(((either, block), *rest[1:])),)
    return (Branch(arms),)


def chain(arms: Sequence[tuple[str, Block]], last: Block) -> Block:
    """Return arms whose conditions exclude each other, and what holds when none does.

    CPython's compiler recurses once for each `elif`, so that a long chain is written as one `if`
    after the other.
    """
    if len(arms) > _LONG_CHAIN:
        return (*(Branch((arm,)) for arm in arms), *last)
    block = last
    for condition, inner in reversed(arms):
        block = branch(condition, inner, block)
    return block


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Writes nodes down: `configs` and `axes` say how each is called in the code."""

    configs: Sequence[str]
    axes: Mapping[str, str]
    outside: Block = ()
    # What an axis is called as it was given, wherever the envelope has it moved to.
    given: Mapping[str, str] = field(default_factory=dict)

    def block(self, node: Node) -> Block:
        """Return the statements for `node`, each way through them ending the function."""
        match node:
            case Leaf(config):
                return (Return("DEFAULT" if config == DEFAULT else self.configs[config]),)
            case Guard(blocks, limit, yes, no):
                condition = f"{launched(blocks, self.given)} <= {literal(limit)}"
                return branch(condition, self.block(yes), self.block(no))
            case Refused():
                return (Refuse(),)
            case Cut(feature, cuts, parts):
                return self._ranges(feature, cuts, parts)
            case Cases():
                return self._cases(node)
            case Ask(ratio, threshold, denominator, yes, no):
                condition = asks(ratio, threshold, denominator, self.axes)
                return branch(condition, self.block(yes), self.block(no))
            case _:
                return self.outside

    def _ranges(self, feature: Term | Product, cuts: Sequence[int], parts: Sequence[Node]) -> Block:
        """Halve `parts` by how likely they are: what lies outside the envelope hardly ever is."""
        if len(parts) == 1:
            return self.block(parts[0])
        weights = [0 if part == OUTSIDE else 1 for part in parts]
        at = min(range(1, len(parts)), key=lambda i: (abs(sum(weights[:i]) - sum(weights[i:])), i))
        condition = asks(feature, cuts[at - 1], 1, self.axes)
        if parts[:at] == (OUTSIDE,):
            condition = f"{spelled(feature, self.axes)} < {literal(cuts[at - 1] + 1)}"
        left = self._ranges(feature, cuts[: at - 1], parts[:at])
        return branch(condition, left, self._ranges(feature, cuts[at:], parts[at:]))

    def _cases(self, node: Cases) -> Block:
        name = self.axes[node.axis]
        groups = list(node.groups)
        last: Block = self.outside if node.otherwise else self.block(groups.pop()[1])
        return chain([(is_among(name, values), self.block(part)) for values, part in groups], last)

    def pins(self, entries: Sequence[tuple[Shape, int]], axes: Sequence[Axis]) -> Block:
        """Return statements that return the config of each shape in `entries`, else go on."""
        if not axes:
            return (Return(self.configs[entries[0][1]]),)
        if len(entries) == 1:
            shape, config = entries[0]
            tests = [
                f"{self.axes[axis.name]} == {literal(value)}"
                for axis, value in zip(axes, shape, strict=True)
            ]
            return branch(" and ".join(tests), (Return(self.configs[config]),), ())
        ordered = sorted(entries, key=_order)
        return self._pinned([(v, [*group]) for v, group in groupby(ordered, key=_first)], axes)

    def _pinned(self, groups: Sequence[_Group], axes: Sequence[Axis]) -> Block:
        """Ask for the value of the first of `axes`; a long list of integers is halved first."""
        name = self.axes[axes[0].name]
        if len(groups) > _CHAIN and isinstance(axes[0], IntegerAxis):
            middle = len(groups) // 2
            low, high = self._pinned(groups[:middle], axes), self._pinned(groups[middle:], axes)
            return (Branch(((f"{name} <= {groups[middle - 1][0]}", low), *_otherwise(high))),)
        return chain(
            [
                _joined(
                    f"{name} == {literal(value)}",
                    self.pins([(shape[1:], config) for shape, config in entries], axes[1:]),
                )
                for value, entries in groups
            ],
            (),
        )


def _otherwise(block: Block) -> tuple[tuple[str | None, Block], ...]:
    only = block[0]
    return only.arms if len(block) == 1 and isinstance(only, Branch) else ((None, block),)


def _joined(condition: str, inner: Block) -> tuple[str, Block]:
    """Return the arm `if condition` around `inner`, as one `and` where `inner` is a lone `if`."""
    only = inner[0]
    if isinstance(only, Branch) and len(only.arms) == 1 and len(inner) == 1:
        test, block = only.arms[0]
        return f"{condition} and {grouped(test or '', 'or')}", block
    return condition, inner


def grouped(test: str, operator: str) -> str:
    """Return `test` in parentheses if `operator` may stand in it."""
    return f"({test})" if f" {operator} " in test else test


def _first(entry: tuple[Shape, int]) -> AxisValue:
    return entry[0][0]


def _order(entry: tuple[Shape, int]) -> tuple[bool, int, str]:
    value = entry[0][0]
    return (True, 0, value) if isinstance(value, str) else (False, value, "")


def is_among(name: str, values: Sequence[AxisValue]) -> str:
    """Return the test of `values`: with `in` a trace of integers has one guard, not one a value."""
    if len(values) == 1:
        return f"{name} == {literal(values[0])}"
    return f"{name} in ({', '.join(literal(value) for value in values)})"
