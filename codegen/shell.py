"""Commands as a user can type them: the words that our messages and headers tell to run."""

from __future__ import annotations

import shlex
from pathlib import Path

__all__ = ["emit_command"]


def emit_command(manifest: str | Path, output: str | Path | None, *, force: bool = False) -> str:
    """Return the `codegen emit` that makes `output` of `manifest`, quoted for a shell.

    `output` is None where it is the default place.
    """
    words = ["codegen", "emit", *(["--force"] if force else []), _path(manifest)]
    return shlex.join([*words, *(["-o", _path(output)] if output is not None else [])])


def _path(path: str | Path) -> str:
    """Return `path` in a form that is not taken for an option."""
    return f"./{path}" if str(path).startswith("-") else str(path)
