"""Adaptive measuring: all configs on some shapes, on the others those that may be best there.

The shapes that come next are those on which what is known says least which config is best
(uncertainty sampling: Lewis and Gale, 1994); the teacher that the selector is fitted with is
asked. It ends when it is sure of the rest, or nothing is left.

Like the other searches it goes by the answers alone, and asks for the same again when it is given
the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from codegen.config import Config
from tuner.arrays import FloatArray
from tuner.fit.problem import Problem
from tuner.fit.regret import DEFAULT_BAND, log_regret
from tuner.fit.teacher import Teacher
from tuner.plan import spread_order
from tuner.records import Shape
from tuner.search.asking import Ask

__all__ = ["AdaptiveSearcher"]

# All configs are measured on this part of the shapes, and on so many at least.
_FIRST, _FIRST_LEAST = 7, 12
_ROUNDS = 6  # In so many parts come the others.
_CONTENDERS = 5
# A config is a contender by what it costs, less this part of the standard deviation.
_HOPE = 0.5
# What going by the teacher is feared to cost on a shape, at which it is sure enough.
_SURE = 0.01


class AdaptiveSearcher:
    """Chooses shapes, and configs on them."""

    def __init__(self, configs: Sequence[Config], allowed: Mapping[Shape, Collection[str]]) -> None:
        """Begin anew.

        Args:
            configs: of the space, each once.
            allowed: by shape, the ids of those that may be used there.
        """
        self._configs = tuple(configs)
        self._index = {config.id: i for i, config in enumerate(self._configs)}
        self._allowed = {
            shape: frozenset(self._index[name] for name in names)
            for shape, names in allowed.items()
        }
        self._order = spread_order(tuple(allowed))
        self._times: dict[Shape, dict[int, float | None]] = {}
        self._out: set[int] = set()
        first = max(_FIRST_LEAST, len(self._order) // _FIRST)
        self._first = self._order[:first]
        self._batch = -(-max(0, len(self._order) - first) // _ROUNDS)
        self._done = False

    def left(self, shapes: Collection[Shape]) -> int:
        """Return how many configs will be asked for yet on `shapes`, at most."""
        if self._done:
            return 0
        new = [shape for shape in shapes if shape not in self._times]
        return sum(self._most(shape) for shape in new)

    def next(self, shapes: Collection[Shape]) -> tuple[Ask, ...]:
        """Return what is to be measured next, of `shapes` alone; empty when nothing is."""
        first = [shape for shape in self._first if shape in shapes and shape not in self._times]
        if first:
            return self._asks({shape: self._free(shape) for shape in first})
        rest = [shape for shape in self._order if shape in shapes and shape not in self._times]
        if rest and not self._done and self._known(shapes):
            found = self._asks(self._doubtful(rest, self._known(shapes)))
            if found:
                return found
        self._done = True
        return self._asks(self._safe(self._known(shapes)))

    def tell(self, ask: Ask, times: Mapping[str, float | None], out: Collection[str]) -> None:
        """Take the answers to `ask`, as `Chooser.tell` has it."""
        known = self._times.setdefault(ask.shape, {})
        for config in ask.configs:
            known[self._index[config.id]] = times.get(config.id)
        self._out |= {self._index[name] for name in out}

    def _most(self, shape: Shape) -> int:
        free = len(self._free(shape))
        return free if shape in self._first else min(free, _CONTENDERS + 1)

    def _free(self, shape: Shape) -> list[int]:
        """Return what may be asked for on `shape`, ascending."""
        return sorted(self._allowed[shape] - self._out - self._times.get(shape, {}).keys())

    def _asks(self, chosen: Mapping[Shape, Sequence[int]]) -> tuple[Ask, ...]:
        return tuple(
            Ask(shape=shape, configs=tuple(self._configs[i] for i in found))
            for shape, found in chosen.items()
            if found
        )

    def _known(self, shapes: Collection[Shape]) -> list[Shape]:
        """Return the shapes on which anything was timed."""
        return [
            shape
            for shape in self._order
            if shape in shapes and any(us is not None for us in self._times.get(shape, {}).values())
        ]

    # ---- Which shapes, and what on them ---------------------------------------------------------

    def _doubtful(self, rest: Sequence[Shape], known: Sequence[Shape]) -> dict[Shape, list[int]]:
        """Return the contenders on those of `rest` where most is in doubt; none if nothing is."""
        columns = [i for i in range(len(self._configs)) if self._is_alive(i, known)]
        if not columns:
            return {}
        teacher = Teacher(self._problem(known, columns))
        expected, variance = teacher.regret(np.array(rest, dtype=np.int64))
        spread = np.sqrt(variance)
        fear = (expected + spread).min(axis=1).round(6)
        if fear.mean() < _SURE:
            return {}
        worst_first = np.argsort(-fear, kind="stable")[: self._batch].tolist()
        safe = self._safest(known)
        hope = (expected - _HOPE * spread).round(6)
        found = {}
        for row in worst_first:
            free = {*self._free(rest[row])}
            order = [columns[i] for i in np.argsort(hope[row], kind="stable").tolist()]
            chosen = [config for config in order if config in free][:_CONTENDERS]
            found[rest[row]] = chosen + [one for one in safe if one in free - {*chosen}]
        return found

    def _is_alive(self, config: int, known: Sequence[Shape]) -> bool:
        timed = any(self._times[shape].get(config) is not None for shape in known)
        return timed and config not in self._out

    def _problem(self, known: Sequence[Shape], columns: Sequence[int]) -> Problem:
        """Return what is known as what a selector is fitted to."""
        us = np.full((len(known), len(columns)), np.nan)
        untried = np.zeros(us.shape, dtype=np.bool_)
        for row, shape in enumerate(known):
            times = self._times[shape]
            for column, config in enumerate(columns):
                untried[row, column] = config not in times and config in self._allowed[shape]
                us[row, column] = times.get(config) or np.nan
        return Problem(
            axis_names=tuple(f"axis{i}" for i in range(len(known[0]))),
            configs=tuple(self._configs[i] for i in columns),
            shapes=np.array(known, dtype=np.int64),
            regret=log_regret(_with_some(us)),
            untried=untried,
            weights=np.ones(len(known), dtype=np.int64),
            rank=np.arange(len(columns)),
            band=DEFAULT_BAND,
        )

    # ---- One config that is known everywhere ----------------------------------------------------

    def _safest(self, known: Sequence[Shape]) -> list[int]:
        """Return the config of least worst slowdown of those timed on all `known`, if any."""
        worst: dict[int, float] = {}
        for shape in known:
            times = {i: us for i, us in self._times[shape].items() if us is not None}
            best = min(times.values())
            for i, us in times.items():
                worst[i] = max(worst.get(i, 1.0), us / best)
        everywhere = [
            i
            for i in sorted(worst)
            if i not in self._out and all(self._times[s].get(i) is not None for s in known)
        ]
        return [min(everywhere, key=lambda i: (worst[i], i))] if everywhere else []

    def _safe(self, known: Sequence[Shape]) -> dict[Shape, list[int]]:
        """Return where to measure one more, while no config is known on all shapes."""
        if not known or self._safest(known):
            return {}
        best: dict[Shape, list[int]] = {}
        for one in range(len(self._configs)):
            if not self._is_alive(one, known):
                continue
            lacking = [shape for shape in known if self._times[shape].get(one) is None]
            if all(one in self._free(shape) for shape in lacking) and (
                not best or len(lacking) < len(best)
            ):
                best = {shape: [one] for shape in lacking}
        return best


def _with_some(us: FloatArray) -> FloatArray:
    """Return `us`; a row without any time, whose configs are all out, has them all alike."""
    us[np.isnan(us).all(axis=1)] = 1.0
    return us
