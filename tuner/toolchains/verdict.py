"""Verdicts: what a target's compiler says of a config on a shape, in one form for all targets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tuner.printable import printable
from tuner.records import Failure

__all__ = ["KEPT", "Overflow", "Verdict", "compile_failure", "worst"]

_LINE = 600
_OVERFLOW = re.compile(
    r"(?P<memory>\w{1,40}) overflow, needs (?P<needed>\d{1,20}) (?P<unit>bits|bytes) and "
    r"(?P<available>\d{1,20}) are available"
)


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
        match = _OVERFLOW.match(failure.message) if failure else None
        if match is None:
            return None
        return cls(
            memory=match["memory"],
            needed=int(match["needed"]),
            available=int(match["available"]),
            unit=match["unit"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Kept where `failure` is None; `note` says what the compiler made of it besides."""

    failure: Failure | None = None
    note: str | None = None

    @property
    def kept(self) -> bool:
        """Whether the config may be launched on the target."""
        return self.failure is None

    def strictly(self) -> Verdict:
        """Return the verdict of one who wants the build that was asked for, or none."""
        if self.note is None or self.failure:
            return self
        return Verdict(failure=Failure(kind="compile", message=self.note))


KEPT = Verdict()


def compile_failure(text: str) -> Verdict:
    """Return the verdict on what a compiler refused with `text`, for another cause than memory."""
    message = printable(text, limit=_LINE) or "the compiler refused it and did not say why"
    return Verdict(failure=Failure(kind="compile", message=message))


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a forward of several launches: kept only if each is."""
    found = tuple(verdicts)
    failed = [verdict for verdict in found if verdict.failure]
    noted = [verdict for verdict in found if verdict.note]
    return (failed or noted or [KEPT])[0]
