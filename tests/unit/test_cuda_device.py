"""CUDA's events in their order: on a stand-in for torch, whose device works through a queue.

The stand-in's host takes a microsecond for each call; its device works off what is enqueued, one
after the other, and never before it was enqueued.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tuner.devices import DeviceName, open_device
from tuner.devices.cuda import Cuda
from tuner.devices.events import EventClock
from tuner.errors import DeviceError

FLUSH_US = 150.0
HOST_US = ODD_US = 1.0


class Machine:
    """A host and a device with clocks of their own, in microseconds.

    Attributes:
        log: what was enqueued, in order.
    """

    def __init__(self) -> None:
        self.host = self.device = 0.0
        self.log: list[str] = []
        self.broken: Exception | None = None

    def enqueue(self, what: str, us: float) -> None:
        """Take down `what`, for which the device takes `us`."""
        self.host += HOST_US
        self.device = max(self.device, self.host) + us
        self.log.append(what)

    def synchronize(self) -> None:
        """Wait for the device."""
        if self.broken:
            raise self.broken
        self.host = max(self.host, self.device)
        self.log.append("synchronize")

    def launch(self, name: str, us: float, *, host_us: float = 0.0, waits: bool = False) -> Any:
        """Return a launch that takes the host `host_us`, and waits for the device if it `waits`."""

        def launch() -> None:
            self.host += host_us
            self.enqueue(name, us)
            if waits:
                self.host = max(self.host, self.device)

        return launch


class Event:
    """A point in the queue."""

    machine: Machine

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing
        self.at = -1.0

    def record(self) -> None:
        """Enqueue it."""
        self.machine.enqueue("event", 0.0)
        self.at = self.machine.device

    def query(self) -> bool:
        """Say whether the device is past it."""
        assert self.at >= 0
        return self.at <= self.machine.host

    def elapsed_time(self, other: Event) -> float:
        """Return the milliseconds from here to `other`, both being in the past."""
        assert 0 <= self.at <= other.at <= self.machine.host
        return (other.at - self.at) / 1000


class Tensor:
    """Memory on the device."""

    def __init__(self, machine: Machine, device: str = "cpu", size: int = 0) -> None:
        self.machine, self.device, self.size = machine, device, size

    def zero_(self) -> None:
        """Take the device a while, if it is large."""
        if self.size == 1:
            self.machine.enqueue("odd", ODD_US)
        else:
            self.machine.enqueue("flush", FLUSH_US)

    def to(self, device: str) -> Tensor:
        """Return the memory elsewhere."""
        return Tensor(self.machine, device)

    def item(self) -> float:
        """Return what it holds."""
        return 0.0


class Module:
    """A model of torch's."""

    def to(self, device: str) -> str:
        """Say where it would be."""
        return f"module on {device}"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """Return the machine on which `torch` runs from now on."""
    found = Machine()
    torch: Any = ModuleType("torch")
    event = type("Event", (Event,), {"machine": found})

    def empty(size: int, *, dtype: str, device: str) -> Tensor:
        assert (size, dtype, device) == (640_000_000, "int8", "cuda")
        if found.broken:
            raise found.broken
        return Tensor(found, device)

    def zeros(size: int, *, device: str) -> Tensor:
        if found.broken:
            raise found.broken
        return Tensor(found, device, size)

    torch.cuda = SimpleNamespace(
        is_available=lambda: True,
        synchronize=found.synchronize,
        Event=event,
        get_device_capability=lambda: (9, 0),
        get_device_name=lambda: "NVIDIA H200",
    )
    torch.empty, torch.zeros, torch.int8 = empty, zeros, "int8"
    torch.Tensor, torch.nn = Tensor, SimpleNamespace(Module=Module)
    torch.device = nullcontext
    torch.version, torch.__version__ = SimpleNamespace(cuda="13.0"), "2.11.0"
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace(__version__="3.6.0"))
    yield found
    assert gc.isenabled()


def clock(machine: Machine) -> EventClock:
    """Return the clock of a `Cuda`, which is told what it tells."""
    flush, one = Tensor(machine), Tensor(machine, size=1)
    return EventClock(sys.modules["torch"].cuda, flush.zero_, odd=one.zero_)


def test_each_launch_is_flushed_and_timed_between_two_events(machine: Machine) -> None:
    """Flush, start, launch, end, one after the other; the one wait is at the end.

    Every other time there is one command more ahead, that what the events cost evens out.
    """
    times = clock(machine).time([machine.launch("a", 20.0), machine.launch("b", 300.0)])
    timed = ["flush", "event", "a", "event", "odd", "flush", "event", "b", "event"]
    assert machine.log == ["synchronize", "event", *["flush"] * 16, *timed, "synchronize"]
    assert times.us == (pytest.approx(20.0), pytest.approx(300.0))
    assert times.late == (False, False)
    assert times.busy_s == pytest.approx((18 * FLUSH_US + 320) / 1e6, abs=1e-5)


def test_what_restores_the_inputs_runs_ahead_of_the_flush_and_untimed(machine: Machine) -> None:
    """Its work is neither in the time of a launch nor in the caches of the next."""
    times = clock(machine).time(
        [machine.launch("a", 20.0)] * 2, before=machine.launch("restore", 500.0)
    )
    once = ["restore", "flush", "event", "a", "event"]
    twice = [*once, "restore", "odd", *once[1:]]
    assert machine.log == ["synchronize", "event", *["flush"] * 16, *twice, "synchronize"]
    assert times.us == (pytest.approx(20.0), pytest.approx(20.0))


