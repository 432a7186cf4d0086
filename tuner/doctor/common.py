"""What is wrong whatever the device: torch that cannot be imported, two packages in one place."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.doctor.finding import Finding, error, warning
from tuner.doctor.found import AUTOLOAD_OFF, UNKNOWN, Found
from tuner.doctor.versions import public

__all__ = ["both_tritons", "pinned_torch", "processor", "torch_itself"]

AUTOLOAD = "export TORCH_DEVICE_BACKEND_AUTOLOAD=0"


def processor(found: Found) -> Iterator[Finding]:
    """Yield what is wrong with the CPU: its kernels are in numpy or torch."""
    if not found.imported("numpy"):
        yield error("numpy", _why_not(found, "numpy"), "type: pip install numpy")
    if "torch" in found.distributions and not found.imported("torch"):
        fact = _why_not(found, "torch")
        if found.imported(AUTOLOAD_OFF):
            yield warning("torch", f"{fact}, which it loads by itself", f"type: {AUTOLOAD}")
        else:
            yield warning("torch", fact, "kernels in numpy can be tuned without it")


def torch_itself(found: Found) -> Iterator[Finding]:
    """Yield why torch cannot be imported, for a device that needs it."""
    if "torch" not in found.distributions:
        version = f"=={found.torch_pin}" if found.torch_pin else ""
        yield error("torch", "is not installed", f"type: pip install torch{version}")
    elif not found.imported("torch"):
        yield error("torch", _why_not(found, "torch"), "install it anew, by its own instructions")


def pinned_torch(found: Found) -> Iterator[Finding]:
    """Yield that torch_npu was built for another torch: it is bound to one version exactly."""
    torch = found.distributions.get("torch")
    if torch and torch != UNKNOWN and found.torch_pin and public(torch) != found.torch_pin:
        npu = found.distributions["torch_npu"]
        yield error(
            "torch_npu",
            f"{npu} was built for torch {found.torch_pin}, and {torch} is installed",
            f"type: pip install torch=={found.torch_pin}",
        )


def both_tritons(found: Found, keep: str) -> Iterator[Finding]:
    """Yield that triton and triton-ascend, which hold the same files, are both installed.

    Args:
        found: the machine.
        keep: the one that the device needs.
    """
    if {"triton", "triton-ascend"} <= found.distributions.keys():
        version = found.distributions[keep]
        yield error(
            "triton",
            f"{found.distributions['triton']} and triton-ascend "
            f"{found.distributions['triton-ascend']} overwrite each other's files",
            f"type: pip uninstall -y triton triton-ascend && pip install {keep}=={version}",
        )


def _why_not(found: Found, module: str) -> str:
    if module not in found.imports:
        return "is not installed"
    return f"cannot be imported: {found.imports[module].error}"
