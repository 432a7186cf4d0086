"""How the doctor looks at a machine: packages that crash, hang or print take nothing with them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tuner.doctor import machine
from tuner.doctor.found import AUTOLOAD_OFF, UNKNOWN, Device
from tuner.doctor.imports import import_all

ROOT = Path(__file__).parents[2]

TORCH = """
import os
from types import SimpleNamespace
__version__ = "2.13.0+cu130"
if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") != "0":
    {autoload}
print("[INFO] a library that prints")
version = SimpleNamespace(cuda="13.0")
cuda = SimpleNamespace(
    is_available=lambda: True,
    device_count=lambda: 2,
    get_device_name=lambda i: "NVIDIA H%d" % (100 * (i + 1)),
    get_device_capability=lambda i: (9, 0),
)
npu = SimpleNamespace(
    is_available=lambda: True, device_count=lambda: 1, get_device_name=lambda i: "Ascend910B3"
)
"""
FAILING = """
    try:
        raise OSError("libhccl.so: cannot open shared object file")
    except OSError as error:
        raise RuntimeError("Failed to load the backend extension: torch_npu.") from error
"""


def package(place: Path, name: str, text: str, version: str | None = None, *needs: str) -> None:
    """Write a package, installed as `version` if that is given."""
    (place / f"{name}.py").write_text(text)
    if version is not None:
        info = place / f"{name}-{version}.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {need}" for need in needs]
        (info / "METADATA").write_text("\n".join(lines) + "\n")


def path_with(place: Path) -> dict[str, str]:
    """Return an environment in which packages are found in `place` first."""
    path = os.pathsep.join([str(place), str(ROOT)])
    kept = {k: v for k, v in os.environ.items() if k != "TORCH_DEVICE_BACKEND_AUTOLOAD"}
    return {**kept, "PYTHONPATH": path}


def test_a_module_tells_its_version_and_its_devices(tmp_path: Path) -> None:
    """Whatever it prints meanwhile."""
    package(tmp_path, "torch", TORCH.format(autoload="pass"))
    package(tmp_path, "torch_npu", "__version__ = '2.13.0'")
    found = import_all(["torch", "torch_npu"], path_with(tmp_path))
    assert list(found) == ["torch", "torch_npu"]
    torch, npu = found["torch"], found["torch_npu"]
    assert (torch.version, torch.cuda, torch.error) == ("2.13.0+cu130", "13.0", None)
    assert torch.devices == tuple(Device(name=f"NVIDIA H{n}", arch="sm_90") for n in (100, 200))
    assert torch.available
    assert npu.devices == (Device(name="Ascend910B3"),)


def test_torch_that_fails_with_its_backends_is_tried_without_them(tmp_path: Path) -> None:
    """The reason at the root is told, which torch's own words leave out."""
    package(tmp_path, "torch", TORCH.format(autoload=FAILING.strip()))
    found = import_all(["torch"], path_with(tmp_path))
    assert found["torch"].error == (
        "RuntimeError: Failed to load the backend extension: torch_npu (libhccl.so: cannot open "
        "shared object file)"
    )
    assert found[AUTOLOAD_OFF].error is None
    assert found[AUTOLOAD_OFF].version == "2.13.0+cu130"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise ImportError('no such symbol')", "ImportError: no such symbol"),
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def", "SyntaxError: "),
        ("raise RuntimeError('\\x1b[31m\\nred')", r"RuntimeError: \x1b[31m red"),
        ("import os; os.abort()", "the process died by SIGABRT"),
        ("import os; os._exit(7)", "the process died by status 7"),
        (
            "import os; os.write(2, b'terminate called\\n'); os.abort()",
            "the process died by SIGABRT: terminate called",
        ),
    ],
)
def test_whatever_an_import_does_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    """An exception, an exit, an abort."""
    package(tmp_path, "numpy", text)
    error = import_all(["numpy"], path_with(tmp_path))["numpy"].error
    assert error is not None
    assert error.startswith(words)
    assert "\n" not in error


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_an_import_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    """After the limit; nothing of it lives on."""
    pids = tmp_path / "pids"
    text = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open({str(pids)!r}, "w") as file:
    file.write(f"{{os.getpid()}} {{child.pid}}")
time.sleep(600)
"""
    package(tmp_path, "triton", text)
    found = import_all(["triton"], path_with(tmp_path), limit_s=3.0)
    assert found["triton"].error == "no end after 3 s"
    for pid in map(int, pids.read_text().split()):
        assert _ends(pid), pid


def _ends(pid: int) -> bool:
    """Say whether a process is gone, or a zombie, before long; it is then in any case."""
    until = monotonic() + 10
    while monotonic() < until:
        if _state(pid) in {"gone", "Z"}:
            return True
    os.kill(pid, signal.SIGKILL)
    return False


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def test_the_current_directory_hides_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel may be called torch.py."""
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "numpy.py").write_text("raise RuntimeError('a kernel')")
    package(tmp_path, "numpy", "__version__ = '2.2.6'")
    monkeypatch.chdir(tmp_path / "here")
    assert import_all(["numpy"], path_with(tmp_path))["numpy"].version == "2.2.6"


