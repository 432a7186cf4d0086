"""A stand-in for torch with an NPU: as much of it as a device and a worker call."""

from __future__ import annotations

import os
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from npu_machine import MACHINE

__version__ = "2.13.0"
int32 = "int32"
device = nullcontext
strided = "strided"


class Tensor:
    """Memory on the device."""

    def __init__(self, size: int = 1, where: str = "npu:0") -> None:
        self.size, self.device = size, where

    def numel(self) -> int:
        """Return how many elements it has."""
        return self.size

    def zero_(self) -> None:
        """Overwrite it, by a kernel of CANN's."""
        MACHINE.launch("ZerosLike", 200.0)

    def item(self) -> float:
        """Return what it holds, having waited for the device."""
        MACHINE.synchronize()
        return 0.0

    def to(self, where: str) -> Tensor:
        """Return it elsewhere."""
        return Tensor(self.size, where)


class Module:
    """A model."""

    def to(self, where: str) -> str:
        """Say where it would be."""
        return f"module on {where}"


nn = SimpleNamespace(Module=Module)


def empty(size: int, *, dtype: str, device: str) -> Tensor:
    """Return memory."""
    assert (dtype, device) == ("int32", "npu:0")
    MACHINE.synchronize()
    return Tensor(size)


def zeros(size: int, *, device: str) -> Tensor:
    """Return memory."""
    return Tensor(size, device)


def manual_seed(_: int) -> None:
    """Do nothing."""


def are_deterministic_algorithms_enabled() -> bool:
    """Return what nobody set."""
    return False


is_deterministic_algorithms_warn_only_enabled = are_deterministic_algorithms_enabled


def use_deterministic_algorithms(_: bool, **__: Any) -> None:
    """Do nothing."""


utils = SimpleNamespace(deterministic=SimpleNamespace(fill_uninitialized_memory=True))


class Event:
    """A point in the device's queue."""

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing
        self.at = -1

    def record(self) -> None:
        """Enqueue it."""
        MACHINE.host += 1000
        MACHINE.log.append("event")
        self.at = max(MACHINE.device, MACHINE.host)

    def query(self) -> bool:
        """Say whether the device is past it."""
        return self.at <= MACHINE.host

    def elapsed_time(self, other: Event) -> float:
        """Return the milliseconds from here to `other`."""
        assert 0 <= self.at <= other.at <= MACHINE.host
        return (other.at - self.at) / 1e6


npu = SimpleNamespace(
    is_available=lambda: os.environ.get("ASCEND_RT_VISIBLE_DEVICES", "0") in {"0", "1"},
    set_device=lambda _: MACHINE.log.append("set_device"),
    get_device_name=lambda: "Ascend910B3",
    synchronize=MACHINE.synchronize,
    empty_cache=lambda: MACHINE.log.append("empty_cache"),
    Event=Event,
)
