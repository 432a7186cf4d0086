"""The diagnosis as lines for a reader, and as JSON for a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codegen.json_text import dump_json
from tuner.doctor.diagnosis import Diagnosis
from tuner.doctor.found import Found
from tuner.doctor.manifests import Match
from tuner.printable import printable

__all__ = ["json_text", "lines"]

_MODULES = {"triton-ascend": "triton"}


def lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what there is, what is wrong with it, and which manifests are for this machine."""
    yield from (_row(name, text) for name, text in _inventory(diagnosis.found))
    for finding in diagnosis.findings:
        yield _row(finding.level, str(finding))
    for match in diagnosis.matches:
        yield _row("manifest", f"{match.path}: {_words(match)}")
    state = "usable" if diagnosis.usable else "not usable"
    yield _row("device", f"{diagnosis.device}: {state}")


def _row(name: str, text: str) -> str:
    return f"{name:<13} {printable(text)}"


def _inventory(found: Found) -> Iterator[tuple[str, str]]:
    arch = f" ({found.processor.arch})" if found.processor.arch else ""
    yield "cpu", f"{found.processor.name}{arch}"
    yield "python", found.python
    if found.cann:
        yield "cann", f"{found.cann.version or 'of an unknown version'}, {found.cann.home}"
    if found.nodes:
        yield "npu files", ", ".join(found.nodes)
    if found.driver:
        yield "nvidia", f"driver {found.driver}"
    for name, version in found.distributions.items():
        yield name, version + _state(found, _MODULES.get(name, name))
    for module in ("torch", "torch_npu"):
        one = found.imports.get(module)
        kind = "npu" if module == "torch_npu" else "cuda"
        for i, device in enumerate(one.devices if one else ()):
            yield f"{kind}:{i}", device.name + (f" ({device.arch})" if device.arch else "")
    for name, value in found.environment.items():
        yield "environment", f"{name}={value}"


def _state(found: Found, module: str) -> str:
    one = found.imports.get(module)
    if one is None:
        return ""
    if one.error is not None:
        return ", cannot be imported"
    return f", for CUDA {one.cuda}" if one.cuda else ""


def _words(match: Match) -> str:
    return "; ".join(match.reasons) if match.reasons else f"for this machine, {match.device}"


def json_text(diagnosis: Diagnosis) -> str:
    """Return the diagnosis as JSON: `usable`, `findings`, `found`, `targets` and `manifests`."""
    found = diagnosis.found
    value: dict[str, Any] = {
        "device": str(diagnosis.device),
        "usable": diagnosis.usable,
        "findings": [
            {"level": one.level, "what": one.what, "fact": one.fact, "remedy": one.remedy}
            for one in diagnosis.findings
        ],
        "found": {
            "python": found.python,
            "cann": found.cann
            and {"home": str(found.cann.home), "by": found.cann.by, "version": found.cann.version},
            "msprof": found.msprof,
            "npu_files": list(found.nodes),
            "nvidia_driver": found.driver,
            "packages": dict(found.distributions),
            "imports": {
                name: {"version": one.version, "error": one.error, "cuda": one.cuda}
                for name, one in found.imports.items()
            },
            "environment": dict(found.environment),
        },
        "targets": [
            {"device": one.device, "arch": one.arch, "toolchain": dict(one.toolchain)}
            for one in diagnosis.targets
        ],
        "manifests": [
            {"path": str(one.path), "device": one.device, "reasons": list(one.reasons)}
            for one in diagnosis.matches
        ],
    }
    return dump_json(value)
