"""Fit a tree: best-first growth by regret (Shi, 2007: Best-first decision tree learning)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from codegen.decision import Choose, Decision, Split, count_leaves, depth_of
from codegen.errors import InternalError
from codegen.features import AxisTerm, Feature, Mod, Product
from codegen.selectors.tree import Tree
from tuner.arrays import IntArray
from tuner.fit.cover import cover
from tuner.fit.growth import Limits
from tuner.fit.nodes import Node, costs_at, decision_of, leaves_of, nodes_of
from tuner.fit.samples import UNIT, Evidence, Samples
from tuner.fit.splits import Column, Cut, best_cut, columns

__all__ = ["grow", "kept", "payload"]

# A previous tree is kept if it is tied with a new one: it costs at most so many bands more, on the
# mean of all, and a new one is judged by the noise that it was fitted to.
_LOYALTY = 1.0


@dataclass(slots=True, eq=False)
class _Node:
    """A leaf with the best cut of its samples, until it is `parted` by it."""

    evidence: Evidence
    depth: int
    cut: Cut | None
    parted: _Parted | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Parted:
    """What became of a leaf at `place` in the order of growth."""

    place: int
    cut: Cut
    left: _Node
    right: _Node


@dataclass(frozen=True, slots=True)
class TreeGrowth:
    """A tree whose nodes remember when they were parted."""

    samples: Samples
    root: _Node

    def at(self, leaves: int) -> Tree:
        """Return the tree as it was at `leaves` leaves, with few configs and no equal siblings."""
        found = [leaf.evidence for leaf in _leaves(self.root, leaves)]
        return Tree(_decision(self.root, leaves, iter(cover(found, self.samples))))


def grow(samples: Samples, limits: Limits) -> TreeGrowth:
    """Return the tree grown on `samples`: always the leaf is split that gains most by it.

    It ends at `limits`, or when no split gains more than noise could feign.
    """
    features = columns(samples)
    root = _node(samples, features, np.arange(len(samples.sizes)), 0, limits)
    waiting = [(-cut.gain, 0, cut, root)] if (cut := root.cut) else []
    for place in range(limits.leaves - 1):
        if not waiting:
            break
        _, _, cut, node = heappop(waiting)
        left = _node(samples, features, cut.left, node.depth + 1, limits)
        right = _node(samples, features, cut.right, node.depth + 1, limits)
        node.parted = _Parted(place=place, cut=cut, left=left, right=right)
        for number, side in enumerate((left, right), 2 * place + 1):
            if side.cut:
                # The number is its own: equal gains go to the older leaf, and no more is compared.
                heappush(waiting, (-side.cut.gain, number, side.cut, side))
    return TreeGrowth(samples, root)


def kept(fresh: Tree, samples: Samples, limits: Limits, previous: Decision) -> Tree:
    """Return the tree `previous` if it is as good as `fresh` but for noise, else `fresh`.

    Of one that is kept only those leaves change their config where it is not acceptable any more.
    """
    features = columns(samples)
    root = nodes_of(previous, features)
    if root is None:
        return fresh
    found = _refreshed(root, samples)
    noise = round(_LOYALTY * UNIT * samples.band * int(samples.weight.sum()))
    as_good = _cost(found, samples, features) <= _cost(fresh.root, samples, features) + noise
    within = depth_of(found) <= limits.depth and count_leaves(found) <= limits.leaves
    return Tree(found) if as_good and within else fresh


def payload(tree: Tree, number: Mapping[int, int]) -> dict[str, Any]:
    """Return the manifest's payload; `number` is the place of each config in `config_ids`."""
    return {"root": _field(tree.root, number)}


def _node(
    samples: Samples, features: tuple[Column, ...], rows: IntArray, depth: int, limits: Limits
) -> _Node:
    cut = best_cut(samples, features, rows) if depth < limits.depth else None
    return _Node(samples.evidence(rows), depth, cut)


def _parted(node: _Node, leaves: int) -> _Parted | None:
    """Return how `node` was parted when the tree had `leaves` leaves; None if it was a leaf."""
    return node.parted if node.parted and node.parted.place < leaves - 1 else None


def _leaves(node: _Node, leaves: int) -> Iterator[_Node]:
    """Yield the leaves, from left to right, of the tree when it had `leaves` of them."""
    if parted := _parted(node, leaves):
        yield from _leaves(parted.left, leaves)
        yield from _leaves(parted.right, leaves)
    else:
        yield node


def _decision(node: _Node, leaves: int, configs: Iterator[int]) -> Decision:
    """Return the decision below `node`; `configs` are those of the leaves from left to right.

    Siblings that choose alike are merged.
    """
    parted = _parted(node, leaves)
    if parted is None:
        return Choose(next(configs))
    left = _decision(parted.left, leaves, configs)
    right = _decision(parted.right, leaves, configs)
    feature = parted.cut.column.feature
    return left if left == right else Split(feature, parted.cut.threshold, left, right)


def _refreshed(root: Node, samples: Samples) -> Decision:
    """Return the decision of `root`, whose leaves keep the config that they have if they may."""
    leaves = list(leaves_of(root, np.arange(len(samples.sizes))))
    evidence = [samples.evidence(rows) for _, rows in leaves]
    return decision_of(root, iter(cover(evidence, samples, [leaf.config for leaf, _ in leaves])))


def _cost(decision: Decision, samples: Samples, features: tuple[Column, ...]) -> int:
    root = nodes_of(decision, features)
    if root is None:
        raise InternalError(f"a fitted tree asks what it was not grown on: {decision}")
    return int(costs_at(samples.allowed_cost(), root, np.arange(len(samples.sizes))).sum())


def _field(node: Decision, number: Mapping[int, int]) -> dict[str, Any]:
    match node:
        case Choose(config):
            return {"config": number[config]}
        case Split(feature, threshold, left, right):
            sides = {"left": _field(left, number), "right": _field(right, number)}
            return {"feature": _feature(feature), "threshold": threshold, **sides}
    raise InternalError(f"a fitted tree holds {node}")


def _feature(feature: Feature) -> dict[str, Any]:
    match feature:
        case AxisTerm(axis):
            return {"axis": axis}
        case Mod(axis, by):
            return {"mod": axis, "by": by}
        case Product(terms):
            return {"product": [_feature(term) for term in terms]}
    raise InternalError(f"a fitted tree asks about {feature}")
