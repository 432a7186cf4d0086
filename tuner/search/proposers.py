"""Proposers: which configs are asked on a shape, given what is known on all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import numpy as np

from tuner.arrays import FloatArray, IntArray
from tuner.plan import nearest_first
from tuner.records import Shape
from tuner.search.asking import Times
from tuner.search.encoding import Encoding, logs_of
from tuner.search.surrogate import Observed, Scales, Surrogate, fitted_scales

__all__ = ["ModelProposer", "Proposer", "RandomProposer", "costs_of", "spread"]

# Nobody wants to know how hopeless a config is (a factor of e**1.5); a failure counts as much.
_CEILING = 1.5
_MOST_OBSERVED = 480  # The cost grows with the cube.
_MOST_CANDIDATES = 4096
_TOP = 8  # So many of the best lend their relatives to the candidates of a larger space.
# The scales are fitted anew when so many more are known on a shape.
_REFIT = 16

# By shape, then by the index of a config: the log of the time over the best on that shape.
_Costs: TypeAlias = Mapping[Shape, Mapping[int, float]]


class Proposer(Protocol):
    """Proposes configs."""

    def propose(self, shape: Shape, times: Times, free: IntArray, count: int) -> list[int]:
        """Return up to `count` different ones of `free`, indices of configs, the likeliest first.

        What it returned before on `shape` is among `times` by now.
        """


def costs_of(times: Mapping[int, float | None]) -> dict[int, float]:
    """Return the costs of configs on one shape, by their times; None is one that failed."""
    best = min((us for us in times.values() if us is not None), default=1.0)
    return {
        config: _CEILING if us is None else min(_CEILING, float(np.log(us / best)))
        for config, us in times.items()
    }


def spread(points: FloatArray, count: int) -> list[int]:
    """Return up to `count` indices of points well spread among all (Gonzalez, 1985).

    The first is the one nearest to the middle.
    """
    if not len(points):
        return []
    found = [int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmin())]
    distance = ((points - points[found[0]]) ** 2).sum(axis=1)
    while len(found) < min(count, len(points)):
        distance[found] = -1.0
        found.append(int(distance.argmax()))
        distance = np.minimum(distance, ((points - points[found[-1]]) ** 2).sum(axis=1))
    return found


class RandomProposer:
    """Draws, each config as likely as any other."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def propose(self, shape: Shape, times: Times, free: IntArray, count: int) -> list[int]:  # noqa: ARG002 (as `Proposer`)
        """Return some at random."""
        found: list[int] = self._rng.choice(
            free, size=min(count, len(free)), replace=False
        ).tolist()
        return found


class ModelProposer:
    """Asks what a surrogate over all shapes expects to improve most."""

    def __init__(self, encoding: Encoding, seed: int) -> None:
        self._encoding = encoding
        self._rng = np.random.default_rng(seed)
        self._scales: Scales | None = None
        self._fitted: dict[Shape, int] = {}

    def propose(self, shape: Shape, times: Times, free: IntArray, count: int) -> list[int]:
        """Return those of largest expected improvement."""
        costs = {other: costs_of(known) for other, known in times.items()}
        if not any(costs.values()):
            return [int(free[i]) for i in spread(self._encoding.points[free], count)]
        observed = self._observed(shape, costs)
        known = len(costs.get(shape, ()))
        if self._scales is None or known - self._fitted.get(shape, -_REFIT) >= _REFIT:
            self._scales = fitted_scales(observed, self._encoding.column_of, self._scales)
            self._fitted[shape] = known
        surrogate = Surrogate(observed, self._scales, self._encoding.column_of)
        candidates = self._candidates(shape, costs, free)
        found = surrogate.chosen(self._as_rows(shape, 0, candidates), 0.0, count)
        return [int(candidates[i]) for i in found]

    def _observed(self, shape: Shape, costs: _Costs) -> Observed:
        """Return what is known on `shape` and on its nearest neighbours, `shape` itself last."""
        parts, left = [], _MOST_OBSERVED
        for number, other in enumerate(nearest_first(shape, [s for s in costs if costs[s]])):
            known = costs[other]
            chosen = sorted(known, key=lambda config: (known[config], config))[:left]
            rows = self._as_rows(other, number if other != shape else 0, np.array(chosen))
            rows.y[:] = [known[config] for config in chosen]
            parts.append((rows, number if other != shape else 0))
            left -= len(chosen)
            if left <= 0:
                break
        parts.reverse()
        every = [rows for rows, _ in parts]
        return Observed(
            points=np.concatenate([rows.points for rows in every]),
            shapes=np.concatenate([rows.shapes for rows in every]),
            place=np.concatenate([rows.place for rows in every]),
            y=np.concatenate([rows.y for rows in every]),
        )

    def _as_rows(self, shape: Shape, place: int, configs: IntArray) -> Observed:
        n = len(configs)
        return Observed(
            points=self._encoding.points[configs],
            shapes=np.repeat(logs_of([shape]), n, axis=0),
            place=np.full(n, place, dtype=np.int64),
            y=np.zeros(n),
        )

    def _candidates(self, shape: Shape, costs: _Costs, free: IntArray) -> IntArray:
        """Return `free`, or of a large space some at random and the relatives of the best."""
        if len(free) <= _MOST_CANDIDATES:
            return free
        known = costs.get(shape) or next(costs[s] for s in nearest_first(shape, costs) if costs[s])
        best = sorted(known, key=lambda config: (known[config], config))[:_TOP]
        ranks = self._encoding.ranks
        near = np.zeros(len(free), dtype=bool)
        for one in best:
            near |= (ranks[free] != ranks[one]).sum(axis=1) <= 2
        some = self._rng.choice(free, size=_MOST_CANDIDATES // 2, replace=False)
        related = free[near][: _MOST_CANDIDATES // 2]
        return np.unique(np.concatenate([some, related]))
