"""CUDA: device time by events, each launch with a cold L2 and the host ahead of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from statistics import fmean
from typing import Any

from tuner.devices.base import Launch, Times
from tuner.devices.events import EventClock
from tuner.devices.toolchain import versions
from tuner.errors import DeviceError
from tuner.printable import printable
from tuner.records import Target

__all__ = ["Cuda"]

# 0.15 ms of work on an H200 and ten times its L2: longer than a launch takes the host, so that
# the device never waits for one inside the timed region.
_FLUSH_BYTES = 640 * 10**6
# What an empty kernel takes between two events differs by 0.2 us from process to process, and with
# it all timings. They are told as of a process in which it takes this, about what H200s show.
_EMPTY_US = 3.5
_EMPTY_LAUNCHES = 320


class Cuda:
    """The first CUDA device that this process sees."""

    turn = 16
    repeat = 64
    method = (
        f"cuda events, {_FLUSH_BYTES // 10**6} MB L2 flush outside the timed region, "
        f"median of turns of up to {turn} launches, interleaved; an empty kernel is {_EMPTY_US} us"
    )

    def __init__(self) -> None:
        try:
            import torch  # noqa: PLC0415 (only where a device of this kind is opened)
        except Exception as error:  # noqa: BLE001 (a library that is not there is an OSError)
            raise DeviceError(
                f"torch cannot be imported: {printable(str(error))}",
                where="cuda",
                remedy="install it: pip install torch",
            ) from None
        if not torch.cuda.is_available():
            raise DeviceError(
                "torch sees no such device",
                where="cuda",
                remedy="see nvidia-smi and torch.cuda.device_count(), or use --device cpu",
            )
        self._torch = torch
        try:
            self._flush: Any = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device="cuda")
            self._excess_us: float | None = None
            self._one: Any = torch.zeros(1, device="cuda")
        except Exception as error:  # noqa: BLE001 (torch's errors are of many types)
            raise DeviceError(
                f"cannot be used: {printable(str(error), limit=200)}",
                where="cuda",
                remedy="see nvidia-smi for who uses it; another --device may be free",
            ) from None

    def target(self) -> Target:
        """Return the device's name and compute capability, and the versions of torch and triton."""
        major, minor = self._torch.cuda.get_device_capability()
        toolchain = {**versions("torch", "triton"), "cuda": str(self._torch.version.cuda)}
        return Target(
            device=self._torch.cuda.get_device_name(),
            arch=f"sm_{major}{minor}",
            toolchain=tuple(sorted(toolchain.items())),
        )

    def creating(self) -> AbstractContextManager[Any]:
        """Return torch's own context for a default device."""
        device: AbstractContextManager[Any] = self._torch.device("cuda")
        return device

    def moved(self, value: Any) -> Any:
        """Return a tensor or a module on the device; anything else as it is."""
        movable = isinstance(value, self._torch.Tensor | self._torch.nn.Module)
        return value.to("cuda") if movable else value

    def synchronize(self) -> None:
        """Wait for the device; an error of an earlier launch comes out here."""
        self._torch.cuda.synchronize()

    def healthy(self) -> bool:
        """Say whether the context still answers: after an illegal access it never does again."""
        try:
            self._torch.cuda.synchronize()
            self._torch.zeros(1, device="cuda").item()
        except Exception:  # noqa: BLE001 (that it fails at all is the answer)
            return False
        return True

    def time(self, launches: Sequence[Launch], *, before: Launch | None = None) -> Times:
        """Time each launch between two events; all of a batch are enqueued before the one wait."""
        clock = EventClock(self._torch.cuda, self._flush.zero_, odd=self._one.zero_)
        if launches and self._excess_us is None:
            self._excess_us = self._excess(clock)
        times, excess_us = clock.time(launches, before=before), self._excess_us or 0.0
        return replace(times, us=tuple(max(0.0, us - excess_us) for us in times.us))

    def _excess(self, clock: EventClock) -> float:
        """Return by how much an empty kernel takes longer in this process than it is said to."""
        times = clock.time([self._one.zero_] * _EMPTY_LAUNCHES)
        us = sorted(one for one, late in zip(times.us, times.late, strict=True) if not late)
        # Where the host was late for most, there is nothing to go by.
        if len(us) < _EMPTY_LAUNCHES // 2:
            return 0.0
        cut = len(us) // 8
        return fmean(us[cut : len(us) - cut]) - _EMPTY_US
