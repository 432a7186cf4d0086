"""Decision → nodes: what the envelope or an earlier answer settles is not asked again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from codegen.axes import Axis, AxisValue, IntegerAxis
from codegen.decision import Among, Choose, Decision, Split
from codegen.errors import InternalError
from codegen.features import AxisTerm, Cdiv, Mod, Product, Ratio, Term
from codegen.plan.guards import Guards
from codegen.plan.nodes import Ask, Leaf, Node, cases, cut

__all__ = ["simplify"]

Interval: TypeAlias = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the axes, and of features of them, at a place in the tree."""

    ranges: dict[Term | Product, Interval]
    values: dict[str, tuple[AxisValue, ...]]
    guards: Guards | None

    def leaf(self, config: int) -> Node:
        return self.guards.leaf(config, self.ranges) if self.guards else Leaf(config)

    def narrowed(self, feature: Term | Product, low: int | None, high: int | None) -> _Known:
        return replace(self, ranges={**self.ranges, feature: (low, high)})

    def among(self, axis: str, values: tuple[AxisValue, ...]) -> _Known:
        return replace(self, values={**self.values, axis: values})


def simplify(decision: Decision, axes: tuple[Axis, ...], guards: Guards | None = None) -> Node:
    """Return `decision` as nodes that agree with it on every shape inside the envelope.

    With `guards` its leaves look at the launch grid, where they must.
    """
    ranges: dict[Term | Product, Interval] = {}
    values: dict[str, tuple[AxisValue, ...]] = {}
    for axis in axes:
        if isinstance(axis, IntegerAxis):
            ranges[AxisTerm(axis.name)] = (axis.low, axis.high)
        else:
            values[axis.name] = axis.values
    return _node(decision, _Known(ranges, values, guards))


def _node(decision: Decision, known: _Known) -> Node:
    match decision:
        case Choose(config):
            return known.leaf(config)
        case Among():
            return _category(decision, known)
        case Split(Ratio() as ratio):
            return _ratio(decision, ratio, known)
        case Split(Cdiv(axis, by), threshold):
            # cdiv(x, by) <= t holds exactly where x <= t * by, which costs no division.
            return _cut(decision, AxisTerm(axis), threshold * by, known)
        case Split((AxisTerm() | Mod() | Product()) as feature, threshold):
            return _cut(decision, feature, threshold, known)
    raise InternalError(f"a decision holds {decision}")


def _cut(split: Split, feature: Term | Product, threshold: int, known: _Known) -> Node:
    low, high = _interval(feature, known)
    if high is not None and high <= threshold:
        return _node(split.left, known)
    if low is not None and low > threshold:
        return _node(split.right, known)
    left = _node(split.left, known.narrowed(feature, low, threshold))
    right = _node(split.right, known.narrowed(feature, threshold + 1, high))
    return cut(feature, (threshold,), (left, right))


def _ratio(split: Split, ratio: Ratio, known: _Known) -> Node:
    yes, no = _node(split.left, known), _node(split.right, known)
    return yes if yes == no else Ask(ratio, split.threshold, split.denominator, yes, no)


def _category(among: Among, known: _Known) -> Node:
    possible = known.values[among.axis]
    inside = tuple(value for value in possible if value in among.values)
    beyond = tuple(value for value in possible if value not in among.values)
    if not beyond:
        return _node(among.left, known)
    if not inside:
        return _node(among.right, known)
    left = _node(among.left, known.among(among.axis, inside))
    right = _node(among.right, known.among(among.axis, beyond))
    return cases(among.axis, [(value, left if value in inside else right) for value in possible])


def _interval(feature: Term | Product, known: _Known) -> Interval:
    """Return the tightest bounds that are known of `feature`."""
    low, high = _from_axes(feature, known)
    asked_low, asked_high = known.ranges.get(feature, (None, None))
    lows = [bound for bound in (low, asked_low) if bound is not None]
    highs = [bound for bound in (high, asked_high) if bound is not None]
    return max(lows, default=None), min(highs, default=None)


def _from_axes(feature: Term | Product, known: _Known) -> Interval:
    """Return bounds from those of the axes; a product has some where no factor can be negative."""
    match feature:
        case AxisTerm():
            return known.ranges[feature]
        case Cdiv(axis, by):
            low, high = known.ranges[AxisTerm(axis)]
            return (
                None if low is None else -(-low // by),
                None if high is None else -(-high // by),
            )
        case Mod(_, by):
            return (0, by - 1)
        case Product(terms):
            return _product([_interval(term, known) for term in terms])


def _product(factors: list[Interval]) -> Interval:
    low: int = 1
    high: int | None = 1
    for factor_low, factor_high in factors:
        if factor_low is None or factor_low < 0:
            return (None, None)
        low *= factor_low
        high = None if high is None or factor_high is None else high * factor_high
    return (low, high)
