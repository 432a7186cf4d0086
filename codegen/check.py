"""Is a module still what its manifest gives, and its source still the one that was tuned?

Two questions with two answers: a module that *drifted* was edited, or its manifest or this program
changed since it was emitted; a *stale* one belongs to a source that has changed since it was tuned.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.emit import default_output, module_text
from codegen.errors import CodegenError, ManifestError
from codegen.files import absolute, read_bytes
from codegen.header import is_ours, manifest_named
from codegen.manifest import Manifest, load_manifest, policy_of
from codegen.policy import Policy
from codegen.shell import emit_command
from codegen.source_hash import source_sha256_of

__all__ = ["Verdict", "check_module", "check_paths", "policy_behind", "stale_source"]

_MANIFEST_NAME = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is wrong with one module, and the command that mends it; no faults if nothing is.

    `place` is the module, or the manifest where that cannot even say which module it wants.
    """

    place: Path
    faults: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Say whether nothing is wrong."""
        return not self.faults


def check_paths(paths: Sequence[Path]) -> tuple[Verdict, ...]:
    """Return a verdict for each module named by, or lying below, `paths`, in order.

    A manifest without its module counts as a module that is missing.

    Raises:
        CodegenError: a path does not exist, or there is nothing to check in it.
    """
    verdicts = []
    for path in paths:
        found = sorted(_verdicts(path), key=lambda verdict: verdict.place)
        if not found:
            raise ManifestError(
                "holds no emitted module and no manifest.json",
                where=str(path),
                remedy="name a module, or emit one: codegen emit MANIFEST",
            )
        verdicts += found
    return tuple(verdicts)


def _verdicts(path: Path) -> Iterator[Verdict]:
    if path.is_dir():
        yield from _below(path)
    elif not path.exists():
        raise ManifestError(
            "no such file or directory", where=str(path), remedy="name a module or a directory"
        )
    elif path.suffix == ".json":
        yield _check_manifest(path)
    else:
        yield check_module(path)


def _below(directory: Path) -> Iterator[Verdict]:
    """Yield the verdicts on our modules in `directory`, and on manifests without a module."""
    spoken_for: set[Path] = set()
    manifests: list[Path] = []
    unread: list[OSError] = []
    for root, directories, files in os.walk(directory, onerror=unread.append):
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        for path in (Path(root, name) for name in sorted(files)):
            if path.suffix not in {".json", ".py"} or not path.is_file():
                continue
            if path.name == _MANIFEST_NAME:
                manifests.append(path)
            elif path.suffix == ".py":
                try:
                    if not _starts_as_ours(path):
                        continue
                    spoken_for.add(_manifest_of(path))
                except (OSError, CodegenError) as error:
                    yield _unreadable(path, error)
                else:
                    yield check_module(path)
    yield from (_unreadable(Path(error.filename), error) for error in unread)
    for manifest in manifests:
        if absolute(manifest) not in spoken_for:
            yield _check_manifest(manifest)


def _starts_as_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return is_ours(_decoded(file.read(64)))


def _unreadable(place: Path, error: Exception) -> Verdict:
    """Return the verdict on what could not be looked into: it is not known to be good."""
    reason = getattr(error, "strerror", None) or str(error)
    return Verdict(place=place, faults=(f"cannot be read: {reason.lower()}; make it readable",))


def _manifest_of(module: Path) -> Path:
    """Return the path of the manifest that `module` names, its own where it names none."""
    named = manifest_named(_decoded(read_bytes(module) or b""))
    return absolute(module.parent / named) if named else absolute(module)


def _decoded(data: bytes) -> str:
    """Return `data` as text; what is no UTF-8 cannot be equal to what we emit, whatever it is."""
    return data.decode("utf-8", "surrogateescape")


def _check_manifest(path: Path) -> Verdict:
    """Return the verdict on the module that the manifest at `path` wants at its default place."""
    try:
        module = default_output(load_manifest(path), path)
    except CodegenError as error:
        return Verdict(place=path, faults=(str(error).removeprefix(f"{path}: "),))
    return check_module(module, manifest=path)


def check_module(module: Path, *, manifest: Path | None = None) -> Verdict:
    """Return what is wrong with the module at `module`, which `manifest` gives if it names none."""
    try:
        return Verdict(place=module, faults=tuple(_faults(module, manifest)))
    except CodegenError as error:
        return Verdict(place=module, faults=(str(error),))


def _faults(module: Path, manifest: Path | None) -> Iterator[str]:
    data = read_bytes(module)
    if data is None:
        yield f"was never emitted; run: {emit_command(manifest or 'MANIFEST', None)}"
        return
    named = manifest_named(_decoded(data))
    if named is None:
        remedy = "name another, or emit one in its place"
        if manifest:
            remedy = f"to put one in its place run: {emit_command(manifest, None, force=True)}"
        yield f"is not a module that codegen emitted; {remedy}"
        return
    manifest_path = Path(os.path.normpath(module.parent / named))
    loaded = load_manifest(manifest_path)
    if module_text(loaded, manifest_path, module).encode() != data:
        command = _emit_command(loaded, manifest_path, module)
        yield f"drifted: it is not what its manifest gives; run: {command}"
    try:
        fault = stale_source(loaded, manifest_path)
    except CodegenError as error:
        fault = str(error)
    if fault:
        yield fault


def stale_source(manifest: Manifest, manifest_path: Path) -> str | None:
    """Return what is wrong with the kernel's source, None if it is the one that was tuned.

    Raises:
        SourceError: it cannot be read or parsed.
    """
    source = manifest.kernel.source
    if source is None:
        return None
    path = manifest_path.parent / source.file
    now = source_sha256_of(path)
    if now == source.sha256:
        return None
    return (
        f"stale: {path} has changed since it was tuned (tuned as {source.sha256[:12]}, "
        f"now {now[:12]}); undo the change, or tune again and emit"
    )


def policy_behind(path: Path) -> Policy:
    """Return the policy of the manifest at `path`, or of the one that the module `path` names.

    Raises:
        CodegenError: neither can be read, or the module has drifted from its manifest.
    """
    if path.suffix != ".py":
        return policy_of(load_manifest(path))
    data = read_bytes(path)
    if data is None:
        raise ManifestError("no such file", where=str(path), remedy="name a module or a manifest")
    named = manifest_named(_decoded(data))
    if named is None:
        raise ManifestError(
            "is not a module that codegen emitted", where=str(path), remedy="name a manifest"
        )
    manifest_path = Path(os.path.normpath(path.parent / named))
    manifest = load_manifest(manifest_path)
    if module_text(manifest, manifest_path, path).encode() != data:
        raise ManifestError(
            "drifted: it is not what its manifest gives",
            where=str(path),
            remedy=f"run: {_emit_command(manifest, manifest_path, path)}",
        )
    return policy_of(manifest)


def _emit_command(manifest: Manifest, manifest_path: Path, module: Path) -> str:
    default = absolute(default_output(manifest, manifest_path)) == absolute(module)
    return emit_command(manifest_path, None if default else module)
