"""Passes: which configs proved themselves at the gate on which shapes, though not timed there yet.

They are what a run that is cut short need not do again. Worth nothing elsewhere, they are neither
exported nor merged nor archived.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import TypeAlias

from tuner.kb.rows import scope_columns
from tuner.records import Scope, Shape

__all__ = ["PASSED_TABLE", "Pass", "forget_passes", "keep_passes", "read_passes"]

# Of a config on a shape: dtype and inputs, the shape, and the config's id.
Pass: TypeAlias = tuple[str, str, Shape, str]

PASSED_TABLE = """CREATE TABLE passed (
    source_sha256 TEXT NOT NULL,
    target TEXT NOT NULL,
    axis_names TEXT NOT NULL,
    dtype TEXT NOT NULL,
    inputs TEXT NOT NULL,
    shape TEXT NOT NULL,
    config TEXT NOT NULL,
    PRIMARY KEY (source_sha256, target, axis_names, dtype, inputs, shape, config)
)"""
_SCOPE = "source_sha256 = ? AND target = ? AND axis_names = ?"


def keep_passes(connection: sqlite3.Connection, scope: Scope, passes: Iterable[Pass]) -> None:
    """Keep `passes`, within a transaction; those that are known stay as they are."""
    key = scope_columns(scope)
    connection.executemany(
        "INSERT OR IGNORE INTO passed VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (*key, dtype, inputs, json.dumps(list(shape)), name)
            for dtype, inputs, shape, name in passes
        ],
    )


def read_passes(connection: sqlite3.Connection, scope: Scope) -> frozenset[Pass]:
    """Return the passes of `scope`; one that was altered is not one any more."""
    found = connection.execute(
        f"SELECT dtype, inputs, shape, config FROM passed WHERE {_SCOPE}",  # noqa: S608 (no data)
        scope_columns(scope),
    )
    return frozenset((dtype, inputs, _shape(shape), name) for dtype, inputs, shape, name in found)


def forget_passes(connection: sqlite3.Connection, scope: Scope) -> None:
    """Forget the passes of `scope`, within a transaction."""
    connection.execute(
        f"DELETE FROM passed WHERE {_SCOPE}",  # noqa: S608 (no data in it)
        scope_columns(scope),
    )


def _shape(text: object) -> Shape:
    try:
        sizes = json.loads(str(text))
    except ValueError:
        return ()
    return tuple(sizes) if isinstance(sizes, list) else ()
