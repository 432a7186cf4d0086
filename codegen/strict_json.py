"""JSON from outside, read without mercy: what Python's reader would let pass is refused here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from codegen.errors import ManifestError, shown

__all__ = ["MAX_NESTING", "parse_json", "read_data", "read_json"]

MAX_NESTING = 200
_MAX_BYTES = 64 * 2**20
_MAX_DIGITS = 400
# The closing quote may be missing: a torn string is passed over whole, and once.
_STRING = r'"(?:[^"\\]+|\\.)*"?'
_TOKENS = re.compile(rf"{_STRING}|[\[\]{{}}]", re.DOTALL)


def read_json(path: Path) -> Any:
    """Return what the JSON file at `path` holds; see `parse_json`.

    Raises:
        ManifestError: as `read_data` and `parse_json`.
    """
    return parse_json(read_data(path), name=str(path))


def read_data(path: Path) -> bytes:
    """Return the content of the file at `path`.

    Raises:
        ManifestError: it cannot be opened or read, or is too large.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path itself
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise ManifestError(
            f"cannot be read: {reason}", where=str(path), remedy="name a readable JSON file"
        ) from None
    if len(data) > _MAX_BYTES:
        raise ManifestError(
            f"is larger than {_MAX_BYTES // 2**20} MiB",
            where=str(path),
            remedy="no manifest needs that much; name another file",
        )
    return data


def parse_json(data: bytes, *, name: str) -> Any:
    """Return the value that the JSON text `data` stands for.

    Refused are duplicate keys, NaN and Infinity, numbers beyond a float's range, more than 200
    levels of nesting, and bytes that are not UTF-8.

    Raises:
        ManifestError: with `name` and the line.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ManifestError(
            f"byte {error.start} is not UTF-8", where=f"{name}:{line}", remedy="name a JSON file"
        ) from None
    _check_nesting(text, name)
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        fact = "is empty" if not text.strip() else f"is not JSON: {error.msg.lower()}"
        remedy = (
            "write the manifest again"
            if not text.strip()
            else "mend it there, or write the file again"
        )
        raise ManifestError(fact, where=f"{name}:{error.lineno}", remedy=remedy) from None
    except _RefusedError as error:
        raise ManifestError(
            error.fact, where=_place(text, name, error.token), remedy=error.remedy
        ) from None


class _RefusedError(Exception):
    """Something that is JSON, or passes for it, and that we do not take; `token` as it stands."""

    def __init__(self, fact: str, remedy: str, token: str | None = None) -> None:
        super().__init__(fact)
        self.fact, self.remedy, self.token = fact, remedy, token


def _place(text: str, name: str, token: str | None) -> str:
    """Return file:line of the first `token` that is not part of a string."""
    # No more of it than is refused: a pattern of a million digits takes seconds to compile.
    token = (token or "")[: _MAX_DIGITS + 1]
    strings_or_token = re.compile(rf"{_STRING}|{re.escape(token)}", re.DOTALL)
    for match in strings_or_token.finditer(text) if token else ():
        if not match[0].startswith('"'):
            return f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
    return name


def _check_nesting(text: str, name: str) -> None:
    depth = 0
    for match in _TOKENS.finditer(text):
        bracket = match[0]
        if bracket in "[{":
            depth += 1
        elif bracket in "]}":
            depth -= 1
        if depth > MAX_NESTING:
            line = text.count("\n", 0, match.start()) + 1
            raise ManifestError(
                f"is nested more than {MAX_NESTING} levels deep",
                where=f"{name}:{line}",
                remedy="fit a shallower tree",
            )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _RefusedError(f"key {shown(key)} stands twice in one object", "keep one")
        found[key] = value
    return found


def _refuse_constant(text: str) -> None:
    raise _RefusedError(f"{text} is not a JSON number", "write a finite number", text)


def _finite(text: str) -> float:
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        raise _RefusedError(
            f"{shown(text)} is beyond a float's range", "write a finite number", text
        )
    return value


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise _RefusedError(
            f"an integer of {len(text)} digits", "write one that fits in 64 bits", text
        )
    return int(text)
