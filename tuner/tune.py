"""Tuning a case: which crew, which knowledge base, in which order; nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from codegen.config import LAUNCH_OPTIONS
from tuner.cases import Case
from tuner.crew import Crew, Replay, Workers
from tuner.devices.names import DeviceName
from tuner.errors import CaseError
from tuner.kb import KnowledgeBase
from tuner.measured import Measured, Task
from tuner.measuring import measure
from tuner.outcome import Delivery, TuneOutcome, check_delivery, deliver
from tuner.progress import Reporter
from tuner.records import Shape, Target
from tuner.search.asking import Search
from tuner.space import Space
from tuner.toolchains.compiling import grids_are_free
from tuner.toolchains.targets import target_of_device
from tuner.worker.messages import CaseKernel, Limits

__all__ = ["CaseRequest", "kernel_of", "tune_case"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRequest:
    """What is asked of `tune_case`.

    Attributes:
        devices: several of a kind share the work.
        kb: the knowledge base's file; it is made if it is not there.
        shapes: instead of those that the case names.
        budget_s, fresh, retry_failed, search: as in `Task`.
    """

    case: Case
    devices: tuple[DeviceName, ...]
    kb: Path
    delivery: Delivery
    limits: Limits = field(default_factory=Limits)
    shapes: tuple[Shape, ...] | None = None
    budget_s: float | None = None
    fresh: bool = False
    retry_failed: bool = False
    search: Search | None = None


def tune_case(request: CaseRequest, reporter: Reporter) -> TuneOutcome:
    """Measure the case's candidates on its shapes, fit a selector, write table and manifest.

    Raises:
        CaseError, DeviceError, KbError, TuneError: as `measure`.
        FitError, OutputError: as `deliver`.
    """
    measured = _measured(request, reporter)
    weights = dict(request.case.weights)
    return deliver(measured, request.delivery, request.limits, weights=weights)


def _measured(request: CaseRequest, reporter: Reporter) -> Measured:
    case = request.case
    size_notes = () if request.search else case.space.size_notes()
    for note in (*case.space.notes, *size_notes, *_passed_on(case)):
        reporter.note(note)
    _check_shapes(request.shapes, case)
    check_delivery(request.delivery, replayed=request.devices[0].table)
    crew = _crew(case, request.devices, request.limits)
    try:
        with KnowledgeBase.open(request.kb) as kb:
            task = Task(
                kernel=case.kernel,
                source_sha256=case.source_sha256,
                axis_names=case.axis_names,
                space=_limited(case.space, crew.target()),
                source=case.impl,
                # A replay knows its own shapes, and no others.
                shapes=request.shapes or (None if isinstance(crew, Replay) else case.shapes),
                budget_s=request.budget_s,
                fresh=request.fresh,
                retry_failed=request.retry_failed,
                search=request.search,
            )
            return measure(task, crew, kb, reporter)
    finally:
        crew.close()


def _limited(space: Space, target: Target) -> Space:
    """Return the space with the grid limit of an NPU, unless the environment lifts it."""
    found = target_of_device(target.device, target.arch)
    limit = found.most_programs if found and not grids_are_free() else None
    return space if limit is None else space.limited(limit)


def _passed_on(case: Case) -> Iterator[str]:
    """Yield which names of the configs are nothing that we know: a slip of the pen, perhaps."""
    names = dict.fromkeys(name for config in case.space.configs for name, _ in config.options)
    for name in names:
        near = get_close_matches(name, [*LAUNCH_OPTIONS, *case.config_param_names], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield (
            f"{name} is neither in config_param_names nor a launch option, and is passed on to the "
            f"launch by config.all_kwargs(){hint}"
        )


def kernel_of(case: Case, dispatch: Path | None = None) -> CaseKernel:
    """Return what a worker needs to know of `case`."""
    return CaseKernel(
        base=case.base.resolve(),
        impl=case.impl.resolve(),
        shape_expr=case.shape_expr.text,
        axis_names=case.axis_names,
        dispatch=dispatch,
    )


def _crew(case: Case, devices: Sequence[DeviceName], limits: Limits) -> Crew:
    first = devices[0]
    if first.kind == "replay":
        return Replay(first.table or Path(), case.axis_names)
    return Workers(kernel_of(case), devices, limits)


def _check_shapes(shapes: Sequence[Shape] | None, case: Case) -> None:
    for shape in shapes or ():
        if len(shape) != len(case.axis_names):
            raise CaseError(
                f"shape {','.join(map(str, shape))} has {len(shape)} sizes for "
                f"{len(case.axis_names)} axes",
                where="--shapes",
                remedy=f"give {','.join(case.axis_names)}",
            )
