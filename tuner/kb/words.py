"""What SQLite, pydantic and the JSON reader complain of, as a `KbError` of one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from codegen.errors import ManifestError, shown
from codegen.words import first_error
from tuner.errors import KbError

__all__ = ["kb_error", "sqlite_words", "verdict"]

# Part of SQLite's message → what is wrong, and what to do.
_SQLITE = (
    ("locked", "is in use by another process, and stayed so", "wait for it to end, then try again"),
    (
        "readonly",
        "cannot be written: it is read-only",
        "make it and its directory writable, or name another file",
    ),
    (
        "full",
        "cannot be written: the disk is full",
        "nothing was changed; free some space and try again",
    ),
    (
        "disk i/o error",
        "cannot be read or written: disk i/o error",
        "nothing was changed; look at the disk, its space and its quota, then try again",
    ),
    (
        "unable to open",
        "cannot be opened",
        "see that it and its directory are there, and that you may write to both",
    ),
    (
        "not a database",
        "is not a SQLite database, or is damaged",
        "name a knowledge base, or a file to be made",
    ),
)
# Types of error of our own fields → as above; `{}` stands for the value.
_FIELDS = {
    "instant": ("{} is not a time in UTC", "write it as 2026-11-30T21:04:32Z"),
    "day": ("{} is not a day", "write it as 2026-11-30"),
    "size": ("{} is too large for a size", "use at most 1024 bits"),
}
_REMEDIES = {
    "add it; `codegen schema` lists the fields": "add it, as `tuner kb export` writes it",
    "remove it, or put it under extras": "remove it",
    "see `codegen schema`": "write it as `tuner kb export` does",
    "name a JSON file": "name a file that `tuner kb export` wrote",
    "write the manifest again": "export it again",
}


@contextmanager
def sqlite_words(path: Path) -> Iterator[None]:
    """Turn what SQLite says of the file `path` into a KbError."""
    try:
        yield
    except sqlite3.Error as error:
        if not isinstance(error, sqlite3.OperationalError) and type(error) is not _BASE:
            raise  # A wrong call, or a row that breaks a constraint: a fault of ours.
        raise _worded(error, path) from None


_BASE = sqlite3.DatabaseError


def _worded(error: sqlite3.Error, path: Path) -> KbError:
    text = str(error).lower()
    for part, fact, remedy in _SQLITE:
        if part in text:
            return KbError(fact, where=str(path), remedy=remedy)
    if "strict" in text and sqlite3.sqlite_version_info < (3, 37):
        fact = f"needs SQLite 3.37 or newer, this Python has {sqlite3.sqlite_version}"
        return KbError(fact, where=str(path), remedy="use a newer Python")
    return KbError(
        f"is damaged: {shown(str(error), limit=200)}",
        where=str(path),
        remedy="take a copy or an export of it, if there is one",
    )


def kb_error(error: ManifestError, *, where: str | None = None) -> KbError:
    """Say of a knowledge base what codegen says of a manifest; `where` replaces its place."""
    remedy, more, rest = error.remedy.partition(" (and ")
    remedy = _REMEDIES.get(remedy, remedy).replace("manifest", "file")
    return KbError(error.fact, where=where or error.where, remedy=remedy + more + rest)


def verdict(error: ValidationError, raw: Any, name: str) -> KbError:
    """Return pydantic's first verdict on `raw`; `name` is the place of `raw`."""
    ours = kb_error(first_error(error, raw, name))
    first = error.errors(include_url=False)[0]
    if first["type"] not in _FIELDS:
        return ours
    fact, remedy = _FIELDS[first["type"]]
    return KbError(fact.replace("{}", shown(first["input"])), where=ours.where, remedy=remedy)
