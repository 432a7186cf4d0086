"""Memory of a device that a config asks too much of: as Ascend's compiler says it, and as we do.

Imports next to nothing: workers read errors with it, services and the gate what compilers print.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tuner.printable import printable
from tuner.records import Failure

__all__ = ["Overflow", "ascend_lines", "ascend_overflow"]

_OURS = re.compile(
    r"(?P<memory>\w{1,40}) overflow, needs (?P<needed>\d{1,20}) (?P<unit>bits|bytes) and "
    r"(?P<available>\d{1,20}) are available"
)
_ASCENDS = re.compile(
    r"\b(?P<memory>[a-z]\w{0,20}) overflow, requires (?P<needed>\d{1,18}) bits while "
    r"(?P<available>\d{1,18}) bits available",
    re.IGNORECASE,
)
# Where the text lay when it was compiled: a temporary file, another one each time.
_PLACE = re.compile(r'loc\("?[^()]*?"?(?::\d+)*\):\s*|"?/\S*\.mlir"?(?::\d+){0,2}:?\s*')
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LINE = 600
_MOST_TEXT = 200_000
_MOST_LINE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """A memory of the device that a config asks too much of.

    Attributes:
        memory: `ub`, `cc` or `cbuf` as Ascend's compiler calls them, or `shared`.
        needed, available: in `unit`, `bits` or `bytes`.
    """

    memory: str
    needed: int
    available: int
    unit: str

    def failure(self, line: str = "") -> Failure:
        """Return it as a failure; `line` is the compiler's own."""
        text = f"{self.memory} overflow, needs {self.needed} {self.unit} and {self.available} "
        text += "are available"
        if line:
            text += f": {printable(line, limit=_LINE)}"
        return Failure(kind="resources", message=text)

    @classmethod
    def of(cls, failure: Failure | None) -> Overflow | None:
        """Return the overflow that `failure` was made of; None if it was made of something else."""
        match = _OURS.match(failure.message) if failure else None
        return _read(match, match["unit"]) if match else None


def ascend_lines(text: str) -> list[str]:
    """Return the lines of what Ascend's compiler printed, the last of very many.

    Without colours, and without the places of temporary files.
    """
    plain = _COLOUR.sub("", text[-_MOST_TEXT:])
    cut = (raw[:_MOST_LINE] for raw in plain.splitlines())
    return [line for line in (_PLACE.sub("", raw).strip() for raw in cut) if line]


def ascend_overflow(text: str) -> Failure | None:
    """Return the overflow that Ascend's compiler ended with; None if it says nothing of one.

    It tries again by itself, with fewer buffers: the last one counts.
    """
    for line in reversed(ascend_lines(text)):
        if match := _ASCENDS.search(line):
            return _read(match, "bits").failure(line)
    return None


def _read(match: re.Match[str], unit: str) -> Overflow:
    return Overflow(
        memory=match["memory"].lower(),
        needed=int(match["needed"]),
        available=int(match["available"]),
        unit=unit,
    )
