"""Shapes from ranges: within them, spread, the same each time; and what is no range is told."""

from __future__ import annotations

from math import log2

import pytest

from tuner.errors import CaseError
from tuner.ranges import AxisRange, parse_ranges, shapes_within

AXES = ("M", "N", "K")
TEXT = "M=1..8192, N=4096, K=64..8192:64"


def test_ranges_come_in_the_order_of_the_axes() -> None:
    """However they are written."""
    assert parse_ranges("K=3..5,M=7,N=1..9:3", AXES) == (
        AxisRange(name="M", low=7, high=7),
        AxisRange(name="N", low=1, high=9, step=3),
        AxisRange(name="K", low=3, high=5),
    )


def test_shapes_lie_within_and_reach_both_ends() -> None:
    """Each size is one of its range, each shape stands once, and the envelope is the ranges."""
    shapes = shapes_within(parse_ranges(TEXT, AXES), 50)
    assert len(shapes) == len({*shapes}) == 50
    for m, n, k in shapes:
        assert 1 <= m <= 8192
        assert n == 4096
        assert 64 <= k <= 8192
        assert k % 64 == 0
    assert {(1, 4096, 64), (8192, 4096, 8192)} <= {*shapes}


def test_shapes_are_spread_over_all_magnitudes() -> None:
    """Each doubling of a size has its share, and sizes are round and odd."""
    sizes = [m for m, _, _ in shapes_within(parse_ranges(TEXT, AXES), 130)]
    doublings = [int(log2(size)) for size in sizes]
    assert min(doublings.count(doubling) for doubling in range(2, 13)) >= 4
    assert sum(size % 16 == 0 for size in sizes) >= 40
    assert sum(size % 2 for size in sizes) >= 15


def test_more_points_are_the_same_ones_and_more() -> None:
    """So that what was measured counts."""
    ranges = parse_ranges(TEXT, AXES)
    assert shapes_within(ranges, 20) == shapes_within(ranges, 60)[:20]


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("M=5,N=6,K=7", {(5, 6, 7)}),
        ("M=1..3,N=6,K=7", {(1, 6, 7), (2, 6, 7), (3, 6, 7)}),
        ("M=0,N=0..1,K=7", {(0, 0, 7), (0, 1, 7)}),
        ("M=10..40:16,N=6,K=7", {(16, 6, 7), (32, 6, 7)}),
    ],
)
def test_narrow_ranges_hold_no_more_than_they_do(text: str, shapes: set[tuple[int, ...]]) -> None:
    """All of them, and an end to it."""
    assert {*shapes_within(parse_ranges(text, AXES), 40)} == shapes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is not a range"),
        ("M=1..8192,N=4096", "names M, N, and the case's axes are M, N, K"),
        ("M=1,N=1,K=1,L=1", "names M, N, K, L, and the case's axes are M, N, K"),
        ("M=1,N=1,M=2", "axis M stands twice"),
        ("M=8192..1,N=1,K=1", "'M=8192..1' holds no size"),
        ("M=1..15:16,N=1,K=1", "'M=1..15:16' holds no size"),
        ("M=1..15:0,N=1,K=1", "'M=1..15:0' has a step of 0"),
        ("M=-1..5,N=1,K=1", "'M=-1..5' is not a range"),
        ("M=1..5:2:2,N=1,K=1", "'M=1..5:2:2' is not a range"),
        ("M=1e3,N=1,K=1", "'M=1e3' is not a range"),
        ("M=٣,N=1,K=1", "is not a range"),
        ("M=1.." + "9" * 40, "is not a range"),
    ],
)
def test_what_is_no_range_is_told(text: str, words: str) -> None:
    """The fact, the part and the remedy."""
    with pytest.raises(CaseError) as error:
        parse_ranges(text, AXES)
    assert words in error.value.fact
    assert error.value.where == "--ranges"
    assert error.value.remedy
