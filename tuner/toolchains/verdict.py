"""Verdicts: what a target's compiler says of a config on a shape, in one form for all targets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tuner.printable import printable
from tuner.records import Failure

__all__ = ["KEPT", "Verdict", "compile_failure", "worst"]

_LINE = 600


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
