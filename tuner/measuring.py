"""From candidates to records: gate, verify, measure. Nothing is done twice, and nothing lost."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from time import monotonic
from typing import Literal, TypeAlias

from codegen.config import Config
from tuner.crew import Crew, DeviceGone, Done, Event, Outcome, ShapeLost
from tuner.inquiry import Inquiry
from tuner.jobs import Untried, by_config, by_shape
from tuner.kb import KnowledgeBase
from tuner.ledger import Ledger, now
from tuner.measured import Measured, Stage, Task
from tuner.plan import gate_shapes, shapes_ahead, spread_order
from tuner.progress import Reporter
from tuner.records import Failure, Scope, Shape, Timing
from tuner.search import Ask
from tuner.twins import merged_space, note_aside, reasons_aside
from tuner.verdicts import (
    check_shapes_left,
    check_something_timed,
    check_survivors,
    check_works,
    in_brackets,
)
from tuner.worker.messages import Job, Step

__all__ = ["measure"]

_MOST_HELPERS = 7
# So many trials for a helper at least: starting one takes as long as some of them.
_TRIALS_A_HELPER = 6
# What is being measured when the budget is spent gets a tenth of it more before it is dropped.
_GRACE = 1.1

# What the reporter is told of jobs: each config, each shape, each config of a shape when that is
# done, or nothing yet.
_Told: TypeAlias = Literal["configs", "shapes", "asked", "nothing"]


def measure(task: Task, crew: Crew, kb: KnowledgeBase, reporter: Reporter) -> Measured:
    """Gate, verify and measure all configs of `task` on all its shapes, or what its search asks.

    What the knowledge base knows is taken from there; what is new is durable there as it comes,
    whatever happens afterwards.

    Raises:
        CaseError: the kernel cannot be loaded, or shapes and inputs do not fit.
        DeviceError: a device is not there.
        KbError: the knowledge base cannot be written.
        TuneError: no config is left after the gate, or no shape can be measured.
    """
    return _Run(task, crew, kb, reporter).all()


class _Run:
    def __init__(self, task: Task, crew: Crew, kb: KnowledgeBase, reporter: Reporter) -> None:
        self._task, self._crew, self._kb, self._reporter = task, crew, kb, reporter
        self._began = monotonic()
        self._lost: dict[Shape, str] = {}
        self._scope = Scope(
            source_sha256=task.source_sha256,
            kernel=task.kernel,
            target=crew.target(),
            axis_names=task.axis_names,
        )
        surveyed = crew.survey(task.shapes)
        self._verified = surveyed.verified
        check_works(surveyed.works, task)
        if task.fresh:
            kb.forget(self._scope)
        space = merged_space(task, crew, reporter)
        self._ledger = Ledger(
            kb, self._scope, surveyed.works, space, retry_failed=task.retry_failed
        )
        note_aside(self._ledger.aside, space, reporter)
        for lost in surveyed.lost:
            self._lose(lost)
        for shape in self._ledger.shapes:
            if not self._ledger.allowed(shape):
                self._lose(ShapeLost(shape=shape, message="the space allows no config on it"))
        check_shapes_left(self._ledger, self._lost, task.kernel)
        # Of a search no shape is set apart: each batch is tried where it is timed.
        self._gate = () if task.search else self._gate_of_those_left()
        self._inquiry = Inquiry(task.search, task.space, self._ledger) if task.search else None
        self._device = ""
        # Of a search: how many configs are being asked for on each shape, and how many of them the
        # reporter has been shown.
        self._asked: dict[Shape, int] = {}
        self._shown = 0

    def all(self) -> Measured:
        gate, timing = Stage(), Stage()
        resumed = self._ledger.resumed
        try:
            if self._inquiry:
                self._run_search(self._inquiry, gate, timing)
            else:
                self._run_all(gate, timing)
        finally:
            self._ledger.commit()
        self._ledger.refresh()
        check_shapes_left(self._ledger, self._lost, self._task.kernel)
        check_survivors(self._ledger, self._gate, self._task)
        check_something_timed(self._ledger, self._gate, self._task, late=self._is_late())
        self._kb.touch(self._scope, now()[:10])
        works = self._ledger.works
        return Measured(
            scope=self._scope,
            space=self._task.space,
            works=works,
            records=self._ledger.records(),
            rejected=self._ledger.rejected(self._gate),
            aside=reasons_aside(self._ledger.aside, self._task.space),
            method=self._crew.method,
            verified=self._verified,
            resumed=resumed,
            added=self._ledger.added,
            unfinished=self._inquiry.unfinished
            if self._inquiry
            else sum(bool(self._left(work.shape)) for work in works),
            lost=self._lost,
            devices=self._crew.devices,
            gate=gate,
            timing=timing,
            search=self._task.search,
        )

    def _run_all(self, gate: Stage, timing: Stage) -> None:
        with self._crew.enlarged(self._helpers()):
            self._run_gate(gate)
            check_survivors(self._ledger, self._gate, self._task)
            self._compile_ahead(gate)
        self._run_timing(timing)

    # ---- The gate: every config on a few shapes, in parallel, before anything is timed --------

    def _run_gate(self, stage: Stage) -> None:
        while self._ledger.shapes and not self._is_late():
            self._gate = self._gate_of_those_left()
            self._try_all(stage)
            if all(map(self._ledger.has, self._gate)):
                return  # Else some shapes turned out to be lost, and others take their place.

    def _gate_of_those_left(self) -> tuple[Shape, ...]:
        sanity = self._task.sanity
        shapes = self._ledger.shapes
        return gate_shapes(shapes, sanity if sanity in shapes else None)

    def _try_all(self, stage: Stage) -> None:
        untried = {shape: self._untried(shape) for shape in self._gate}
        self._try(stage, "gate", untried, by_config(untried, self._crew.devices))

    def _compile_ahead(self, stage: Stage) -> None:
        """Have compiled in parallel what else must be before all can be timed, one by one."""
        untried = {shape: self._untried(shape) for shape in self._ahead()}
        self._try(stage, "compile", untried, by_shape(untried, self._crew.devices))

    def _ahead(self) -> tuple[Shape, ...]:
        """Return what the gate leaves to be compiled, in shapes for which that is done."""
        if not self._crew.compiles:
            return ()
        left = [shape for shape in self._ledger.shapes if self._left(shape)]
        return shapes_ahead(left, [shape for shape in self._gate if self._ledger.has(shape)])

    def _untried(self, shape: Shape) -> tuple[Config, ...]:
        rejected = self._ledger.rejected(self._gate)
        return tuple(c for c in self._ledger.untried(shape) if c.id not in rejected)

    def _helpers(self) -> int:
        """Return how many more than the devices are to try configs out."""
        trials = sum(len(self._untried(shape)) for shape in {*self._gate, *self._ahead()})
        return min(_cores_free(), trials // _TRIALS_A_HELPER)

    def _try(self, stage: Stage, name: str, untried: Untried, jobs: Sequence[Job]) -> None:
        """Try configs on shapes, all workers at once."""
        trials = sum(map(len, untried.values()))
        if not trials or self._is_late():
            return
        self._reporter.stage(name, trials)
        tried = self._follow(iter(jobs), stage, told="configs")
        if not self._is_late():
            for _ in range(trials - tried):  # On these it has been found superfluous.
                self._reporter.advance("", None, None)

    # ---- Measuring: shape by shape, all configs by turns ---------------------------------------

    def _run_timing(self, stage: Stage) -> None:
        shapes = self._ledger.shapes
        order = spread_order(shapes, [shape for shape in self._gate if self._ledger.has(shape)])
        todo = [shape for shape in order if self._left(shape)]
        if todo and not self._is_late():
            self._reporter.stage("measure", len(todo))
            self._follow(self._timing_jobs(todo), stage, told="shapes")

    def _timing_jobs(self, todo: Sequence[Shape]) -> Iterator[Job]:
        for shape in todo:
            if self._is_late():
                return
            configs = self._left(shape) if self._ledger.has(shape) else ()
            if configs:
                yield Job(steps=(Step(shape=shape, configs=configs),), measure=True)

    def _left(self, shape: Shape) -> tuple[Config, ...]:
        """Return what is to be measured on `shape` yet: not what is rejected by now."""
        rejected = self._ledger.rejected(self._gate)
        return tuple(c for c in self._ledger.missing(shape) if c.id not in rejected)

    # ---- Searching: batch after batch, each tried in parallel, then timed ----------------------

    def _run_search(self, inquiry: Inquiry, trying: Stage, timing: Stage) -> None:
        if self._ledger.resumed:
            self._reporter.note("the search goes through its questions again, as far as known")
        asks = inquiry.next()
        left = inquiry.left
        if not asks or self._is_late():
            return
        self._reporter.stage("search", left)
        with self._crew.enlarged(min(_cores_free(), left // _TRIALS_A_HELPER)):
            while asks and not self._is_late():
                self._asked = {ask.shape: len(ask.configs) for ask in asks}
                self._answer(asks, trying, timing)
                if not self._is_late():
                    inquiry.settle()
                shape = asks[-1].shape
                asks = inquiry.next()
                left = self._advance(inquiry.left if asks else 0, left, shape)

    def _answer(self, asks: Sequence[Ask], trying: Stage, timing: Stage) -> None:
        """Try the configs of `asks`, all workers at once; time those that pass, one a device."""
        asked = {ask.shape: {config.id for config in ask.configs} for ask in asks}
        untried = {
            shape: tuple(config for config in self._untried(shape) if config.id in names)
            for shape, names in asked.items()
            if self._ledger.has(shape)
        }
        self._follow(iter(by_shape(untried, self._crew.devices)), trying, told="nothing")
        self._follow(self._asked_jobs(asked), timing, told="asked")

    def _asked_jobs(self, asked: Mapping[Shape, Collection[str]]) -> Iterator[Job]:
        for shape, names in asked.items():
            if self._is_late():
                return
            left = self._left(shape) if self._ledger.has(shape) else ()
            configs = tuple(config for config in left if config.id in names)
            if configs:
                yield Job(steps=(Step(shape=shape, configs=configs),), measure=True)

    def _advance(self, left: int, before: int, shape: Shape) -> int:
        """Show what was done, or turned out to be superfluous, and not shown; return `left`."""
        best = self._ledger.best(shape) if self._ledger.has(shape) else None
        for _ in range(before - left - self._shown):
            self._reporter.advance(self._device, shape, best)
        self._shown = 0
        return left

    # ---- Both ----------------------------------------------------------------------------------

    def _is_late(self) -> bool:
        """Say whether the budget is spent."""
        budget_s = self._task.budget_s
        return budget_s is not None and monotonic() >= self._began + budget_s

    def _follow(self, jobs: Iterator[Job], stage: Stage, *, told: _Told) -> int:
        """Take down what the crew says of `jobs`, make it durable; return how many outcomes."""
        began, outcomes = monotonic(), 0
        budget_s = self._task.budget_s
        until = None if budget_s is None else self._began + _GRACE * budget_s
        for event in self._crew.run(jobs, wanted=self._is_wanted, until=until):
            self._take(event, stage, told=told)
            outcomes += isinstance(event, Outcome)
        stage.wall_s += monotonic() - began
        return outcomes

    def _is_wanted(self, shape: Shape, config: str) -> bool:
        return self._ledger.has(shape) and config not in self._ledger.rejected(self._gate)

    def _take(self, event: Event, stage: Stage, *, told: _Told) -> None:
        match event:
            case Outcome(device=device, shape=shape, config=config, result=result):
                if self._ledger.has(shape):
                    self._note(shape, config, result)
                if told == "configs" or isinstance(result, Failure):
                    # At once: what kills is not to be let loose again after a kill.
                    self._ledger.commit()
                if isinstance(result, Failure):
                    self._reporter.failure(shape, config, result)
                if told == "configs":
                    self._reporter.advance(device, None, None)
            case ShapeLost():
                self._lose(event)
            case DeviceGone(device=device, message=message):
                self._reporter.note(f"{device} is given up: {message}")
            case Done(device=device, shapes=shapes):
                self._ledger.commit()
                self._device = device
                stage.busy_s += event.busy_s
                stage.samples += event.samples
                stage.late += event.late
                self._show(told, device, shapes[0])

    def _show(self, told: _Told, device: str, shape: Shape) -> None:
        """Show that a shape is done."""
        if told not in {"shapes", "asked"}:
            return
        times = 1
        if told == "asked":
            times = self._asked.pop(shape, 0)
            self._shown += times
        best = self._ledger.best(shape) if self._ledger.has(shape) else None
        for _ in range(times):
            self._reporter.advance(device, shape, best)

    def _note(self, shape: Shape, config: str, result: Timing | Failure | None) -> None:
        if result is None:
            self._ledger.add_pass(shape, config)
        else:
            self._ledger.add(shape, config, result)

    def _lose(self, lost: ShapeLost) -> None:
        if lost.shape not in self._lost:
            self._lost[lost.shape] = lost.message
            self._ledger.drop(lost.shape)
            self._reporter.note(f"shape {in_brackets(lost.shape)} is left out: {lost.message}")


def _cores_free() -> int:
    """Return for how many helpers there are cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    return max(0, min(_MOST_HELPERS, cores - 1))
