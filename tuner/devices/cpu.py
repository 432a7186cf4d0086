"""The CPU: kernels in numpy or torch, timed by the host's clock on cores of their own."""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from time import perf_counter_ns
from typing import Any
from weakref import WeakKeyDictionary

from tuner.devices.base import Launch, Times
from tuner.devices.toolchain import versions
from tuner.records import Target

__all__ = ["Cpu"]

# A sample shorter than this is lost in the clock's own cost, so calls are put together.
_SAMPLE_NS = 50_000
_MOST_LOOPS = 50_000
_COUNT = re.compile(r"[0-9]{1,4}")


class Cpu:
    """The processor, pinned to as many cores as the kernel may have threads."""

    method = "perf_counter, pinned, warm caches, interleaved"
    turn = 1
    repeat = 15

    def __init__(self) -> None:
        # Weak: a launch holds the inputs of its shape.
        self._loops: WeakKeyDictionary[Launch, int] = WeakKeyDictionary()
        self._pinned = False

    def target(self) -> Target:
        """Return the processor's name, and the versions of the libraries loaded."""
        toolchain = {"python": platform.python_version(), **versions("numpy", "torch", "triton")}
        return Target(
            device=_processor(), arch=platform.machine(), toolchain=tuple(sorted(toolchain.items()))
        )

    def creating(self) -> AbstractContextManager[Any]:
        """Return a context that changes nothing: tensors are created on the host."""
        return contextlib.nullcontext()

    def moved(self, value: Any) -> Any:
        """Return `value`: it is here already."""
        return value

    def synchronize(self) -> None:
        """Do nothing: a call that has returned is done."""

    def healthy(self) -> bool:
        """Return True: what breaks the host breaks the process."""
        return True

    def time(self, launches: Sequence[Launch], *, before: Launch | None = None) -> Times:
        """Time each launch; a short one is called several times for one sample."""
        # Not earlier: processes that only try configs out share the cores.
        if not self._pinned:
            _pin(_threads())
            self._pinned = True
        us, busy_ns = [], 0
        collecting = gc.isenabled()
        gc.disable()
        try:
            for launch in launches:
                # What changes its inputs must see them fresh at every call.
                loops = 1 if before else self._loops_of(launch)
                if before:
                    before()
                elapsed = _elapsed_ns(launch, loops)
                us.append(elapsed / loops / 1000)
                busy_ns += elapsed
        finally:
            if collecting:
                gc.enable()
        return Times(us=tuple(us), late=(False,) * len(us), busy_s=busy_ns / 1e9)

    def _loops_of(self, launch: Launch) -> int:
        if launch not in self._loops:
            self._loops[launch] = _enough(launch)
        return self._loops[launch]


def _enough(launch: Launch) -> int:
    """Return how many calls make up a sample."""
    if _elapsed_ns(launch, 1) >= 10 * _SAMPLE_NS:
        return 1
    # Again: a first call may take ten times as long as those after it.
    loops = 1
    while loops < _MOST_LOOPS and (elapsed := _elapsed_ns(launch, loops)) < _SAMPLE_NS:
        more = -(-loops * _SAMPLE_NS // max(1, elapsed))
        loops = min(_MOST_LOOPS, max(2 * loops, more))
    return loops


def _elapsed_ns(launch: Launch, loops: int) -> int:
    start = perf_counter_ns()
    for _ in range(loops):
        launch()
    return perf_counter_ns() - start


def _threads() -> int:
    """Return how many threads the kernel may have; OpenMP itself takes nonsense for one."""
    text = os.environ.get("OMP_NUM_THREADS", "1").strip()
    return max(1, int(text)) if _COUNT.fullmatch(text) else 1


def _pin(threads: int) -> None:
    """Keep this process, all its threads, on the last `threads` of the cores that it may use."""
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))[-threads:]
    tasks = Path("/proc/self/task")
    numbers = [int(path.name) for path in tasks.iterdir()] if tasks.is_dir() else []
    for number in {0, *numbers}:
        with contextlib.suppress(OSError):  # Threads end.
            os.sched_setaffinity(number, cores)


def _processor() -> str:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
                name, _, value = line.partition(":")
                if name.strip() == "model name" and value.strip():
                    return value.strip()
    return platform.processor() or platform.machine() or "CPU"
