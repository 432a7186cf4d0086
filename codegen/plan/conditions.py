"""Features as Python expressions."""

from __future__ import annotations

from collections.abc import Mapping

from codegen.features import AxisTerm, Cdiv, Feature, Mod, Product, Ratio, Term
from codegen.grid import Blocks
from codegen.literals import literal

__all__ = ["asks", "launched", "spelled"]


def asks(feature: Feature, threshold: int, denominator: int, names: Mapping[str, str]) -> str:
    """Return the condition `feature <= threshold / denominator`, in integers.

    A ratio is cross-multiplied: `M / N <= 3 / 2` is asked as `2 * M <= 3 * N`.
    """
    if isinstance(feature, Ratio):
        left = _scaled(denominator, feature.numerator, names)
        return f"{left} <= {_scaled(threshold, feature.denominator, names)}"
    if isinstance(feature, Mod) and threshold == 0:
        return f"{spelled(feature, names)} == 0"
    return f"{spelled(feature, names)} <= {literal(threshold)}"


def spelled(feature: Term | Product, names: Mapping[str, str]) -> str:
    """Return `feature` as an expression of the locals `names`."""
    match feature:
        case AxisTerm(axis):
            return names[axis]
        case Cdiv(axis, by):
            return names[axis] if by == 1 else f"({names[axis]} + {by - 1}) // {by}"
        case Mod(axis, by):
            return f"{names[axis]} % {by}"
        case Product(terms):
            return " * ".join(_factor(term, names) for term in terms)


def launched(blocks: tuple[Blocks, ...], names: Mapping[str, str]) -> str:
    """Return how many programs are launched, as an expression of `names`."""
    return " * ".join(_covered(dim, names) for dim in blocks)


def _covered(dim: Blocks, names: Mapping[str, str]) -> str:
    if not dim.axes:
        return literal(-(-dim.times // dim.by))
    factors = [*([literal(dim.times)] if dim.times > 1 else []), *(names[a] for a in dim.axes)]
    product = " * ".join(factors)
    return product if dim.by == 1 else f"(({product} + {dim.by - 1}) // {dim.by})"


def _factor(term: Term, names: Mapping[str, str]) -> str:
    text = spelled(term, names)
    return text if text.isidentifier() else f"({text})"


def _scaled(by: int, side: Term | Product, names: Mapping[str, str]) -> str:
    if by == 0:
        return "0"
    terms = side.terms if isinstance(side, Product) else (side,)
    factors = " * ".join(_factor(term, names) for term in terms)
    return factors if by == 1 else f"{literal(by)} * {factors}"
