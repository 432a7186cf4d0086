"""The diagnosis of a machine for one device: what is wrong, and which manifests are for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.devices.names import DeviceName
from tuner.doctor.ascend import npu
from tuner.doctor.common import processor
from tuner.doctor.finding import Finding
from tuner.doctor.found import Found
from tuner.doctor.manifests import Match, match_manifests
from tuner.doctor.nvidia import cuda
from tuner.records import Target

__all__ = ["Diagnosis", "diagnose", "findings_of", "likely_device", "targets_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What there is, what is wrong with it for `device`, and what each manifest is to it."""

    device: DeviceName
    found: Found
    findings: tuple[Finding, ...]
    targets: tuple[Target, ...]
    matches: tuple[Match, ...]

    @property
    def usable(self) -> bool:
        """Whether nothing keeps the device from being used."""
        return all(finding.level != "error" for finding in self.findings)


def diagnose(found: Found, device: DeviceName | None, manifests: Sequence[Path]) -> Diagnosis:
    """Return the diagnosis for `device`, the most likely one if None.

    Manifests are held against `device` alone if it is given, else against all that there is.
    """
    chosen = device or likely_device(found)
    targets = targets_of(found, device)
    return Diagnosis(
        device=chosen,
        found=found,
        findings=findings_of(found, chosen),
        targets=targets,
        matches=match_manifests(manifests, targets),
    )


def likely_device(found: Found) -> DeviceName:
    """Return the device that this machine is for, by what is installed there."""
    if found.cann or found.nodes or {"torch_npu", "triton-ascend"} & found.distributions.keys():
        return DeviceName("npu")
    return DeviceName("cuda" if found.driver or found.sees("torch") else "cpu")


def findings_of(found: Found, device: DeviceName) -> tuple[Finding, ...]:
    """Return what is wrong for `device`, in the order in which it is to be mended."""
    match device.kind:
        case "npu":
            return tuple(npu(found, device.index))
        case "cuda":
            return tuple(cuda(found, device.index))
        case _:
            return tuple(processor(found))


def targets_of(found: Found, device: DeviceName | None) -> tuple[Target, ...]:
    """Return what could be tuned on here, as a manifest tells it: `device`, or all if None."""
    every = (*_npus(found), *_gpus(found), _cpu(found))
    if device is None:
        return tuple(target for _, target in every)
    return tuple(target for name, target in every if name == device)


def _npus(found: Found) -> Iterator[tuple[DeviceName, Target]]:
    tools = _tools(found, "torch", "torch_npu", "triton-ascend")
    if found.cann and found.cann.version:
        tools["cann"] = found.cann.version
    seen = found.imports["torch_npu"].devices if "torch_npu" in found.imports else ()
    for i, one in enumerate(seen):
        yield DeviceName("npu", i), _target(one.name, one.arch or one.name.lower(), tools)


def _gpus(found: Found) -> Iterator[tuple[DeviceName, Target]]:
    torch = found.imports.get("torch")
    if torch is None or torch.cuda is None:
        return
    tools = {**_tools(found, "torch", "triton"), "cuda": torch.cuda}
    for i, one in enumerate(torch.devices):
        yield DeviceName("cuda", i), _target(one.name, one.arch, tools)


def _cpu(found: Found) -> tuple[DeviceName, Target]:
    tools = {**_tools(found, "numpy", "torch", "triton"), "python": found.python}
    return DeviceName("cpu"), _target(found.processor.name, found.processor.arch, tools)


def _tools(found: Found, *names: str) -> dict[str, str]:
    """Return the version of each tool: what a module says of itself where it has a module."""
    tools = {name: found.distributions[name] for name in names if name in found.distributions}
    said = {name: found.imports[name].version for name in tools if name in found.imports}
    return tools | {name: version for name, version in said.items() if version is not None}


def _target(device: str, arch: str | None, tools: dict[str, str]) -> Target:
    return Target(device=device, arch=arch, toolchain=tuple(sorted(tools.items())))
