"""Exports: rows of a knowledge base as text, and the file they go to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from codegen.errors import OutputError
from codegen.files import read_bytes, write_text
from tuner.errors import KbError
from tuner.kb.lines import dump_rows
from tuner.kb.report import work_label
from tuner.kb.rows import Row
from tuner.kb.to_table import table_dict
from tuner.table_text import table_text as text_of

__all__ = ["lines_text", "table_text", "write_export"]

# How what we wrote begins; anything else is not ours to overwrite.
_OURS = re.compile(rb'\s*\{\s*"format":\s*"(tuned-dispatch-kb|latency-table)/')


def lines_text(rows: Sequence[Row]) -> str:
    """Return the rows as lines of JSON, see `tuner.kb.lines`."""
    return dump_rows(rows)


def table_text(rows: Sequence[Row]) -> str:
    """Return the rows as a latency table.

    Raises:
        KbError: there are none, or they belong into several tables; which, is said.
        TableError: as `table_dict`.
    """
    labels = {(row.scope, row.record.dtype): work_label(row) for row in rows}
    if not labels:
        raise KbError(
            "no row fits", where="--table", remedy="see `tuner kb list` for what is there"
        )
    if len(labels) > 1:
        raise KbError(
            f"the rows make {len(labels)} tables: {'; '.join(sorted(labels.values()))}",
            where="--table",
            remedy="choose one with --kernel, --source, --device, --toolchain or --dtype",
        )
    return text_of(table_dict(rows[0].scope, [row.record for row in rows]))


def write_export(path: Path, text: str) -> bool:
    """Write `text` to `path`, whole or not at all; say whether that changed anything.

    Raises:
        OutputError: there is something at `path` that is no export, or it cannot be written.
    """
    data = read_bytes(path)
    if data and not _OURS.match(data):
        raise OutputError(
            "exists, and is neither an export nor a table",
            where=str(path),
            remedy="name another file, or remove it first",
        )
    return write_text(path, text)
