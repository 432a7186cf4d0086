"""The files of a case, read without waiting for what is no file, and with words for a case."""

from __future__ import annotations

import os
from pathlib import Path

from codegen.errors import CodegenError
from codegen.strict_json import read_data
from tuner.errors import CaseError

__all__ = ["as_case_error", "exists", "is_directory", "read_file"]

# What codegen says of a manifest and is otherwise in a case.
_REMEDIES = {
    "add it; `codegen schema` lists the fields": "add it",
    "remove it, or put it under extras": "remove it",
    "see `codegen schema`": "correct it",
    "write the manifest again": "write it again",
    "fit a shallower tree": "make it shallower",
}


def exists(path: Path) -> bool:
    """Say whether there is something at `path`, if only a link that leads nowhere."""
    return os.path.lexists(path)


def is_directory(path: Path) -> bool:
    """Say whether `path` is a directory; a path that cannot be is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def read_file(path: Path, what: str) -> bytes:
    """Return the content of the file `path`, which should be `what`.

    Raises:
        CaseError: it is missing, no file, too large, or may not be read.
    """
    try:
        odd = path.exists() and not path.is_file()  # reading a pipe may never end
        kind = "a directory" if path.is_dir() else "not a regular file"
        data = b"" if odd else read_data(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path itself
        fact = f"cannot be read: {(getattr(error, 'strerror', None) or str(error)).lower()}"
        raise CaseError(fact, where=str(path), remedy=f"name {what}") from None
    except CodegenError as error:
        raise CaseError(error.fact, where=error.where, remedy=f"put {what} there") from None
    if odd:
        raise CaseError(f"is {kind}", where=str(path), remedy=f"name {what}")
    return data


def as_case_error(error: CodegenError) -> CaseError:
    """Return an error about a manifest as one about a file of a case."""
    remedy, more, rest = error.remedy.partition(" (and ")
    return CaseError(
        error.fact, where=error.where, remedy=_REMEDIES.get(remedy, remedy) + more + rest
    )