def test_a_launch_that_the_device_waited_for_is_late(machine: Machine) -> None:
    """Where the host takes longer than it is ahead, the time holds waiting; others are not late."""
    slow = machine.launch("slow", 20.0, host_us=9000.0)
    fast = machine.launch("fast", 20.0)
    times = clock(machine).time([fast, slow, fast, fast])
    assert times.late == (False, True, False, False)
    assert times.us[1] > 5000
    assert times.us[2:] == (pytest.approx(20.0), pytest.approx(20.0))


def test_a_launch_that_waits_for_the_device_itself_is_late(machine: Machine) -> None:
    """As a kernel that reads a value back: the host's lead is gone."""
    times = clock(machine).time([machine.launch("reads", 20.0, waits=True)] * 2)
    assert times.late == (True, True)


def test_the_host_is_ahead_from_the_first_launch_on(machine: Machine) -> None:
    """The flushes ahead of it last longer than the launch takes the host."""
    times = clock(machine).time([machine.launch("a", 20.0, host_us=2000.0)])
    assert times.late == (False,)
    assert times.us == (pytest.approx(20.0),)


def test_many_launches_go_in_batches_of_a_thousand(machine: Machine) -> None:
    """Each batch waits once and has a lead of its own; all times are told in order."""
    launches = [machine.launch("a", float(1 + i % 7)) for i in range(2500)]
    times = clock(machine).time(launches)
    assert machine.log.count("synchronize") == 6
    assert machine.log.count("flush") == 2500 + 3 * 16
    assert machine.log.count("odd") == 1250
    assert machine.log.count("event") == 2 * 2500 + 3
    assert times.us == tuple(pytest.approx(1 + i % 7) for i in range(2500))
    assert len(times.late) == 2500
    busy_us = 2548 * FLUSH_US + 1250 * ODD_US + sum(times.us)
    assert times.busy_s == pytest.approx(busy_us / 1e6, rel=1e-3)


def test_times_are_told_as_if_an_empty_kernel_took_what_it_mostly_takes(machine: Machine) -> None:
    """What it takes in this process is asked once; here it takes 1 us instead of 3.5."""
    device = Cuda()
    assert device.time([machine.launch("a", 20.0)]).us == (pytest.approx(22.5),)
    asked = machine.log.count("odd")
    assert device.time([machine.launch("a", 20.0)]).us == (pytest.approx(22.5),)
    assert machine.log.count("odd") == asked


def test_where_the_host_is_late_for_the_empty_kernel_times_are_told_as_they_are(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to go by."""
    monkeypatch.setattr(Event, "query", lambda _: True)
    times = Cuda().time([machine.launch("a", 20.0)])
    assert times.us == (pytest.approx(20.0),)
    assert times.late == (True,)


def test_no_launches_ask_nothing_of_the_device(machine: Machine) -> None:
    """An empty sequence is one."""
    times = Cuda().time([])
    assert (times.us, times.late, times.busy_s) == ((), (), 0.0)
    assert machine.log == []


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_not_collected_meanwhile_and_is_again_afterwards(
    enabled: bool, machine: Machine
) -> None:
    """After an exception of a launch as well; where it was off it stays off."""
    assert machine.log == []
    seen: list[bool] = []

    def fail() -> None:
        seen.append(gc.isenabled())
        raise RuntimeError("no such tile")

    device = Cuda()
    try:
        (gc.enable if enabled else gc.disable)()
        device.time([lambda: seen.append(gc.isenabled())])
        with pytest.raises(RuntimeError, match="no such tile"):
            device.time([fail])
        assert gc.isenabled() is enabled
        assert seen == [False, False]
    finally:
        gc.enable()


def test_the_target_names_the_device_and_its_tools(machine: Machine) -> None:
    """The compute capability is the architecture; tools are sorted."""
    assert not machine.log
    target = open_device(DeviceName("cuda", 3)).target()
    assert (target.device, target.arch) == ("NVIDIA H200", "sm_90")
    assert target.toolchain == (("cuda", "13.0"), ("torch", "2.11.0"), ("triton", "3.6.0"))


def test_tensors_and_models_are_moved_and_nothing_else(machine: Machine) -> None:
    """A number stays what it is."""
    device = Cuda()
    assert device.moved(Tensor(machine)).device == "cuda"
    assert device.moved(Module()) == "module on cuda"
    assert device.moved(3) == 3
    with device.creating() as where:
        assert where == "cuda"


def test_a_device_that_raises_is_not_healthy(machine: Machine) -> None:
    """After an illegal access every call fails; before, it is well."""
    device = Cuda()
    assert device.healthy()
    machine.broken = RuntimeError("CUDA error: an illegal memory access was encountered")
    assert not device.healthy()
    with pytest.raises(RuntimeError, match="illegal memory access"):
        device.synchronize()


def test_a_device_that_is_not_there_is_refused(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line with what torch says, and what to do."""
    torch: Any = sys.modules["torch"]
    machine.broken = RuntimeError("CUDA error: out of memory\nCompile with TORCH_USE_CUDA_DSA")
    with pytest.raises(DeviceError, match="cuda: cannot be used: CUDA error: out of memory Com"):
        Cuda()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="cuda: torch sees no such device; see nvidia-smi"):
        Cuda()


@pytest.mark.parametrize("error", [ImportError("no torch"), OSError("libcudart.so: not there")])
def test_without_torch_there_is_no_such_device(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is missing or one of its libraries is."""
    real: Callable[..., Any] = __import__

    def fail(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "torch":
            raise error
        return real(name, *arguments, **options)

    monkeypatch.setattr("builtins.__import__", fail)
    with pytest.raises(DeviceError, match=f"cuda: torch cannot be imported: {error}; install it"):
        Cuda()
