"""The NPU as a device: by its profiler, in smaller captures where one is too much, or by events."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from time import monotonic
from typing import Any

from tuner.devices.base import Launch, Times
from tuner.devices.events import EventClock
from tuner.devices.npu.cann import find_cann
from tuner.devices.npu.capture import Capture
from tuner.devices.npu.clear import CLEAR_BYTES, Clear, MarkedClear
from tuner.devices.npu.tasks import ProfileError
from tuner.devices.toolchain import versions
from tuner.errors import DeviceError
from tuner.printable import printable
from tuner.records import Target
from tuner.worker.failures import failure_of

__all__ = ["Npu"]

_DEVICE = "npu:0"  # The process sees one alone.
_L2 = f"{CLEAR_BYTES >> 20} MiB L2 clear"
# A capture takes seconds to export, and the crew takes a worker that is silent for a minute for
# hung: a sequence is cut into no more captures than this, and failures may take no longer.
_MOST_CAPTURES = 16
_PATIENCE_S = 20.0


class Npu:
    """The first NPU that this process sees."""

    def __init__(self) -> None:
        self._torch, self._torch_npu = _libraries()
        try:
            self._torch.npu.set_device(_DEVICE)
            self._clear = Clear(self._torch, _DEVICE)
        except Exception as error:  # noqa: BLE001 (torch's errors are of many types)
            raise DeviceError(
                f"cannot be used: {printable(str(error), limit=200)}",
                where="npu",
                remedy="see npu-smi info for who uses it; another --device may be free",
            ) from None
        # Made when something is timed first: most processes only try configs out.
        self._capture: Capture | None = None
        self._by_events = False
        self._most: int | None = None  # Launches of a capture, where fewer than all.
        self._why = ""  # Not all in one capture, or not by the profiler.
        self._layout = ""

    turn = 1
    repeat = 15

    @property
    def method(self) -> str:
        """How it times since something was timed last, and why not in the first way there is."""
        if self._by_events:
            return f"npu events, {_L2} outside the timed region, interleaved; {self._why}"
        layout = f", {self._layout} export" if self._layout else ""
        text = f"torch_npu profiler{layout}, {_L2} a step, union of kernels, interleaved"
        if self._most is None:
            return text
        return f"{text}; captures of at most {self._most} launches: {self._why}"

    def target(self) -> Target:
        """Return the device's name, and the versions of CANN, torch, torch_npu and Triton."""
        toolchain = {**versions("torch", "torch_npu", "triton")}
        if "triton" in toolchain:
            toolchain |= _ascend_of(toolchain.pop("triton"))
        cann = find_cann(os.environ)
        if cann and cann.version:
            toolchain["cann"] = cann.version
        name = str(self._torch.npu.get_device_name())
        return Target(device=name, arch=name.lower(), toolchain=tuple(sorted(toolchain.items())))

    def creating(self) -> AbstractContextManager[Any]:
        """Return torch's own context for a default device."""
        device: AbstractContextManager[Any] = self._torch.device(_DEVICE)
        return device

    def moved(self, value: Any) -> Any:
        """Return a tensor or a module on the device; anything else as it is."""
        movable = isinstance(value, self._torch.Tensor | self._torch.nn.Module)
        return value.to(_DEVICE) if movable else value

    def synchronize(self) -> None:
        """Wait for the device; an error of an earlier launch comes out here."""
        self._torch.npu.synchronize()

    def healthy(self) -> bool:
        """Say whether the device still answers: after a fault of a kernel it may never again."""
        try:
            self._torch.npu.synchronize()
            self._torch.zeros(1, device=_DEVICE).item()
        except Exception:  # noqa: BLE001 (that it fails at all is the answer)
            return False
        return True

    def time(self, launches: Sequence[Launch], *, before: Launch | None = None) -> Times:
        """Time each launch; all of the sequence in the same way, and so in one that is fair."""
        if not launches:
            return Times(us=(), late=(), busy_s=0.0)
        if self._by_events:
            return self._clocked(launches, before)
        times, why = self._profiled(launches, before)
        if times is None:
            times = self._clocked(launches, before)
            # Only now: a launch that fails by itself is no fault of the profiler's.
            self._by_events, self._why = True, why
        return times

    def _clocked(self, launches: Sequence[Launch], before: Launch | None) -> Times:
        return EventClock(self._torch.npu, self._clear).time(launches, before=before)

    def _profiled(
        self, launches: Sequence[Launch], before: Launch | None
    ) -> tuple[Times | None, str]:
        """Return the times, None where no size of captures succeeds, and what failed first."""
        began, why = monotonic(), ""
        try:
            capture = self._capture = self._capture or self._new_capture()
        except ProfileError as error:
            return None, error.fact
        for size in _sizes(len(launches), self._most):
            try:
                times = self._in_captures(capture, launches, before, size)
            except ProfileError as error:
                why = why or f"the profiler: {error.fact}"
            except Exception as error:
                if failure_of(error).kind != "memory":
                    raise
                why = why or "the profiler: out of memory"
                self._torch.npu.empty_cache()
            else:
                if why:
                    self._most, self._why = size, why
                return times, why
            if monotonic() - began > _PATIENCE_S:
                break
        return None, why

    def _new_capture(self) -> Capture:
        marked = MarkedClear(self._clear, self._torch)
        return Capture(self._torch, self._torch_npu, marked)

    def _in_captures(
        self, capture: Capture, launches: Sequence[Launch], before: Launch | None, size: int
    ) -> Times:
        us: list[float] = []
        busy_s = 0.0
        for first in range(0, len(launches), size):
            read = capture(launches[first : first + size], before)
            us += read.steps.us
            busy_s += read.steps.busy_s
            self._layout = read.layout
        return Times(us=tuple(us), late=(False,) * len(us), busy_s=busy_s)


def _sizes(launches: int, most: int | None) -> Iterator[int]:
    """Yield how many launches a capture may have: all, or what succeeded before, then the half."""
    least = -(-launches // _MOST_CAPTURES)
    size = max(least, min(launches, most or launches))
    while size >= least:
        yield size
        if size == 1:
            return
        size //= 2


def _libraries() -> tuple[Any, Any]:
    """Return torch and torch_npu; raises DeviceError if one is not there, or sees no device."""
    try:
        # Only where a device of this kind is opened.
        torch: Any = import_module("torch")
        torch_npu: Any = import_module("torch_npu")
    except Exception as error:  # noqa: BLE001 (a library of CANN's that is missing is an OSError)
        raise DeviceError(
            f"torch_npu cannot be imported: {printable(str(error).rstrip('. '), limit=200)}",
            where="npu",
            remedy="see what is missing: tuner doctor --device npu:0",
        ) from None
    if not torch.npu.is_available():
        raise DeviceError(
            "torch_npu sees no such device",
            where="npu",
            remedy="see npu-smi info, and tuner doctor --device npu:0",
        )
    return torch, torch_npu


def _ascend_of(triton: str) -> dict[str, str]:
    """Return the version of Triton by the name of the distribution that it came in."""
    try:
        return {"triton-ascend": version("triton-ascend")}
    except PackageNotFoundError:
        return {"triton": triton}
