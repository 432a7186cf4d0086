"""A finding: what is wrong with a machine, and what to type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that keeps a device from being used, or that may spoil what is measured there.

    Attributes:
        level: an error makes the device unusable.
        what: the package or the device concerned.
        fact: what is wrong, with the value.
        remedy: what to type, or to do.
    """

    level: Literal["error", "warning"]
    what: str
    fact: str
    remedy: str

    def __str__(self) -> str:
        """Return the one line that a user reads."""
        return f"{self.what}: {self.fact}; {self.remedy}"


def error(what: str, fact: str, remedy: str) -> Finding:
    """Return a finding that makes the device unusable."""
    return Finding(level="error", what=what, fact=fact, remedy=remedy)


def warning(what: str, fact: str, remedy: str) -> Finding:
    """Return a finding that does not."""
    return Finding(level="warning", what=what, fact=fact, remedy=remedy)
