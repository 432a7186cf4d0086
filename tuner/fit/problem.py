"""The problem: the part of a table that a selector is fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from codegen.config import Config
from tuner.arrays import BoolArray, FloatArray, IntArray
from tuner.errors import FitError
from tuner.fit.regret import log_regret, tie_band
from tuner.table import LatencyTable

__all__ = ["Problem", "problem_of"]

# A shape that counts a thousand times as much as another decides alone.
_HEAVIEST = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """Shapes, and the regret of each config on each of them.

    Attributes:
        configs: those that are kept, in the order of the table.
        shapes: int64 (n_shapes, n_axes).
        regret: float64 (n_shapes, n_configs), NaN where a config was not measured.
        untried: bool (n_shapes, n_configs), where it was not because nobody tried; else it failed.
        weights: int64 (n_shapes,), how much a shape counts, 1 for those that count least.
        rank: int64 (n_configs,), 0 for the simplest config: of two that are tied, the one with
            fewer warps, then fewer stages, then the smaller id, is preferred.
        band: a difference in regret below which two configs are tied.
    """

    axis_names: tuple[str, ...]
    configs: tuple[Config, ...]
    shapes: IntArray
    regret: FloatArray
    untried: BoolArray
    weights: IntArray
    rank: IntArray
    band: float

    def of_shapes(self, rows: Sequence[int] | IntArray) -> Problem:
        """Return the same problem for some of the shapes, by index."""
        return Problem(
            axis_names=self.axis_names,
            configs=self.configs,
            shapes=self.shapes[rows],
            regret=self.regret[rows],
            untried=self.untried[rows],
            weights=self.weights[rows],
            rank=self.rank,
            band=self.band,
        )

    def default(self) -> int:
        """Return the config that is safe everywhere: measured on each shape, least worst slowdown.

        Ties go to the smaller weighted mean of regret, then to the smaller index.

        Raises:
            FitError: no config was measured on every shape.
        """
        covers = (~np.isnan(self.regret)).sum(axis=0)
        everywhere = np.flatnonzero(covers == len(self.shapes)).tolist()
        if not everywhere:
            best = int(covers.argmax())
            raise FitError(
                f"no config was measured on all {len(self.shapes)} shapes, so that none can be the "
                f"default; {self.configs[best].id} covers most, {covers[best]}",
                where="latency_us",
                remedy="measure one that runs everywhere, or leave out the shapes it fails on",
            )
        worst = self.regret.max(axis=0).round(9)
        mean = np.average(self.regret, axis=0, weights=self.weights).round(9)
        best, *_ = sorted(everywhere, key=lambda config: (worst[config], mean[config], config))
        return int(best)


def problem_of(table: LatencyTable) -> Problem:
    """Return the problem that `table` poses; its configs are those of `table.kept`, in order.

    A shape on which nothing was measured says nothing, and is left out.

    Raises:
        FitError: nothing was measured at all.
    """
    kept = list(table.kept)
    if not kept:
        raise FitError(
            f"all {len(table.configs)} configs are rejected or without a measurement",
            where=table.file,
            remedy="measure one that runs",
        )
    latency = table.latency_us[:, kept]
    rows = np.flatnonzero(~np.isnan(latency).all(axis=1))
    return Problem(
        axis_names=table.axis_names,
        configs=tuple(table.configs[i] for i in kept),
        shapes=table.shapes[rows],
        regret=log_regret(latency[rows]),
        untried=table.untried[:, kept][rows],
        weights=_whole(table.weights[rows]),
        rank=_ranks([table.configs[i] for i in kept]),
        band=tie_band(latency, table.repeat_latency_us[:, kept]),
    )


def _whole(weights: FloatArray) -> IntArray:
    """Return `weights` relative to the least of them, in whole numbers of 1 to 1,000."""
    relative: IntArray = np.rint(weights / weights.min()).clip(max=_HEAVIEST).astype(np.int64)
    return relative


def _ranks(configs: Sequence[Config]) -> IntArray:
    order = sorted(range(len(configs)), key=lambda i: _simplicity(configs[i]))
    ranks = np.empty(len(configs), dtype=np.int64)
    ranks[order] = np.arange(len(configs))
    return ranks


def _simplicity(config: Config) -> tuple[int, int, str]:
    return config.num_warps or 0, config.num_stages or 0, config.id
