"""The NPU as a device, on stand-ins for torch, torch_npu and triton of the documented interface."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from tuner.devices import Device, DeviceName, open_device
from tuner.devices.npu import device as npu_device
from tuner.devices.npu.device import Npu
from tuner.errors import DeviceError
from tuner.worker.pickled import _Unpickler

if TYPE_CHECKING:
    from tuner.worker.messages import ObjectKernel

STANDIN = Path(__file__).parents[1] / "npu_standin"
_OURS = ("torch", "torch_npu", "triton", "triton.language", "npu_machine")
_KERNELS = "tuner.devices.npu.clear_kernels"
METHOD = (
    "torch_npu profiler, database export, 192 MiB L2 clear a step, union of kernels, interleave"
)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the machine that `torch`, `torch_npu` and `triton` run on from now on."""
    before = {name: module for name, module in sys.modules.items() if _is_theirs(name)}
    _forget()
    monkeypatch.syspath_prepend(str(STANDIN))
    for name in _OURS:
        importlib.import_module(name)
    yield sys.modules["npu_machine"].MACHINE
    _forget()
    sys.modules.update(before)


def _forget() -> None:
    """Let what is imported from now on be found anew."""
    for name in [name for name in sys.modules if _is_theirs(name)]:
        del sys.modules[name]
    vars(sys.modules["tuner.devices.npu"]).pop("clear_kernels", None)


def _is_theirs(name: str) -> bool:
    return name.partition(".")[0] in {"torch", "torch_npu", "triton", "npu_machine"} or (
        name == _KERNELS
    )


def launch(machine: Any, name: str, *us: float) -> Callable[[], None]:
    """Return a launch of kernels that take the device so many microseconds each."""

    def run() -> None:
        for one in us:
            machine.launch(name, one)

    return run


def opened(machine: Any) -> Device:
    """Return the device, with an empty log."""
    found = open_device(DeviceName("npu", 0))
    machine.log.clear()
    return found


def steps(machine: Any) -> list[str]:
    """Return what was launched since the markers were compiled."""
    log: list[str] = machine.log
    return log[log.index("synchronize") + 1 :]


def test_a_sequence_is_one_capture_whose_steps_are_divided_by_clears(machine: Any) -> None:
    """A warm-up, then for each launch a clear, the launch, a wait and the profiler's step."""
    device = opened(machine)
    times = device.time([launch(machine, "a", 20.0), launch(machine, "b", 3.0, 4.5)])
    clear = "tuned_dispatch_l2_clear_"
    between = "tuned_dispatch_l2_between"
    assert steps(machine) == [
        *(between, "a", "synchronize", "step"),
        *(between, f"{clear}0", "a", "synchronize", "step"),
        *(between, f"{clear}1", "b", "b", "synchronize", "step"),
    ]
    assert machine.captures == [2]
    assert times.us == (20.0, 7.5)
    assert times.late == (False, False)
    assert times.busy_s == pytest.approx(3 * 193e-6 + 2 * 20e-6 + 7.5e-6, rel=0.02)
    assert device.method.startswith(METHOD)
    assert "captures" not in device.method


@pytest.mark.parametrize("layout", ["database", "split", "text"])
@pytest.mark.parametrize("records_warmup", [True, False])
def test_whatever_the_layout_the_times_are_the_same(
    machine: Any, layout: str, *, records_warmup: bool
) -> None:
    """With the profiler's own warm-up step in the export, or without; the method says which."""
    machine.layout, machine.records_warmup = layout, records_warmup
    device = opened(machine)
    times = device.time([launch(machine, "a", 1.0 + i) for i in range(7)])
    assert times.us == tuple(1.0 + i for i in range(7))
    assert layout in device.method


def test_what_restores_the_inputs_is_in_no_step(machine: Any) -> None:
    """It runs ahead of the clear, and of the warm-up too."""
    device = opened(machine)
    times = device.time([launch(machine, "a", 20.0)] * 3, before=launch(machine, "restore", 500.0))
    assert times.us == (20.0, 20.0, 20.0)
    log = steps(machine)
    assert log.count("restore") == 4
    first = log.index("tuned_dispatch_l2_clear_0")
    assert log[first - 1 : first + 2] == ["restore", "tuned_dispatch_l2_clear_0", "a"]


def test_no_launches_ask_nothing_of_the_device(machine: Any) -> None:
    """An empty sequence is one."""
    device = opened(machine)
    times = device.time([])
    assert (times.us, times.late, times.busy_s) == ((), (), 0.0)
    assert machine.log == machine.captures == []


