"""The launch options that triton-ascend knows, by what is installed."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

__all__ = ["launch_options"]


def launch_options() -> tuple[str, ...]:
    """Return the names of the options of a launch; none where the backend does not tell them."""
    try:
        compiler: Any = import_module("triton.backends.ascend.compiler")
        return tuple(field.name for field in fields(compiler.NPUOptions))
    except Exception:  # noqa: BLE001 (an import of others may raise anything; it is for a hint)
        return ()
