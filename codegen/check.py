"""Is a module still what its manifest gives, and its source still the one that was tuned?

Two questions with two answers: a module that *drifted* was edited, or its manifest or this program
changed since it was emitted; a *stale* one belongs to a source that has changed since it was tuned.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.emit import default_output, module_text
from codegen.errors import CodegenError, ManifestError
from codegen.files import absolute, read_text
from codegen.header import is_ours, manifest_named
from codegen.manifest import Manifest, load_manifest, policy_of
from codegen.policy import Policy
from codegen.source_hash import source_sha256_of

__all__ = ["Verdict", "check_module", "check_paths", "policy_behind", "stale_source"]

_MANIFEST_NAME = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is wrong with one module, and the command that mends it; both empty if nothing is."""

    module: Path
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
        modules = sorted(set(_modules(path)))
        if not modules:
            raise ManifestError(
                "holds no emitted module and no manifest.json",
                where=str(path),
                remedy="name a module, or emit one: codegen emit MANIFEST",
            )
        verdicts += [check_module(module) for module in modules]
    return tuple(verdicts)


def _modules(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise ManifestError(
            "no such file or directory", where=str(path), remedy="name a module or a directory"
        )
    if path.is_file() and path.suffix == ".json":
        yield default_output(load_manifest(path), path)
    elif path.is_file():
        yield path
    else:
        yield from _below(path)


def _below(directory: Path) -> Iterator[Path]:
    """Yield the modules below `directory`, and the places of those that its manifests want."""
    manifests = set()
    for root, directories, files in os.walk(directory):
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        for name in sorted(files):
            path = Path(root, name)
            if path.suffix == ".py" and _starts_as_ours(path):
                manifests.add(_manifest_of(path))
                yield path
    for root, _, files in os.walk(directory):
        path = Path(root, _MANIFEST_NAME)
        if _MANIFEST_NAME in files and absolute(path) not in manifests:
            yield default_output(load_manifest(path), path)


def _manifest_of(module: Path) -> Path | None:
    named = manifest_named(read_text(module) or "")
    return absolute(module.parent / named) if named else None


def _starts_as_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return is_ours(file.read(64).decode("ascii", "replace"))
    except OSError:
        return False


def check_module(module: Path) -> Verdict:
    """Return what is wrong with the module at `module`."""
    try:
        return Verdict(module=module, faults=tuple(_faults(module)))
    except CodegenError as error:
        return Verdict(module=module, faults=(str(error),))


def _faults(module: Path) -> Iterator[str]:
    text = read_text(module)
    if text is None:
        yield f"was never emitted; run: codegen emit {_manifest_for_missing(module)}"
        return
    named = manifest_named(text)
    if named is None:
        yield "is not a module that codegen emitted; name another, or emit one in its place"
        return
    manifest_path = Path(os.path.normpath(module.parent / named))
    manifest = load_manifest(manifest_path)
    if module_text(manifest, manifest_path, module) != text:
        command = _emit_command(manifest, manifest_path, module)
        yield f"drifted: it is not what its manifest gives; run: {command}"
    fault = stale_source(manifest, manifest_path)
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


def _manifest_for_missing(module: Path) -> str:
    beside = module.with_name(_MANIFEST_NAME)
    return shlex.quote(str(beside)) if beside.exists() else "MANIFEST"


def _emit_command(manifest: Manifest, manifest_path: Path, module: Path) -> str:
    default = absolute(default_output(manifest, manifest_path)) == absolute(module)
    words = ["codegen", "emit", str(manifest_path), *(() if default else ("-o", str(module)))]
    return shlex.join(words)


def policy_behind(path: Path) -> Policy:
    """Return the policy of the manifest at `path`, or of the one that the module `path` names.

    Raises:
        CodegenError: neither can be read, or the module has drifted from its manifest.
    """
    text = read_text(path) if path.suffix == ".py" else None
    if text is None:
        return policy_of(load_manifest(path))
    named = manifest_named(text)
    if named is None:
        raise ManifestError(
            "is not a module that codegen emitted", where=str(path), remedy="name a manifest"
        )
    manifest_path = Path(os.path.normpath(path.parent / named))
    manifest = load_manifest(manifest_path)
    if module_text(manifest, manifest_path, path) != text:
        raise ManifestError(
            "drifted: it is not what its manifest gives",
            where=str(path),
            remedy=f"run: {_emit_command(manifest, manifest_path, path)}",
        )
    return policy_of(manifest)
