"""Decision → nodes: what the envelope or an earlier answer settles is not asked again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from codegen.axes import Axis, AxisValue, IntegerAxis
from codegen.decision import Among, Choose, Decision, Split
from codegen.features import AxisTerm, Cdiv, Feature, Mod, Product, Ratio
from codegen.plan.nodes import Ask, Leaf, Node, cases, cut

__all__ = ["simplify"]

Interval: TypeAlias = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the axes at a place in the tree."""

    ranges: dict[str, Interval]
    values: dict[str, tuple[AxisValue, ...]]

    def narrowed(self, axis: str, low: int | None, high: int | None) -> _Known:
        return replace(self, ranges={**self.ranges, axis: (low, high)})

    def among(self, axis: str, values: tuple[AxisValue, ...]) -> _Known:
        return replace(self, values={**self.values, axis: values})


def simplify(decision: Decision, axes: tuple[Axis, ...]) -> Node:
    """Return `decision` as nodes that agree with it on every shape inside the envelope."""
    ranges: dict[str, Interval] = {}
    values: dict[str, tuple[AxisValue, ...]] = {}
    for axis in axes:
        if isinstance(axis, IntegerAxis):
            ranges[axis.name] = (axis.low, axis.high)
        else:
            values[axis.name] = axis.values
    return _node(decision, _Known(ranges, values))


def _node(decision: Decision, known: _Known) -> Node:
    match decision:
        case Choose(config):
            return Leaf(config)
        case Among():
            return _category(decision, known)
        case Split(AxisTerm(axis), threshold):
            return _axis(decision, axis, threshold, known)
        case Split(Cdiv(axis, by), threshold):
            # cdiv(x, by) <= t holds exactly where x <= t * by, which costs no division.
            return _axis(decision, axis, threshold * by, known)
        case Split():
            return _feature(decision, known)


def _axis(split: Split, axis: str, threshold: int, known: _Known) -> Node:
    low, high = known.ranges[axis]
    if high is not None and high <= threshold:
        return _node(split.left, known)
    if low is not None and low > threshold:
        return _node(split.right, known)
    left = _node(split.left, known.narrowed(axis, low, threshold))
    right = _node(split.right, known.narrowed(axis, threshold + 1, high))
    return cut(axis, (threshold,), (left, right))


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


def _feature(split: Split, known: _Known) -> Node:
    settled = _settled(split, known)
    if settled is not None:
        return _node(split.left if settled else split.right, known)
    yes, no = _node(split.left, known), _node(split.right, known)
    if yes == no:
        return yes
    return Ask(split.feature, split.threshold, split.denominator, yes, no)


def _settled(split: Split, known: _Known) -> bool | None:
    """Return the answer if every shape that can come here gives the same, else None."""
    if isinstance(split.feature, Ratio):
        return None
    low, high = _interval(split.feature, known)
    if high is not None and high <= split.threshold:
        return True
    if low is not None and low > split.threshold:
        return False
    return None


def _interval(feature: Feature, known: _Known) -> Interval:
    """Return bounds of `feature`; a product has some only where no factor can be negative."""
    match feature:
        case AxisTerm(axis):
            return known.ranges[axis]
        case Cdiv(axis, by):
            low, high = known.ranges[axis]
            return (
                None if low is None else -(-low // by),
                None if high is None else -(-high // by),
            )
        case Mod(_, by):
            return (0, by - 1)
        case Product(terms):
            low, high = 1, 1
            for term in terms:
                term_low, term_high = _interval(term, known)
                if term_low is None or term_low < 0:
                    return (None, None)
                low *= term_low
                high = None if high is None or term_high is None else high * term_high
            return (low, high)
        case Ratio():
            return (None, None)
