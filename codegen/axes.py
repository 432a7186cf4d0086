"""Axes: what a shape is made of, and where it was tuned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Axis", "AxisValue", "CategoryAxis", "IntegerAxis", "Shape"]

AxisValue: TypeAlias = int | str
Shape: TypeAlias = tuple[AxisValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerAxis:
    """A size, and the inclusive range it was tuned in; None leaves that side open."""

    name: str
    low: int | None = None
    high: int | None = None

    def holds(self, value: AxisValue) -> bool:
        """Say whether `value` lies inside the tuned envelope."""
        return (
            isinstance(value, int)
            and (self.low is None or self.low <= value)
            and (self.high is None or value <= self.high)
        )

    def nearest(self, value: AxisValue) -> AxisValue:
        """Return the point of the envelope that lies nearest to `value`."""
        if not isinstance(value, int):
            return value
        if self.low is not None and value < self.low:
            return self.low
        if self.high is not None and value > self.high:
            return self.high
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryAxis:
    """A value out of a fixed few without an order, such as a dtype or a layout."""

    name: str
    values: tuple[AxisValue, ...]

    def holds(self, value: AxisValue) -> bool:
        """Say whether `value` is one of those tuned."""
        return value in self.values

    def nearest(self, value: AxisValue) -> AxisValue:
        """Return `value`: categories have no distance."""
        return value


Axis: TypeAlias = IntegerAxis | CategoryAxis
