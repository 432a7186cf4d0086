"""Asking: what a search wants to know next, and what it has been told."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from codegen.config import Config
from tuner.records import Shape

__all__ = ["DEFAULT_TRIALS", "SAMPLERS", "Ask", "Chooser", "SamplerName", "Search", "Times"]

SamplerName: TypeAlias = Literal["surrogate", "tpe", "evolution", "random"]
SAMPLERS: tuple[SamplerName, ...] = ("surrogate", "tpe", "evolution", "random")
DEFAULT_TRIALS = 64

# By shape, then by the index of a config, in the order in which they were asked for: the time in
# microseconds, None of one that failed.
Times: TypeAlias = Mapping[Shape, Mapping[int, float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How to search instead of measuring all.

    Attributes:
        trials: the most configs that are asked for on a shape; 1 or more.
        seed: of all that is drawn at random; 0 or more.
        adaptive: all configs on some shapes and on the others those that may be best there, as
            many as it takes; then nothing else counts.
        sampler: who proposes configs; None for the surrogate, or evolution where more than 10
            params vary.
    """

    trials: int = DEFAULT_TRIALS
    seed: int = 0
    sampler: SamplerName | None = None
    adaptive: bool = False


class Chooser(Protocol):
    """Chooses what is measured; given the same answers it asks for the same."""

    def left(self, shapes: Collection[Shape]) -> int:
        """Return how many configs will be asked for yet on `shapes`, at most."""

    def next(self, shapes: Collection[Shape]) -> tuple[Ask, ...]:
        """Return what is to be measured next, of `shapes` alone; empty when nothing is."""

    def tell(self, ask: Ask, times: Mapping[str, float | None], out: Collection[str]) -> None:
        """Take the answers to `ask`.

        Args:
            ask: as it was returned.
            times: by config id the time in microseconds, None for one that failed, or that was
                not measured since it was known not to be right.
            out: ids of configs that are not to be tried anywhere any more.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Configs to be tried and timed on a shape, none of which was asked for there before."""

    shape: Shape
    configs: tuple[Config, ...]
