"""What keeps a CUDA device from being used: the driver, torch's build, triton."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.doctor.common import AUTOLOAD, both_tritons, torch_itself
from tuner.doctor.finding import Finding, error
from tuner.doctor.found import AUTOLOAD_OFF, Found

__all__ = ["cuda"]


def cuda(found: Found, index: int) -> Iterator[Finding]:
    """Yield what is wrong with the CUDA device number `index`."""
    if found.driver is None and not found.sees("torch"):
        yield error(
            "driver",
            "nvidia-smi is not there, or finds no driver",
            "install NVIDIA's driver, or start the container with its devices",
        )
    yield from _torch(found)
    yield from _triton(found)
    yield from _device(found, index)


def _torch(found: Found) -> Iterator[Finding]:
    if not found.imported("torch") and found.imported(AUTOLOAD_OFF):
        yield error(
            "torch",
            f"loads a backend with it, and cannot: {found.imports['torch'].error}",
            f"type: {AUTOLOAD}",
        )
        return
    yield from torch_itself(found)
    if found.imported("torch") and found.imports["torch"].cuda is None:
        version = found.imports["torch"].version
        yield error("torch", f"{version} is built without CUDA", "install torch's build for CUDA")


def _triton(found: Found) -> Iterator[Finding]:
    if "triton" not in found.distributions:
        first = (
            "pip uninstall -y triton-ascend && " if "triton-ascend" in found.distributions else ""
        )
        fact = "is not installed" + (", but triton-ascend is, which knows no GPU" if first else "")
        yield error("triton", fact, f"type: {first}pip install triton")
        return
    yield from both_tritons(found, "triton")
    if not found.imported("triton"):
        why = found.imports["triton"].error if "triton" in found.imports else "it is not there"
        again = f"pip install --force-reinstall triton=={found.distributions['triton']}"
        yield error("triton", f"cannot be imported: {why}", f"type: {again}")


def _device(found: Found, index: int) -> Iterator[Finding]:
    if not found.imported("torch") or found.imports["torch"].cuda is None:
        return
    seen = found.imports["torch"]
    visible = found.environment.get("CUDA_VISIBLE_DEVICES")
    hint = f"; CUDA_VISIBLE_DEVICES is {visible!a}" if visible is not None else ""
    if not seen.available:
        if found.driver is None:
            return  # It is to be seen to first.
        fact = f"torch sees no device, built for CUDA {seen.cuda}, with the driver {found.driver}"
        yield error("cuda", f"{fact}{hint}", "type: nvidia-smi")
    elif index >= len(seen.devices):
        fact = f"torch sees {len(seen.devices)} devices, cuda:{len(seen.devices) - 1} the last"
        yield error(f"cuda:{index}", f"{fact}{hint}", "name another with --device")
