"""From the kernels of a capture to the device time of each step.

A step's time is the length of the union of its kernels' intervals: kernels that overlap on several
streams do not count twice, and where none is at work the device is not, whatever the host does.
The method, an L2 clear kernel as the step's mark, is AKG's (MindSpore, its tuner of dynamic
shapes).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codegen.errors import listed, shown
from tuner.devices.npu.markers import CLEARS, marker_of
from tuner.devices.npu.tasks import Interval, Launched, wrong

__all__ = ["Steps", "covered_ns", "steps_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The steps of a capture.

    Attributes:
        us: device time of each in microseconds, in order.
        busy_s: how long the device was at work on all of the capture, clearing included.
    """

    us: tuple[float, ...]
    busy_s: float


@dataclass(slots=True, kw_only=True)
class _Group:
    """The kernels between a clear and the next marker."""

    turn: int
    kernels: list[Launched] = field(default_factory=list)


def steps_of(launched: Sequence[Launched], steps: int, path: Path) -> Steps:
    """Return the times of `steps` steps, with what lies outside of them dropped.

    Args:
        launched: all kernels of the capture, in order.
        steps: how many there must be.
        path: what they were read from, for messages.

    Raises:
        ProfileError: a step is missing, or one of its kernels has no time; the message names it.
    """
    ours = _of_one_device(launched, path)
    groups = _grouped(ours)
    _check_count(groups, steps, path)
    us = tuple(_us(group, i, steps, path) for i, group in enumerate(groups, start=1))
    busy_ns = covered_ns(interval for one in ours for interval in one.intervals)
    return Steps(us=us, busy_s=busy_ns / 1e9)


def covered_ns(intervals: Iterable[Interval]) -> int:
    """Return how many nanoseconds lie in any of `intervals`."""
    covered, reached = 0, -1
    for start, end in sorted(intervals):
        if end > reached:
            covered += end - max(start, reached)
            reached = end
    return covered


def _of_one_device(launched: Sequence[Launched], path: Path) -> list[Launched]:
    """Return the kernels of the device that the markers ran on, and those without a device."""
    devices = sorted(
        {
            one.device
            for one in launched
            if isinstance(marker_of(one.name), int) and one.device is not None
        }
    )
    if len(devices) > 1:
        raise wrong(
            path,
            f"has steps on the devices {listed(devices)}",
            remedy="profile one device at a time",
        )
    return [one for one in launched if not devices or one.device in {devices[0], None}]


def _grouped(launched: Iterable[Launched]) -> list[_Group]:
    groups: list[_Group] = []
    within = False
    for one in launched:
        marker = marker_of(one.name)
        if isinstance(marker, int):
            groups.append(_Group(turn=marker))
        elif marker is None and within:
            groups[-1].kernels.append(one)
        within = isinstance(marker, int) or (marker is None and within)
    return groups


def _check_count(groups: Sequence[_Group], steps: int, path: Path) -> None:
    missing: list[int] = []
    number = 0
    for group in groups:
        skipped = (group.turn - number) % len(CLEARS)
        missing += range(number + 1, number + skipped + 1)
        number += skipped + 1
    missing += range(number + 1, steps + 1)
    if missing:
        kind = "step" if len(missing) == 1 else "steps"
        raise wrong(
            path,
            f"lacks the {kind} {listed(missing)} of {steps}: {len(groups)} were found",
            remedy="capture fewer launches at once",
        )
    if len(groups) > steps:
        raise wrong(
            path,
            f"holds {len(groups)} steps where {steps} were launched",
            remedy="profile nothing else meanwhile",
        )


def _us(group: _Group, number: int, steps: int, path: Path) -> float:
    """Return the step's time in microseconds."""
    where = f"step {number} of {steps}"
    if not group.kernels:
        raise wrong(path, f"{where} has no kernel", remedy="capture fewer launches at once")
    for one in group.kernels:
        if not one.intervals:
            raise wrong(path, f"{where}: the kernel {shown(one.name)} has no device time")
    numbers = sorted({one.step for one in group.kernels if one.step is not None})
    if len(numbers) > 1:
        raise wrong(path, f"{where} holds kernels of the profiler's steps {listed(numbers)}")
    length = covered_ns(interval for one in group.kernels for interval in one.intervals)
    if not length:
        raise wrong(path, f"{where} took no time at all")
    return length / 1000
