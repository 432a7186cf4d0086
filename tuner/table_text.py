"""A latency table as the text of a file: a line a row, so that a diff shows the shapes changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["table_text"]


def table_text(table: Mapping[str, Any]) -> str:
    """Return `table`, the JSON value of a latency-table/1, as text; same value, same bytes.

    Raises:
        ValueError: it holds NaN or an infinity.
    """
    lines = [f"{json.dumps(key)}: {_text(value)}" for key, value in table.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _text(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        rows = (json.dumps(item, allow_nan=False) for item in value)
        return "[\n  " + ",\n  ".join(rows) + "\n]"
    return json.dumps(value, allow_nan=False)