def test_nothing_is_left_of_a_capture(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The profiler's files are read and removed."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opened(machine).time([launch(machine, "a", 20.0)])
    assert list(tmp_path.iterdir()) == []


# ---- What fails, and what is done then ----------------------------------------------------------


def test_where_the_export_fails_captures_are_halved_until_one_succeeds(machine: Any) -> None:
    """The times are those of the size that succeeded, which is kept to, and told with the cause."""
    machine.most_steps = 3
    device = opened(machine)
    launches = [launch(machine, "a", 1.0 + i) for i in range(8)]
    assert device.time(launches).us == tuple(1.0 + i for i in range(8))
    assert machine.captures == [8, 4, 2, 2, 2, 2]
    assert device.method.startswith(METHOD)
    assert "captures of at most 2 launches: the profiler: the profiler left no" in device.method
    machine.captures.clear()
    assert len(device.time(launches).us) == 8
    assert machine.captures == [2, 2, 2, 2]


def test_where_memory_runs_out_captures_are_halved_until_one_succeeds(machine: Any) -> None:
    """What torch keeps is given back before the next attempt."""
    machine.most_kernels = 15
    device = opened(machine)
    assert device.time([launch(machine, "a", 5.0)] * 8).us == (5.0,) * 8
    assert machine.captures == [8, 4, 4]
    assert machine.log.count("empty_cache") == 1
    assert device.method.endswith("captures of at most 4 launches: the profiler: out of memory")


@pytest.mark.parametrize(
    ("script", "layout"),
    [
        ('mv "${3#--output=}/recording" "${3#--output=}/msprof_1.db"', "database export"),
        ("exit 1", "npu events"),
        ("exit 0", "npu events"),
        (None, "npu events"),
    ],
)
def test_what_was_recorded_and_not_exported_is_exported_by_cann(
    machine: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str | None,
    layout: str,
) -> None:
    """Where its tool is there and succeeds; our packages are not on its path."""
    if script is not None:
        tool = tmp_path / "msprof"
        tool.write_text(
            f"#!/bin/sh\ntest \"$1 $2$PYTHONPATH\" = '--export=on --type=db' || exit 3\n{script}\n"
        )
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", "/none")
    machine.layout = "recorded"
    device = opened(machine)
    assert device.time([launch(machine, "a", 20.0)]).us == (pytest.approx(20.0),)
    assert layout in device.method


def test_where_no_capture_succeeds_events_are_the_last_resort(machine: Any) -> None:
    """All of the sequence by events; the profiler is not tried again, and that is said."""
    machine.layout = "none"
    device = opened(machine)
    times = device.time([launch(machine, "a", 20.0), launch(machine, "b", 300.0)])
    assert times.us == (pytest.approx(20.0), pytest.approx(300.0))
    assert times.late == (False, False)
    assert machine.captures == [2, 1]
    flushes = [i for i, name in enumerate(machine.log) if name == "ZerosLike"]
    assert machine.log[flushes[-1] :] == ["ZerosLike", "event", "b", "event", "synchronize"]
    assert device.method.startswith("npu events, 192 MiB L2 clear outside the timed region, inter")
    assert "the profiler: the profiler left no export: none of" in device.method
    machine.layout = "database"
    device.time([launch(machine, "a", 20.0)])
    assert machine.captures == [2, 1]


def test_a_step_that_is_lost_costs_no_wrong_times(machine: Any) -> None:
    """A profile without one kernel's rows is none: it ends in events, and says which step."""
    machine.loses = "b"
    device = opened(machine)
    times = device.time([launch(machine, "a", 20.0), launch(machine, "b", 30.0)])
    assert times.us == (pytest.approx(20.0), pytest.approx(30.0))
    assert device.method.endswith("the profiler: step 2 of 2 has no kernel")


def test_a_launch_without_memory_of_its_own_fault_fails_and_changes_nothing(machine: Any) -> None:
    """It fails by events as well: that is the launch's, and the next sequence is profiled again."""
    device = opened(machine)

    def greedy() -> None:
        raise MemoryError("no room for 200 GiB")

    with pytest.raises(MemoryError, match="no room"):
        device.time([launch(machine, "a", 20.0), greedy])
    assert machine.captures == [2, 1, 1]
    assert device.time([launch(machine, "a", 20.0)]).us == (20.0,)
    assert device.method.startswith(METHOD)


def test_what_a_launch_raises_is_let_through(machine: Any) -> None:
    """No other size of captures would change it; the profiler is stopped."""
    device = opened(machine)

    def fail() -> None:
        raise RuntimeError("no such tile")

    with pytest.raises(RuntimeError, match="no such tile"):
        device.time([launch(machine, "a", 20.0), fail])
    assert machine.captures == [2]
    assert machine.recorded is None


def test_a_profiler_that_cannot_be_started_ends_in_events(
    machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old torch_npu may know no export of databases."""
    monkeypatch.delattr(sys.modules["torch_npu"].profiler, "ExportType")
    device = opened(machine)
    assert device.time([launch(machine, "a", 20.0)]).us == (pytest.approx(20.0),)
    assert "the profiler fails: AttributeError: " in device.method


def test_a_sequence_is_not_cut_into_more_captures_than_the_crew_waits_for(machine: Any) -> None:
    """Exporting one takes seconds."""
    machine.most_steps = 1
    device = opened(machine)
    assert len(device.time([launch(machine, "a", 20.0)] * 100).us) == 100
    assert machine.captures == [100, 50, 25, 12]
    assert device.method.startswith("npu events")


def test_failures_take_no_longer_than_the_crew_waits_for(
    machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A profiler that fails slowly is given up at once."""
    clock = iter(range(0, 10_000, 25))
    monkeypatch.setattr(npu_device, "monotonic", lambda: float(next(clock)))
    machine.layout = "none"
    device = opened(machine)
    device.time([launch(machine, "a", 20.0)] * 16)
    assert machine.captures == [16]
    assert device.method.startswith("npu events")


def test_without_triton_there_are_no_markers_and_so_events(
    machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No capture is begun, and the method says why."""
    monkeypatch.setitem(sys.modules, "triton", None)  # As if it could not be imported.
    device = opened(machine)
    assert device.time([launch(machine, "a", 20.0)]).us == (pytest.approx(20.0),)
    assert "; the L2 clear does not run in Triton: " in device.method
    assert machine.captures == []


def test_a_device_that_only_tries_configs_compiles_no_markers(machine: Any) -> None:
    """Processes that help with the gate never time."""
    device = open_device(DeviceName("npu", 0))
    assert device.healthy()
    assert not any("tuned_dispatch" in name for name in machine.log)


# ---- The device ---------------------------------------------------------------------------------


def test_the_target_names_the_device_and_its_tools(
    machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CANN's version is read from its own files; tools are sorted."""
    assert not machine.captures
    (tmp_path / "version.cfg").write_text("toolkit_running_version=[7.8.0.1.10:8.5.0]\n")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    monkeypatch.setattr(npu_device, "version", {"triton-ascend": "3.2.0.post1"}.__getitem__)
    target = Npu().target()
    assert (target.device, target.arch) == ("Ascend910B3", "ascend910b3")
    assert target.toolchain == (
        ("cann", "8.5.0"),
        ("torch", "2.13.0"),
        ("torch_npu", "2.13.0.post1"),
        ("triton-ascend", "3.2.0.post1"),
    )


def test_a_triton_of_another_distribution_is_called_triton(
    machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows what it is but by its own word; CANN that is not found is left out."""
    assert not machine.captures
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.setenv(name, "/none")
    monkeypatch.setattr(npu_device, "find_cann", lambda _: None)
    assert [name for name, _ in Npu().target().toolchain] == ["torch", "torch_npu", "triton"]


def test_tensors_and_models_are_moved_and_nothing_else(machine: Any) -> None:
    """A number stays what it is."""
    device = opened(machine)
    torch = sys.modules["torch"]
    assert device.moved(torch.Tensor(4, "cpu")).device == "npu:0"
    assert device.moved(torch.nn.Module()) == "module on npu:0"
    assert device.moved(3) == 3
    with device.creating() as where:
        assert where == "npu:0"


def test_a_device_that_raises_is_not_healthy(machine: Any) -> None:
    """After a fault of a kernel every call fails; before, it is well."""
    device = opened(machine)
    assert device.healthy()
    machine.broken = RuntimeError("EZ9999: Inner Error! vector core exception")
    assert not device.healthy()
    with pytest.raises(RuntimeError, match="vector core exception"):
        device.synchronize()


def test_a_device_that_is_not_there_is_refused(
    machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line with what is wrong, and what to do."""
    machine.broken = RuntimeError("NPU out of memory.\nTried to allocate 192.00 MiB")
    with pytest.raises(
        DeviceError, match=r"npu: cannot be used: NPU out of memory. Tried to .*npu-"
    ):
        Npu()
    monkeypatch.setattr(sys.modules["torch"].npu, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="npu: torch_npu sees no such device; see npu-smi info"):
        Npu()


@pytest.mark.parametrize("error", [ImportError("no torch_npu"), OSError("libhccl.so: not there")])
def test_without_torch_npu_there_is_no_such_device(
    machine: Any, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is missing or one of CANN's libraries is."""
    assert not machine.captures

    def fail(name: str) -> Any:
        if name == "torch_npu":
            raise error
        return sys.modules[name]

    monkeypatch.setattr(npu_device, "import_module", fail)
    with pytest.raises(DeviceError, match=f"npu: torch_npu cannot be imported: {error}; see what"):
        Npu()


def test_inputs_pickled_on_another_npu_are_loaded_on_the_one_that_is_seen(
    machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker sees its own device alone, as number 0."""
    device = opened(machine)
    torch = sys.modules["torch"]
    monkeypatch.setattr(torch, "empty", lambda _: torch.Tensor(0, "npu:0"))
    monkeypatch.setattr(torch, "load", lambda _, **options: options["map_location"], raising=False)
    unpickler = _Unpickler(io.BytesIO(), cast("ObjectKernel", None), device)
    places = unpickler._storage(b"")
    assert {places[name] for name in ("npu:0", "npu:7", "cuda:3")} == {"npu:0"}
