"""What a profile holds, whatever its layout: the kernels that were launched, and when they ran."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from codegen.errors import shown
from tuner.errors import DeviceError

__all__ = ["Interval", "Launched", "ProfileError", "interval_of", "whole", "wrong"]

# From its start to its end, in nanoseconds of the profiler's clock.
Interval: TypeAlias = tuple[int, int]

_MOST_NS = 2**63 - 1
# The crew gives no launch that long: an hour between start and end is a broken counter.
_LONGEST_NS = 3600 * 10**9


class ProfileError(DeviceError):
    """A profile that is missing, is not what its layout says, or lacks a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """One kernel as it was launched.

    Attributes:
        name: the kernel's, as its compiler gave it.
        device: the number of the device that it ran on, None where the layout does not tell.
        intervals: when it was at work, in nanoseconds; none where the profiler lost that.
        step: the profiler's own number of the step, None where the layout does not tell.
    """

    name: str
    device: int | None
    intervals: Sequence[Interval]
    step: int | None = None


def wrong(path: Path, fact: str, *, remedy: str | None = None) -> ProfileError:
    """Return the error that the file `path` is not a sound profile."""
    default = "export it again with the CANN that recorded it, or time by events"
    return ProfileError(fact, where=str(path), remedy=remedy or default)


def whole(value: object) -> int | None:
    """Return a number of a database as an int, None if it is none, has a fraction or is endless."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        value = int(value) if math.isfinite(value) and value == int(value) else None
    return value if isinstance(value, int) and -_MOST_NS <= value <= _MOST_NS else None


def interval_of(start: object, end: object, path: Path, what: str) -> Interval:
    """Return the interval from `start` to `end`, in nanoseconds.

    Raises:
        ProfileError: one of them is no whole number, or they are not in order, or hours apart.
    """
    begin, stop = whole(start), whole(end)
    if begin is None or stop is None:
        value = start if begin is None else end
        raise wrong(path, f"{what} has the time {shown(value)}, not whole nanoseconds")
    if begin < 0 or stop < begin:
        raise wrong(path, f"{what} runs from {begin} to {stop} ns")
    if stop - begin > _LONGEST_NS:
        raise wrong(
            path, f"{what} runs for {(stop - begin) / 1e9:.0f} s, from {begin} to {stop} ns"
        )
    return begin, stop
