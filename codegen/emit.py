"""A manifest's file → the module's text, and the place where it belongs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from codegen.files import absolute
from codegen.manifest import Manifest, load_manifest, policy_of
from codegen.module import finished
from codegen.plan import plan
from codegen.render import render

__all__ = ["Emission", "default_output", "emission", "module_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Emission:
    """A module's text, where it goes, and what it was made from."""

    manifest_path: Path
    manifest: Manifest
    output: Path
    at_default: bool
    text: str


def emission(manifest_path: Path, output: Path | None = None) -> Emission:
    """Return what `codegen emit` writes for the manifest at `manifest_path`.

    `output` is a file, or a directory that takes the default name; the default place is beside
    the kernel's source.

    Raises:
        ManifestError: the manifest cannot be read or is not sound.
    """
    manifest = load_manifest(manifest_path)
    place = default_output(manifest, manifest_path)
    if output is not None:
        place = output / place.name if output.is_dir() else output
    return Emission(
        manifest_path=manifest_path,
        manifest=manifest,
        output=place,
        at_default=_is_default(manifest, manifest_path, place),
        text=module_text(manifest, manifest_path, place),
    )


def default_output(manifest: Manifest, manifest_path: Path) -> Path:
    """Return `<stem>_dispatch.py` beside the source, else named by the manifest and beside it."""
    source = manifest.kernel.source
    origin = manifest_path.parent / source.file if source else manifest_path
    return origin.with_name(f"{origin.stem}_dispatch.py")


def _is_default(manifest: Manifest, manifest_path: Path, output: Path) -> bool:
    return absolute(output) == absolute(default_output(manifest, manifest_path))


def module_text(manifest: Manifest, manifest_path: Path, output: Path) -> str:
    """Return the text of the module for `manifest`: the same for the same manifest and names."""
    policy = policy_of(manifest)
    manifest_file = Path(os.path.relpath(manifest_path, output.parent)).as_posix()
    rendered = render(
        manifest,
        policy,
        plan(policy),
        manifest_file=manifest_file,
        output=None if _is_default(manifest, manifest_path, output) else output.name,
    )
    return finished(rendered)
