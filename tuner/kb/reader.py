"""Rows of the tables as records. Each is checked, as anyone may have altered the file."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from codegen.config import Config
from codegen.errors import ManifestError
from codegen.strict_json import parse_json
from tuner.errors import KbError
from tuner.kb.fields import RowFields, ScopeFields, config_from
from tuner.kb.rows import Row, ScopeRow, scope_columns
from tuner.kb.words import kb_error, verdict
from tuner.records import Scope
from tuner.table_file import ConfigField

__all__ = ["Reader", "read_scopes", "scope_number"]

_REMEDY = "the file was altered; restore it from a copy, or delete that row"

# A config that is missing, or another scope's, leaves nulls, which are found.
_ROWS = (
    "SELECT record.id, record.shape, dtype, inputs, median_us, spread, repeats, method, failure,"
    " message, at, used_at, record.config_id, config.name, config.body"
    " FROM record LEFT JOIN config"
    " ON config.id = record.config_id AND config.scope_id = record.scope_id"
    " WHERE record.scope_id = ?"
)


def scope_number(connection: sqlite3.Connection, scope: Scope) -> int | None:
    """Return the number of `scope` in the file, None if it is not there."""
    found = connection.execute(
        "SELECT id FROM scope WHERE source_sha256 = ? AND target = ? AND axis_names = ?",
        scope_columns(scope),
    ).fetchone()
    return found[0] if found else None


def read_scopes(connection: sqlite3.Connection, path: Path) -> tuple[ScopeRow, ...]:
    """Return the scopes, in the order of their numbers.

    Raises:
        KbError: a scope was altered, with its number.
    """
    found = connection.execute(
        "SELECT id, source_sha256, target, axis_names, kernel FROM scope ORDER BY id"
    )
    return tuple(
        ScopeRow(number=row[0], scope=_scope(row, f"{path}: scope {row[0]}")) for row in found
    )


class Reader:
    """Reads the rows of one scope; what many of them share is checked once."""

    def __init__(self, connection: sqlite3.Connection, path: Path, at: ScopeRow) -> None:
        """Take the connection and the scope; `path` is for messages."""
        self._connection, self._path, self._at = connection, path, at
        self._configs: dict[int, Config] = {}
        self._shapes: dict[str, Any] = {}

    def rows(self, where: str = "", values: tuple[Any, ...] = ()) -> tuple[tuple[int, Row], ...]:
        """Return the rows with their numbers; `where` is SQL that narrows them, with `values`.

        Raises:
            KbError: a row was altered, with its number.
        """
        found = self._connection.execute(f"{_ROWS} {where}", (self._at.number, *values))
        return tuple((columns[0], self._row(columns)) for columns in found)

    def _row(self, columns: tuple[Any, ...]) -> Row:
        number, shape, dtype, inputs, median_us, spread, repeats, method = columns[:8]
        failure, message, at, used_at, config_number, name, body = columns[8:]
        where = f"{self._path}: record {number}"
        value = {"shape": self._shape(shape, where), "dtype": dtype, "inputs": inputs}
        if median_us is not None:
            timing = {"median_us": median_us, "spread": spread, "repeats": repeats}
            value["timing"] = {**timing, "method": method}
        if failure is not None:
            value["failure"] = {"kind": failure, "message": message}
        value |= {"at": at, "used_at": used_at}
        try:
            fields = RowFields.model_validate(value)
        except ValidationError as error:
            raise _altered(verdict(error, value, where)) from None
        config = self._config(config_number, name, body, where)
        try:
            record = fields.record(self._at.scope, config, where)
        except KbError as error:
            raise _altered(error) from None
        return Row(scope=self._at.scope, record=record, used_at=used_at)

    def _shape(self, text: Any, where: str) -> Any:
        if text not in self._shapes:
            self._shapes[text] = _json(text, f"{where}: shape")
        return self._shapes[text]

    def _config(self, number: int, name: Any, body: Any, record: str) -> Config:
        if number not in self._configs:
            if name is None:
                raise KbError(f"config {number} is not there", where=record, remedy=_REMEDY)
            self._configs[number] = _config(name, body, f"{self._path}: config {number}")
        return self._configs[number]


def _scope(columns: tuple[Any, ...], where: str) -> Scope:
    _, source_sha256, target, axis_names, kernel = columns
    parts = _json(target, f"{where}: target")
    value = {
        "kernel": kernel,
        "source_sha256": source_sha256,
        "axis_names": _json(axis_names, f"{where}: axis_names"),
        **(parts if isinstance(parts, dict) else {"device": parts}),
    }
    try:
        scope = ScopeFields.model_validate(value).scope()
    except ValidationError as error:
        raise _altered(verdict(error, value, where)) from None
    if scope_columns(scope) != (source_sha256, target, axis_names):
        raise KbError("its key is not written as it should be", where=where, remedy=_REMEDY)
    return scope


def _config(name: Any, body: Any, where: str) -> Config:
    value = _json(body, f"{where}: body")
    try:
        config = config_from(ConfigField.model_validate(value), where)
    except ValidationError as error:
        raise _altered(verdict(error, value, f"{where}: body")) from None
    if config.id != name:
        raise KbError("its name is not that of its body", where=where, remedy=_REMEDY)
    return config


def _json(text: Any, where: str) -> Any:
    if not isinstance(text, str):
        raise KbError("is not text", where=where, remedy=_REMEDY)
    try:
        return parse_json(text.encode("utf-8", "surrogateescape"), name=where)
    except ManifestError as error:
        raise _altered(kb_error(error, where=where)) from None


def _altered(error: KbError) -> KbError:
    return KbError(error.fact, where=error.where, remedy=_REMEDY)
