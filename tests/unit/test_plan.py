"""The order of the work: gate shapes of every kind, and shapes spread however few are measured."""

from __future__ import annotations

from itertools import product

import pytest

from tuner.cases.others import shapes_between
from tuner.plan import gate_shapes, shapes_ahead, spread_order

SHAPES = [(m, n) for m, n in product((1, 16, 17, 256, 1000, 4096), repeat=2)]


def test_the_gate_has_the_smallest_the_largest_and_an_odd_shape() -> None:
    """Each config is tried on the smallest, the largest and one with odd sizes."""
    gate = gate_shapes(SHAPES)
    assert {(1, 1), (4096, 4096), (17, 17)} <= set(gate)
    assert len(gate) == len(set(gate)) <= 8


def test_the_gate_has_the_sanity_shape() -> None:
    """A shape that the user names is among them."""
    assert (256, 1000) in gate_shapes(SHAPES, (256, 1000))


def test_the_gate_has_a_shape_of_each_pattern_that_triton_compiles_apart() -> None:
    """For one axis: a size of 1, one that 16 divides, one that it does not."""
    gate = gate_shapes([(1,), (16,), (32,), (48,), (50,), (64,)])
    assert {(1,), (50,)} <= set(gate)
    assert any(size % 16 == 0 for (size,) in gate)


def test_ahead_come_the_patterns_that_the_gate_leaves() -> None:
    """Of three axes there are 27 patterns, more than the gate has shapes for; one shape of each."""
    shapes = list(product((1, 16, 32, 17, 33), repeat=3))
    gate = gate_shapes(shapes)
    ahead = shapes_ahead(shapes, gate)

    def pattern(shape: tuple[int, ...]) -> tuple[tuple[bool, bool], ...]:
        return tuple((size == 1, size % 16 == 0) for size in shape)

    patterns = {pattern(shape) for shape in shapes}
    assert len(patterns) == 27
    assert {*map(pattern, gate)} | {*map(pattern, ahead)} == patterns
    assert not {*map(pattern, gate)} & {*map(pattern, ahead)}
    assert len(ahead) == len({*map(pattern, ahead)})
    assert {32, 33}.isdisjoint(size for shape in ahead for size in shape)


def test_a_single_shape_is_the_whole_gate() -> None:
    """With one shape there is one to try."""
    assert gate_shapes([(7,)]) == ((7,),)


def test_the_order_keeps_every_shape_once_and_the_gate_first() -> None:
    """No shape is lost or done twice."""
    gate = gate_shapes(SHAPES)
    order = spread_order(SHAPES, gate)
    assert sorted(order) == sorted(SHAPES)
    assert order[: len(gate)] == gate


@pytest.mark.parametrize("count", [3, 6, 12])
def test_however_few_are_measured_they_are_spread(count: int) -> None:
    """The first of the order lie farther apart than the first of the list."""

    def closest(shapes: list[tuple[int, ...]]) -> float:
        return min(
            max(max(a, b) / min(a, b) for a, b in zip(one, other, strict=True))
            for i, one in enumerate(shapes)
            for other in shapes[:i]
        )

    assert closest(list(spread_order(SHAPES)[:count])) > closest(SHAPES[:count])


def test_a_size_of_zero_has_a_place_too() -> None:
    """An empty tensor is a shape like others."""
    assert sorted(spread_order([(0, 4), (8, 4), (0, 0)])) == [(0, 0), (0, 4), (8, 4)]


def test_shapes_between_are_none_of_those_tuned() -> None:
    """What the dispatch is checked on was not tuned, and lies within the range."""
    between = shapes_between([(16, 16), (256, 256), (4096, 16)], 12)
    assert between
    assert not {*between} & {(16, 16), (256, 256), (4096, 16)}
    assert all(16 <= m <= 4096 and 16 <= n <= 256 for m, n in between)


def test_there_may_be_nothing_between() -> None:
    """Neighbours have no shape between them."""
    assert shapes_between([(4,), (5,)], 12) == ()
