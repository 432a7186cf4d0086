"""How the file of a knowledge base is opened: what it must be, and how safely it is written."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from pathlib import Path
from urllib.parse import quote

from tuner.errors import KbError
from tuner.kb.schema import APPLICATION_ID, prepare
from tuner.kb.words import sqlite_words

__all__ = ["connect", "is_sqlite"]

_BUSY_SECONDS = 60.0
_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_APPLICATION_ID = slice(68, 72)


def connect(path: Path, *, create: bool) -> sqlite3.Connection:
    """Return a connection to the knowledge base at `path`.

    With `create`, a file that is missing is made, its directories too, and an old one is turned
    to write-ahead logging where the file system allows that; without, the file stays as it is.

    Raises:
        KbError: there is no such file or it is something else, see `prepare`; or it cannot be
            opened, read or made.
    """
    _check_file(path, create=create)
    with sqlite_words(path):
        connection = _open(path, create=create)
        try:
            prepare(connection, path, create=create)
            if create:
                _prefer_wal(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def is_sqlite(path: Path) -> bool:
    """Say whether the file at `path` is a SQLite database, by its first bytes.

    Raises:
        KbError: it is missing, not a regular file, or cannot be read.
    """
    return (_header(path) or b"").startswith(_MAGIC)


def _open(path: Path, *, create: bool) -> sqlite3.Connection:
    # A URI, as only that can say not to make the file; and from the root, as `:memory:` and the
    # like would not be files.
    file = os.path.realpath(path)
    mode = "mode=rwc" if create else _mode(file)
    uri = f"file:{quote(os.fsencode(file))}?{mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    # What is not UTF-8 is found when its row is checked, which can then be named.
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _mode(file: str) -> str:
    """Return how to open a file that exists, as a part of its URI.

    With write-ahead logging even a reader makes files beside it. Where it may not, and none is
    there, nobody is writing as a rule, and the file can be read as one that does not change.
    """
    effective = os.access in os.supports_effective_ids
    may_write = os.access(os.path.dirname(file), os.W_OK, effective_ids=effective)  # noqa: PTH120
    if may_write or Path(f"{file}-wal").exists():
        return "mode=rw"
    return "mode=ro&immutable=1"


def _prefer_wal(connection: sqlite3.Connection) -> None:
    """Turn to write-ahead logging, by which readers and a writer do not wait for each other.

    Where it cannot be had, on a network's file system or while another process is at work, the
    rollback journal stays, which is as safe.
    """
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")


def _check_file(path: Path, *, create: bool) -> None:
    """Refuse what is no knowledge base before SQLite touches it; make its directory if it may."""
    header = _header(path, missing_ok=create)
    if header is None:
        _make_directory(path.parent)
        return
    if (not header and create) or Path(f"{path}-journal").exists():
        return  # With a journal beside it, SQLite alone knows what the file holds.
    if not header.startswith(_MAGIC):
        raise KbError(
            "is not a SQLite database" if header else "is empty, and not a knowledge base",
            where=str(path),
            remedy="name a knowledge base, or a file to be made",
        )
    if int.from_bytes(header[_APPLICATION_ID], "big") != APPLICATION_ID:
        raise KbError(
            "is a SQLite database, and not a knowledge base",
            where=str(path),
            remedy="name a knowledge base, or a file to be made",
        )


def _header(path: Path, *, missing_ok: bool = False) -> bytes | None:
    """Return the first bytes of the file, None if there is none and that is well."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            kind = "a directory" if path.is_dir() else "not a regular file"
            raise KbError(f"is {kind}", where=str(path), remedy="name a file")
        with path.open("rb") as file:
            return file.read(_HEADER)
    except FileNotFoundError:
        if missing_ok:
            return None
        raise KbError(
            "there is no such file",
            where=str(path),
            remedy="name a knowledge base that exists; a tuning run makes one",
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path itself
        raise KbError(
            f"cannot be read: {_reason(error)}", where=str(path), remedy="name a readable file"
        ) from None


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KbError(
            f"cannot be made: {_reason(error)}",
            where=str(directory),
            remedy="name a file in a directory that you may write to",
        ) from None


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
