"""The export as text, `op_statistic.csv`: a row a kind of kernel, summed up over the capture.

It cannot tell one step from another. It does tell how often each kernel ran, and so whether the
table of the single kernels beside it is whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from codegen.errors import shown
from tuner.devices.npu.csv_file import number, read_csv
from tuner.devices.npu.markers import marker_of
from tuner.devices.npu.tasks import Launched, wrong

__all__ = ["Statistic", "check_whole", "read_op_statistic"]

_COLUMNS = (
    ("OP Type", "Op Type"),
    ("Core Type",),
    ("Count",),
    ("Total Time(us)",),
    ("Min Time(us)",),
    ("Avg Time(us)", "Average Time(us)"),
    ("Max Time(us)",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """A kind of kernel: how often it ran, and for how many microseconds."""

    op_type: str
    core_type: str
    count: int
    total_us: float
    min_us: float
    mean_us: float
    max_us: float


def read_op_statistic(path: Path) -> tuple[Statistic, ...]:
    """Return the rows of the table `path`, in order.

    Raises:
        ProfileError: it is no such table, is cut off, or contradicts itself.
    """
    found = tuple(_statistic(path, line, row) for line, row in read_csv(path, *_COLUMNS))
    if not found:
        raise wrong(path, "holds no kernel")
    return found


def _statistic(path: Path, line: int, row: Mapping[str, str]) -> Statistic:
    count = number(path, line, "Count", row["Count"])
    if not count or count != count.to_integral_value():
        raise wrong(path, f"line {line} has {shown(row['Count'])} for Count")
    total, least, mean, most = (
        float(number(path, line, names[0], row[names[0]])) for names in _COLUMNS[3:]
    )
    if not least <= most or total < most:
        fact = f"line {line} has a longest time of {most} us, a shortest of {least}, {total} in all"
        raise wrong(path, fact)
    return Statistic(
        op_type=row["OP Type"],
        core_type=row["Core Type"],
        count=int(count),
        total_us=total,
        min_us=least,
        mean_us=mean,
        max_us=most,
    )


def check_whole(path: Path, launched: Iterable[Launched], statistics: Iterable[Statistic]) -> None:
    """Check that the table `path`, which `launched` was read from, has all markers that ran.

    Only markers are counted: their type is their name, whatever the profiler calls other kernels.

    Raises:
        ProfileError: it has fewer, or more: it was cut off at the end of a line.
    """
    here = Counter(key for one in launched if (key := marker_of(one.name)) is not None)
    there: Counter[object] = Counter()
    for one in statistics:
        if (key := marker_of(one.op_type)) is not None:
            there[key] += one.count
    if there and here != there:
        raise wrong(
            path,
            f"holds {here.total()} L2 clears, and op_statistic.csv beside it counts "
            f"{there.total()}: it is cut off",
        )
