"""What compilers print, read: pure functions from an answer of a service to a verdict.

Ascend's compiler ends in one of these ways (texts of bishengir-compile 1.2.0):

    … error: ub overflow, requires 4194304 bits while 1572864 bits available! (possible reason: …)
    [NOTE] Due to Ub overflow, automatically set … enable-auto-multi-buffer to false; compilation
    then succeeded.
    [ERROR] Cannot find hivmc under $PATH … error: External hivmc run fails, returning module …

The last is success here: memory is planned, and what makes a binary of it is CANN's alone.
"""

from __future__ import annotations

from tuner.overflow import Overflow, ascend_lines, ascend_overflow
from tuner.toolchains.targets import CompileTarget
from tuner.toolchains.verdict import KEPT, Verdict, compile_failure

__all__ = ["read_ascend", "read_gpu"]

_NO_BACKEND = "Cannot find hivmc"
_BACKEND_FAILS = "External hivmc run fails"
_SINGLE_BUFFER = "enable-auto-multi-buffer to false"
# Lines that say that there was an error, and not which.
_EMPTY_WORDS = ("Failed to run BiSheng", "hivmc", "[NOTE]", "[WARNING]")


def read_ascend(text: str, *, status: int) -> Verdict:
    """Return the verdict of Ascend's compiler, of what it printed and its exit status."""
    overflow = ascend_overflow(text)
    if overflow:
        return Verdict(failure=overflow)
    lines = ascend_lines(text)
    if status == 0 or _planned(lines):
        notes = [line for line in lines if "[NOTE]" in line and _SINGLE_BUFFER in line]
        return Verdict(note=_note(notes[-1])) if notes else KEPT
    return compile_failure(_reason(lines, status))


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
