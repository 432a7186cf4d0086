"""Shapes on which a manifest chooses what it chooses on none of those that are known."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from codegen.axes import CategoryAxis
from codegen.config import Config
from codegen.decision import Choose, Decision, Split
from codegen.features import AxisTerm, Cdiv
from codegen.policy import OutsideEnvelopeError, Policy
from tuner.cases.others import shapes_between
from tuner.records import Shape

__all__ = ["choice", "shapes_reaching"]

_BETWEEN = 2_000
_TRIES = 20_000


def choice(policy: Policy, shape: Shape) -> Config | None:
    """Return what `policy` chooses on `shape`; None where it raises instead."""
    try:
        return policy.evaluate(shape)
    except OutsideEnvelopeError:
        return None


def shapes_reaching(policy: Policy, known: Sequence[Shape]) -> dict[Config, Shape | None]:
    """Return a shape for each config that stands in a leaf, and is chosen on none of `known`.

    They are looked for between the known shapes, then at thresholds and ends of the envelope, in
    an order that is always the same. None where none was found: nothing may lead to that leaf.
    """
    indices = {*_leaves(policy.selector.lower()), *(i for _, i in policy.selector.pinned)}
    missing = {policy.configs[i] for i in indices} - {choice(policy, shape) for shape in known}
    found: dict[Config, Shape | None] = {c: None for c in policy.configs if c in missing}
    for shape in _candidates(policy, known) if missing else ():
        config = choice(policy, shape) if policy.holds(shape) else None
        if config in missing:
            found[config] = shape
            missing.discard(config)
            if not missing:
                break
    return found


def _leaves(decision: Decision) -> Iterator[int]:
    if isinstance(decision, Choose):
        yield decision.config
    else:
        yield from _leaves(decision.left)
        yield from _leaves(decision.right)


def _candidates(policy: Policy, known: Sequence[Shape]) -> Iterator[Shape]:
    for shape, _ in policy.selector.pinned:
        sizes = tuple(size for size in shape if isinstance(size, int))
        if len(sizes) == len(shape):
            yield sizes
    if any(isinstance(axis, CategoryAxis) for axis in policy.axes):
        return  # A case's shapes are sizes.
    yield from shapes_between(known, _BETWEEN)
    columns = _columns(policy, known)
    dice = random.Random(0)  # noqa: S311 (a sample, not a secret)
    for _ in range(_TRIES if all(columns) else 0):
        yield tuple(map(dice.choice, columns))


def _columns(policy: Policy, known: Sequence[Shape]) -> list[list[int]]:
    """Return the sizes of each axis at which something may change, and those that are known."""
    sizes = {axis.name: {s[i] for s in known} for i, axis in enumerate(policy.axes)}
    for axis in policy.axes:
        if not isinstance(axis, CategoryAxis):
            sizes[axis.name] |= {end for end in (axis.low, axis.high) if end is not None}
    for split in _splits(policy.selector.lower()):
        match split.feature:
            case AxisTerm(axis=name):
                sizes[name] |= {split.threshold, split.threshold + 1}
            case Cdiv(axis=name, by=by):
                sizes[name] |= {split.threshold * by, split.threshold * by + 1}
    return [sorted(size for size in found if size > 0) for found in sizes.values()]


def _splits(decision: Decision) -> Iterator[Split]:
    if isinstance(decision, Choose):
        return
    if isinstance(decision, Split):
        yield decision
    yield from _splits(decision.left)
    yield from _splits(decision.right)
