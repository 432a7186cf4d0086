"""What a crew is: jobs go in, events come out, and no job is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tuner.records import Failure, Shape, Target, Timing
from tuner.worker.messages import Job, Work

__all__ = ["Crew", "DeviceGone", "Done", "Event", "Outcome", "ShapeLost", "Surveyed", "Wanted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a config on a shape; `result` is None where it passed and was not timed."""

    device: str
    shape: Shape
    config: str
    result: Timing | Failure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeLost:
    """Nothing could be done on a shape: its inputs or its reference fail."""

    shape: Shape
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceGone:
    """A device cannot be used any more; the others do its share."""

    device: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A job is at its end: all its outcomes were said.

    Attributes:
        busy_s: seconds of timed work on the device.
        samples: launches timed, `late` of them perhaps waiting for the host.
    """

    device: str
    shapes: tuple[Shape, ...]
    busy_s: float = 0.0
    samples: int = 0
    late: int = 0


Event: TypeAlias = Outcome | ShapeLost | DeviceGone | Done

# Asked of a shape and a config, by its id, before it is tried there: whether it still is to be.
Wanted: TypeAlias = Callable[[Shape, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed:
    """What shapes there are.

    Attributes:
        works: the shapes, in order, each once.
        verified: whether there is a reference to compare with.
        lost: the shapes whose inputs cannot be looked at.
    """

    works: tuple[Work, ...]
    verified: bool
    lost: tuple[ShapeLost, ...] = ()


class Crew(Protocol):
    """Those who do jobs."""

    @property
    def devices(self) -> int:
        """How many jobs are done at once."""

    @property
    def method(self) -> str:
        """How they time."""

    @property
    def compiles(self) -> bool:
        """Whether a first launch compiles, for whoever launches the same afterwards too."""

    @property
    def options(self) -> tuple[str, ...] | None:
        """Which launch options an NPU's compiler knows, none if it does not say; None elsewhere.

        Known once `target` has returned.
        """

    def target(self) -> Target:
        """Return what they all measure on; raises DeviceError if that differs among them."""

    def survey(self, shapes: tuple[Shape, ...] | None) -> Surveyed:
        """Return which work `shapes` are, those of the case if None; raises CaseError."""

    def enlarged(self, more: int) -> AbstractContextManager[None]:
        """Return a context in which `more` jobs are done at once, where that is possible."""

    def run(
        self, jobs: Iterator[Job], *, wanted: Wanted | None = None, until: float | None = None
    ) -> Iterator[Event]:
        """Do `jobs`, each taken when somebody is free, and yield what comes of them.

        Args:
            jobs: what is to be done.
            wanted: asked before a config is tried, again where a job is taken up once more after
                a worker died; None wants all.
            until: drop what is not done when the clock `time.monotonic` says this.
        """

    def close(self) -> None:
        """Send everyone home; what they were at is dropped."""
