"""A job: configs are run, checked and timed, and what comes of each is said at once."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from time import monotonic

from codegen.errors import CodegenError
from tuner.devices import Device
from tuner.records import Failure, Shape
from tuner.worker import values
from tuner.worker.failures import failure_of
from tuner.worker.kernel import Kernel
from tuner.worker.measure import Stopwatch
from tuner.worker.messages import (
    Began,
    Candidate,
    Failed,
    Finished,
    Job,
    Limits,
    Lost,
    Message,
    Passed,
    Step,
    Timed,
    name_of,
)
from tuner.worker.trial import Trial

__all__ = ["DeviceLostError", "Worker"]

Say = Callable[[Message], None]


class DeviceLostError(Exception):
    """The device cannot be used by this process any more."""


class Worker:
    """Does jobs with one kernel on one device."""

    def __init__(self, kernel: Kernel, device: Device, limits: Limits, say: Say) -> None:
        self._kernel, self._device, self._limits, self._say = kernel, device, limits, say

    def do(self, job: Job) -> None:
        """Do the job.

        Raises:
            DeviceLostError: a config made the device unusable; what was left of the job is undone.
        """
        done = [self._step(step, measure=job.measure, alone=job.alone) for step in job.steps]
        self._say(
            Finished(
                busy_s=sum(one.busy_s for one in done),
                samples=sum(one.samples for one in done),
                late=sum(one.late for one in done),
            )
        )

    def _step(self, step: Step, *, measure: bool, alone: bool) -> Finished:
        """Do the step, and return what it took; its inputs are forgotten with it."""
        self._say(Began(shape=step.shape, phase="inputs", limit_s=self._limits.timeout_s))
        trial = self._trial(step.shape)
        if trial is None:
            return Finished()
        right: dict[Candidate, float] = {}
        for config in step.configs:
            began = monotonic()
            if self._is_right(trial, config):
                right[config] = monotonic() - began
        watch = Stopwatch(self._device, self._limits, restore=trial.restorer())
        groups = [[config] for config in right] if alone else [list(right)]
        for group in groups if measure and right else []:
            self._time(watch, trial, {config: right[config] for config in group})
        return Finished(busy_s=watch.busy_s, samples=watch.samples, late=watch.late)

    def _trial(self, shape: Shape) -> Trial | None:
        try:
            return Trial(self._kernel, self._device, shape, self._limits)
        except CodegenError as error:
            message = f"{error.fact} ({error.where})"
        except BaseException as error:  # noqa: BLE001 (the reference's fault is said, not raised)
            message = f"the reference fails: {values.reason(error)}"
        self._say(Lost(shape=shape, message=message))
        if not self._device.healthy():
            raise DeviceLostError
        return None

    def _is_right(self, trial: Trial, config: Candidate) -> bool:
        limit_s = self._limits.timeout_s
        self._say(Began(shape=trial.shape, phase="try", config=name_of(config), limit_s=limit_s))
        failure = trial.failure(config)
        if failure is None:
            self._say(Passed(shape=trial.shape, config=name_of(config)))
            return True
        self._fail(trial.shape, config, failure)
        return False

    def _time(self, watch: Stopwatch, trial: Trial, group: Mapping[Candidate, float]) -> None:
        """Time the configs of `group` by turns; each took so many seconds to be tried."""
        named = name_of(next(iter(group))) if len(group) == 1 else None

        def began(seconds: float) -> None:
            limit_s = self._limits.timeout_s + 3 * seconds
            self._say(Began(shape=trial.shape, phase="time", config=named, limit_s=limit_s))

        launches = {name_of(config): trial.timed(config) for config in group}
        seed = zlib.crc32(repr(trial.shape).encode())
        try:
            timings = watch.time(launches, seed=seed, tried_s=sum(group.values()), began=began)
        except BaseException as error:
            if named is not None:
                self._fail(trial.shape, next(iter(group)), failure_of(error))
                trial.restore()
                return
            if not self._device.healthy():
                # One of them broke it, nobody knows which: the crew has them timed one by one.
                raise DeviceLostError from error
        else:
            for name, timing in timings.items():
                self._say(Timed(shape=trial.shape, config=name, timing=timing))
            return
        # One of them failed, though it passed before: alone it is known by name.
        trial.restore()
        for config, seconds in group.items():
            self._time(watch, trial, {config: seconds})

    def _fail(self, shape: Shape, config: Candidate, failure: Failure) -> None:
        if self._device.healthy():
            self._say(Failed(shape=shape, config=name_of(config), failure=failure))
            return
        fact = f"it left the device unusable: {failure.message}"
        crash = Failure(kind="crash", message=fact)
        self._say(Failed(shape=shape, config=name_of(config), failure=crash, fatal=True))
        raise DeviceLostError
