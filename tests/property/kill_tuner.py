"""Kill the tuner with SIGKILL at random moments, resume it, and see that nothing is lost or twice.

    python tests/property/kill_tuner.py [--count 50] [--seed 0] [--device cpu|replay]

On `cpu` the numpy case `nearest` is tuned on a few shapes, on `replay` the case `matmul` on a table
recorded on an H200. Each run is killed at a random moment, four in five after it has begun to try
configs out, and started again until it comes to its end; then all begins anew with nothing known,
until there were so many kills. After each kill:

- what was committed before is there still, unchanged, each row once
- no process of the run is alive, and none left a file in the directory for temporary files

and after each end:

- there are the rows of an undisturbed run, on `replay` with the same values
- table and manifest on `replay` are the undisturbed run's to the byte
- the output directory holds nothing but what a kill in the midst of a write may leave
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tuning import CONVERTED, MATMUL_TABLE, ORIGINAL, records_in

__all__ = ["Report", "run"]


def _some_shapes(table: Path, count: int) -> str:
    """Return the first shapes of a table as `--shapes` takes them."""
    shapes = json.loads(table.read_text())["shapes"][:count]
    return ";".join(",".join(map(str, shape)) for shape in shapes)


_MARK = "TUNED_DISPATCH_KILL_TEST"
_FILES = {"impl.py", "latencies.json", "manifest.json"}
_ARGUMENTS = {
    "cpu": (
        ORIGINAL / "nearest",
        *("--impl", CONVERTED / "nearest" / "impl.py"),
        *("--shapes", "1,512,16;64,64,16;100,300,24;512,8,16", "--repeat", "5"),
    ),
    "replay": (
        ORIGINAL / "matmul",
        *("--impl", CONVERTED / "matmul" / "impl.py", "--device", f"replay:{MATMUL_TABLE}"),
        *("--shapes", _some_shapes(MATMUL_TABLE, 60)),
    ),
}
_ENDS_WITHIN_S = 10.0


@dataclass(slots=True, kw_only=True)
class Report:
    """What was seen.

    Attributes:
        kills: by the stage in which they fell.
        ends: how often a run came to its end.
        rows: of an undisturbed run.
        faults: in words; none if all is well.
    """

    device: str
    kills: Counter[str] = field(default_factory=Counter)
    ends: int = 0
    rows: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the report as two lines."""
        stages = ", ".join(f"{stage} {count}" for stage, count in sorted(self.kills.items()))
        verdict = "all well" if not self.faults else f"{len(self.faults)} faults: {self.faults[:3]}"
        return (
            f"{self.device}: {self.kills.total()} kills ({stages}), {self.ends} runs came to "
            f"their end with {self.rows} rows\n{self.device}: {verdict}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The directories of one tuning, and the device it is on."""

    root: Path
    device: str

    @property
    def kb(self) -> Path:
        """The knowledge base."""
        return self.root / "kb.sqlite"

    def start(self) -> subprocess.Popen[str]:
        """Start the tuner, its messages in the file `err`."""
        (self.root / "tmp").mkdir(parents=True, exist_ok=True)
        environment = os.environ | {_MARK: str(self.root), "TMPDIR": str(self.root / "tmp")}
        options = (*_ARGUMENTS[self.device], "-o", self.root / "out", "--kb", self.kb)
        with (self.root / "err").open("w") as err:
            return subprocess.Popen(
                [sys.executable, "-m", "tuner", "tune", *map(str, options)],
                stdout=err,
                stderr=err,
                env=environment,
                text=True,
                start_new_session=True,
            )

    def stage(self) -> str:
        """Return in which stage the last run is or was, by what it said."""
        said = (self.root / "err").read_text()
        if "next: codegen emit" in said:
            return "done"
        for stage in ("measure", "gate"):
            lines = [line for line in said.splitlines() if line.startswith(f"{stage}: ")]
            if lines:
                whole = stage == "measure" and len(lines) > 1 and " left" not in lines[-1]
                return "writing" if whole else stage
        return "start"

    def rows(self) -> dict[tuple[Any, ...], Any]:
        """Return the result of each row by its key; raises where a key stands twice."""
        if not self.kb.exists() or not self.kb.stat().st_size:
            return {}
        records = records_in(self.kb)
        found = {(r.shape, r.dtype, r.inputs, r.config.id): r.result for r in records}
        if len(found) != len(records):
            raise AssertionError(f"{len(records)} rows have {len(found)} keys")
        return found

    def output(self) -> tuple[bytes, bytes]:
        """Return the bytes of table and manifest."""
        names = ("latencies.json", "manifest.json")
        return tuple((self.root / "out" / name).read_bytes() for name in names)  # type: ignore[return-value]

    def alive(self) -> list[int]:
        """Return the processes of the run that are alive, workers too, whoever their parent is."""
        mark = f"{_MARK}={self.root}\0".encode()
        found = []
        for directory in Path("/proc").iterdir():
            if directory.name.isdigit():
                try:
                    state = (directory / "stat").read_text().rpartition(")")[2].split()[0]
                    if state != "Z" and mark in (directory / "environ").read_bytes():
                        found.append(int(directory.name))
                except OSError:
                    continue
        return found


def run(device: str, *, count: int, seed: int, show: bool = False) -> Report:
    """Kill `count` runs on `device`, and return what was seen."""
    report = Report(device=device)
    rng = random.Random(seed)  # noqa: S311 (moments, no secrets)
    with tempfile.TemporaryDirectory(prefix="kill-") as name:
        plain = _Place(root=Path(name) / "plain", device=device)
        process = plain.start()
        until_it_works = _until_it_works(plain, process)
        began = time.monotonic()
        if process.wait(timeout=300):
            raise AssertionError(f"undisturbed: {(plain.root / 'err').read_text()}")
        moments = _Moments(rng=rng, start_s=until_it_works, work_s=time.monotonic() - began)
        report.rows = len(plain.rows())
        while report.kills.total() < count:
            place = _Place(root=Path(name) / f"round{report.ends}", device=device)
            _round(place, plain, moments, report, count=count, show=show)
            shutil.rmtree(place.root)
    return report


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moments:
    """When to kill: `start_s` is how long an undisturbed run takes to begin, `work_s` the rest."""

    rng: random.Random
    start_s: float
    work_s: float

    def await_one(self, place: _Place, process: subprocess.Popen[str]) -> int | None:
        """Wait for a moment to kill `process`; return its status if it came to its end before."""
        if self.rng.random() < 0.2:
            limit_s = self.rng.uniform(0.0, self.start_s)
        else:
            _until_it_works(place, process)
            # More often soon, as the last part is the fit; at times longer than is needed.
            limit_s = 1.1 * self.work_s * self.rng.random() ** 2
        try:
            return process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return None


def _until_it_works(place: _Place, process: subprocess.Popen[str]) -> float:
    """Wait until the run tries configs out, or has come to its end; return for how long."""
    began = time.monotonic()
    while place.stage() == "start" and process.poll() is None:
        time.sleep(0.005)
    return time.monotonic() - began


def _round(
    place: _Place,
    plain: _Place,
    moments: _Moments,
    report: Report,
    *,
    count: int,
    show: bool,
) -> None:
    """Tune from nothing to the end, killed on the way."""
    known: dict[tuple[Any, ...], Any] = {}
    while report.kills.total() < count:
        process = place.start()
        status = moments.await_one(place, process)
        if status is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
            report.kills[place.stage()] += 1
        known = _check_after(place, known, status, report)
        if show:
            print(f"{report.device}: {report.kills.total()} of {count}", end="\r", file=sys.stderr)
        if status is not None:
            break
    if place.start().wait(timeout=300):
        report.faults.append(f"the last run failed: {(place.root / 'err').read_text()[-300:]}")
        return
    known = _check_after(place, known, 0, report)
    _check_end(place, plain, known, report)
    report.ends += 1


def _check_after(
    place: _Place, known: dict[tuple[Any, ...], Any], status: int | None, report: Report
) -> dict[tuple[Any, ...], Any]:
    """Check what has to hold after any run, killed (`status` is None) or not; return the rows."""
    if status:
        report.faults.append(f"status {status}: {(place.root / 'err').read_text()[-300:]}")
    end = time.monotonic() + _ENDS_WITHIN_S
    while (alive := place.alive()) and time.monotonic() < end:
        time.sleep(0.02)
    if alive:
        report.faults.append(f"processes are left: {alive}")
    if left := [path.name for path in (place.root / "tmp").iterdir()]:
        report.faults.append(f"temporary files are left: {left}")
    rows = place.rows()
    lost = [key for key, result in known.items() if rows.get(key) != result]
    if lost:
        report.faults.append(f"{len(lost)} rows are lost or changed, such as {lost[0]}")
    return rows


def _check_end(
    place: _Place, plain: _Place, rows: dict[tuple[Any, ...], Any], report: Report
) -> None:
    expected = plain.rows()
    if set(rows) != set(expected):
        report.faults.append(f"{len(rows)} rows instead of {len(expected)}")
    if place.device == "replay":
        if rows != expected:
            report.faults.append("rows have other values than undisturbed")
        if place.output() != plain.output():
            report.faults.append("table or manifest differ from the undisturbed ones")
    others = {path.name for path in (place.root / "out").iterdir()} - _FILES
    if len(others) > report.kills["writing"] + report.kills["done"] or not all(
        name.startswith(".") for name in others
    ):
        report.faults.append(f"other files are left: {sorted(others)}")


def main() -> int:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=50, help="kills on each device")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=sorted(_ARGUMENTS), help="on this one alone")
    arguments = parser.parse_args()
    devices = [arguments.device] if arguments.device else sorted(_ARGUMENTS)
    faults = 0
    for device in devices:
        report = run(device, count=arguments.count, seed=arguments.seed, show=True)
        print(report, flush=True)
        faults += len(report.faults)
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
