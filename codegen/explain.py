"""Why a shape gets its config: the questions on the way, and where the shape lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from codegen.axes import AxisValue, CategoryAxis, IntegerAxis, Shape
from codegen.config import Config
from codegen.decision import Among, Choose, Decision
from codegen.errors import ManifestError, shown
from codegen.literals import literal
from codegen.plan.conditions import asks
from codegen.policy import OutsideEnvelopeError, Policy
from codegen.selectors.tree import goes_left

__all__ = ["Explanation", "explain", "parse_shape"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How a shape is answered; `config` is None where the manifest says to raise."""

    shape: Shape
    place: str
    path: tuple[str, ...]
    config: Config | None


def parse_shape(text: str, policy: Policy) -> Shape:
    """Return the shape that `text` writes as `128,4096,float16`, one value an axis.

    Raises:
        ManifestError: another number of values, or no integer where the axis is one.
    """
    parts = text.split(",")
    names = ",".join(axis.name for axis in policy.axes)
    if len(parts) != len(policy.axes):
        fact = f"{shown(text)} has {len(parts)} values for {len(policy.axes)} axes"
        raise ManifestError(fact, where="--shape", remedy=f"give {names}")
    return tuple(
        _value(part, axis.name, axis.values if isinstance(axis, CategoryAxis) else None)
        for part, axis in zip(parts, policy.axes, strict=True)
    )


def _value(part: str, axis: str, values: Sequence[AxisValue] | None) -> AxisValue:
    if values is not None:
        # As it stands first: a value may begin with a space.
        known = {str(value): value for value in values}
        return known.get(part, known.get(part.strip(), part.strip()))
    try:
        return int(part) if len(part) < 100 else int("")
    except ValueError:
        fact = f"{shown(part)} is not an integer, as axis {axis} wants"
        raise ManifestError(fact, where="--shape", remedy="write whole numbers") from None


def explain(policy: Policy, shape: Shape) -> Explanation:
    """Return how `policy` answers `shape`; the config is that of `policy.evaluate`."""
    try:
        config = policy.evaluate(shape)
    except OutsideEnvelopeError:
        config = None
    path = [*_path(policy, shape)]
    if config or policy.holds(shape) or policy.outside != "raise":
        path += _too_many(policy, shape)
    return Explanation(shape=shape, place=_place(policy, shape), path=tuple(path), config=config)


def _place(policy: Policy, shape: Shape) -> str:
    beyond = [
        f"{axis.name} = {value}"
        for axis, value in zip(policy.axes, shape, strict=True)
        if not axis.holds(value)
    ]
    if all(isinstance(a, IntegerAxis) and a.low is None and a.high is None for a in policy.axes):
        return "unknown, the manifest records no envelope"
    return (
        f"outside the tuned envelope ({', '.join(beyond)})"
        if beyond
        else "inside the tuned envelope"
    )


def _path(policy: Policy, shape: Shape) -> Iterator[str]:
    if shape in dict(policy.selector.pinned):
        yield "an exact shape of the table"
        return
    if not policy.holds(shape):
        yield f"outside: {policy.outside}"
        strange = any(
            isinstance(axis, CategoryAxis) and not axis.holds(value)
            for axis, value in zip(policy.axes, shape, strict=True)
        )
        if policy.outside != "nearest" or strange:
            return
        moved = policy.sizes(shape)
        yield "taken as " + ", ".join(f"{name} = {value}" for name, value in moved.items())
    yield from _questions(policy.selector.lower(), policy.sizes(shape))


def _too_many(policy: Policy, shape: Shape) -> Iterator[str]:
    """Yield which configs launch too many programs, in the order in which they are tried."""
    if policy.grid is None:
        return
    for config in dict.fromkeys((policy.chosen(shape), policy.default, policy.coarsest)):
        programs = policy.programs(config, shape)
        if programs <= policy.grid.limit:
            return
        yield f"grid: {config.id} launches {programs} programs, more than {policy.grid.limit}"


def _questions(node: Decision, sizes: dict[str, int]) -> Iterator[str]:
    names = {name: name for name in sizes}
    while not isinstance(node, Choose):
        if isinstance(node, Among):
            question = f"{node.axis} in ({', '.join(literal(value) for value in node.values)})"
        else:
            question = asks(node.feature, node.threshold, node.denominator, names)
        left = goes_left(node, sizes)
        yield f"{question}: {'yes' if left else 'no'}"
        node = node.left if left else node.right
