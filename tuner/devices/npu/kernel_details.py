"""The export as text, `kernel_details.csv`: a row a kernel, in microseconds.

Versions differ in their columns: the number of blocks is `Block Num` or `Block Dim`, a leading
`Step Id` may be there or not. All are found by name, and only those that matter are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from codegen.errors import shown
from tuner.devices.npu.csv_file import nanoseconds, read_csv
from tuner.devices.npu.tasks import Launched, interval_of, wrong

__all__ = ["read_kernel_details"]

_COLUMNS = (
    ("Name",),
    ("Start Time(us)",),
    ("Duration(us)",),
    ("Device_id", "Device Id", ""),
    ("Step Id", "Step ID", ""),
)


def read_kernel_details(path: Path) -> tuple[Launched, ...]:
    """Return the kernels in the table `path`, by when they started.

    Raises:
        ProfileError: it is no such table, is cut off, or says what cannot be.
    """
    found = [_launched(path, line, row) for line, row in read_csv(path, *_COLUMNS)]
    if not found:
        raise wrong(path, "holds no kernel")
    return tuple(sorted(found, key=lambda one: (one.intervals, one.name)))


def _launched(path: Path, line: int, row: Mapping[str, str]) -> Launched:
    start = nanoseconds(path, line, "Start Time(us)", row["Start Time(us)"])
    length = nanoseconds(path, line, "Duration(us)", row["Duration(us)"])
    return Launched(
        name=row["Name"],
        device=_integer(path, line, "Device_id", row),
        intervals=(interval_of(start, start + length, path, f"line {line}"),),
        step=_integer(path, line, "Step Id", row),
    )


def _integer(path: Path, line: int, column: str, row: Mapping[str, str]) -> int | None:
    """Return an integer, None where the column is missing or empty."""
    text = row.get(column, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise wrong(path, f"line {line} has {shown(text)} for {column}")
    return int(text)
