"""May the outcome be written there? Asked before anything is measured, and again when it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codegen.errors import ManifestError, OutputError
from codegen.files import absolute, exists, read_bytes, write_bytes
from codegen.source_hash import source_sha256_of
from codegen.strict_json import parse_json

__all__ = [
    "beside",
    "check_directory",
    "check_ours",
    "copied",
    "holds_manifest",
    "holds_table",
    "make_directory",
]

_ELSEWHERE = "name another directory with -o"


def check_directory(directory: Path) -> None:
    """Raise OutputError if `directory` is none, or cannot be written to or made."""
    place = absolute(directory)
    while not exists(place) and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise OutputError("is not a directory", where=str(place), remedy=_ELSEWHERE)
    if not os.access(place, os.W_OK | os.X_OK):
        raise OutputError("may not be written to", where=str(place), remedy=_ELSEWHERE)


def make_directory(directory: Path) -> None:
    """Make `directory` and those above it; raises OutputError if that cannot be."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise OutputError(
            f"cannot be made a directory: {_reason(error)}",
            where=str(directory),
            remedy=f"what was measured is kept; {_ELSEWHERE}",
        ) from None


def check_ours(path: Path, is_ours: Callable[[bytes], bool], what: str, *, force: bool) -> None:
    """Refuse to write over what a tool of ours did not write.

    Args:
        path: where it is to be written.
        is_ours: whether a file with this content was.
        what: it should be, such as `a manifest`.
        force: write over any file.

    Raises:
        OutputError: it is something else, or no file at all.
    """
    data = read_bytes(path)
    if data and not force and not is_ours(data):
        raise OutputError(
            f"exists, and is not {what}",
            where=str(path),
            remedy=f"{_ELSEWHERE}, or overwrite it with --force",
        )


def holds_manifest(data: bytes) -> bool:
    """Say whether `data` is a manifest, by its key `schema_version`."""
    return "schema_version" in _object(data)


def holds_table(data: bytes) -> bool:
    """Say whether `data` is a latency table, by its key `format`."""
    return str(_object(data).get("format")).startswith("latency-table/")


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = parse_json(data, name="")
    except ManifestError:
        return {}
    return found if isinstance(found, dict) else {}


def beside(source: Path, directory: Path, *, force: bool) -> Path:
    """Return `source` if it lies in or below `directory`, else the place there for a copy of it.

    Raises:
        OutputError: there is other code in that place, and no `force`.
        SourceError: what is there is no code.
    """
    if absolute(source).is_relative_to(absolute(directory)):
        return source
    copy = directory / source.name
    if exists(copy) and not force and source_sha256_of(copy) != source_sha256_of(source):
        raise OutputError(
            f"is other code than {source}, which is tuned",
            where=str(copy),
            remedy=f"{_ELSEWHERE}, or overwrite it with --force",
        )
    return copy


def copied(source: Path, place: Path) -> bool:
    """Make `place` a copy of `source`, whole or not at all, unless its code is the same already.

    Say whether that changed anything.

    Raises:
        OutputError: it cannot be written.
        SourceError: one of the two is not Python, or cannot be read.
    """
    sha256 = source_sha256_of(source)
    if exists(place) and (place.samefile(source) or source_sha256_of(place) == sha256):
        return False
    try:
        return write_bytes(place, source.read_bytes())
    except OutputError as error:
        raise OutputError(
            error.fact, where=error.where, remedy=f"what was measured is kept; {_ELSEWHERE}"
        ) from None


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
