"""CUDA: device time by events, each launch with a cold L2 and the host ahead of it."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from tuner.devices.base import Launch, Times
from tuner.devices.toolchain import versions
from tuner.errors import DeviceError
from tuner.printable import printable
from tuner.records import Target

__all__ = ["Cuda"]

# 0.15 ms of work on an H200 and ten times its L2: longer than a launch takes the host, so that
# the device never waits for one inside the timed region.
_FLUSH_BYTES = 640 * 10**6
# 2.4 ms of work ahead of the first launch: the host's lead, and time for the clock to rise.
_LEAD_FLUSHES = 16
# With more events in flight than this, recording one waits for the device.
_BATCH = 1000


class Cuda:
    """The first CUDA device that this process sees."""

    method = (
        f"cuda events, {_FLUSH_BYTES // 10**6} MB L2 flush outside the timed region, interleaved"
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
        us: list[float] = []
        late: list[bool] = []
        busy_s = 0.0
        for first in range(0, len(launches), _BATCH):
            times = self._batch(launches[first : first + _BATCH], before)
            us += times.us
            late += times.late
            busy_s += times.busy_s
        return Times(us=tuple(us), late=tuple(late), busy_s=busy_s)

    def _batch(self, launches: Sequence[Launch], before: Launch | None) -> Times:
        cuda = self._torch.cuda
        events = [(self._event(), self._event()) for _ in launches]
        begin, late = self._event(), []
        collecting = gc.isenabled()
        gc.disable()  # A collection in the midst would cost the host its lead.
        try:
            cuda.synchronize()
            begin.record()
            for _ in range(_LEAD_FLUSHES):
                self._flush.zero_()
            for launch, (start, end) in zip(launches, events, strict=True):
                if before:
                    before()
                self._flush.zero_()
                start.record()
                launch()
                end.record()
                # Passed before the launch was complete: the device may have waited for it.
                late.append(bool(start.query()))
            cuda.synchronize()
        finally:
            if collecting:
                gc.enable()
        return Times(
            us=tuple(1000.0 * start.elapsed_time(end) for start, end in events),
            late=tuple(late),
            busy_s=begin.elapsed_time(events[-1][1]) / 1000.0 if events else 0.0,
        )

    def _event(self) -> Any:
        event: Any = self._torch.cuda.Event  # Without annotations.
        return event(enable_timing=True)
