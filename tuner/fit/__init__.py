"""Fitting: from a latency table to a selector, with a figure for how good it is elsewhere.

A kind of selector is a module with `grow` and `payload`, and a line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from codegen.selectors import Selector
from tuner.fit import bucket, constant, tree
from tuner.fit.crossing import Crossing
from tuner.fit.folds import TURNS, Folds
from tuner.fit.growth import Grow, Limits
from tuner.fit.problem import Problem, problem_of
from tuner.fit.validation import Score, score_of
from tuner.table import LatencyTable

__all__ = ["KINDS", "MAX_DEPTH", "MAX_LEAVES", "Fit", "Kind", "KindName", "fit_table"]

KindName: TypeAlias = Literal["tree", "bucket", "constant"]

# Larger trees were no better on the tables in tests/data, and reviewers ask for depth 7 at most.
MAX_LEAVES = 64
MAX_DEPTH = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of selector: how it is grown, and how the manifest writes it."""

    grow: Grow
    payload: Callable[[Any, Mapping[int, int]], dict[str, Any]]


KINDS: dict[KindName, Kind] = {
    "tree": Kind(grow=tree.grow, payload=tree.payload),
    "bucket": Kind(grow=bucket.grow, payload=bucket.payload),
    "constant": Kind(grow=constant.grow, payload=constant.payload),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A selector, and how good its like is on shapes left out in turn.

    Attributes:
        selector: chooses an index into `table.kept`.
        default: such an index too, of the config that is safe everywhere.
        band: a difference in log latency below which two configs are tied.
        shapes: the shapes that it was fitted to, those with a measurement.
        score: of selectors of this kind, None if there is a single shape or all failed.
        best_single: likewise, of the best single config.
    """

    kind: KindName
    selector: Selector
    default: int
    band: float
    shapes: tuple[tuple[int, ...], ...]
    score: Score | None
    best_single: Score | None


def fit_table(
    table: LatencyTable,
    *,
    selector: KindName = "tree",
    max_leaves: int = MAX_LEAVES,
    max_depth: int = MAX_DEPTH,
) -> Fit:
    """Fit a selector to `table`, and cross-validate it.

    The same table gives the same selector, always.

    Args:
        table: what was measured, in microseconds.
        selector: its kind.
        max_leaves: the most leaves of a tree, or cells of a bucket; how many there are is chosen
            by cross-validation.
        max_depth: the most splits on the way to a leaf of a tree.

    Raises:
        FitError: nothing was measured, or no config on every shape.
    """
    problem = problem_of(table)
    default = problem.default()
    limits = Limits(leaves=max_leaves, depth=max_depth)
    turns = [Folds(problem, turn) for turn in range(TURNS)]
    crossings = [Crossing(folds, KINDS[selector].grow, limits) for folds in turns]
    singles = [Crossing(folds, constant.grow, Limits(leaves=1, depth=0)) for folds in turns]
    return Fit(
        kind=selector,
        selector=crossings[0].selector(),
        default=default,
        band=problem.band,
        shapes=tuple(map(tuple, problem.shapes.tolist())),
        score=_score(crossings, problem),
        best_single=_score(singles, problem),
    )


def _score(crossings: Sequence[Crossing], problem: Problem) -> Score | None:
    """Return the score over several ways to leave shapes out: one way alone is off by chance."""
    regret = np.array([crossing.regret() for crossing in crossings])
    return score_of(regret, problem.weights)
