"""What is to be measured, and what is known when it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from codegen.config import Config
from tuner.records import Record, Scope, Shape
from tuner.search.asking import Search
from tuner.space import Space
from tuner.worker.messages import Work

__all__ = ["Measured", "Stage", "Task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be measured.

    Attributes:
        source: the kernel's file, for what it does with launch options; None if that is not known.
        shapes: None for all that the kernel comes with.
        sanity: a shape on which every config is tried before any is measured, besides others.
        budget_s: begin no shape after so many seconds; what is being measured then gets a tenth of
            that more.
        fresh: forget what is known, and measure all of it again.
        retry_failed: try again what failed before.
        search: measure some configs, chosen as results come; all of them if None.
    """

    kernel: str
    source_sha256: str
    axis_names: tuple[str, ...]
    space: Space
    source: Path | None = None
    shapes: tuple[Shape, ...] | None = None
    sanity: Shape | None = None
    budget_s: float | None = None
    fresh: bool = False
    retry_failed: bool = False
    search: Search | None = None


@dataclass(slots=True, kw_only=True)
class Stage:
    """How a stage went: seconds by the clock and of the devices' work, launches, late ones."""

    wall_s: float = 0.0
    busy_s: float = 0.0
    samples: int = 0
    late: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What is known after a run.

    Attributes:
        scope: what the records are of.
        works: the shapes that could be measured.
        records: all that is known of them.
        rejected: by config id, why it may not be chosen anywhere.
        aside: by config id, why it was set aside: another, the same to the device, stands for it.
        method: how times were taken.
        verified: whether outputs were compared with a reference.
        resumed: how many records were there before; `added` by this run.
        unfinished: shapes that the budget left with configs unmeasured.
        lost: shapes on which nothing can be measured, and why.
        devices: how many measured at once; `gate` and `timing` tell how long it took.
        search: how configs were chosen, where not all were to be measured.
    """

    scope: Scope
    space: Space
    works: tuple[Work, ...]
    records: tuple[Record, ...]
    rejected: Mapping[str, str]
    aside: Mapping[str, str]
    method: str
    verified: bool
    resumed: int
    added: int
    unfinished: int
    lost: Mapping[Shape, str]
    devices: int
    gate: Stage
    timing: Stage
    search: Search | None = None

    @property
    def configs(self) -> tuple[Config, ...]:
        """The candidates: the space's, of a search those of which anything is known."""
        if self.search is None:
            return self.space.configs
        known = {record.config for record in self.records}
        return tuple(config for config in self.space.configs if config in known)
