"""What the profiler left in a directory, found by the names of its files and read by its layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.devices.npu.kernel_details import read_kernel_details
from tuner.devices.npu.msprof import read_msprof
from tuner.devices.npu.op_statistic import check_whole, read_op_statistic
from tuner.devices.npu.split import read_split
from tuner.devices.npu.steps import Steps, steps_of
from tuner.devices.npu.tasks import Launched, ProfileError, wrong

__all__ = ["Read", "is_exported", "read_export"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The steps of a capture, and the layout that they were read from."""

    layout: str
    steps: Steps


def read_export(directory: Path, steps: int) -> Read:
    """Return the times of the `steps` launches that were captured into `directory`.

    The layouts are tried from the newest to the oldest: a version may write one that lacks a
    table, and another beside it that does not.

    Raises:
        ProfileError: there is no export, or none of them is sound; says what is wrong with the
            first.
    """
    failed: list[ProfileError] = []
    for layout, pattern, read in _LAYOUTS:
        files = _files(directory, pattern)
        if not files:
            continue
        try:
            launched = read(_only(files), directory)
            return Read(layout=layout, steps=steps_of(launched, steps, files[0]))
        except ProfileError as error:
            failed.append(error)
    if failed:
        raise failed[0]
    names = ", ".join(dict.fromkeys(pattern for _, pattern, _ in _LAYOUTS))
    raise wrong(
        directory,
        f"the profiler left no export: none of {names}",
        remedy="see what it printed; CANN's toolkit must be installed and its set_env.sh sourced",
    )


def is_exported(directory: Path) -> bool:
    """Say whether there is any export in `directory`, sound or not."""
    return any(_files(directory, pattern) for _, pattern, _ in _LAYOUTS)


def _files(directory: Path, pattern: str) -> list[Path]:
    return sorted(path for path in directory.rglob(pattern) if path.is_file())


def _only(files: Sequence[Path]) -> Path:
    if len(files) > 1:
        raise wrong(
            files[0],
            f"is one of {len(files)} exports of one capture",
            remedy="profile one process at a time",
        )
    return files[0]


def _msprof(path: Path, _: Path) -> Sequence[Launched]:
    return read_msprof(path)


def _split(path: Path, directory: Path) -> Sequence[Launched]:
    tasks = sorted(directory.rglob("ascend_task.db"))
    if not tasks:
        raise wrong(path, "has no ascend_task.db beside it")
    return read_split(path, tasks)


def _text(path: Path, _: Path) -> Sequence[Launched]:
    launched = read_kernel_details(path)
    statistic = path.with_name("op_statistic.csv")
    if statistic.is_file():
        check_whole(path, launched, read_op_statistic(statistic))
    return launched


_LAYOUTS: tuple[tuple[str, str, Callable[[Path, Path], Sequence[Launched]]], ...] = (
    ("database", "ascend_pytorch_profiler*.db", _msprof),
    ("database", "msprof_*.db", _msprof),
    ("split databases", "api_event.db", _split),
    ("text", "kernel_details.csv", _text),
)
