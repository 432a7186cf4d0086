"""The format `tuned-dispatch-kb/1`: rows as lines of JSON.

    {"format": "tuned-dispatch-kb/1", "records": 2}
    {"scope": {"kernel": "matmul", …}, "dtype": "float16", …, "timing": {"median_us": 9.1, …}, …}
    {"scope": {"kernel": "matmul", …}, "dtype": "float16", …, "failure": {"kind": "hang", …}, …}

Each line stands for itself, so that a file can be searched and compared by line. `records`, which
tells a file that was cut short, may be left out of the header by whoever picks lines by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, TypeVar

from pydantic import Field, ValidationError

from codegen.errors import ManifestError
from codegen.fields import Strict
from codegen.strict_json import parse_json
from tuner.errors import KbError
from tuner.kb.fields import LineFields, config_from, config_value, result_value, scope_value
from tuner.kb.rows import Row
from tuner.kb.words import kb_error, verdict

__all__ = ["FORMAT", "dump_rows", "read_lines"]

FORMAT = "tuned-dispatch-kb/1"
# A message of 4,000 characters is 24,000 as escapes, and 32 sizes of 1024 bits are 10,000.
_MAX_LINE = 2**20


class _Header(Strict):
    format: Literal["tuned-dispatch-kb/1"]
    records: Annotated[int, Field(ge=0)] | None = None


_Fields = TypeVar("_Fields", bound=Strict)


def dump_rows(rows: Iterable[Row]) -> str:
    """Return the text of an export: ASCII, the same for the same rows in the same order."""
    lines = [json.dumps(_value(row), allow_nan=False) for row in rows]
    header = json.dumps({"format": FORMAT, "records": len(lines)})
    return "\n".join([header, *lines, ""])


def read_lines(path: Path) -> tuple[Row, ...]:
    """Return the rows of the export at `path`.

    Raises:
        KbError: it cannot be read, is of another format, or a line is unsound, with its number.
    """
    try:
        with path.open("rb") as file:
            return _rows(file, path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise KbError(
            f"cannot be read: {reason}", where=str(path), remedy="name a readable file"
        ) from None


def _rows(file: BinaryIO, path: Path) -> tuple[Row, ...]:
    lines = _numbered(file, path)
    header = _header(next(lines, (1, b"")), path)
    rows = tuple(_row(number, line, path) for number, line in lines)
    if header.records not in {None, len(rows)}:
        raise KbError(
            f"has {len(rows)} records, and its header says {header.records}",
            where=f"{path}:1",
            remedy='export it again, or remove "records" from the header if that is meant',
        )
    return rows


def _numbered(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers from 1, refusing one that has no end in sight."""
    number = 0
    while line := file.readline(_MAX_LINE + 1):
        number += 1
        if len(line) > _MAX_LINE:
            raise KbError(
                f"is longer than {_MAX_LINE} bytes",
                where=f"{path}:{number}",
                remedy="name a file that `tuner kb export` wrote",
            )
        yield number, line


def _header(numbered: tuple[int, bytes], path: Path) -> _Header:
    value = _json(*numbered, path)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise KbError(
            f'is not an export: its first line has no "format": "{FORMAT}"',
            where=f"{path}:1",
            remedy="name a file that `tuner kb export` wrote, or a knowledge base",
        )
    return _fields(_Header, value, f"{path}:1")


def _row(number: int, line: bytes, path: Path) -> Row:
    where = f"{path}:{number}"
    fields = _fields(LineFields, _json(number, line, path), where)
    scope, config = fields.scope.scope(), config_from(fields.config, f"{where}: config")
    return Row(scope=scope, record=fields.record(scope, config, where), used_at=fields.used_at)


def _json(number: int, line: bytes, path: Path) -> Any:
    try:
        return parse_json(line, name=str(path))
    except ManifestError as error:
        raise kb_error(error, where=f"{path}:{number}") from None


def _fields(kind: type[_Fields], value: Any, where: str) -> _Fields:
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise verdict(error, value, where) from None


def _value(row: Row) -> dict[str, Any]:
    record = row.record
    value = {"scope": scope_value(row.scope), "config": config_value(record.config)}
    used = {"used_at": row.used_at} if row.used_at else {}
    return {**value, **result_value(record), **used}
