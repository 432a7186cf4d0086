"""The order of planning, and what the template gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from codegen.axes import Axis, CategoryAxis, IntegerAxis
from codegen.config import Config
from codegen.features import AxisTerm, axes_of
from codegen.literals import config_names, free_name
from codegen.plan.entry import clamps, guard
from codegen.plan.envelope import fold
from codegen.plan.guards import Guards
from codegen.plan.nodes import Ask, Cases, Cut, Guard, Leaf, Node, Refused, children
from codegen.plan.simplify import simplify
from codegen.plan.statements import Block, Note, Raise, Return, Writer, levels
from codegen.policy import Policy

__all__ = ["RESERVED", "Program", "plan"]

# Exact shapes that would stand deeper are asked one after the other: CPython ends at 100.
_MAX_LEVELS = 60

# The names that the template itself uses at the module's level or in the function.
RESERVED = frozenset(
    {
        "AXIS_NAMES",
        "CONFIGS",
        "Config",
        "DEFAULT",
        "MANIFEST_SHA256",
        "SOURCE_SHA256",
        "TARGET",
        "_outside",
        "_too_many_programs",
        "_select_config",
        "early_config_prune",
        "shape",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is emitted: the configs in use with their names, and the function's statements."""

    configs: tuple[tuple[str, Config], ...]
    default: str
    locals: tuple[str, ...]
    body: Block
    raises: bool
    refuses: bool
    depth: int
    leaves: int


def plan(policy: Policy) -> Program:
    """Return the program that chooses as `policy.evaluate` does."""
    guards = Guards(policy, policy.grid) if policy.grid else None
    node = simplify(policy.selector.lower(), policy.axes, guards)
    # What is done outside the envelope and may launch too many programs; else it is one statement.
    beyond = guards.leaf(guards.default, {}) if guards and policy.outside != "raise" else None
    used = _used(policy, node, beyond)
    constants = config_names([config for _, config in used], RESERVED)
    names = dict(zip((config.id for _, config in used), constants, strict=True))
    default = next((i for i, c in enumerate(policy.configs) if c == policy.default), None)
    if policy.outside == "raise" or guards:
        default = None  # Not the same as what the leaves that have it do.
    checked = [a for a in policy.axes if policy.outside != "nearest" or isinstance(a, CategoryAxis)]
    # More than a statement is written down once.
    places = {} if beyond is None or isinstance(beyond, Leaf) else {"places": 0}
    folded = fold(node, checked, default, **places)
    clamped = _clamped(policy, folded.node)
    read = {*_read(folded.node), *clamped, *(axis.name for axis in folded.at_entry)}
    read |= {axis.name for axis in policy.axes if policy.selector.pinned}
    if beyond and (folded.at_entry or folded.node != node):
        read |= {*_read(beyond)}
    locals_ = _locals(policy.axes, read, {*RESERVED, *constants})
    writer = Writer(
        configs=[names.get(config.id, "") for config in policy.configs],
        axes=locals_,
        given=_given(policy, locals_),
    )
    writer = replace(writer, outside=_outside(policy, writer, beyond))
    body = (
        *_pins(policy, writer),
        *guard(folded.at_entry, locals_, writer.outside),
        *clamps([axis for axis in policy.axes if axis.name in clamped], locals_),
        *writer.block(folded.node),
    )
    return Program(
        configs=tuple((names[config.id], config) for _, config in used),
        default=names[policy.default.id],
        locals=tuple(locals_.values()),
        body=body,
        raises=policy.outside == "raise" and (bool(folded.at_entry) or folded.node != node),
        refuses=any(_refuses(part) for part in (node, beyond) if part),
        depth=_depth(node),
        leaves=_leaves(node),
    )


def _given(policy: Policy, names: Mapping[str, str]) -> dict[str, str]:
    """Return what each axis is called as it was given, before it is moved into the envelope."""
    if policy.outside != "nearest":
        return dict(names)
    return {axis.name: f"shape[{i}]" for i, axis in enumerate(policy.axes)}


def _outside(policy: Policy, writer: Writer, beyond: Node | None) -> Block:
    if policy.outside == "raise":
        return (Raise(),)
    if beyond is None or isinstance(beyond, Leaf):
        return (Return("DEFAULT", "outside the envelope"),)
    return (Note("outside the envelope"), *writer.block(beyond))


def _refuses(node: Node) -> bool:
    return isinstance(node, Refused) or any(map(_refuses, children(node)))


def _used(policy: Policy, node: Node, beyond: Node | None) -> list[tuple[int, Config]]:
    """Return the configs that some shape can reach, and the default, in the manifest's order."""
    reached = {*_configs(node), *(config for _, config in policy.selector.pinned)}
    reached |= {*_configs(beyond)} if beyond else set()
    used = [(i, c) for i, c in enumerate(policy.configs) if i in reached or c == policy.default]
    if policy.default not in policy.configs:
        used.append((-1, policy.default))
    return used


def _locals(axes: Sequence[Axis], read: set[str], taken: set[str]) -> dict[str, str]:
    """Return a local's name for each axis: its own where it can be, with `_` before if unread."""
    names: dict[str, str] = {}
    for axis in axes:
        wanted = axis.name if axis.name in read else f"_{axis.name}"
        names[axis.name] = free_name(wanted, {*taken, *names.values()})
    return names


def _pins(policy: Policy, writer: Writer) -> Block:
    entries = policy.selector.pinned
    if not entries:
        return ()
    block = writer.pins(entries, policy.axes)
    if levels(block) > _MAX_LEVELS:
        block = tuple(only for entry in entries for only in writer.pins([entry], policy.axes))
    return (Note("exact shapes"), *block)


def _clamped(policy: Policy, node: Node) -> set[str]:
    """Return the axes to be moved into the envelope before `node` asks about them.

    A range of an axis by itself needs no move: its cuts all lie inside the envelope, so that a
    value beyond an end falls into the range at that end.
    """
    bounded = {
        axis.name
        for axis in policy.axes
        if isinstance(axis, IntegerAxis) and (axis.low is not None or axis.high is not None)
    }
    return bounded & set(_asked(node)) if policy.outside == "nearest" else set()


def _asked(node: Node) -> Iterator[str]:
    """Yield the axes that `node` reads as part of a feature."""
    if isinstance(node, Cut) and not isinstance(node.feature, AxisTerm):
        yield from axes_of(node.feature)
    elif isinstance(node, Ask):
        yield from axes_of(node.ratio)
    for child in children(node):
        yield from _asked(child)


def _read(node: Node) -> Iterator[str]:
    """Yield the axes that `node` reads."""
    if isinstance(node, Guard):
        yield from (axis for dim in node.blocks for axis in dim.axes)
    if isinstance(node, Cut):
        yield from axes_of(node.feature)
    elif isinstance(node, Cases):
        yield node.axis
    elif isinstance(node, Ask):
        yield from axes_of(node.ratio)
    for child in children(node):
        yield from _read(child)


def _configs(node: Node) -> Iterator[int]:
    if isinstance(node, Leaf):
        yield node.config
    for child in children(node):
        yield from _configs(child)


def _leaves(node: Node) -> int:
    if isinstance(node, Guard):
        return 1
    return sum(_leaves(child) for child in children(node)) or 1


def _depth(node: Node) -> int:
    """Return the most questions on a way to a leaf, a cut of n parts asking log2(n) at least."""
    below = [] if isinstance(node, Guard) else [_depth(child) for child in children(node)]
    return max(below) + (len(below) - 1).bit_length() if below else 0
