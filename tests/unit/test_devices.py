"""Devices by their names, and the CPU: how it is pinned, and how short calls are timed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tuner.devices import DeviceName, cpu, open_device, parse_devices
from tuner.devices.cpu import Cpu
from tuner.errors import DeviceError


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cpu", ("cpu",)),
        ("cuda", ("cuda:0",)),
        ("cuda:3", ("cuda:3",)),
        ("cuda:0, cuda:1", ("cuda:0", "cuda:1")),
        ("npu", ("npu:0",)),
        ("npu:0,npu:1", ("npu:0", "npu:1")),
        ("replay:a,b.json", ("replay:a,b.json",)),
    ],
)
def test_devices_are_named_as_a_user_writes_them(text: str, names: tuple[str, ...]) -> None:
    """What is parsed prints as it may be written again."""
    devices = parse_devices(text)
    assert tuple(map(str, devices)) == names
    assert parse_devices(",".join(names)) == devices


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is not a device; write cpu"),
        ("gpu", "'gpu' is not a device"),
        ("CPU", "'CPU' is not a device"),
        ("cuda:", "'cuda:' is not a device"),
        ("cuda:-1", "'cuda:-1' is not a device"),
        ("cuda:٣", r"'cuda:\u0663' is not a device"),
        ("cuda:1000", "'cuda:1000' is not a device"),
        ("cpu,", "'' is not a device"),
        ("cuda:0,cuda:00", "cuda:0 stands twice; name it once"),
        ("cpu,cuda", "'cpu,cuda' mixes kinds of devices"),
        ("npu:", "'npu:' is not a device; write cpu, cuda:0, cuda:0,cuda:1, npu:0 or"),
        ("npu:0,npu:0", "npu:0 stands twice; name it once"),
        ("npu:0,cuda:0", "'npu:0,cuda:0' mixes kinds of devices"),
        ("cpu,replay:t.json", "'replay:t.json' is not a device"),
        ("replay:", "replay: names no table; write replay:table.json"),
        ("\x1b[31m" * 50, "is not a device"),
    ],
)
def test_what_is_no_device_is_refused_in_one_line(text: str, words: str) -> None:
    """The option, the value as it was written, and what to write."""
    with pytest.raises(DeviceError) as caught:
        parse_devices(text)
    line = str(caught.value)
    assert line.startswith("--device: ")
    assert words in line
    assert "\n" not in line
    assert "\x1b" not in line


def test_the_cpu_says_what_it_is_and_what_code_runs_on_it() -> None:
    """Its name, its architecture, and the versions of the libraries that are loaded."""
    target = open_device(DeviceName("cpu")).target()
    assert target.device
    assert target.arch
    tools = dict(target.toolchain)
    assert tools["python"] == sys.version.split()[0].rstrip("+")
    assert tools["numpy"] == np.__version__
    assert list(target.toolchain) == sorted(target.toolchain)


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Return the cores that the process is put on from now on; it is not, here."""
    found: list[list[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {4, 5, 6, 7}, raising=False)
    monkeypatch.setattr(
        os, "sched_setaffinity", lambda _, cores: found.append(list(cores)), raising=False
    )
    return found


@pytest.mark.parametrize(
    ("threads", "cores"),
    [
        (None, [7]),
        ("1", [7]),
        (" 2 ", [6, 7]),
        ("64", [4, 5, 6, 7]),
        ("0", [7]),
        ("-3", [7]),
        ("", [7]),
        ("many", [7]),
        ("2,3", [7]),
        ("²", [7]),
        ("9" * 5000, [7]),
    ],
)
def test_as_many_cores_as_threads_whatever_the_environment_says(
    threads: str | None, cores: list[int], pinned: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nonsense in OMP_NUM_THREADS is one thread; the last cores are taken."""
    if threads is None:
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    else:
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
    Cpu().time([lambda: None])
    assert pinned
    assert all(found == cores for found in pinned)


def test_nothing_is_pinned_before_something_is_timed(pinned: list[Any]) -> None:
    """Workers that only try configs share the cores; pinning is done once."""
    device = Cpu()
    device.target()
    with device.creating():
        device.moved(3)
    device.synchronize()
    assert device.healthy()
    assert not pinned
    device.time([lambda: None])
    before = len(pinned)
    device.time([lambda: None])
    assert len(pinned) == before > 0


def test_a_process_is_really_pinned_with_all_its_threads() -> None:
    """Threads that a library began before are put there too."""
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("this system does not pin processes")
    program = (
        "import os, threading\n"
        "from tuner.devices.cpu import Cpu\n"
        "ready, done = threading.Event(), threading.Event()\n"
        "numbers = []\n"
        "def work():\n"
        "    numbers.append(threading.get_native_id())\n"
        "    ready.set()\n"
        "    done.wait()\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start()\n"
        "ready.wait()\n"
        "Cpu().time([lambda: None])\n"
        "print(len(os.sched_getaffinity(0)), len(os.sched_getaffinity(numbers[0])))\n"
        "done.set()\n"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=Path(__file__).parents[2],
        timeout=60,
    )
    assert ran.stdout.split() == ["1", "1"]


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        """Return the time in nanoseconds."""
        return self.ns


class Calls:
    """A launch that counts its calls and takes `us` by a clock of its own, the first `first_us`."""

    def __init__(self, clock: Clock, us: float, first_us: float | None = None) -> None:
        self.clock, self.us, self.first_us, self.count = clock, us, first_us, 0

    def __call__(self) -> None:
        """Let the time pass."""
        self.count += 1
        first = self.count == 1 and self.first_us is not None
        self.clock.ns += int(1000 * (self.first_us if first else self.us))  # type: ignore[operator]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, pinned: list[Any]) -> Clock:
    """Return the clock that the CPU is timed by."""
    assert not pinned
    found = Clock()
    monkeypatch.setattr(cpu, "perf_counter_ns", found)
    return found


@pytest.mark.parametrize(
    ("us", "first_us", "loops"),
    [
        (1.0, None, 50),
        (1.0, 400.0, 50),  # A first call that takes longer is not taken for the rule.
        (30.0, None, 2),
        (60.0, None, 1),
        (5000.0, None, 1),
        (0.0, None, 50_000),
    ],
)
def test_short_calls_are_put_together_to_a_sample(
    clock: Clock, us: float, first_us: float | None, loops: int
) -> None:
    """A sample takes 50 us at least; what is told is the time of one call."""
    device, launch = Cpu(), Calls(clock, us, first_us)
    device.time([launch])
    before = launch.count
    times = device.time([launch, launch])
    assert launch.count - before == 2 * loops
    assert times.us == (us, us)
    assert times.late == (False, False)
    assert times.busy_s == pytest.approx(2 * loops * us / 1e6)


def test_with_inputs_to_restore_each_call_is_timed_by_itself(clock: Clock) -> None:
    """What changes its inputs sees them fresh at every call; restoring takes no time."""
    launch, restore = Calls(clock, 1.0), Calls(clock, 700.0)
    times = Cpu().time([launch] * 3, before=restore)
    assert launch.count == restore.count == 3
    assert times.us == (1.0, 1.0, 1.0)
    assert times.busy_s == pytest.approx(3e-6)


def test_no_launches_take_no_time(clock: Clock) -> None:
    """An empty sequence is one."""
    assert clock.ns == 0
    times = Cpu().time([])
    assert (times.us, times.late, times.busy_s) == ((), (), 0.0)


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_not_collected_meanwhile_and_is_again_afterwards(
    enabled: bool, clock: Clock
) -> None:
    """After an exception as well; where it was off it stays off."""
    assert clock.ns == 0
    seen: list[bool] = []

    def fail() -> None:
        seen.append(gc.isenabled())
        raise ValueError("no")

    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(ValueError, match="no"):
            Cpu().time([fail])
        assert gc.isenabled() is enabled
        assert seen == [False]
    finally:
        gc.enable()
