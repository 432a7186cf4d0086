"""CSV files of others, read by the names of their columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

from codegen.errors import shown
from tuner.devices.npu.tasks import wrong

__all__ = ["nanoseconds", "number", "read_csv"]

_MOST_BYTES = 1 << 30
_MOST_DIGITS = 40


def read_csv(path: Path, *columns: Sequence[str]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the number of each line of the table in `path` that is not its head, and its fields.

    Args:
        path: the file, in UTF-8, its first line the names of the columns.
        columns: those that it must have, each by the names that it may have; a field is found by
            the first of these.

    Raises:
        ProfileError: the file is missing or no text, lacks a column, or a line is cut off.
    """
    reader = csv.reader(_text(path).splitlines(), strict=True)
    try:
        head = [name.strip() for name in next(reader, [])]
        places = {names[0]: _place(path, head, names) for names in columns}
        for row in reader:
            if not row:
                continue
            if len(row) < len(head):
                fact = f"line {reader.line_num} has {len(row)} of {len(head)} fields: it is cut off"
                raise wrong(path, fact)
            yield (
                reader.line_num,
                {name: row[i].strip() for name, i in places.items() if i is not None},
            )
    except csv.Error as error:
        raise wrong(path, f"line {reader.line_num} is not CSV: {error}") from None


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise wrong(path, f"is larger than {_MOST_BYTES} bytes")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise wrong(path, f"cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise wrong(path, "is not text in UTF-8") from None


def _place(path: Path, head: Sequence[str], names: Sequence[str]) -> int | None:
    """Return where a column of one of `names` stands; an empty last name makes it optional."""
    for name in names:
        if name in head:
            return head.index(name)
    if names[-1] == "":
        return None
    raise wrong(path, f"has no column {' or '.join(names)}")


def nanoseconds(path: Path, line: int, column: str, text: str) -> int:
    """Return the microseconds in `text` as nanoseconds, exactly: a float holds no clock's time."""
    value = number(path, line, column, text)
    return int((value * 1000).to_integral_value())


def number(path: Path, line: int, column: str, text: str) -> Decimal:
    """Return the number in `text`.

    Raises:
        ProfileError: it is none, is negative, or no finite one.
    """
    try:
        value = Decimal(text) if len(text) <= _MOST_DIGITS else Decimal("nan")
    except InvalidOperation:
        value = Decimal("nan")
    if not value.is_finite() or value < 0 or value.adjusted() > _MOST_DIGITS:
        raise wrong(path, f"line {line} has {shown(text)} for {column}")
    return value
