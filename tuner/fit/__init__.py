"""Fitting: from a latency table to a selector, with a figure for how good it is elsewhere.

A kind of selector is a module with `grow`, `payload` and, if it can go by a previous selector,
`kept`; and a line in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from codegen.decision import Decision, count_leaves
from codegen.selectors import Selector
from tuner.fit import bucket, constant, tree
from tuner.fit.crossing import Crossing
from tuner.fit.folds import Folds
from tuner.fit.growth import Grow, Limits
from tuner.fit.problem import problem_of
from tuner.fit.regret import noise_floor
from tuner.fit.samples import Samples
from tuner.fit.validation import Score, score_of
from tuner.table import LatencyTable

__all__ = ["KINDS", "MAX_DEPTH", "MAX_LEAVES", "Fit", "Kind", "KindName", "fit_table"]

KindName: TypeAlias = Literal["tree", "bucket", "constant"]

# Larger trees were no better on the tables in tests/data, and reviewers ask for depth 7 at most.
# Cross-validation takes fewer leaves where they do as well.
MAX_LEAVES = 64
MAX_DEPTH = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of selector: how it is grown, written in a manifest, and kept at the next fit."""

    grow: Grow
    payload: Callable[[Any, Mapping[int, int]], dict[str, Any]]
    kept: Callable[[Any, Samples, Limits, Decision], Selector] | None = None


KINDS: dict[KindName, Kind] = {
    "tree": Kind(grow=tree.grow, payload=tree.payload, kept=tree.kept),
    "bucket": Kind(grow=bucket.grow, payload=bucket.payload),
    "constant": Kind(grow=constant.grow, payload=constant.payload, kept=constant.kept),
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
        noise: the slowdown that noise alone costs, see `noise_floor`; None without a second run.
    """

    kind: KindName
    selector: Selector
    default: int
    band: float
    shapes: tuple[tuple[int, ...], ...]
    score: Score | None
    best_single: Score | None
    noise: float | None = None


def fit_table(
    table: LatencyTable,
    *,
    selector: KindName = "tree",
    max_leaves: int = MAX_LEAVES,
    max_depth: int = MAX_DEPTH,
    max_configs: int | None = None,
    previous: Decision | None = None,
) -> Fit:
    """Fit a selector to `table`, and cross-validate it.

    The same arguments give the same selector, always.

    Args:
        table: what was measured, in microseconds.
        selector: its kind.
        max_leaves: the most leaves of a tree, or cells of a bucket.
        max_depth: the most splits on the way to a leaf of a tree.
        max_configs: the most different configs to choose from, the default one of them.
        previous: what the selector that is replaced decided, with indices into `table.kept`, -1
            for a config that is not among them. Where it is as good but for noise it is kept, so
            that a second run of the same measurements changes little. The score is that of a
            fit without it.

    Raises:
        FitError: nothing was measured, or no config on every shape.
    """
    problem, kept = problem_of(table), list(table.kept)
    default = problem.default()
    limits = Limits(leaves=max_leaves, depth=max_depth)
    folds = Folds(problem, max_configs)
    kind = KINDS[selector]
    crossing = Crossing(folds, kind.grow, limits)
    best = crossing.grown().at(crossing.size(count_leaves(previous) if previous else None))
    if previous is not None and kind.kept:
        best = kind.kept(best, folds.samples(None), limits, previous)
    single = Crossing(folds, constant.grow, Limits(leaves=1, depth=0))
    return Fit(
        kind=selector,
        selector=best,
        default=default,
        band=problem.band,
        shapes=tuple(map(tuple, problem.shapes.tolist())),
        score=score_of(crossing.regret()[None], problem.weights),
        best_single=score_of(single.regret()[None], problem.weights),
        noise=noise_floor(table.latency_us[:, kept], table.repeat_latency_us[:, kept]),
    )
