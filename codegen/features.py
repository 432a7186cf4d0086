"""Features: the closed grammar of integers that a split may ask about.

    term    = axis | cdiv(axis, by) | axis % by
    feature = term | term * term * … | feature / feature

All arithmetic is on integers of any size. A ratio is never divided: a split on one compares
`numerator * denominator' <= threshold * denominator` (see `Split`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

__all__ = ["AxisTerm", "Cdiv", "Feature", "Mod", "Product", "Ratio", "Term", "axes_of", "value_of"]


@dataclass(frozen=True, slots=True)
class AxisTerm:
    """The axis itself."""

    axis: str


@dataclass(frozen=True, slots=True)
class Cdiv:
    """How many blocks of `by` cover the axis: its quotient rounded up."""

    axis: str
    by: int


@dataclass(frozen=True, slots=True)
class Mod:
    """The remainder of the axis by `by`: 0 when aligned."""

    axis: str
    by: int


Term: TypeAlias = AxisTerm | Cdiv | Mod


@dataclass(frozen=True, slots=True)
class Product:
    """Terms multiplied, such as a count of tiles."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Ratio:
    """One feature over another, such as an aspect ratio."""

    numerator: Term | Product
    denominator: Term | Product


Feature: TypeAlias = Term | Product | Ratio


def value_of(feature: Term | Product, sizes: Mapping[str, int]) -> int:
    """Return what `feature` is at the axis sizes `sizes`."""
    match feature:
        case AxisTerm(axis):
            return sizes[axis]
        case Cdiv(axis, by):
            return -(-sizes[axis] // by)
        case Mod(axis, by):
            return sizes[axis] % by
        case Product(terms):
            return prod(value_of(term, sizes) for term in terms)


def axes_of(feature: Feature) -> tuple[str, ...]:
    """Return the axes that `feature` reads, in order, each once."""
    match feature:
        case Product(terms):
            names = [term.axis for term in terms]
        case Ratio(numerator, denominator):
            names = [*axes_of(numerator), *axes_of(denominator)]
        case _:
            names = [feature.axis]
    return tuple(dict.fromkeys(names))
