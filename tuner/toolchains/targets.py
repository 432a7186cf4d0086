"""Targets: what a kernel can be compiled for without the device, by the name a user writes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from codegen.errors import listed, shown
from tuner.errors import ToolchainError

__all__ = [
    "TARGETS",
    "CompileTarget",
    "ToolchainName",
    "parse_targets",
    "target_of_device",
]

ToolchainName: TypeAlias = Literal["ascend", "cuda"]

# The grid of an Ascend launch is counted in 16 bits.
_MOST_ASCEND_PROGRAMS = 65_535
# What `bishengir-compile --target` knows and triton-ascend 3.2.0 lowers for. The compiler's limits
# of on-chip memory are its own.
_ASCEND = (
    "Ascend910B1",
    "Ascend910B2",
    "Ascend910B2C",
    "Ascend910B3",
    "Ascend910B4",
    "Ascend910B4-1",
    "Ascend910_9362",
    "Ascend910_9372",
    "Ascend910_9381",
    "Ascend910_9382",
    "Ascend910_9391",
    "Ascend910_9392",
)
# Shared memory that a block may ask for, in KiB, by compute capability: "Maximum amount of shared
# memory per thread block" in the CUDA programming guide. ptxas does not check what is dynamic; the
# driver refuses the launch.
_CUDA_KIB = {
    "80": 163,
    "86": 99,
    "87": 163,
    "89": 99,
    "90": 227,
    "100": 227,
    "103": 227,
    "120": 99,
}
# Local data share of a workgroup, in KiB: AMD's CDNA 3 and CDNA 4 instruction set guides.
_AMD_KIB = {"gfx942": 64, "gfx950": 160}
_AMD_WAVE = 64
_CUDA_WARP = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileTarget:
    """A target of a toolchain.

    Attributes:
        name: as a user writes it, such as `ascend910b3` or `sm_90`.
        backend: triton's name of the backend.
        arch: as the backend wants it, such as `Ascend910B3`, `90` or `gfx942`.
        warp_size: threads a warp, 0 where there are none.
        shared_bytes: the most shared memory a block may have; None where the compiler knows.
        most_programs: the largest product of a launch grid; None where there is no such limit.
    """

    name: str
    toolchain: ToolchainName
    backend: Literal["npu", "cuda", "hip"]
    arch: str
    warp_size: int
    shared_bytes: int | None
    most_programs: int | None


def _ascend(arch: str) -> CompileTarget:
    return CompileTarget(
        name=arch.lower(),
        toolchain="ascend",
        backend="npu",
        arch=arch,
        warp_size=0,
        shared_bytes=None,
        most_programs=_MOST_ASCEND_PROGRAMS,
    )


def _gpu(name: str, backend: Literal["cuda", "hip"], arch: str, kib: int) -> CompileTarget:
    return CompileTarget(
        name=name,
        toolchain="cuda",
        backend=backend,
        arch=arch,
        warp_size=_CUDA_WARP if backend == "cuda" else _AMD_WAVE,
        shared_bytes=kib * 1024,
        most_programs=None,
    )


TARGETS: dict[str, CompileTarget] = {
    target.name: target
    for target in (
        *map(_ascend, _ASCEND),
        *(_gpu(f"sm_{arch}", "cuda", arch, kib) for arch, kib in _CUDA_KIB.items()),
        *(_gpu(arch, "hip", arch, kib) for arch, kib in _AMD_KIB.items()),
    )
}


def parse_targets(text: str) -> tuple[CompileTarget, ...]:
    """Return the targets that `text` names between commas, each once.

    Raises:
        ToolchainError: a name is unknown.
    """
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise ToolchainError("names no target", where="--target", remedy=_known())
    return tuple(_target(name) for name in dict.fromkeys(name.lower() for name in names))


def _target(name: str) -> CompileTarget:
    if name not in TARGETS:
        fact = f"{shown(name)} is not a target that can be compiled for here"
        raise ToolchainError(fact, where="--target", remedy=_known())
    return TARGETS[name]


def _known() -> str:
    return f"the targets are {listed(TARGETS, most=len(TARGETS))}".replace("'", "")


def target_of_device(device: str, arch: str | None) -> CompileTarget | None:
    """Return the target that a tuned device is, by its architecture or its name; None if unknown.

    `sm_90` and `gfx942:sramecc+:xnack-` are architectures as torch reports them, `Ascend910B3` is
    a name as torch_npu does.
    """
    for text in (arch or "", device):
        name = re.split(r"[:\s]", text.strip().lower(), maxsplit=1)[0]
        if name in TARGETS:
            return TARGETS[name]
    return None
