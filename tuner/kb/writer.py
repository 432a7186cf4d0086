"""Records into rows of the tables, inside a transaction of the caller's."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from codegen.config import Config
from codegen.errors import InternalError
from tuner.kb.fields import config_value
from tuner.kb.reader import Reader, scope_number
from tuner.kb.rows import Row, ScopeRow, scope_columns, shape_text
from tuner.records import Failure, Record, Scope, Timing

__all__ = ["Writer"]


class Writer:
    """Finds, adds, replaces and removes rows; scopes and configs come and go with them."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Take the connection; `path` is for messages."""
        self._connection, self._path = connection, path
        self._scopes: dict[Scope, tuple[ScopeRow, Reader]] = {}
        self._configs: dict[tuple[int, str], int] = {}

    def find(self, row: Row) -> tuple[int, Row] | None:
        """Return the row that has the key of `row`, with its number, None if there is none.

        Raises:
            KbError: it was altered.
        """
        scope, reader = self._scope(row.scope)
        record = row.record
        key = (record.dtype, record.inputs, shape_text(record))
        found = reader.rows(
            "AND dtype = ? AND inputs = ? AND record.shape = ? AND record.config_id = ?",
            (*key, self._config(scope.number, record.config)),
        )
        return found[0] if found else None

    def insert(self, row: Row) -> None:
        """Add `row`, whose key is not there."""
        scope, _ = self._scope(row.scope)
        record = row.record
        key = (scope.number, record.dtype, record.inputs, shape_text(record))
        self._insert(
            "record (scope_id, dtype, inputs, shape, config_id, median_us, spread, repeats,"
            " method, failure, message, at, used_at)",
            *(*key, self._config(scope.number, record.config)),
            *(*_result_columns(record), record.at, row.used_at),
        )

    def replace(self, number: int, row: Row) -> None:
        """Let row `number`, which has the key of `row`, say what `row` says."""
        self._connection.execute(
            "UPDATE record SET median_us = ?, spread = ?, repeats = ?, method = ?, failure = ?,"
            " message = ?, at = ?, used_at = ? WHERE id = ?",
            (*_result_columns(row.record), row.record.at, row.used_at, number),
        )

    def remove(self, numbers: list[int]) -> None:
        """Remove the rows `numbers`, and what no row refers to any more."""
        self._connection.executemany("DELETE FROM record WHERE id = ?", [(n,) for n in numbers])
        self._connection.execute(
            "DELETE FROM config WHERE id NOT IN (SELECT config_id FROM record)"
        )
        self._connection.execute(
            "DELETE FROM scope WHERE id NOT IN (SELECT scope_id FROM record)"
            " AND id NOT IN (SELECT scope_id FROM config)"
        )
        self._scopes, self._configs = {}, {}

    def _scope(self, scope: Scope) -> tuple[ScopeRow, Reader]:
        """Return the scope's row, which is made if it is not there."""
        if scope not in self._scopes:
            number = scope_number(self._connection, scope)
            if number is None:
                columns = "scope (source_sha256, target, axis_names, kernel)"
                number = self._insert(columns, *scope_columns(scope), scope.kernel)
            row = ScopeRow(number=number, scope=scope)
            self._scopes[scope] = row, Reader(self._connection, self._path, row)
        return self._scopes[scope]

    def _config(self, scope: int, config: Config) -> int:
        """Return the number of the config's row, which is made if it is not there.

        The order of its params is that of the first record in the scope.
        """
        key = (scope, config.id)
        if key not in self._configs:
            found = self._connection.execute(
                "SELECT id FROM config WHERE scope_id = ? AND name = ?", key
            ).fetchone()
            body = json.dumps(config_value(config), allow_nan=False)
            number = (
                found[0] if found else self._insert("config (scope_id, name, body)", *key, body)
            )
            self._configs[key] = number
        return self._configs[key]

    def _insert(self, columns: str, *values: Any) -> int:
        """Insert a row into the table and columns named, and return its number."""
        marks = ", ".join("?" * len(values))
        number = self._connection.execute(
            f"INSERT INTO {columns} VALUES ({marks})",  # noqa: S608 (names of ours)
            values,
        ).lastrowid
        if number is None:
            raise InternalError("SQLite gave no number to a new row")
        return number


def _result_columns(record: Record) -> tuple[Any, ...]:
    match record.result:
        case Timing() as timing:
            return timing.median_us, timing.spread, timing.repeats, timing.method, None, None
        case Failure() as failure:
            return None, None, None, None, failure.kind, failure.message
