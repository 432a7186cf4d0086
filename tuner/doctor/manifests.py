"""Which manifests were made for this machine: for its device, with its tools."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.errors import CodegenError, ManifestError
from codegen.manifest import Manifest, load_manifest
from tuner.records import Target

__all__ = ["Match", "find_manifests", "match_manifests"]

_NAME = "manifest.json"
_DEEPEST = 4  # Levels below a directory: a gallery's cases, not a disk.
_MOST = 1000
_REPLAYED = "replay"  # What `tuner tune --device replay:…` adds to a table's toolchain.


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What a manifest is to this machine.

    Attributes:
        path: of the manifest.
        device: that it was tuned on, None where it cannot be read.
        reasons: why it does not match, none where it does.
    """

    path: Path
    device: str | None
    reasons: tuple[str, ...] = ()


def find_manifests(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the files that are named, and the manifests a few levels below directories.

    Raises:
        ManifestError: a path does not exist, or there are more than a thousand.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(_below(path))
        elif path.exists():
            found[path] = None
        else:
            raise ManifestError(
                "no such file or directory",
                where=str(path),
                remedy="name a manifest, or a directory with some",
            )
        if len(found) > _MOST:
            raise ManifestError(
                f"holds more than {_MOST} manifests",
                where=str(path),
                remedy="name a directory further down",
            )
    return tuple(found)


def _below(directory: Path) -> Iterator[Path]:
    depth = len(directory.parts)
    for root, directories, files in os.walk(directory):
        deep = len(Path(root).parts) - depth
        directories[:] = (
            sorted(name for name in directories if not name.startswith("."))
            if deep < _DEEPEST
            else []
        )
        if _NAME in files:
            yield Path(root, _NAME)


def match_manifests(paths: Sequence[Path], targets: Sequence[Target]) -> tuple[Match, ...]:
    """Return for each manifest whether it is for one of `targets`, and why not."""
    return tuple(_match(path, targets) for path in paths)


def _match(path: Path, targets: Sequence[Target]) -> Match:
    try:
        manifest = load_manifest(path)
    except CodegenError as error:
        return Match(path=path, device=None, reasons=(f"cannot be read: {error.fact}",))
    tuned = manifest.target.device
    if _REPLAYED in manifest.target.toolchain:
        reason = f"replayed from a table of {tuned}, and not tuned on it"
        return Match(path=path, device=tuned, reasons=(reason,))
    here = [target for target in targets if _is_device(manifest, target)]
    if not here:
        known = dict.fromkeys(_named(one.device, one.arch) for one in targets)
        fact = f"tuned on {_named(tuned, manifest.target.arch)}; here is "
        return Match(path=path, device=tuned, reasons=(fact + (", ".join(known) or "none"),))
    reasons = [_tool_reasons(manifest.target.toolchain, dict(one.toolchain)) for one in here]
    return Match(path=path, device=tuned, reasons=min(reasons, key=len))


def _named(device: str, arch: str | None) -> str:
    return f"{device} ({arch})" if arch else device


def _is_device(manifest: Manifest, target: Target) -> bool:
    """Compare devices by name, spelled as it may be, and by architecture where both have one."""
    archs = {arch for arch in (manifest.target.arch, target.arch) if arch is not None}
    return _plain(manifest.target.device) == _plain(target.device) and len(archs) <= 1


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()


def _tool_reasons(theirs: Mapping[str, str], ours: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(
        f"tuned with {tool} {version}; here is {ours.get(tool, 'none')}"
        for tool, version in sorted(theirs.items())
        if ours.get(tool) != version
    )
