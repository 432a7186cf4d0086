"""One run of torch_npu's profiler over a sequence of launches, and what it says of each.

A step is an L2 clear, a launch, a wait and the profiler's `step()`. torch_npu turns the exceptions
of its profiler into lines on the standard output: whether a capture went well is known by its
export alone.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tuner.devices.base import Launch
from tuner.devices.npu.clear import MarkedClear
from tuner.devices.npu.exports import Read, is_exported, read_export
from tuner.devices.npu.msprof_tool import export_databases
from tuner.devices.npu.tasks import ProfileError
from tuner.printable import printable

__all__ = ["Capture"]

_Result = TypeVar("_Result")


class Capture:
    """Profiles launches on the device that this process has to itself."""

    def __init__(self, torch: Any, torch_npu: Any, clear: MarkedClear) -> None:
        self._torch, self._torch_npu, self._clear = torch, torch_npu, clear

    def __call__(self, launches: Sequence[Launch], before: Launch | None) -> Read:
        """Return the device time of each of `launches`; `before` is run ahead of each, untimed.

        Raises:
            ProfileError: the profiler cannot be started or left no sound export.
        """
        with tempfile.TemporaryDirectory(
            prefix="tuned-dispatch-npu-", ignore_cleanup_errors=True
        ) as name:
            directory = Path(name)
            self._run(directory, launches, before)
            if not is_exported(directory):
                export_databases(directory)
            return read_export(directory, len(launches))

    def _run(self, directory: Path, launches: Sequence[Launch], before: Launch | None) -> None:
        profile = _profiling(lambda: self._profile(directory, len(launches)))
        _profiling(profile.start)
        try:
            self._clear.between(whole=True)
            self._step(profile, launches[0], before)  # The profiler's warm-up.
            for turn, launch in enumerate(launches):
                self._clear.between()
                if before:
                    before()
                self._clear.step(turn)
                self._step(profile, launch, None)
        except BaseException:
            with contextlib.suppress(Exception):
                profile.stop()
            raise
        _profiling(profile.stop)

    def _step(self, profile: Any, launch: Launch, before: Launch | None) -> None:
        if before:
            before()
        launch()
        self._torch.npu.synchronize()
        _profiling(profile.step)

    def _profile(self, directory: Path, steps: int) -> Any:
        profiler = self._torch_npu.profiler
        # Documented by this name. Kernels are told by name from level 1 on, and the older layout is
        # in what would be removed otherwise.
        config = profiler._ExperimentalConfig(  # noqa: SLF001
            export_type=profiler.ExportType.Db,
            profiler_level=profiler.ProfilerLevel.Level1,
            data_simplification=False,
        )
        return profiler.profile(
            activities=[profiler.ProfilerActivity.NPU],
            schedule=profiler.schedule(wait=0, warmup=1, active=steps, repeat=1),
            on_trace_ready=profiler.tensorboard_trace_handler(str(directory)),
            experimental_config=config,
        )


def _profiling(call: Callable[[], _Result]) -> _Result:
    """Return what a call of the profiler's returns; raises ProfileError if it fails."""
    try:
        return call()
    except Exception as error:
        if isinstance(error, MemoryError) or "out of memory" in str(error):
            raise
        raise ProfileError(
            f"the profiler fails: {printable(f'{type(error).__name__}: {error}', limit=120)}",
            where="npu",
            remedy="see the versions of torch_npu and CANN: tuner doctor --device npu:0",
        ) from None
