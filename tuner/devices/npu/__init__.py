"""The NPU: timed by its own profiler, whose export is read in each of its layouts.

`device` is what a worker opens; `capture` runs the profiler, `exports` finds what it left and hands
it to the reader of its layout, `steps` sums up the kernels of each launch. The readers are
functions of files and need no device.
"""

from __future__ import annotations

from tuner.devices.npu.device import Npu
from tuner.devices.npu.tasks import ProfileError

__all__ = ["Npu", "ProfileError"]
