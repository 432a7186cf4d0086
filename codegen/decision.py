"""Decisions: the one small form that every selector is lowered to before code is planned.

A decision is a tree of questions about a shape. `Choose` names a config by its index among the
policy's configs; `Split` asks whether a feature is at most a threshold; `Among` whether a category
is one of some values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from codegen.axes import AxisValue
from codegen.features import Feature

__all__ = ["Among", "Choose", "Decision", "Split", "count_leaves", "depth_of"]


@dataclass(frozen=True, slots=True)
class Choose:
    """A leaf: the index of a config."""

    config: int


@dataclass(frozen=True, slots=True)
class Split:
    """`feature <= threshold / denominator` leads left, else right.

    `denominator` is 1 unless the feature is a ratio.
    """

    feature: Feature
    threshold: int
    left: Decision
    right: Decision
    denominator: int = 1


@dataclass(frozen=True, slots=True)
class Among:
    """A category that is one of `values` leads left, else right."""

    axis: str
    values: tuple[AxisValue, ...]
    left: Decision
    right: Decision


Decision: TypeAlias = Choose | Split | Among


def depth_of(decision: Decision) -> int:
    """Return the most questions asked on a way to a leaf; a lone leaf has depth 0."""
    if isinstance(decision, Choose):
        return 0
    return 1 + max(depth_of(decision.left), depth_of(decision.right))


def count_leaves(decision: Decision) -> int:
    """Return how many leaves `decision` has."""
    if isinstance(decision, Choose):
        return 1
    return count_leaves(decision.left) + count_leaves(decision.right)
