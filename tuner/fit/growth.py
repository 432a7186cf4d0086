"""What every kind of selector is given, and what it owes: one growth, to be cut at any size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from codegen.selectors import Selector
from tuner.fit.samples import Samples

__all__ = ["Grow", "Growth", "Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most leaves (of a bucket: cells), and the most splits on the way to one."""

    leaves: int
    depth: int


class Growth(Protocol):
    """A selector grown as large as the limits and the noise allow."""

    def at(self, leaves: int) -> Selector:
        """Return the selector that it was at `leaves` leaves; `choose` gives a config's index."""


class Grow(Protocol):
    """Grows one kind of selector."""

    def __call__(self, samples: Samples, limits: Limits) -> Growth:
        """Return the growth on `samples` within `limits`."""
