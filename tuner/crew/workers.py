"""A crew of worker processes: the next job goes to whoever is free, the dead are replaced."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Literal

from tuner.crew.base import DeviceGone, Done, Event, Outcome, ShapeLost, Surveyed, Wanted
from tuner.crew.place import STARTS, Place, as_error, dead, trimmed
from tuner.devices.names import DeviceName
from tuner.errors import DeviceError
from tuner.records import Failure, Shape, Target, Timing
from tuner.worker.messages import (
    Began,
    Described,
    Failed,
    Finished,
    Job,
    KernelFrom,
    Limits,
    Lost,
    Message,
    Passed,
    Ready,
    Refused,
    Setup,
    Timed,
    Work,
)

__all__ = ["Workers"]

_LIST_LIMIT_S = 600.0  # For making the inputs of all shapes that a case lists.
_TRIES = 2  # Deaths over the inputs of a shape before the shape is given up.
_LONGEST_WAIT_S = 3600.0


class Workers:
    """Worker processes for one kernel, one on each of `devices`."""

    def __init__(self, kernel: KernelFrom, devices: Sequence[DeviceName], limits: Limits) -> None:
        """Start the processes.

        Raises:
            DeviceError: no process can be started.
        """
        self._kernel, self._limits = kernel, limits
        self._places: list[Place] = []
        self._waiting: deque[Job] = deque()
        self._deaths: Counter[Shape] = Counter()
        self._methods: set[str] = set()
        try:
            for device in devices:
                self._add(device)
        except BaseException:
            self.close()
            raise

    @property
    def devices(self) -> int:
        """How many jobs are done at once."""
        return len(self._places)

    @property
    def method(self) -> str:
        """How they timed, each way that a timing names; how they will, before there is one."""
        will = next((place.ready.method for place in self._places if place.ready), "")
        return " | ".join(sorted(self._methods)) or will

    @property
    def compiles(self) -> bool:
        """Whether a first launch compiles: on all but a CPU, where Triton only interprets."""
        return any(place.device.kind != "cpu" for place in self._places)

    @property
    def options(self) -> tuple[str, ...] | None:
        """Which launch options an NPU's compiler knows, none if it does not say; None elsewhere."""
        return next((place.ready.options for place in self._places if place.ready), None)

    @contextmanager
    def enlarged(self, more: int) -> Iterator[None]:
        """Have `more` workers share the devices for a while, to try configs out, not to time."""
        devices = [place.device for place in self._places]
        try:
            for i in range(more):
                self._add(devices[i % len(devices)], helper=True)
            yield
        finally:
            for place in [place for place in self._places if place.helper]:
                self._send_home(place)

    def _add(self, device: DeviceName, *, helper: bool = False) -> None:
        setup = Setup(kernel=self._kernel, device=device, limits=self._limits)
        self._places.append(Place(setup, helper=helper))

    def _send_home(self, place: Place) -> None:
        self._places.remove(place)
        place.close()

    def close(self) -> None:
        """End all processes."""
        for place in list(self._places):
            self._send_home(place)

    # ---- What there is to do ------------------------------------------------------------------

    def target(self) -> Target:
        """Return what all of them measure on.

        Raises:
            CaseError: the kernel cannot be loaded.
            DeviceError: a device is not there, or they differ.
        """
        for place in self._places:
            place.await_ready()
        (first, target), *others = [(p.name, p.ready.target) for p in self._places if p.ready]
        for name, other in others:
            if other != target:
                raise DeviceError(
                    f"{name} is {other.device} and {first} is {target.device}, or their tools "
                    "differ",
                    where="--device",
                    remedy="tune on devices of one kind at a time",
                )
        return target

    def survey(self, shapes: tuple[Shape, ...] | None) -> Surveyed:
        """Return which work `shapes` are, those of the case if None.

        Raises:
            CaseError: a shape has no inputs, or does not fit them.
            DeviceError: a worker dies over the case's own list, or over one shape after another.
        """
        if shapes is None:
            answer = self._described(None, tries=1, limit_s=_LIST_LIMIT_S)
            if isinstance(answer, Described):
                return Surveyed(works=answer.works, verified=answer.verified)
            raise dead(self._places[0].name, f"as the inputs of the case were made; {answer}")
        works: list[Work] = []
        lost: list[ShapeLost] = []
        verified = False
        for shape in shapes:
            answer = self._described((shape,), tries=_TRIES, limit_s=self._limits.timeout_s)
            if isinstance(answer, Described):
                works += answer.works
                verified = answer.verified
                continue
            lost.append(ShapeLost(shape=shape, message=f"its inputs: {answer}"))
            if not works and len(lost) >= STARTS:
                raise dead(self._places[0].name, f"as inputs were made; {answer}")
        return Surveyed(works=tuple(works), verified=verified, lost=tuple(lost))

    def _described(
        self, shapes: tuple[Shape, ...] | None, *, tries: int, limit_s: float
    ) -> Described | str:
        """Return the first worker's answer, or in words what it died of."""
        place, words = self._places[0], ""
        for _ in range(tries):
            place.await_ready()
            answer, words = place.ask(shapes, limit_s)
            if isinstance(answer, Described):
                return answer
            if isinstance(answer, Refused):
                raise as_error(answer)
            place.start()
        return words

    # ---- Doing it -------------------------------------------------------------------------------

    def run(
        self, jobs: Iterator[Job], *, wanted: Wanted | None = None, until: float | None = None
    ) -> Iterator[Event]:
        """Do `jobs`: each is taken when somebody is free, and done whatever happens to workers.

        Raises:
            CaseError: the kernel cannot be loaded any more.
            DeviceError: the last device cannot be used any more.
        """
        more, end = True, float("inf") if until is None else until
        while monotonic() < end:
            more = self._hand_out(jobs, wanted) and more
            if not (more or self._waiting or any(place.job for place in self._places)):
                return
            for place in self._due(end):
                yield from self._hear(place)
        self._drop()

    def _drop(self) -> None:
        """Give up what is being done."""
        self._waiting.clear()
        for place in self._places:
            if place.job:
                place.close()
                place.start()

    def _hand_out(self, jobs: Iterator[Job], wanted: Wanted | None) -> bool:
        """Give a job to everyone who is free; say whether there may be more of `jobs`."""
        for place in self._places:
            if place.is_free:
                job = self._next(jobs, wanted)
                if job is None:
                    return False
                if job.measure and place.helper:
                    self._waiting.appendleft(job)  # Beside another it would time both wrong.
                    continue
                place.begin(job)
        return True

    def _next(self, jobs: Iterator[Job], wanted: Wanted | None) -> Job | None:
        """Return the next job of which anything is wanted."""
        while job := self._waiting.popleft() if self._waiting else next(jobs, None):
            left = trimmed(job, wanted) if wanted else job
            if left.steps:
                return left
        return None

    def _due(self, end: float) -> list[Place]:
        """Return the places to be heard: a message, a death, or silence for too long."""
        # At work, or on the way to it.
        busy = [place for place in self._places if place.job or not place.ready]
        by_pipe: dict[Connection, Place] = {place.pipe: place for place in busy}
        nearest = min([end, *(place.deadline for place in busy)])
        limit_s = max(0.0, min(nearest - monotonic(), _LONGEST_WAIT_S))
        heard = wait(list(by_pipe), timeout=limit_s)
        return [p for pipe, p in by_pipe.items() if pipe in heard or p.is_late]

    def _hear(self, place: Place) -> Iterator[Event]:
        if not place.pipe.poll(0):
            yield from self._died(place, "hang")
            return
        message = place.receive()
        match message:
            case None:
                yield from self._died(place, "crash")
            case Ready():
                place.is_ready(message)
            case Refused(device=True, fact=fact):
                place.close()
                yield from self._gone(place, fact, as_error(message))
            case Refused():
                raise as_error(message)
            case _:
                yield from self._said(place, message)

    def _said(self, place: Place, message: Message) -> Iterator[Event]:
        match message:
            case Began():
                place.has_begun(message)
            case Passed(shape=shape, config=config):
                if place.job and not place.job.measure:
                    yield self._outcome(place, shape, config, None)
            case Timed(shape=shape, config=config, timing=timing):
                self._methods.add(timing.method)
                yield self._outcome(place, shape, config, timing)
            case Failed(shape=shape, config=config, failure=failure, fatal=fatal):
                yield self._outcome(place, shape, config, failure)
                place.began = None if fatal else place.began
            case Lost(shape=shape, message=text):
                place.settled(shape)
                yield ShapeLost(shape=shape, message=text)
            case Finished(busy_s=busy_s, samples=samples, late=late):
                shapes = place.finish()
                yield Done(
                    device=place.name, shapes=shapes, busy_s=busy_s, samples=samples, late=late
                )
            case _:
                return

    def _outcome(
        self, place: Place, shape: Shape, config: str, result: Timing | Failure | None
    ) -> Outcome:
        place.settled(shape, config)
        return Outcome(device=place.name, shape=shape, config=config, result=result)

    # ---- When a worker dies ---------------------------------------------------------------------

    def _died(self, place: Place, kind: Literal["crash", "hang"]) -> Iterator[Event]:
        """Say what the worker died of, put the rest of its job back, and start another."""
        job, began = place.job, place.began
        words = place.died() if kind == "crash" else place.hangs()
        if job is None and kind == "hang":
            place.stillborn = STARTS  # Another would take as long.
        elif began is None:
            place.stillborn += 1
        if job is not None:
            yield from self._blame(place, began, kind, words)
            yield from self._put_back(place, job, alone=_is_unknown(began))
        if place.stillborn >= STARTS:
            yield from self._gone(place, words, dead(place.name, f"as it started; {words}"))
            return
        place.start()

    def _blame(
        self, place: Place, began: Began | None, kind: Literal["crash", "hang"], words: str
    ) -> Iterator[Event]:
        """Say who is to blame: a shape whose inputs or reference kill, or a config."""
        if began is None:
            return
        if began.config is not None:
            failure = Failure(kind=kind, message=words)
            yield self._outcome(place, began.shape, began.config, failure)
        elif began.phase == "inputs":
            self._deaths[began.shape] += 1
            if self._deaths[began.shape] >= _TRIES:
                place.settled(began.shape)
                yield ShapeLost(shape=began.shape, message=f"its inputs or reference: {words}")

    def _put_back(self, place: Place, job: Job, *, alone: bool) -> Iterator[Event]:
        rest = trimmed(job, place.is_left)
        if rest.steps:
            self._waiting.append(replace(rest, alone=job.alone or alone))
        else:
            yield Done(device=place.name, shapes=tuple(step.shape for step in job.steps))

    def _gone(self, place: Place, words: str, error: Exception) -> Iterator[Event]:
        """Do without a device, if there are others that may time."""
        self._places.remove(place)
        if all(other.helper for other in self._places):
            raise error
        if not place.helper:
            yield DeviceGone(device=place.name, message=words)


def _is_unknown(began: Began | None) -> bool:
    """Say whether the worker died over several configs, nobody knows over which."""
    return began is not None and began.phase != "inputs" and began.config is None
