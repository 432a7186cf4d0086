"""What compilers print, read: pure functions from an answer of a service to a verdict.

Ascend's compiler ends in one of these ways (texts of bishengir-compile 1.2.0):

    … error: ub overflow, requires 4194304 bits while 1572864 bits available! (possible reason: …)
    [NOTE] Due to Ub overflow, automatically set … enable-auto-multi-buffer to false; compilation
    then succeeded.
    [ERROR] Cannot find hivmc under $PATH … error: External hivmc run fails, returning module …

The last is success here: memory is planned, and what makes a binary of it is CANN's alone.
"""

from __future__ import annotations

import re

from tuner.toolchains.targets import CompileTarget
from tuner.toolchains.verdict import KEPT, Overflow, Verdict, compile_failure

__all__ = ["read_ascend", "read_gpu"]

_OVERFLOW = re.compile(
    r"\b(?P<memory>[a-z]\w{0,20}) overflow, requires (?P<needed>\d{1,18}) bits while "
    r"(?P<available>\d{1,18}) bits available",
    re.IGNORECASE,
)
# Where the text lay when it was compiled: a temporary file, another one each time.
_PLACE = re.compile(r'loc\("?[^()]*?"?(?::\d+)*\):\s*|"?/\S*\.mlir"?(?::\d+){0,2}:?\s*')
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_NO_BACKEND = "Cannot find hivmc"
_BACKEND_FAILS = "External hivmc run fails"
_SINGLE_BUFFER = "enable-auto-multi-buffer to false"
# Lines that say that there was an error, and not which.
_EMPTY_WORDS = ("Failed to run BiSheng", "hivmc", "[NOTE]", "[WARNING]")
_MOST_TEXT = 200_000
_MOST_LINE = 4_000


def read_ascend(text: str, *, status: int) -> Verdict:
    """Return the verdict of Ascend's compiler, of what it printed and its exit status."""
    lines = _lines(text)
    overflows = [line for line in lines if _OVERFLOW.search(line)]
    if overflows:
        return Verdict(failure=_overflow(overflows[-1]).failure(overflows[-1]))
    if status == 0 or _planned(lines):
        notes = [line for line in lines if "[NOTE]" in line and _SINGLE_BUFFER in line]
        return Verdict(note=_note(notes[-1])) if notes else KEPT
    return compile_failure(_reason(lines, status))


def _lines(text: str) -> list[str]:
    plain = _COLOUR.sub("", text[-_MOST_TEXT:])
    cut = (raw[:_MOST_LINE] for raw in plain.splitlines())
    return [line for line in (_PLACE.sub("", raw).strip() for raw in cut) if line]


def _overflow(line: str) -> Overflow:
    match = _OVERFLOW.search(line)
    assert match  # noqa: S101 (the line was chosen by it)
    return Overflow(
        memory=match["memory"].lower(),
        needed=int(match["needed"]),
        available=int(match["available"]),
        unit="bits",
    )


def _planned(lines: list[str]) -> bool:
    """Say whether nothing was wanting but the last step's program."""
    return any(_BACKEND_FAILS in line for line in lines) and any(
        _NO_BACKEND in line for line in lines
    )


def _note(line: str) -> str:
    return line.partition("[NOTE]")[2].strip()


def _reason(lines: list[str], status: int) -> str:
    told = [line for line in lines if not any(words in line for words in _EMPTY_WORDS)]
    errors = [line for line in told if "error" in line.lower()]
    first = (errors or told[-1:] or [""])[0]
    return first.removeprefix("error:").strip() or f"the compiler ended with status {status}"


def read_gpu(target: CompileTarget, shared_bytes: int | None, text: str) -> Verdict:
    """Return the verdict on a GPU's kernel.

    Args:
        target: whose limit counts.
        shared_bytes: what a block of it needs; None where it was not compiled.
        text: then what the compiler said.
    """
    if shared_bytes is None:
        return compile_failure(text)
    if target.shared_bytes is not None and shared_bytes > target.shared_bytes:
        overflow = Overflow(
            memory="shared", needed=shared_bytes, available=target.shared_bytes, unit="bytes"
        )
        return Verdict(failure=overflow.failure())
    return KEPT
