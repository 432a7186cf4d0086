"""Shapes drawn from ranges of axes, where nobody has a list: `M=1..8192,N=4096,K=64..8192:64`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log, prod

from codegen.errors import shown
from tuner.errors import CaseError
from tuner.records import Shape

__all__ = ["AxisRange", "parse_ranges", "shapes_within"]

_WHERE = "--ranges"
_REMEDY = 'write NAME=SIZE or NAME=LOW..HIGH, and :STEP for its multiples, as "M=1..8192,N=512"'
_PART = re.compile(r"\s*(\w+)\s*=\s*(\d{1,18})(?:\.\.(\d{1,18})(?::(\d{1,18}))?)?\s*", re.ASCII)
# Sizes are round more often than not, and what a kernel does at the others differs: of three
# shapes one has sizes as they fall, the others multiples of these where the range has any.
_ROUND = (1, 16, 64)
_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)
_PATIENCE = 50  # Draws for each shape wanted, most of which are known where ranges are narrow.


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisRange:
    """The sizes of an axis: those from `low` to `high` that are multiples of `step`."""

    name: str
    low: int
    high: int
    step: int = 1

    @property
    def lowest(self) -> int:
        """The smallest size."""
        return -(-self.low // self.step) * self.step

    @property
    def highest(self) -> int:
        """The largest size."""
        return self.high // self.step * self.step

    @property
    def count(self) -> int:
        """How many sizes there are; 0 or less if none is."""
        return (self.highest - self.lowest) // self.step + 1

    def size_at(self, share: float, multiple: int) -> int:
        """Return the size at `share`, in [0, 1), of the way from low to high, in its logarithm.

        It is a multiple of `multiple` as well where the range has one near.
        """
        low, high = log(self.lowest + 1), log(self.highest + 1)
        size = exp(low + share * (high - low)) - 1
        for step in (self.step * multiple // _common(self.step, multiple), self.step):
            rounded = round(size / step) * step
            if rounded > 0 and self.lowest <= rounded <= self.highest:
                return rounded
        return self.lowest


def _common(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


def parse_ranges(text: str, axis_names: Sequence[str]) -> tuple[AxisRange, ...]:
    """Return the range of each axis, in the order of `axis_names`.

    Raises:
        CaseError: `text` is no list of ranges, or not one for each axis.
    """
    found: dict[str, AxisRange] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if not match:
            raise CaseError(f"{shown(part)} is not a range", where=_WHERE, remedy=_REMEDY)
        name, low, high, step = match[1], int(match[2]), int(match[3] or match[2]), match[4] or "1"
        if name in found:
            raise CaseError(f"axis {name} stands twice", where=_WHERE, remedy="name it once")
        if int(step) < 1:
            raise CaseError(f"{shown(part)} has a step of 0", where=_WHERE, remedy="give 1 or more")
        found[name] = AxisRange(name=name, low=low, high=high, step=int(step))
        if found[name].count < 1:
            raise CaseError(
                f"{shown(part)} holds no size",
                where=_WHERE,
                remedy="write the smaller number first, and a step that has a multiple in between",
            )
    if {*found} != {*axis_names}:
        raise CaseError(
            f"names {', '.join(found)}, and the case's axes are {', '.join(axis_names)}",
            where=_WHERE,
            remedy="give each axis its range, or its one size",
        )
    return tuple(found[name] for name in axis_names)


def shapes_within(ranges: Sequence[AxisRange], count: int) -> tuple[Shape, ...]:
    """Return up to `count` shapes, each once: the smallest, the largest, and others well spread.

    They are spread evenly in the logarithm of each size, by Halton's sequence (1960), some of them
    round. The same ranges give the same shapes, and a larger `count` the same ones and more.
    """
    ends = (tuple(r.lowest for r in ranges), tuple(r.highest for r in ranges))
    found = dict.fromkeys(ends)
    most = min(count, prod(r.count for r in ranges))
    for number, shape in enumerate(_drawn(ranges), 1):
        if len(found) >= most or number > _PATIENCE * count:
            break
        found[shape] = None
    return tuple(found)[:count]


def _drawn(ranges: Sequence[AxisRange]) -> Iterator[Shape]:
    number = 0
    while True:
        number += 1
        yield tuple(
            one.size_at(_halton(number, base), _ROUND[(number + place) % len(_ROUND)])
            for place, (one, base) in enumerate(zip(ranges, _bases(len(ranges)), strict=True))
        )


def _bases(count: int) -> tuple[int, ...]:
    """Return as many primes; further axes share the first ones, which does for so many."""
    return tuple(_BASES[i % len(_BASES)] for i in range(count))


def _halton(number: int, base: int) -> float:
    """Return the digits of `number` in `base`, mirrored at the point."""
    share, weight = 0.0, 1.0
    while number:
        weight /= base
        number, digit = divmod(number, base)
        share += digit * weight
    return share
