"""A row: a record as it is kept, and the texts under which it is found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from codegen.errors import shown
from tuner.kb.fields import (
    RowFields,
    ScopeFields,
    config_from,
    config_value,
    result_value,
    scope_value,
)
from tuner.kb.words import verdict
from tuner.records import Record, Scope
from tuner.table_file import ConfigField

__all__ = ["Row", "ScopeRow", "checked", "scope_columns", "shape_text", "sort_key"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A record as it is kept: with its scope, and the last day on which it was used, if any."""

    scope: Scope
    record: Record
    used_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRow:
    """A scope as it is kept, by its number in the file."""

    number: int
    scope: Scope


def sort_key(row: Row) -> tuple[Any, ...]:
    """Return what rows are sorted by: their scope, dtype, inputs, shape and config's id."""
    scope, record = row.scope, row.record
    key = (record.dtype, record.inputs, record.shape, record.config.id)
    return (scope.kernel, scope.source_sha256, scope.target.key, scope.axis_names, *key)


def scope_columns(scope: Scope) -> tuple[str, str, str]:
    """Return the scope's key as text: source_sha256, target, axis_names.

    Raises:
        KbError: a part of it is nothing that can be kept, such as a hash that is none.
    """
    value = scope_value(scope)
    try:
        ScopeFields.model_validate(value)
    except ValidationError as error:
        raise verdict(error, value, "scope") from None
    return scope.source_sha256, scope.target.key, json.dumps(list(scope.axis_names))


def shape_text(record: Record) -> str:
    """Return the record's shape as it is kept: JSON, as a size may have more than 64 bits."""
    return json.dumps(list(record.shape))


def checked(scope: Scope, record: Record) -> Record:
    """Return `record` as it will be read again: the message of a failure may be cut.

    Raises:
        KbError: a part of it is nothing that can be kept, such as a time that is not finite.
    """
    where = f"record of {shown(record.config.id)} on {shown(str(record.shape))}"
    value = result_value(record)
    config = config_value(record.config)
    try:
        fields = RowFields.model_validate(value)
        known = ConfigField.model_validate(config)
    except ValidationError as error:
        raise verdict(error, value, where) from None
    return fields.record(scope, config_from(known, where), where)
