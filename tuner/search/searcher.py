"""The search: batch after batch on shape after shape, the winners of one tried on the next.

What is asked for follows from the space, the shapes, the settings, and the answers so far. Given
the same answers again, from what is kept of an earlier run, it asks for the same again: so a
search that was cut short goes on where it was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from codegen.config import Config
from tuner.arrays import IntArray
from tuner.plan import nearest_first, spread_order
from tuner.records import Shape
from tuner.search.asking import Ask
from tuner.search.proposers import Proposer, costs_of

__all__ = ["BATCH", "Searcher"]

# Asked at once: fewer learn faster, more compile side by side.
BATCH = 8
_LENDERS = 4  # Neighbours whose winners are tried first.
_LENT_LATER = 2  # And so many of them in each later batch.
# Winners that are measured on all shapes in the end. A selector needs configs that are known
# wherever it may choose them; ten have always been enough to be near the best on every shape.
_SHARED = 10
_GOOD = 0.02  # A config so near to the best serves a shape as well.


class Searcher:
    """Chooses configs: on each shape up to `trials`, the last of them the common winners."""

    def __init__(
        self,
        configs: Sequence[Config],
        allowed: Mapping[Shape, Collection[str]],
        proposer: Proposer,
        *,
        trials: int,
        batch: int = BATCH,
    ) -> None:
        """Begin anew.

        Args:
            configs: of the space, each once.
            allowed: by shape, the ids of those that may be used there.
            proposer: one that has not been asked anything.
            trials: the most configs that are asked for on a shape.
            batch: the most that are asked for at once on a shape.
        """
        self._configs, self._batch = tuple(configs), batch
        self._index = {config.id: i for i, config in enumerate(self._configs)}
        self._allowed = {
            shape: np.array(sorted(self._index[name] for name in names), dtype=np.int64)
            for shape, names in allowed.items()
        }
        self._order = spread_order(tuple(allowed))
        self._proposer = proposer
        self._times: dict[Shape, dict[int, float | None]] = {shape: {} for shape in self._order}
        self._rounds = dict.fromkeys(self._order, 0)
        self._out: set[int] = set()
        self._shared: list[int] | None = None
        self._trials = {s: min(trials, len(found)) for s, found in self._allowed.items()}
        # Where all can be measured, or nobody else has winners, there is nothing to be kept back.
        kept = min(_SHARED, trials // 4) if len(allowed) > 1 else 0
        self._first = {
            s: most if most == len(self._allowed[s]) else most - kept
            for s, most in self._trials.items()
        }

    def left(self, shapes: Collection[Shape]) -> int:
        """Return how many configs will be asked for yet on `shapes`, at most."""
        return sum(self._due(shape, self._trials) for shape in shapes)

    def next(self, shapes: Collection[Shape]) -> tuple[Ask, ...]:
        """Return what is to be measured next, of `shapes` alone; empty when nothing is."""
        live = [shape for shape in self._order if shape in shapes]
        due = [shape for shape in live if self._due(shape, self._first)]
        if due:
            shape = min(due, key=lambda one: self._rounds[one])
            self._rounds[shape] += 1
            count = min(self._batch, self._due(shape, self._first))
            return self._asks({shape: self._chosen(shape, count)})
        if self._shared is None:
            self._shared = _cover([costs_of(self._times[shape]) for shape in live])
        return self._asks(self._missing(live, self._shared)) or self._asks(self._safe(live))

    def tell(self, ask: Ask, times: Mapping[str, float | None], out: Collection[str]) -> None:
        """Take the answers to `ask`, as `Chooser.tell` has it."""
        for config in ask.configs:
            self._times[ask.shape][self._index[config.id]] = times.get(config.id)
        self._out |= {self._index[name] for name in out}

    def _asks(self, chosen: Mapping[Shape, Sequence[int]]) -> tuple[Ask, ...]:
        return tuple(
            Ask(shape=shape, configs=tuple(self._configs[i] for i in found))
            for shape, found in chosen.items()
            if found
        )

    def _due(self, shape: Shape, most: Mapping[Shape, int]) -> int:
        left = most[shape] - len(self._times[shape])
        return max(0, min(left, len(self._free(shape)))) if left > 0 else 0

    def _free(self, shape: Shape) -> IntArray:
        """Return what may be asked for on `shape`."""
        taken = {*self._times[shape], *self._out}
        found = self._allowed[shape]
        return found[~np.isin(found, list(taken))] if taken else found

    # ---- First, shape by shape ------------------------------------------------------------------

    def _chosen(self, shape: Shape, count: int) -> list[int]:
        """Return what wins on the neighbours, then what is proposed."""
        free = self._free(shape)
        first = self._lent(shape, {*free.tolist()})[:count]
        more, rest = count - len(first), free[~np.isin(free, first)]
        if not more:
            return first
        return first + self._proposer.propose(shape, self._times, rest, more)

    def _lent(self, shape: Shape, free: set[int]) -> list[int]:
        """Return which of `free` were the fastest on the nearest shapes; at first on all, too."""
        costs = {
            other: costs_of(known)
            for other, known in self._times.items()
            if other != shape and any(us is not None for us in known.values())
        }
        near = nearest_first(shape, costs)[:_LENDERS]
        winners = [min(costs[s], key=lambda i, c=costs[s]: (c[i], i)) for s in near]  # type: ignore[misc]
        if self._times[shape]:
            return [one for one in dict.fromkeys(winners) if one in free][:_LENT_LATER]
        # However early it ends, there is to be one config that is known wherever any is.
        common = self._everywhere(list(costs))
        anchor = min(common, key=lambda i: (sum(c[i] for c in costs.values()), i), default=None)
        first = winners if anchor is None else [anchor, *winners]
        return [one for one in dict.fromkeys(first) if one in free]

    def _everywhere(self, shapes: Sequence[Shape]) -> set[int]:
        """Return which configs were timed on all of `shapes`."""
        timed = [{i for i, us in self._times[s].items() if us is not None} for s in shapes]
        return set.intersection(*timed) - self._out if timed else set()

    # ---- Then the common winners everywhere -----------------------------------------------------

    def _missing(self, live: Sequence[Shape], configs: Sequence[int]) -> dict[Shape, list[int]]:
        """Return which of `configs` are to be asked for on which shapes yet."""
        found = {}
        for shape in live:
            free = {*self._free(shape).tolist()}
            left = self._trials[shape] - len(self._times[shape])
            found[shape] = [i for i in configs if i in free][: max(0, left)]
        return found

    def _safe(self, live: Sequence[Shape]) -> dict[Shape, list[int]]:
        """Return where to measure one more, while no config is known on all shapes."""
        if self._everywhere(live):
            return {}
        known = {i for shape in live for i in self._times[shape]}
        failed = {i for s in live for i, us in self._times[s].items() if us is None}
        best: dict[Shape, list[int]] = {}
        for one in sorted(known - failed - self._out):
            lacking = [shape for shape in live if one not in self._times[shape]]
            found = self._missing(lacking, [one])
            if all(found.values()) and (not best or len(found) < len(best)):
                best = found
        return best


def _cover(costs: Sequence[dict[int, float]]) -> list[int]:
    """Return few configs, one near the best on each shape while there are not too many of them.

    Greedy cover (Chvatal, 1979): always the one that is good on most shapes not served yet.
    """
    good = [{i for i, cost in known.items() if cost <= _GOOD} for known in costs]
    found: list[int] = []
    while len(found) < _SHARED and any(good):
        serves: dict[int, int] = {}
        for names in good:
            for one in names:
                serves[one] = serves.get(one, 0) + 1
        best = min(serves, key=lambda i: (-serves[i], i))
        found.append(best)
        good = [names for names in good if best not in names]
    return found
