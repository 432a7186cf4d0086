"""SQLite files of others, opened to be read and asked for no more than they should hold."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tuner.devices.npu.tasks import wrong
from tuner.printable import printable

__all__ = ["opened", "require", "rows"]

# A capture of thousands of launches has some ten thousand; more is no profile of ours.
_MOST_ROWS = 5_000_000
_LONGEST_VALUE = 1_000_000  # Bytes of one value.


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Return a connection that cannot write, to the database in the file `path`.

    Raises:
        ProfileError: there is no such file, it is no database, or is cut off.
    """
    if not path.is_file():
        raise wrong(path, "is missing")
    try:
        with contextlib.closing(_connection(path)) as connection:
            yield connection
    except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError) as error:  # The last: of a name.
        fact = f"cannot be read as SQLite: {printable(str(error), limit=200)}"
        raise wrong(path, fact) from None


def _connection(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        # What is stored there may not run functions of ours, nor may a bad encoding stop us.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        connection.text_factory = lambda data: data[:_LONGEST_VALUE].decode("utf-8", "replace")
    except BaseException:
        connection.close()
        raise
    return connection


def require(connection: sqlite3.Connection, path: Path, table: str, *columns: str) -> None:
    """Check that `table` has `columns`; `table` is a name of ours.

    Raises:
        ProfileError: the table, or one of them, is missing.
    """
    found = {str(row[1]).lower() for row in connection.execute(f"PRAGMA table_info({table})")}
    if not found:
        raise wrong(path, f"holds no table {table}")
    missing = [column for column in columns if column.lower() not in found]
    if missing:
        raise wrong(path, f"has no column {', '.join(missing)} in the table {table}")


def rows(connection: sqlite3.Connection, path: Path, query: str) -> list[tuple[Any, ...]]:
    """Return what `query` gives.

    Raises:
        ProfileError: that is nothing, or more than a profile has.
    """
    found = connection.execute(query).fetchmany(_MOST_ROWS + 1)
    if len(found) > _MOST_ROWS:
        raise wrong(path, f"holds more than {_MOST_ROWS} rows")
    return found
