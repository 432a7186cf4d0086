"""What tests of tuning share: requests for small cases, what was measured, processes that live."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tuner.cases import load_case
from tuner.crew import Event, Workers
from tuner.devices.names import DeviceName
from tuner.kb import KnowledgeBase
from tuner.outcome import Delivery
from tuner.records import Failure, Record, Shape, Timing
from tuner.tune import CaseRequest, kernel_of
from tuner.worker.messages import Limits

__all__ = [
    "CONVERTED",
    "CPU",
    "FICKLE",
    "HOSTILE",
    "MATMUL_TABLE",
    "ORIGINAL",
    "copy_of",
    "ended",
    "fates_of",
    "records_in",
    "request",
    "results_in",
    "set_modes",
    "workers_for",
    "workers_of",
]

_HERE = Path(__file__).resolve().parent
FICKLE = _HERE / "cases" / "fickle"
HOSTILE = _HERE / "cases" / "hostile"
ORIGINAL, CONVERTED = _HERE / "cases" / "original", _HERE / "cases" / "converted"
MATMUL_TABLE = _HERE / "data" / "h200_matmul.json"
CPU = DeviceName("cpu")
_QUICK = Limits(timeout_s=20.0, repeat=5)


def copy_of(case: Path, place: Path, modes: Sequence[str] | None = None) -> Path:
    """Copy a case to `place`, its candidates those `modes`, and return its directory."""
    shutil.copytree(case, place, ignore=shutil.ignore_patterns("__pycache__"))
    if modes is not None:
        set_modes(place, modes)
    return place


def set_modes(case: Path, modes: Sequence[str]) -> None:
    """Let the candidates of `case` be those whose MODE is in `modes`."""
    path = case / "sample.json"
    sample = json.loads(path.read_text())
    sample["autotune"]["configs"] = [{"MODE": mode} for mode in modes]
    path.write_text(json.dumps(sample))


def request(
    case: Path,
    place: Path,
    *,
    devices: Sequence[DeviceName] = (CPU,),
    impl: Path | None = None,
    limits: Limits = _QUICK,
    **changes: Any,
) -> CaseRequest:
    """Return a request to tune `case`, with all that it writes in or below `place`."""
    loaded = load_case(case, impl=impl)
    delivery = Delivery(directory=place / "out", source=loaded.impl)
    return CaseRequest(
        case=loaded,
        devices=tuple(devices),
        kb=place / "kb.sqlite",
        delivery=delivery,
        limits=limits,
        **changes,
    )


def workers_for(
    case: Path, *, devices: Sequence[DeviceName] = (CPU,), limits: Limits = _QUICK
) -> Workers:
    """Return a crew for `case`."""
    return Workers(kernel_of(load_case(case)), devices, limits)


def records_in(kb: Path) -> tuple[Record, ...]:
    """Return all records of a knowledge base."""
    with KnowledgeBase.open(kb, create=False) as base:
        return tuple(row.record for row in base.rows())


def results_in(kb: Path) -> dict[tuple[Shape, str], str]:
    """Return by shape and MODE the kind of failure, or `timed`; each has one row."""
    records = records_in(kb)
    found = {
        (record.shape, str(record.config.param("MODE"))): _kind(record.result) for record in records
    }
    assert len(found) == len(records)
    return found


def _kind(result: Timing | Failure) -> str:
    return result.kind if isinstance(result, Failure) else "timed"


def fates_of(events: Iterator[Event] | Sequence[Event]) -> list[tuple[Any, ...]]:
    """Return events without what differs from run to run."""
    found: list[tuple[Any, ...]] = []
    for event in events:
        name = type(event).__name__
        match name:
            case "Outcome":
                result = getattr(event, "result")  # noqa: B009 (a union of events)
                kind = "passed" if result is None else _kind(result)
                found.append((name, event.shape, event.config, kind))  # type: ignore[union-attr]
            case "ShapeLost":
                found.append((name, event.shape))  # type: ignore[union-attr]
            case _:
                found.append((name,))
    return found


def workers_of(parent: int | None = None) -> list[int]:
    """Return the ids of the live workers, those of the process `parent` alone if it is given."""
    found = []
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
            state, above = (directory / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        is_worker = any(b"tuner.worker" in word for word in words)
        if is_worker and state != "Z" and parent in {None, int(above)}:
            found.append(int(directory.name))
    return found


def ended(processes: Sequence[int], within_s: float = 20.0) -> bool:
    """Say whether all of `processes` are gone, which may take them a moment."""
    end = time.monotonic() + within_s
    while any(_lives(process) for process in processes):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def rows_of(kb: Path) -> list[tuple[Any, ...]]:
    """Return the keys of all rows, read without our own code."""
    with sqlite3.connect(f"file:{kb}?mode=ro", uri=True) as connection:
        return sorted(
            connection.execute("SELECT scope_id, dtype, inputs, shape, config_id FROM record")
        )
