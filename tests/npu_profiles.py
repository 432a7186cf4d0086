"""Profiles of an NPU, made up: the same tasks written in each of the layouts that CANN exports.

The columns are those of CANN's reference of the exported files, more than are read.
"""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "Task",
    "captured",
    "write_kernel_details",
    "write_msprof",
    "write_op_statistic",
    "write_split",
]

_EPOCH = 1_700_902_984_041_176_000  # Nanoseconds, as a profile's clock tells them.
_CLEAR_NS = 200_000
_GAP_NS = 5_000

_TASK = (
    "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,"
    " globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER,"
    " modelId INTEGER"
)
_INFO = (
    "name INTEGER, globalTaskId INTEGER, blockNum INTEGER, mixBlockNum INTEGER, taskType INTEGER,"
    " opType INTEGER"
)
_API = (
    "struct_type TEXT, id TEXT, level TEXT, thread_id INTEGER, item_id TEXT, start INTEGER,"
    ' "end" INTEGER, connection_id INTEGER'
)
_ASCEND_TASK = (
    "model_id INTEGER, index_id INTEGER, stream_id INTEGER, task_id INTEGER, context_id INTEGER,"
    " batch_id INTEGER, start_time NUMERIC, duration NUMERIC, host_task_type TEXT,"
    " device_task_type TEXT, connection_id INTEGER"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A kernel that ran, or of which only the launch is known where `start` is negative."""

    name: str
    start: int
    end: int
    device: int = 0
    step: int = 0


def captured(steps: Sequence[Sequence[float]], *, warmup: bool = True) -> list[Task]:
    """Return the tasks of a capture whose steps have kernels of so many microseconds each.

    A kernel follows the one before it at once; a pair of 10.0 and -4.0 overlaps by 4 us. With
    `warmup` the profiler's own first step is there too.
    """
    tasks: list[Task] = []
    now = _EPOCH

    def run(name: str, ns: int, step: int) -> None:
        nonlocal now
        tasks.append(Task(name=name, start=now, end=now + ns, step=step))
        now += ns

    if warmup:
        run("tuned_dispatch_l2_between", _CLEAR_NS, 0)
        run("kernel_cold", 900_000, 0)
    for number, lengths in enumerate(steps, start=1):
        now += _GAP_NS
        run("tuned_dispatch_l2_between", 1_000, number)
        run("restore", 50_000, number)
        run(f"tuned_dispatch_l2_clear_{(number - 1) % 3}", _CLEAR_NS, number)
        for i, us in enumerate(lengths):
            if us < 0:
                now += round(1000 * us)
            else:
                run(f"kernel_{i}", round(1000 * us), number)
        now = max([now, *(task.end for task in tasks)])
    return tasks


def _table(connection: sqlite3.Connection, name: str, columns: str, rows: Iterable[Any]) -> None:
    connection.execute(f"CREATE TABLE {name} ({columns})")
    found = list(rows)
    if found:
        marks = ", ".join("?" * len(found[0]))
        connection.executemany(f"INSERT INTO {name} VALUES ({marks})", found)  # noqa: S608


def write_msprof(path: Path, tasks: Sequence[Task]) -> Path:
    """Write the database of one file; waits and copies are tasks there as well, and no kernels."""
    names = sorted({task.name for task in tasks})
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        _table(
            connection,
            "TASK",
            _TASK,
            [
                *(
                    (t.start, t.end, t.device, i, i, 1, 1, 4294967295, 2, i, 0)
                    for i, t in enumerate(tasks)
                ),
                *(
                    (t.end, t.end + 700_000, t.device, -1, len(tasks) + i, 1, 2, 0, 2, 0, 0)
                    for i, t in enumerate(tasks)
                ),
            ],
        )
        _table(
            connection,
            "COMPUTE_TASK_INFO",
            _INFO,
            [(names.index(t.name), i, 32, 0, 0, 0) for i, t in enumerate(tasks)],
        )
        _table(connection, "STRING_IDS", "id INTEGER, value TEXT", list(enumerate(names)))
        connection.commit()
    return path


def write_split(directory: Path, tasks: Sequence[Task]) -> Path:
    """Write the two databases of the older layout below `directory`; return that of the host."""
    host = directory / "host" / "sqlite" / "api_event.db"
    host.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(host)) as connection:
        events: list[tuple[Any, ...]] = []
        for i, task in enumerate(tasks):
            at = 100 * i
            events += [
                ("launch", "launch", "node", 7, task.name, at, at + 50, i),
                ("launch", "rtKernelLaunch", "runtime", 7, "", at + 10, at + 40, i),
                ("aclrtSynchronizeStream", "sync", "acl", 7, "", at + 60, at + 90, -1),
            ]
        _table(connection, "ApiData", _API, reversed(events))
        connection.commit()
    for device in sorted({task.device for task in tasks}):
        path = directory / f"device_{device}" / "sqlite" / "ascend_task.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            rows = [
                (0, 0, 2, i, 0, 0, t.start, t.end - t.start if t.start >= 0 else -1, "", "", i)
                for i, t in enumerate(tasks)
                if t.device == device
            ]
            _table(connection, "AscendTask", _ASCEND_TASK, reversed(rows))
            connection.commit()
    return host


def write_kernel_details(
    path: Path, tasks: Sequence[Task], *, blocks: str = "Block Num", step_id: bool = False
) -> Path:
    """Write the table of kernels; `blocks` is a column that versions call differently."""
    head = ["Device_id", "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)"]
    head += ["Wait Time(us)", blocks, "Input Shapes"]
    rows = [
        [
            *(t.device, t.name, t.name, "AI_VECTOR_CORE", f"{_us(t.start)}\t"),
            *(_us(t.end - t.start), "0.0", 32, '"4,4;4,4"'),
        ]
        for t in tasks
    ]
    if step_id:
        head, rows = (
            ["Step Id", *head],
            [[t.step, *row] for t, row in zip(tasks, rows, strict=True)],
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def write_op_statistic(path: Path, tasks: Sequence[Task]) -> Path:
    """Write the table of kinds of kernels that belongs to it."""
    head = ["Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)"]
    rows: list[list[Any]] = [[*head, "Avg Time(us)", "Max Time(us)", "Ratio(%)"]]
    for name in sorted({task.name for task in tasks}):
        us = [(task.end - task.start) / 1000 for task in tasks if task.name == name]
        row = [0, name, "AI_VECTOR_CORE", len(us), round(sum(us), 3), min(us)]
        rows.append([*row, round(sum(us) / len(us), 3), max(us), 1.0])
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def _us(ns: int) -> str:
    """Return nanoseconds as microseconds, to the digit, as the profiler prints them."""
    return f"{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03}"
