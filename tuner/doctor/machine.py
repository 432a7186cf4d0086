"""Looking at a machine: its files, its environment, what is installed, what can be imported."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from tuner.devices.cpu import Cpu
from tuner.devices.npu.cann import find_cann
from tuner.doctor.found import UNKNOWN, Device, Found
from tuner.doctor.imports import import_all
from tuner.printable import printable

__all__ = ["VARIABLES", "look"]

VARIABLES = (
    "ASCEND_HOME_PATH",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_RT_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "PROFILER_SAMPLECONFIG",
    "PROFILING_MODE",
    "TORCH_DEVICE_BACKEND_AUTOLOAD",
)
# By the distribution, the module that it brings; empty where nothing is to be learned from it.
_PACKAGES = {
    "numpy": "numpy",
    "torch": "torch",
    "torch_npu": "torch_npu",
    "triton": "triton",
    "triton-ascend": "triton",
    "pybind11": "",
}
# `torch==2.13.0.*`, in brackets in older metadata.
_PIN = re.compile(r"torch\s*\(?\s*===?\s*([0-9]+(?:\.[0-9]+[0-9a-z]*)*)")
_RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_NODE = re.compile(r"davinci[0-9]+")
_SMI_LIMIT_S = 20.0


def look() -> Found:
    """Return what there is; nothing of torch is loaded into this process."""
    environment = dict(os.environ)
    installed = {name: one for name in _PACKAGES if (one := _distribution(name)) is not None}
    distributions = {name: _version(one) for name, one in installed.items()}
    known = {_PACKAGES[name] for name in installed}
    modules = sorted(
        {name for name in _PACKAGES.values() if name in known or _is_there(name)} - {""}
    )
    distributions |= {name: UNKNOWN for name in modules if name not in known}
    here = Cpu().target()
    return Found(
        python=platform.python_version(),
        processor=Device(name=here.device, arch=here.arch),
        environment={name: environment[name] for name in VARIABLES if name in environment},
        cann=find_cann(environment),
        msprof=shutil.which("msprof"),
        nodes=_nodes(Path("/dev")),
        driver=_nvidia_driver(),
        distributions=distributions,
        torch_pin=torch_pin(installed["torch_npu"]) if "torch_npu" in installed else None,
        imports=import_all(modules, environment),
    )


def _is_there(module: str) -> bool:
    """Say whether there is a module of that name, installed or merely on the path."""
    try:
        return bool(module) and find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _version(package: Distribution) -> str:
    """Return the version that a package was installed as; metadata may have lost it."""
    try:
        return str(package.version or UNKNOWN)
    except (KeyError, TypeError):
        return UNKNOWN


def torch_pin(torch_npu: Distribution) -> str | None:
    """Return the version of torch that a torch_npu was built for, as its metadata tells it."""
    requires: Iterable[str] = torch_npu.requires or ()
    for text in requires:
        if match := _PIN.match(text):
            return match[1]
    release = _RELEASE.match(_version(torch_npu))
    return release[0] if release else None


def _nodes(directory: Path) -> tuple[str, ...]:
    """Return the device files of NPUs, by their numbers."""
    try:
        names = [path.name for path in directory.iterdir() if _NODE.fullmatch(path.name)]
    except OSError:
        return ()
    return tuple(str(directory / name) for name in sorted(names, key=lambda n: (len(n), n)))


def _nvidia_driver(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the version of NVIDIA's driver as its own tool tells it, None without a driver."""
    tool = shutil.which("nvidia-smi", path=environment.get("PATH"))
    if tool is None:
        return None
    command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        ran = subprocess.run(  # noqa: S603 (NVIDIA's, found on the path)
            command, capture_output=True, text=True, check=False, timeout=_SMI_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    line = ran.stdout.strip().splitlines()[:1]
    return printable(line[0], limit=40) if ran.returncode == 0 and line else None
