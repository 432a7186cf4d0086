"""Timing side by side: what is compared is run in turns, so that it shares its weather."""

from __future__ import annotations

import gc
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns
from typing import Any, TypeAlias

__all__ = [
    "Call",
    "Contender",
    "Loop",
    "ns_per_shape",
    "process_seconds",
    "processor",
    "reported_us",
]

Call: TypeAlias = Callable[[Any], object]
Loop: TypeAlias = Callable[[Sequence[Any]], object]
Contender: TypeAlias = tuple[Loop, Sequence[Any]]

# One after another in each turn: the first ones teach the processor the branches of this loop.
_RUNS = 5
# What takes longer than this for all shapes is given fewer.
_RUN_NS = 200_000


def ns_per_shape(contenders: Mapping[str, Contender], *, turns: int) -> dict[str, float]:
    """Return the ns that each of `contenders` takes a shape, less those of a loop of nothing.

    All are run in turns, several times each; the least of all counts. A slow one is given fewer
    of its shapes.
    """
    all_ = {name: (loop, _sample(loop, shapes)) for name, (loop, shapes) in contenders.items()}
    all_ |= {"": (_nothing, next(iter(contenders.values()))[1])}
    best = dict.fromkeys(all_, float("inf"))
    gc.collect()
    gc.disable()
    try:
        for _ in range(turns):
            for name, contender in all_.items():
                times = [_timed(*contender) for _ in range(_RUNS)]
                best[name] = min(best[name], *times)
    finally:
        gc.enable()
    idle = best.pop("")
    return {name: time - idle for name, time in best.items()}


def _nothing(shapes: Sequence[Any]) -> None:
    for _ in shapes:
        pass


def _sample(loop: Loop, shapes: Sequence[Any]) -> Sequence[Any]:
    cost = min(_timed(loop, shapes[:8]) for _ in range(5))
    return shapes[: max(4, round(_RUN_NS / cost))]


def _timed(loop: Loop, shapes: Sequence[Any]) -> float:
    start = perf_counter_ns()
    loop(shapes)
    return (perf_counter_ns() - start) / len(shapes)


def process_seconds(command: Sequence[str], *, turns: int) -> float:
    """Return the least time that the process `command` takes, from start to end."""
    times = []
    for _ in range(turns):
        start = perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(perf_counter() - start)
    return min(times)


def reported_us(commands: Mapping[str, Sequence[str]], *, turns: int) -> dict[str, float]:
    """Return the median of what each of `commands` prints, a number of seconds, in µs.

    Each is run once before it counts, which leaves compiled caches behind.
    """
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(turns + 1):
        for name, command in commands.items():
            ran = subprocess.run(command, check=True, capture_output=True, text=True)
            times[name].append(float(ran.stdout))
    return {name: median(found[1:]) * 1e6 for name, found in times.items()}


def processor() -> str:
    """Return what the processor calls itself."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
