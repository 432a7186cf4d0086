"""A machine with an NPU, made up: what the stand-ins for torch, torch_npu and triton run on.

The host takes 2 us a call; the device works off what is launched, one after the other. While its
profiler records, each kernel is taken down, and written in a layout of CANN's when it ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from npu_profiles import Task, write_kernel_details, write_msprof, write_op_statistic, write_split

__all__ = ["MACHINE", "Machine"]

_EPOCH = 1_700_902_984_041_176_000
_HOST_NS = 2_000


def _pytorch(place: Path, tasks: list[Task]) -> None:
    write_msprof(place / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler.db", tasks)


def _split(place: Path, tasks: list[Task]) -> None:
    write_split(place / "PROF_000001", tasks)


def _recorded(place: Path, tasks: list[Task]) -> None:
    write_msprof(place / "PROF_000001" / "recording", tasks)


def _text(place: Path, tasks: list[Task]) -> None:
    write_kernel_details(place / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", tasks)
    write_op_statistic(place / "ASCEND_PROFILER_OUTPUT" / "op_statistic.csv", tasks)


_WRITERS: dict[str, Callable[[Path, list[Task]], None]] = {
    "database": _pytorch,
    "recorded": _recorded,
    "split": _split,
    "text": _text,
}


@dataclass
class Machine:
    """The state of it all.

    Attributes:
        log: the names of what was launched, `synchronize`, `event`, and the profiler's steps.
        layout: of the exports; `recorded` is none yet, and `none` nothing at all.
        most_steps: of a capture, beyond which the export is not written.
        most_kernels: taken down, beyond which a launch says that memory is out.
        records_warmup: whether the profiler's own first step is in the export.
        loses: the name of a kernel that the export lacks.
        broken: what each call of the device raises.
        captures: the steps of each capture that was begun.
    """

    host: int = _EPOCH
    device: int = _EPOCH
    log: list[str] = field(default_factory=list)
    layout: str = "database"
    most_steps: int = 10**9
    most_kernels: int = 10**9
    records_warmup: bool = True
    loses: str = ""
    broken: Exception | None = None
    captures: list[int] = field(default_factory=list)
    recorded: list[Task] | None = None

    def launch(self, name: str, us: float) -> None:
        """Enqueue a kernel for which the device takes `us`."""
        self._answer()
        self.host += _HOST_NS
        start = max(self.device, self.host)
        self.device = start + round(1000 * us)
        self.log.append(name)
        if self.recorded is not None:
            if len(self.recorded) >= self.most_kernels:
                raise RuntimeError("NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; …)")
            self.recorded.append(Task(name=name, start=start, end=self.device))

    def synchronize(self) -> None:
        """Wait for the device."""
        self._answer()
        self.host = max(self.host, self.device)
        self.log.append("synchronize")

    def _answer(self) -> None:
        if self.broken:
            raise self.broken

    def export(self, directory: str, steps: int) -> None:
        """Write what was recorded as torch_npu does, below `directory`; or, at a fault, print."""
        tasks = [task for task in self.recorded or [] if not self.loses or task.name != self.loses]
        place = Path(directory) / f"host_{os.getpid()}_20261201004200_ascend_pt"
        if self.layout == "none" or steps > self.most_steps:
            print("[ERROR] profiler.py: Failed to export")  # As torch_npu does.
            return
        _WRITERS[self.layout](place, tasks)


MACHINE = Machine()
for _fault in filter(None, os.environ.get("NPU_MACHINE", "").split(",")):
    _name, _, _value = _fault.partition("=")
    setattr(MACHINE, _name, int(_value) if _value.isdigit() else _value)
