"""What keeps an NPU from being used: CANN, torch_npu and triton-ascend, and how they pair.

The pairing is that of triton-ascend 3.2.0's own documentation: Python 3.9 to 3.11, CANN 8.5.0,
torch_npu 2.7.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuner.doctor.common import AUTOLOAD, both_tritons, pinned_torch, torch_itself
from tuner.doctor.finding import Finding, error, warning
from tuner.doctor.found import AUTOLOAD_OFF, UNKNOWN, Found
from tuner.doctor.versions import parts, public

__all__ = ["npu"]

_CANN = "8.5.0"
_TRITON = "3.2.0"
_TORCH_NPU = "2.7.1"
_PYTHONS = ((3, 9), (3, 11))
_BROKEN_NUMPY = (2, 4)
# Set by `msprof` for what it runs itself; torch_npu's own profiler does nothing then.
_PROFILED = ("PROFILER_SAMPLECONFIG", "PROFILING_MODE")


def npu(found: Found, index: int) -> Iterator[Finding]:
    """Yield what is wrong with the NPU number `index`, what is to be done first before the rest."""
    yield from _driver(found)
    yield from _cann(found)
    yield from _torch(found)
    yield from _torch_npu(found)
    yield from _triton(found)
    yield from _device(found, index)
    yield from _profiler(found)


def _driver(found: Found) -> Iterator[Finding]:
    if not found.nodes and not found.sees("torch_npu"):
        yield error(
            "driver",
            "there is no device file /dev/davinci0",
            "install Ascend's driver, or start the container with --device /dev/davinci0 "
            "--device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc",
        )


def _cann(found: Found) -> Iterator[Finding]:
    cann = found.cann
    if cann is None:
        yield error(
            "cann",
            "is not found by ASCEND_HOME_PATH or ASCEND_TOOLKIT_HOME, nor in /usr/local/Ascend",
            f"install the CANN toolkit {_CANN}, then type: source {_script(found)}",
        )
        return
    if cann.by not in found.environment:
        finding = warning if found.imported("torch_npu") else error
        fact = f"{cann.home} is not set up in this shell"
        yield finding("cann", fact, f"type: source {_script(found)}")
    if cann.version and parts(cann.version) != parts(_CANN):
        yield warning(
            "cann",
            f"is {cann.version}, and triton-ascend {_TRITON} is documented with {_CANN}",
            f"install CANN {_CANN} where a kernel fails to compile",
        )


def _script(found: Found) -> str:
    """Return what sets up CANN in a shell."""
    known = found.cann.script if found.cann else None
    return str(known or "/usr/local/Ascend/ascend-toolkit/set_env.sh")


def _torch(found: Found) -> Iterator[Finding]:
    yield from pinned_torch(found)
    if not found.imported("torch") and found.imported(AUTOLOAD_OFF):
        yield error(
            "torch",
            f"loads torch_npu with it, and cannot: {found.imports['torch'].error}",
            f"type: source {_script(found)}; for torch without the NPU: {AUTOLOAD}",
        )
        return
    yield from torch_itself(found)


def _torch_npu(found: Found) -> Iterator[Finding]:
    if "torch_npu" not in found.distributions:
        torch = found.distributions.get("torch")
        version = f"=={public(torch)}" if torch else ""
        yield error("torch_npu", "is not installed", f"type: pip install torch_npu{version}")
        return
    version = found.distributions["torch_npu"]
    if version != UNKNOWN and parts(version) != parts(_TORCH_NPU):
        yield warning(
            "torch_npu",
            f"is {version}, and triton-ascend {_TRITON} is documented with {_TORCH_NPU}",
            f"install torch and torch_npu {_TORCH_NPU} where a kernel fails to launch",
        )
    if found.imported("torch") and not found.imported("torch_npu"):
        yield error(
            "torch_npu",
            f"cannot be imported: {found.imports['torch_npu'].error}",
            f"a library of CANN's may be missing; type: source {_script(found)}",
        )


def _triton(found: Found) -> Iterator[Finding]:
    if "triton-ascend" not in found.distributions:
        first = "pip uninstall -y triton && " if "triton" in found.distributions else ""
        fact = "is not installed" + (", but triton is, which knows no NPU" if first else "")
        yield error(
            "triton-ascend", fact, f"type: {first}pip install triton-ascend=={_TRITON} pybind11"
        )
        yield from _python(found)
        return
    yield from both_tritons(found, "triton-ascend")
    yield from _python(found)
    if "pybind11" not in found.distributions:
        yield error(
            "pybind11", "is missing, and triton-ascend needs it", "type: pip install pybind11"
        )
    elif not found.imported("triton"):
        why = found.imports["triton"].error if "triton" in found.imports else "it is not there"
        again = (
            f"pip install --force-reinstall triton-ascend=={found.distributions['triton-ascend']}"
        )
        yield error("triton-ascend", f"cannot be imported: {why}", f"type: {again}")
    numpy = found.distributions.get("numpy")
    if numpy and parts(numpy) >= _BROKEN_NUMPY:
        yield warning(
            "numpy",
            f"is {numpy}: from 2.4 on Triton's interpreter in triton-ascend fails",
            'type: pip install "numpy<2.4"',
        )


def _python(found: Found) -> Iterator[Finding]:
    if not _PYTHONS[0] <= parts(found.python) <= _PYTHONS[1]:
        finding = warning if found.imported("triton") else error
        yield finding(
            "python",
            f"is {found.python}, and triton-ascend {_TRITON} is made for 3.9 to 3.11",
            "make the environment with Python 3.11",
        )


def _device(found: Found, index: int) -> Iterator[Finding]:
    if not found.imported("torch_npu"):
        return
    seen = found.imports["torch_npu"]
    visible = found.environment.get("ASCEND_RT_VISIBLE_DEVICES")
    hint = f"; ASCEND_RT_VISIBLE_DEVICES is {visible!a}" if visible is not None else ""
    if not seen.available:
        if found.nodes:  # Else the driver is to be seen to first.
            yield error("npu", f"torch_npu sees no device{hint}", "type: npu-smi info")
    elif index >= len(seen.devices):
        fact = f"torch_npu sees {len(seen.devices)} devices, npu:{len(seen.devices) - 1} the last"
        yield error(
            f"npu:{index}", f"{fact}{hint}", "name another with --device, or make it visible"
        )


def _profiler(found: Found) -> Iterator[Finding]:
    """Yield what keeps the profiler from timing: events are less exact."""
    if not found.sees("torch_npu"):
        return
    if found.msprof is None:
        yield warning(
            "msprof",
            "is not on the PATH, and the profiler exports by it: events would be used",
            f"type: source {_script(found)}",
        )
    for name in _PROFILED:
        if name in found.environment:
            yield warning(name, "is set, and the profiler does nothing then", f"type: unset {name}")