# ---- Files and tools ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "needs", "pin"),
    [
        ("2.13.0", ("numpy", "torch==2.13.0.*"), "2.13.0"),
        ("2.7.1.post1", ("torch (==2.7.1)",), "2.7.1"),
        ("2.7.1.post1", ("torchair==9.9.9", "pyyaml"), "2.7.1"),
        ("2.1.0rc1", (), "2.1.0"),
        ("nightly", (), None),
    ],
)
def test_torch_npu_says_which_torch_it_was_built_for(
    tmp_path: Path, version: str, needs: tuple[str, ...], pin: str | None
) -> None:
    """In its metadata, or by its own version, which begins like that of torch."""
    package(tmp_path, "torch_npu", "", version, *needs)
    (found,) = Distribution.discover(name="torch_npu", path=[str(tmp_path)])
    assert machine.torch_pin(found) == pin


def test_a_package_whose_metadata_is_gone_is_of_an_unknown_version(tmp_path: Path) -> None:
    """An interrupted installation leaves such a thing."""
    package(tmp_path, "torch_npu", "", "2.13.0")
    (tmp_path / "torch_npu-2.13.0.dist-info" / "METADATA").write_text("")
    (found,) = Distribution.discover(name="torch_npu", path=[str(tmp_path)])
    assert machine._version(found) == UNKNOWN
    assert machine.torch_pin(found) is None


def test_the_files_of_npus_are_told_by_their_numbers(tmp_path: Path) -> None:
    """The manager's is none of them; a directory that is not there has none."""
    for name in ("davinci10", "davinci2", "davinci_manager", "null"):
        (tmp_path / name).write_text("")
    assert machine._nodes(tmp_path) == (f"{tmp_path}/davinci2", f"{tmp_path}/davinci10")
    assert machine._nodes(tmp_path / "none") == ()


@pytest.mark.parametrize(
    ("script", "driver"),
    [
        ("echo 570.86.15; echo 570.86.15", "570.86.15"),
        ("echo NVIDIA-SMI has failed; exit 9", None),
        ("exit 0", None),
        (None, None),
    ],
)
def test_the_driver_is_what_nvidias_tool_says(
    tmp_path: Path, script: str | None, driver: str | None
) -> None:
    """One that fails, as without a device, tells of no driver."""
    if script is not None:
        tool = tmp_path / "nvidia-smi"
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
    assert machine._nvidia_driver({"PATH": str(tmp_path)}) == driver


def test_looking_imports_nothing_into_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages are known by their metadata, or by being on the path."""
    asked: list[list[str]] = []

    def imports(modules: list[str], _: object) -> dict[str, Any]:
        asked.append(list(modules))
        return {}

    monkeypatch.setattr(machine, "import_all", imports)
    monkeypatch.setattr(machine, "_distribution", lambda _: None)
    monkeypatch.setattr(machine, "find_spec", lambda name: name if name == "triton" else None)
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "3")
    found = machine.look()
    assert asked == [["triton"]]
    assert found.distributions == {"triton": UNKNOWN}
    assert found.environment["ASCEND_RT_VISIBLE_DEVICES"] == "3"
    assert set(found.environment) <= set(machine.VARIABLES)
    assert found.processor.name


def doctor(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with packages in `place`."""
    command = [sys.executable, "-m", "tuner", "doctor", "--json", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=path_with(place),
        cwd=place,
        timeout=120,
    )


def test_a_torch_that_aborts_is_found_and_does_not_abort_the_doctor(tmp_path: Path) -> None:
    """Status 1 for a GPU, which needs it; 0 for the CPU, which does not."""
    package(tmp_path, "torch", "import os; os.abort()", "2.13.0")
    ran = doctor(tmp_path, "--device", "cuda:0")
    assert (ran.returncode, ran.stderr) == (1, "")
    findings = {one["what"]: one["fact"] for one in json.loads(ran.stdout)["findings"]}
    assert findings["torch"] == "cannot be imported: the process died by SIGABRT"
    ran = doctor(tmp_path, "--device", "cpu")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_an_autoload_that_fails_is_found_by_its_root(tmp_path: Path) -> None:
    """As with torch_npu installed and no CANN."""
    package(tmp_path, "torch", TORCH.format(autoload=FAILING.strip()), "2.13.0")
    package(tmp_path, "torch_npu", "import torch", "2.12.0", "torch==2.12.0.*")
    ran = doctor(tmp_path, "--device", "npu:0")
    assert (ran.returncode, ran.stderr) == (1, "")
    found = json.loads(ran.stdout)
    torch = [one for one in found["findings"] if one["what"] == "torch"]
    assert len(torch) == 1
    assert "libhccl.so: cannot open shared object file" in torch[0]["fact"]
    assert "export TORCH_DEVICE_BACKEND_AUTOLOAD=0" in torch[0]["remedy"]
    pinned = next(one for one in found["findings"] if one["what"] == "torch_npu")
    assert pinned["remedy"] == "type: pip install torch==2.12.0"
