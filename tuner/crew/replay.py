"""A crew that measures nothing: it answers from a latency table, at once and always the same."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import monotonic

from codegen.errors import listed
from tuner.crew.base import Done, Event, Outcome, ShapeLost, Surveyed, Wanted
from tuner.errors import CaseError
from tuner.records import Failure, Shape, Target, Timing
from tuner.table import LatencyTable, read_table
from tuner.worker.messages import Job, Work, name_of

__all__ = ["Replay"]


class Replay:
    """Answers for the device that the table in the file `path` was recorded on."""

    devices = 1
    compiles = False
    options = None

    def __init__(self, path: Path, axis_names: tuple[str, ...]) -> None:
        """Read the table.

        Raises:
            TableError: it is not sound.
            CaseError: its axes are not those of the case.
        """
        self._path, self._table = path, read_table(path)
        if self._table.axis_names != axis_names:
            raise CaseError(
                f"is a table over {listed(self._table.axis_names)}, and the case's axes are "
                f"{listed(axis_names)}",
                where=str(path),
                remedy="replay a table of this kernel",
            )
        self.method = f"replayed from {path.name}" + (
            f": {self._table.method}" if self._table.method else ""
        )
        self._rows = {tuple(shape): i for i, shape in enumerate(self._table.shapes.tolist())}
        self._columns = {config.id: i for i, config in enumerate(self._table.configs)}

    @property
    def table(self) -> LatencyTable:
        """The table itself."""
        return self._table

    def target(self) -> Target:
        """Return the table's target, marked so that nobody takes the answers for measurements."""
        toolchain = {**dict(self._table.toolchain), "replay": self._table.sha256[:12]}
        return Target(
            device=self._table.device,
            arch=self._table.arch,
            toolchain=tuple(sorted(toolchain.items())),
        )

    def survey(self, shapes: tuple[Shape, ...] | None) -> Surveyed:
        """Return the work of `shapes`, all of the table's if None.

        Raises:
            CaseError: the table has not all of them.
        """
        missing = [shape for shape in shapes or () if shape not in self._rows]
        if missing:
            raise CaseError(
                f"holds no shape {listed(str(shape) for shape in missing)}",
                where=str(self._path),
                remedy="name shapes of the table with --shapes, or leave them out",
            )
        dtype = self._table.dtype or "none"
        works = tuple(Work(shape=s, dtype=dtype, inputs="") for s in shapes or tuple(self._rows))
        return Surveyed(works=works, verified=False)

    def enlarged(self, more: int) -> AbstractContextManager[None]:  # noqa: ARG002 (nobody to add)
        """Return a context that changes nothing."""
        return nullcontext()

    def run(
        self, jobs: Iterator[Job], *, wanted: Wanted | None = None, until: float | None = None
    ) -> Iterator[Event]:
        """Answer each job; a config that is not in the table fails there, and says so."""
        for job in jobs:
            if until is not None and monotonic() >= until:
                return
            for step in job.steps:
                for name in map(name_of, step.configs):
                    if wanted and not wanted(step.shape, name):
                        continue
                    result = self._result(step.shape, name)
                    told = result if job.measure or isinstance(result, Failure) else None
                    yield self._outcome(step.shape, name, told)
            yield Done(device="replay", shapes=tuple(step.shape for step in job.steps))

    def close(self) -> None:
        """Do nothing: there is nobody to send home."""

    def _outcome(self, shape: Shape, config: str, result: Timing | Failure | None) -> Event:
        if shape not in self._rows:
            return ShapeLost(shape=shape, message="not in the table")
        return Outcome(device="replay", shape=shape, config=config, result=result)

    def _result(self, shape: Shape, config: str) -> Timing | Failure:
        if config not in self._columns:
            return Failure(kind="launch", message="the replayed table does not hold this config")
        column = self._columns[config]
        us = float(self._table.latency_us[self._rows[shape], column]) if shape in self._rows else 0
        if math.isnan(us):
            reason = self._table.reasons[column] or "the replayed table has no measurement here"
            return Failure(kind="launch", message=reason)
        return Timing(median_us=us, spread=0.0, repeats=1, method=self.method)
