"""The tables of a knowledge base, how they are made, and how a file is told to be one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tuner.errors import KbError
from tuner.kb.passes import PASSED_TABLE
from tuner.kb.transactions import writing

__all__ = ["APPLICATION_ID", "VERSION", "prepare"]

APPLICATION_ID = int.from_bytes(b"TDkb", "big")

# Statement by statement what brings version i + 1 to version i + 2.
_MIGRATIONS: tuple[tuple[str, ...], ...] = ()
VERSION = 1 + len(_MIGRATIONS)

# Names and shapes stand as JSON: a size may have more than 64 bits. A timing's columns are either
# all there or all null, and a failure's the other way round.
_TABLES = {
    "scope": """CREATE TABLE scope (
    id INTEGER PRIMARY KEY,
    source_sha256 TEXT NOT NULL,
    target TEXT NOT NULL,
    axis_names TEXT NOT NULL,
    kernel TEXT NOT NULL,
    UNIQUE (source_sha256, target, axis_names)
)""",
    "config": """CREATE TABLE config (
    id INTEGER PRIMARY KEY,
    scope_id INTEGER NOT NULL REFERENCES scope (id),
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (scope_id, name)
)""",
    "record": """CREATE TABLE record (
    id INTEGER PRIMARY KEY,
    scope_id INTEGER NOT NULL REFERENCES scope (id),
    dtype TEXT NOT NULL,
    inputs TEXT NOT NULL,
    shape TEXT NOT NULL,
    config_id INTEGER NOT NULL REFERENCES config (id),
    median_us REAL CHECK (median_us >= 0),
    spread REAL CHECK (spread >= 0),
    repeats INTEGER CHECK (repeats >= 1),
    method TEXT,
    failure TEXT,
    message TEXT,
    at TEXT NOT NULL,
    used_at TEXT,
    UNIQUE (scope_id, dtype, inputs, shape, config_id),
    CHECK ((median_us IS NULL) = (failure IS NOT NULL)),
    CHECK ((median_us IS NULL) = (spread IS NULL)),
    CHECK ((median_us IS NULL) = (repeats IS NULL)),
    CHECK ((median_us IS NULL) = (method IS NULL)),
    CHECK ((failure IS NULL) = (message IS NULL))
)""",
    "passed": PASSED_TABLE,
}
# Without it, deleting a config reads all records.
_INDEX = "CREATE INDEX record_config ON record (config_id)"
_STRICT_SINCE = (3, 37)


def prepare(connection: sqlite3.Connection, path: Path, *, create: bool) -> None:
    """See that `connection` is to a knowledge base of this version: make it so, or refuse it.

    An empty file becomes one if `create` is set; several processes may do so at once.

    Raises:
        KbError: the file is something else, is of a newer version, or its tables were altered.
        sqlite3.Error: it cannot be read or written.
    """
    if create and _is_empty(connection):
        with writing(connection):
            if _is_empty(connection):  # Another process may have been first.
                _make(connection)
    version = _version(connection, path)
    if version < VERSION:
        with writing(connection):
            for number in range(_version(connection, path), VERSION):
                _migrate(connection, number)
    _check_tables(connection, path)


def _is_empty(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not (tables or _pragma(connection, "application_id"))


def _make(connection: sqlite3.Connection) -> None:
    strict = " STRICT" if sqlite3.sqlite_version_info >= _STRICT_SINCE else ""
    for table in _TABLES.values():
        connection.execute(table + strict)
    connection.execute(_INDEX)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _migrate(connection: sqlite3.Connection, number: int) -> None:
    for statement in _MIGRATIONS[number - 1]:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {number + 1}")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of the file, 1 to `VERSION`; raises KbError if it is not ours."""
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise KbError(
            "is a SQLite database, and not a knowledge base",
            where=str(path),
            remedy="name a knowledge base, or a file to be made",
        )
    version = _pragma(connection, "user_version")
    if not 1 <= version <= VERSION:
        raise KbError(
            f"is a knowledge base of version {version}, and this program knows 1 to {VERSION}",
            where=str(path),
            remedy="use a newer tuned-dispatch, or name another file",
        )
    return version


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse tables without our constraints, and triggers, which could do anything."""
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master"
        " WHERE type <> 'index' AND substr(name, 1, 7) <> 'sqlite_'"
    ).fetchall()
    tables = {name: str(sql).removesuffix(" STRICT") for name, sql in found}
    if tables != _TABLES or len(found) != len(_TABLES):  # A trigger may be called like a table.
        altered = sorted(str(n) for n in tables.keys() | _TABLES if tables.get(n) != _TABLES.get(n))
        raise KbError(
            f"has tables that are not a knowledge base's: {', '.join(map(ascii, altered[:3]))}",
            where=str(path),
            remedy="name another file, or restore it from an export",
        )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
