"""May a module be written there? Asked for every output before the first is written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from codegen.emit import Emission
from codegen.errors import OutputError
from codegen.files import exists, read_bytes
from codegen.header import is_ours

__all__ = ["previous", "refuse_shared_places"]


def refuse_shared_places(emissions: Sequence[Emission]) -> None:
    """Raise OutputError if two modules, or a module and what it is made from, share a place."""
    taken: dict[Path, Path] = {}
    for item in emissions:
        place = Path(os.path.realpath(item.output))
        if place in taken:
            raise OutputError(
                f"is the place of two modules, those of {taken[place]} and {item.manifest_path}",
                where=str(item.output),
                remedy="emit them one by one, each with its own -o",
            )
        taken[place] = item.manifest_path
    for item in emissions:
        source = item.manifest.kernel.source
        origins = [item.manifest_path]
        origins += [item.manifest_path.parent / source.file] if source else []
        if any(_same(item.output, origin) for origin in origins):
            raise OutputError(
                "is what the module is made from", where=str(item.output), remedy="name another -o"
            )


def _same(output: Path, origin: Path) -> bool:
    return exists(output) and exists(origin) and output.samefile(origin)


def previous(item: Emission, *, force: bool) -> bytes | None:
    """Return what stands at the output, None if nothing does.

    Raises:
        OutputError: it is not ours to overwrite, and there is no `force`; or it is no file.
    """
    old = read_bytes(item.output)
    if old and not force and not is_ours(old[:64].decode("ascii", "replace")):
        raise OutputError(
            "exists, and codegen did not emit it",
            where=str(item.output),
            remedy="name another file with -o, or overwrite it with --force",
        )
    return old
