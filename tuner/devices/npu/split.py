"""The older export in two files: `api_event.db` says what was launched, `ascend_task.db` when.

The host's events stand in the order of their launches; a device's tasks are found by the connection
id. Some tasks, those of the profiler's own warm-up step above all, are place holders that start at
-1: a launch of which nothing else is known keeps its place and has no interval.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from codegen.errors import shown
from tuner.devices.npu.database import opened, require, rows
from tuner.devices.npu.markers import marker_of
from tuner.devices.npu.tasks import Interval, Launched, interval_of, whole, wrong

__all__ = ["read_split"]

_LAUNCHES = """
SELECT id, item_id, connection_id, start FROM ApiData
WHERE lower(trim(struct_type)) = 'launch' ORDER BY start, "end", connection_id
"""
_TASKS = "SELECT connection_id, start_time, duration FROM AscendTask"
_DEVICE = re.compile(r"device_([0-9]{1,4})")

# By connection id: the device, and the intervals there.
_Ran: TypeAlias = dict[int, list[tuple[int | None, Interval]]]


def read_split(api: Path, tasks: Sequence[Path]) -> tuple[Launched, ...]:
    """Return the kernels that `api` says were launched, in that order; `tasks` is a file a device.

    Raises:
        ProfileError: one of the files is no such database, is cut off, or says what cannot be.
    """
    with opened(api) as connection:
        require(
            connection, api, "ApiData", "struct_type", "id", "item_id", "start", "end",
            "connection_id",
        )  # fmt: skip
        found = rows(connection, api, _LAUNCHES)
    if not found:
        raise wrong(api, "holds no launch in the table ApiData")
    ran: _Ran = defaultdict(list)
    for path in tasks:
        for number, interval in _intervals(path):
            ran[number].append((_device_of(path), interval))
    return tuple(_launched(api, found, ran))


def _intervals(path: Path) -> Iterator[tuple[int, Interval]]:
    with opened(path) as connection:
        require(connection, path, "AscendTask", "connection_id", "start_time", "duration")
        found = rows(connection, path, _TASKS)
    if not found:
        raise wrong(path, "holds no task in the table AscendTask")
    for connection_id, start, duration in found:
        number, begin, length = whole(connection_id), whole(start), whole(duration)
        if number is None:
            raise wrong(path, f"has the connection_id {shown(connection_id)}")
        what = f"the task of connection {number}"
        if begin is None or length is None:
            value = start if begin is None else duration
            raise wrong(path, f"{what} has the time {shown(value)}, not whole nanoseconds")
        if begin >= 0 and length >= 0:  # Else a place holder.
            yield number, interval_of(begin, begin + length, path, what)


def _launched(api: Path, events: Iterable[tuple[Any, ...]], ran: _Ran) -> Iterator[Launched]:
    """Yield one launch a connection: lower layers may report the same once more, without a name."""
    named: dict[int, str] = {}
    for place, (identity, item, connection_id, start) in enumerate(events):
        if whole(start) is None:
            raise wrong(api, f"has the start {shown(start)} in the table ApiData")
        name, number = _name(identity, item), whole(connection_id)
        if number is None or number < 0:
            number = -1 - place  # It keeps its place, and no task is its own.
        known = named.get(number)
        if known is None or (marker_of(name) is not None and marker_of(known) is None):
            named[number] = name
    for number, name in named.items():
        places = ran.get(number, [])
        devices = sorted({device for device, _ in places if device is not None})
        where: list[int | None] = [*devices] or [None]
        for device in where:
            intervals = tuple(interval for there, interval in places if there == device)
            yield Launched(name=name, device=device, intervals=intervals)


def _name(identity: object, item: object) -> str:
    """Return what was launched: versions differ in which of two columns says so."""
    texts = [str(text).strip() for text in (item, identity) if text is not None]
    named = [text for text in texts if marker_of(text) is not None]
    return (named or [text for text in texts if text] or ["launch"])[0]


def _device_of(path: Path) -> int | None:
    """Return the number in the last `device_N` of the path."""
    numbers = [match[1] for part in path.parts if (match := _DEVICE.fullmatch(part))]
    return int(numbers[-1]) if numbers else None
