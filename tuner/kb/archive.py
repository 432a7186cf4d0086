"""The archive of a knowledge base: where rows go that nobody uses. It is a knowledge base too."""

from __future__ import annotations

from pathlib import Path

from codegen.files import exists
from tuner.errors import KbError

__all__ = ["archive_of", "refuse_same_file"]

_SUFFIX = ".sqlite"


def archive_of(path: Path) -> Path:
    """Return where the rows of the knowledge base `path` go if no other place is named.

    That is beside it: `kb.archive.sqlite` for `kb.sqlite`.
    """
    return path.with_name(f"{path.name.removesuffix(_SUFFIX)}.archive{_SUFFIX}")


def refuse_same_file(path: Path, other: Path, *, remedy: str) -> None:
    """Raise KbError if the two are one file, under whatever names."""
    if exists(path) and exists(other) and path.samefile(other):
        raise KbError("is the knowledge base itself", where=str(other), remedy=remedy)
