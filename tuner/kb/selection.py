"""Some rows of a knowledge base: what a user asks for by kernel, source, device or shape."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from codegen.errors import shown
from codegen.source_hash import source_sha256_of
from tuner.errors import KbError
from tuner.kb.rows import Row
from tuner.records import Failure, Shape

__all__ = ["Selection", "parse_shape", "parse_source", "select"]

_SIZE = re.compile(r"-?[0-9]{1,400}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a row must be; None lets every row through.

    Attributes:
        source: what its source's hash begins with.
        device: what its device's name contains, in whatever case.
        toolchain: what its toolchain, written as `triton 3.6.0, …`, contains.
        failed: only failures.
    """

    kernel: str | None = None
    source: str | None = None
    device: str | None = None
    toolchain: str | None = None
    dtype: str | None = None
    inputs: str | None = None
    shape: Shape | None = None
    failed: bool = False


def select(rows: Iterable[Row], wanted: Selection) -> tuple[Row, ...]:
    """Return those of `rows` that `wanted` lets through, in their order."""
    return tuple(row for row in rows if _fits(row, wanted))


def parse_source(text: str) -> str:
    """Return what a hash must begin with: `text` itself, or the hash of the file it names.

    Raises:
        KbError: it is neither the name of a Python file nor hexadecimal digits.
        SourceError: the file cannot be read, or is not Python.
    """
    if text.endswith(".py"):
        return source_sha256_of(Path(text))
    if not re.fullmatch("[0-9a-f]{1,64}", text):
        raise KbError(
            f"{shown(text)} is neither a Python file nor the beginning of a hash",
            where="--source",
            remedy="give a file such as impl.py, or hexadecimal digits as `tuner kb list` prints",
        )
    return text


def parse_shape(text: str) -> Shape:
    """Return the sizes that `text` lists, such as `128,4096,4096`; raises KbError."""
    sizes = [size.strip() for size in text.split(",")]
    if not all(_SIZE.fullmatch(size) for size in sizes):
        raise KbError(
            f"{shown(text)} is not a shape", where="--shape", remedy="write sizes as 128,4096,4096"
        )
    return tuple(int(size) for size in sizes)


def _fits(row: Row, wanted: Selection) -> bool:
    scope, record = row.scope, row.record
    return (
        wanted.kernel in {None, scope.kernel}
        and scope.source_sha256.startswith(wanted.source or "")
        and (wanted.device or "").casefold() in scope.target.device.casefold()
        and (wanted.toolchain or "") in ", ".join(map(" ".join, scope.target.toolchain))
        and wanted.dtype in {None, record.dtype}
        and wanted.inputs in {None, record.inputs}
        and wanted.shape in {None, record.shape}
        and (not wanted.failed or isinstance(record.result, Failure))
    )
