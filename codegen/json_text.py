"""JSON as we write it: readable in a diff, and always the same bytes for the same value."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["dump_json"]

_WIDTH = 100


def dump_json(value: Any) -> str:
    """Return `value` as JSON text: what fits in a line stands on one, keys keep their order.

    Raises:
        ValueError: `value` holds NaN or an infinity.
    """
    return _text(value, indent=0, taken=0) + "\n"


def _text(value: Any, *, indent: int, taken: int) -> str:
    """Return `value` for a line that is indented by `indent` and has `taken` characters already."""
    flat = json.dumps(value, allow_nan=False, ensure_ascii=True)
    if not isinstance(value, dict | list) or not value or taken + len(flat) <= _WIDTH:
        return flat
    inner = indent + 1
    if isinstance(value, dict):
        keys = [f"{json.dumps(key)}: " for key in value]
        parts = [
            key + _text(item, indent=inner, taken=inner + len(key) + 1)
            for key, item in zip(keys, value.values(), strict=True)
        ]
        opening, closing = "{}"
    else:
        parts = [_text(item, indent=inner, taken=inner + 1) for item in value]
        opening, closing = "[]"
    pad = "\n" + " " * inner
    return opening + pad + f",{pad}".join(parts) + "\n" + " " * indent + closing
