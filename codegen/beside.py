"""Whether a dispatch is of the code that it stands beside, asked while that code is imported.

A kernel's file as `tuner convert` writes it asks this where tuned-dispatch is installed: while
kernels are developed, tested and reviewed. In production nothing but Python is needed.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from codegen.errors import CodegenError, SourceError
from codegen.source_hash import source_sha256_of

__all__ = ["StaleError", "check_source"]

_MODES = ("", "warn", "strict", "off")
_REMEDY = (
    "tune it again and emit, or set TUNED_DISPATCH=off to go on with configs tuned for other code"
)


class StaleError(CodegenError):
    """A dispatch was tuned for other code than stands beside it, and TUNED_DISPATCH is strict."""


def check_source(source: str, sha256: str | None, mode: str = "") -> None:
    """Warn if the code in the file `source` is not what its dispatch was tuned for.

    Args:
        source: the kernel's file.
        sha256: the dispatch's SOURCE_SHA256; None if it knows of none.
        mode: as in the variable TUNED_DISPATCH: `strict` raises instead, `off` asks nothing,
            `warn` or nothing warns.

    Raises:
        StaleError: in mode `strict`, the code is another, or cannot be told.
        ValueError: `mode` is none of these.
    """
    if mode not in _MODES:
        raise ValueError(f"TUNED_DISPATCH={mode!r}: write strict, warn or off")
    if mode == "off":
        return
    fact = _difference(Path(source), sha256, strict=mode == "strict")
    if fact is None:
        return
    error = StaleError(fact, where=source, remedy=_REMEDY)
    if mode == "strict":
        raise error
    # At the kernel's import: above this function are its loader and its module.
    warnings.warn(f"{error} (TUNED_DISPATCH=strict makes this an error)", stacklevel=3)


def _difference(source: Path, sha256: str | None, *, strict: bool) -> str | None:
    if not sha256:
        return "its dispatch does not say which code it was tuned for" if strict else None
    try:
        now = source_sha256_of(source)
    except SourceError as error:
        return f"cannot be compared with what was tuned: {error.fact}" if strict else None
    if now == sha256:
        return None
    return f"the code is not what its dispatch was tuned for, {now[:12]} instead of {sha256[:12]}"
