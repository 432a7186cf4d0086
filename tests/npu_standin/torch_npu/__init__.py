"""A stand-in for torch_npu: its profiler, called as it is documented.

Like the real one it lets no exception out of its own calls, but prints them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from npu_machine import MACHINE

__version__ = "2.13.0.post1"

_NONE, _WARMUP, _RECORD, _SAVE = range(4)


def _schedule(
    *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], int]:
    assert (wait, warmup, repeat, skip_first) == (0, 1, 1, 0)
    MACHINE.captures.append(active)

    def action(step: int) -> int:
        if step >= warmup + active:
            return _NONE
        return _WARMUP if step < warmup else _SAVE if step == active else _RECORD

    return action


def _tensorboard_trace_handler(
    dir_name: str | None = None,
    worker_name: str | None = None,
    *,
    analyse_flag: bool = True,
    async_mode: bool = False,
) -> Callable[[Any], None]:
    assert dir_name
    assert worker_name is None
    assert analyse_flag
    assert not async_mode
    return lambda profile: MACHINE.export(dir_name, profile.active)


class _ExperimentalConfig:
    def __init__(self, **options: Any) -> None:
        self.options = options


class _Profile:
    """The profiler: what it does at a step follows from the actions before it and after it."""

    def __init__(
        self,
        *,
        activities: list[str],
        schedule: Callable[[int], int],
        on_trace_ready: Callable[[Any], None],
        experimental_config: _ExperimentalConfig,
    ) -> None:
        assert activities == ["NPU"]
        assert experimental_config.options == {
            "export_type": "db",
            "profiler_level": "Level1",
            "data_simplification": False,
        }
        self._schedule, self._ready = schedule, on_trace_ready
        self.active = MACHINE.captures[-1]
        self._step = 0

    def start(self) -> None:
        """Begin with the warm-up step."""
        MACHINE.recorded = [] if MACHINE.records_warmup else None

    def step(self) -> None:
        """Go on to the next step; after the last one the export is written."""
        MACHINE.log.append("step")
        before, self._step = self._schedule(self._step), self._step + 1
        if before == _WARMUP and MACHINE.recorded is None:
            MACHINE.recorded = []
        if before == _SAVE:
            self._save()

    def stop(self) -> None:
        """End; what is recorded by then is written."""
        if self._schedule(self._step) in {_RECORD, _SAVE}:
            self._save()
        MACHINE.recorded = None

    def _save(self) -> None:
        self._ready(self)
        MACHINE.recorded = None


profiler = SimpleNamespace(
    ProfilerActivity=SimpleNamespace(CPU="CPU", NPU="NPU"),
    ExportType=SimpleNamespace(Text="text", Db="db"),
    ProfilerLevel=SimpleNamespace(Level0="Level0", Level1="Level1", Level2="Level2"),
    schedule=_schedule,
    tensorboard_trace_handler=_tensorboard_trace_handler,
    profile=_Profile,
    _ExperimentalConfig=_ExperimentalConfig,
)
