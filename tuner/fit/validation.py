"""Validation: regrets on shapes that were left out, summed up as slowdowns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tuner.arrays import FloatArray, IntArray

__all__ = ["Score", "score_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Slowdowns over the best config of each shape, as ratios: 1.0 is the oracle.

    `failed` shapes got, at least once, a config that was not measured on them; the others,
    `shapes`, are scored.
    """

    shapes: int
    failed: int
    geomean: float
    p95: float
    worst: float


def score_of(regret: FloatArray, weights: IntArray) -> Score | None:
    """Return the score of the regrets; None if there is no shape to score.

    Args:
        regret: float64 (n_times, n_shapes), each shape left out so many times; NaN for failed.
        weights: int64 (n_shapes,), how much a shape counts in the geometric mean.
    """
    failed = np.isnan(regret).sum(axis=0) > 0
    scored = regret[:, ~failed]
    if not scored.size:
        return None
    return Score(
        shapes=scored.shape[1],
        failed=int(failed.sum()),
        geomean=float(np.exp(np.average(scored.mean(axis=0), weights=weights[~failed]))),
        p95=float(np.exp(np.percentile(scored, 95))),
        worst=float(np.exp(scored.max())),
    )
