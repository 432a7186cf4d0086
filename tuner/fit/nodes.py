"""Nodes: a tree while it is being grown, refined and pruned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from codegen.decision import Choose, Decision, Split
from codegen.features import AxisTerm, Feature, Product
from tuner.arrays import IntArray
from tuner.fit.splits import Column

__all__ = [
    "Leaf",
    "Node",
    "Parting",
    "costs_at",
    "decision_of",
    "leaves_of",
    "nodes_of",
    "routed",
]


@dataclass(slots=True, eq=False)
class Leaf:
    """An end: the index of a config, None for one that the table does not have."""

    config: int | None


@dataclass(slots=True, eq=False)
class Parting:
    """`column <= threshold` leads left, else right."""

    column: Column
    threshold: int
    left: Node
    right: Node


Node: TypeAlias = Leaf | Parting


def leaves_of(node: Node, rows: IntArray) -> Iterator[tuple[Leaf, IntArray]]:
    """Yield the leaves below `node` from left to right, each with those of the `rows` it gets."""
    if isinstance(node, Leaf):
        yield node, rows
        return
    left, right = routed(node, rows)
    yield from leaves_of(node.left, left)
    yield from leaves_of(node.right, right)


def routed(node: Parting, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return which of the samples `rows` go left at `node`, and which right."""
    left = node.column.values[rows] <= node.threshold
    return rows[left], rows[~left]


def decision_of(node: Node, configs: Iterator[int]) -> Decision:
    """Return the decision that `node` is; `configs` are those of the leaves from left to right.

    Siblings that choose alike are merged.
    """
    if isinstance(node, Leaf):
        return Choose(next(configs))
    left, right = decision_of(node.left, configs), decision_of(node.right, configs)
    return left if left == right else Split(node.column.feature, node.threshold, left, right)


def nodes_of(decision: Decision, columns: tuple[Column, ...]) -> Node | None:
    """Return the nodes of `decision`; None where it asks what no tree is fitted to."""
    if isinstance(decision, Choose):
        return Leaf(decision.config if decision.config >= 0 else None)
    if not isinstance(decision, Split):
        return None
    column = next((each for each in columns if _same(each.feature, decision.feature)), None)
    left, right = nodes_of(decision.left, columns), nodes_of(decision.right, columns)
    if column is None or left is None or right is None:
        return None
    return Parting(column, decision.threshold, left, right)


def _same(one: Feature, other: Feature) -> bool:
    return one == other or _axes(one) == _axes(other) is not None


def _axes(feature: Feature) -> tuple[str, ...] | None:
    """Return the axes that `feature` is the product of, sorted; None if it is no such thing."""
    match feature:
        case AxisTerm(axis):
            return (axis,)
        case Product(terms) if all(isinstance(term, AxisTerm) for term in terms):
            return tuple(sorted(term.axis for term in terms))
    return None


def costs_at(cost: IntArray, node: Node, rows: IntArray) -> IntArray:
    """Return what each of the samples `rows` costs if it goes to `node`, (n_rows,)."""
    if isinstance(node, Leaf):
        here: IntArray = cost[rows, node.config or 0]
        return here
    left = node.column.values[rows] <= node.threshold
    found = np.empty(len(rows), dtype=np.int64)
    found[left] = costs_at(cost, node.left, rows[left])
    found[~left] = costs_at(cost, node.right, rows[~left])
    return found
