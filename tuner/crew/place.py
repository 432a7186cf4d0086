"""A place in the crew: one device, the process at work there, and what that is at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from time import monotonic

from tuner.crew.process import WorkerProcess
from tuner.devices.names import DeviceName
from tuner.errors import CaseError, DeviceError
from tuner.records import Shape
from tuner.worker.messages import (
    Began,
    Describe,
    Job,
    Message,
    Ready,
    Refused,
    Setup,
    Step,
    name_of,
)

__all__ = ["STARTS", "Place", "as_error", "dead", "trimmed"]

STARTS = 3  # Deaths in a row before anything was begun, until the device is given up.
# Importing torch and loading a kernel, on a cold disk with all other workers doing the same.
_START_LIMIT_S = 300.0


class Place:
    """A device of the crew and its process, which is started at once.

    Attributes:
        helper: it shares the device with another, and so may try configs out, but not time them.
        ready: what the process said when it was ready, None until then.
        job: what it is at.
        began: what of that it said it began last.
        deadline: until when it has to say something, by the clock `time.monotonic`.
        stillborn: how many processes died here in a row without beginning anything.
    """

    def __init__(self, setup: Setup, *, helper: bool = False) -> None:
        self.setup, self.helper = setup, helper
        self.stillborn = 0
        self.start()

    def start(self) -> None:
        """Start a process; it will say when it is ready."""
        self._process = WorkerProcess(self.setup)
        self.ready: Ready | None = None
        self.job: Job | None = None
        self.began: Began | None = None
        self._left: dict[Shape, set[str]] = {}
        self._wait_for(_START_LIMIT_S)

    @property
    def name(self) -> str:
        """The device's name."""
        return str(self.device)

    @property
    def device(self) -> DeviceName:
        """The device."""
        return self.setup.device

    @property
    def pipe(self) -> Connection:
        """What the process speaks through."""
        return self._process.pipe

    @property
    def is_free(self) -> bool:
        """Whether it could do a job."""
        return self.ready is not None and self.job is None

    @property
    def is_late(self) -> bool:
        """Whether it should have said something by now."""
        return monotonic() >= self.deadline

    # ---- Speaking to the process ----------------------------------------------------------------

    def receive(self) -> Message | None:
        """Return the next message, waiting for it; None if the process is gone."""
        return self._process.receive()

    def ask(self, shapes: tuple[Shape, ...] | None, limit_s: float) -> tuple[Message | None, str]:
        """Return the process's answer to which work `shapes` are.

        If it died or did not answer within `limit_s` the first is None, and the other says why.
        """
        self._process.send(Describe(shapes=shapes))
        return self._answer(limit_s)

    def await_ready(self) -> None:
        """Wait until the process is ready; one that dies is started again.

        Raises:
            CaseError: the kernel cannot be loaded.
            DeviceError: the device is not there, or the process dies again and again.
        """
        while self.ready is None:
            answer, words = self._answer(_START_LIMIT_S)
            if isinstance(answer, Ready):
                self.is_ready(answer)
                return
            if isinstance(answer, Refused):
                raise as_error(answer)
            self.stillborn += 1
            if self.stillborn >= STARTS or self.is_late:
                raise dead(self.name, f"as it started; {words}")
            self.start()

    def _answer(self, limit_s: float) -> tuple[Message | None, str]:
        if not self.pipe.poll(limit_s):
            return None, self.hangs(limit_s)
        answer = self.receive()
        return answer, "" if answer else self.died()

    # ---- What it is at --------------------------------------------------------------------------

    def is_ready(self, ready: Ready) -> None:
        """Note that the process is ready for a job."""
        self.ready, self.deadline = ready, float("inf")

    def begin(self, job: Job) -> None:
        """Give the process, which is free, a job."""
        self.job, self.began = job, None
        self._left = {step.shape: {name_of(c) for c in step.configs} for step in job.steps}
        self._wait_for(self.setup.limits.timeout_s)
        self._process.send(job)

    def has_begun(self, began: Began) -> None:
        """Note what the process is busy with, and for how long it may be."""
        self.began, self.stillborn = began, 0
        self._wait_for(began.limit_s)

    def _wait_for(self, limit_s: float) -> None:
        self._limit_s, self.deadline = limit_s, monotonic() + limit_s

    def settled(self, shape: Shape, config: str | None = None) -> None:
        """Note that nothing is left to be done with a config on a shape, or on the shape at all."""
        if config is None:
            self._left.pop(shape, None)
        else:
            self._left.get(shape, set()).discard(config)

    def is_left(self, shape: Shape, config: str) -> bool:
        """Say whether that is to be done yet."""
        return config in self._left.get(shape, ())

    def finish(self) -> tuple[Shape, ...]:
        """Note that the job is done, and return its shapes."""
        shapes = tuple(step.shape for step in self.job.steps) if self.job else ()
        self.job, self.deadline = None, float("inf")
        self._process.trim()
        return shapes

    # ---- The end of a process -------------------------------------------------------------------

    def died(self) -> str:
        """Bury the process, which has closed its pipe, and say how it ended."""
        return self._process.died()

    def hangs(self, limit_s: float | None = None) -> str:
        """Kill the process, which said nothing for `limit_s`, its own limit if None; say so."""
        if limit_s is None:
            limit_s = self._limit_s
        self._process.kill()
        return f"no end after {limit_s:.0f} s"

    def close(self) -> None:
        """End the process, whatever it is at."""
        self._process.kill()


def trimmed(job: Job, left: Callable[[Shape, str], bool]) -> Job:
    """Return `job` with what is `left` of it; perhaps no step is."""
    steps = (
        Step(
            shape=step.shape, configs=tuple(c for c in step.configs if left(step.shape, name_of(c)))
        )
        for step in job.steps
    )
    return replace(job, steps=tuple(step for step in steps if step.configs))


def as_error(answer: Refused) -> CaseError | DeviceError:
    """Return the error that a worker answered with."""
    kind = DeviceError if answer.device else CaseError
    return kind(answer.fact, where=answer.where, remedy=answer.remedy)


def dead(device: str, when: str) -> DeviceError:
    """Return the error for a process that died where it should not."""
    return DeviceError(
        f"the worker process died {when}",
        where=device,
        remedy="run the case's own files by hand to see what kills Python",
    )
