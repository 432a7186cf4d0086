"""The teacher that a selector is grown on: dice, trees, kriging, facts and what is expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from codegen.config import Config
from tuner.fit.boosted import grow_boosted
from tuner.fit.dice import Dice
from tuner.fit.facts import cell_facts, shape_facts, shape_place
from tuner.fit.forest import grow_forest, grow_tree
from tuner.fit.kriging import Kriging
from tuner.fit.problem import Problem
from tuner.fit.teacher import Teacher

ARGS: dict[str, Any] = {"trees": 16, "tries": 2, "rows": 10**4, "seed": 0}


def configs(*params: dict[str, Any]) -> tuple[Config, ...]:
    """Return a config for each of `params`, with 4 warps."""
    return tuple(Config(params=tuple(each.items()), num_warps=4) for each in params)


def test_dice_fall_alike() -> None:
    """The numbers depend on the seed alone, and are those of the published PCG64."""
    first = np.random.PCG64(7).random_raw()
    assert Dice(7).fractions(1)[0] == (first >> 11) / 2**53
    assert Dice(7).below(10, 3, 2).tolist() == Dice(7).below(10, 3, 2).tolist()
    assert Dice(7).fractions(5).tolist() != Dice(8).fractions(5).tolist()


def test_dice_keep_their_range() -> None:
    """Integers are below the end; some of a range are different ones, ascending."""
    dice = Dice(0)
    assert set(dice.below(3, 200).tolist()) == {0, 1, 2}
    drawn = dice.some(50, 20).tolist()
    assert len(set(drawn)) == 20
    assert drawn == sorted(drawn)
    assert dice.some(3, 5).tolist() == [0, 1, 2]
    bells = dice.bells(4000)
    assert abs(bells.mean()) < 0.1
    assert abs(bells.std() - 1) < 0.1


def test_a_forest_knows_what_it_was_told() -> None:
    """Grown until its leaves are pure, it repeats the targets of the rows that it saw."""
    inputs = np.arange(40, dtype=np.int32).reshape(20, 2)
    targets = (np.arange(20)[:, None] % 5 * 1000).repeat(3, axis=1).astype(np.int64)
    forest = grow_forest(inputs, targets, **ARGS)
    assert forest.predict(inputs)[0].tolist() == targets.tolist()


def test_a_forest_expects_something_between() -> None:
    """Between two rows it says something between their targets, and rising."""
    inputs = np.array([[0], [1000]], dtype=np.int32)
    forest = grow_forest(inputs, np.array([[0], [10**6]]), **(ARGS | {"trees": 64}))
    asked = np.array([[0], [250], [500], [750], [1000]], dtype=np.int32)
    expected = forest.predict(asked)[0][:, 0]
    assert expected.tolist() == sorted(expected.tolist())
    assert expected[0] == 0
    assert expected[-1] == 10**6
    assert 0.3e6 < expected[2] < 0.7e6


@pytest.mark.parametrize("rows", [1, 2])
def test_rows_that_cannot_be_told_apart_are_averaged(rows: int) -> None:
    """Equal inputs end in one leaf, which is their mean."""
    inputs = np.full((rows, 2), 7, dtype=np.int32)
    targets = np.arange(rows, dtype=np.int64)[:, None] * 10
    forest = grow_forest(inputs, targets, **ARGS)
    assert forest.predict(inputs)[0][0].tolist() == [targets.mean()]


def test_sums_of_many_large_targets_are_exact() -> None:
    """Count and sum share a word: neither spills into the other, below zero or above."""
    inputs = np.repeat(np.arange(2, dtype=np.int32), 30_000)[:, None]
    targets = np.repeat(np.array([-(10**6), 2 * 10**6]), 30_000)[:, None]
    forest = grow_forest(inputs, targets, **(ARGS | {"rows": 60_000, "trees": 1}))
    assert forest.predict(inputs[[0, -1]])[0].tolist() == [[-(10**6)], [2 * 10**6]]


def test_a_tree_goes_no_deeper_than_it_may() -> None:
    """At one split there are two leaves, at none the mean of all."""
    inputs = np.arange(8, dtype=np.int32)[:, None]
    targets = np.arange(8, dtype=np.int64)[:, None] * 10
    one = grow_tree(inputs, targets, 2, Dice(0), 1).predict(inputs)
    assert len(np.unique(one)) == 2
    assert grow_tree(inputs, targets, 2, Dice(0), 0).predict(inputs)[0].tolist() == [35.0]


def test_boosted_trees_come_near_what_they_were_told() -> None:
    """The first says the mean, the many that follow what is beyond it, for all targets."""
    inputs = np.arange(40, dtype=np.int32)[:, None]
    targets = np.stack([np.where(np.arange(40) < 17, 0, 10**6), np.full(40, -7)], axis=1)
    expected = grow_boosted(inputs, targets, **(ARGS | {"trees": 64})).predict(inputs)
    assert np.abs(expected[:, 0] - targets[:, 0]).max() < 10**5
    assert (expected[:, 1] == -7).all()
    few = grow_boosted(inputs, targets, **(ARGS | {"trees": 1})).predict(inputs)
    assert np.ptp(few[:, 0]) < 0.2e6


def test_kriging_goes_through_what_it_was_told_and_to_the_mean_far_off() -> None:
    """Near a point it says nearly its value, between two something between, far off the mean."""
    points = np.array([[0.0, 0.0], [8.0, 8.0], [16.0, 16.0]])
    values = np.array([[0.0], [1.0], [0.0]])
    asked = np.array([[0.0, 0.0], [4.0, 4.0], [8.0, 8.0], [900.0, 900.0]])
    start, between, peak, far = Kriging(points, values).predict(asked)[:, 0].tolist()
    assert abs(start) < 0.05
    assert 0.3 < between < 0.7
    assert abs(peak - 1) < 0.05
    assert 0.2 < far < 0.4


def test_kriging_with_one_point_or_many_says_something() -> None:
    """One point is everywhere; of more than it can hold, some are drawn."""
    assert Kriging(np.zeros((1, 2)), np.ones((1, 1))).predict(np.ones((3, 2))).tolist() == [[1]] * 3
    line = np.linspace(0, 20, 1500)[:, None]
    expected = Kriging(line, line / 20).predict(line)
    assert np.abs(expected - line / 20).max() < 0.02


def test_kriging_goes_by_what_is_known_of_each_target() -> None:
    """A hole in one target changes nothing in the other; known nowhere, it is the mean of all."""
    points = np.array([[0.0], [8.0], [16.0]])
    values = np.array([[0.0, 0.0, np.nan], [1.0, np.nan, np.nan], [0.0, 2.0, np.nan]])
    expected = Kriging(points, values).predict(points)
    assert expected[:, :1].tolist() == Kriging(points, values[:, :1]).predict(points).tolist()
    other = Kriging(points[[0, 2]], values[[0, 2], 1:2]).predict(points)
    assert expected[:, 1:2].tolist() == other.tolist()
    assert expected[:, 2].tolist() == [0.6] * 3


def test_facts_tell_tiles_and_alignment_apart() -> None:
    """A config's facts on a shape differ with the tile, a shape's with the alignment."""
    shapes = np.array([[128, 64], [127, 64]])
    two = configs({"BLOCK": 16, "MODE": "a"}, {"BLOCK": 64, "MODE": "b"})
    facts = cell_facts(shapes, two)
    assert facts.shape[:2] == (2, 2)
    assert (facts[0, 0] != facts[0, 1]).any()
    assert (shape_facts(shapes)[0] != shape_facts(shapes)[1]).any()
    # Of the axes, half of the product, and the alignments.
    assert shape_place(shapes - [[0, 0], [0, 1]]).round(1).tolist() == [
        [7.0, 6.0, 6.5, 5.0, 5.0],
        [7.0, 6.0, 6.5, 0.0, 0.0],
    ]


@pytest.mark.parametrize(
    "params",
    [
        [{"BLOCK": 16}],
        [{"BLOCK": 16}, {"TILE": 32}],
        [{"FAST": True}, {"FAST": False}],
        [{"SCALE": 0.5}, {"SCALE": None}, {"SCALE": "x"}],
        [{"BLOCK": 0}, {"BLOCK": -3}],
        [{}, {"BLOCK": 2**62}],
    ],
)
@pytest.mark.parametrize("top", [0, 2**63 - 1])
def test_facts_of_any_config_and_shape_are_finite(params: list[dict[str, Any]], top: int) -> None:
    """Missing, odd and huge values give facts that a forest can take."""
    shapes = np.array([[top, 1, 16], [1, 0, top]])
    facts = cell_facts(shapes, configs(*params))
    assert facts.dtype == np.int32
    assert np.abs(facts).max() < 2**20


def test_with_many_axes_there_are_few_facts() -> None:
    """Products are told of four axes at most: of thirty-two there would be billions."""
    assert cell_facts(np.ones((2, 32), dtype=np.int64), configs({"B": 1}, {"B": 2})).shape[2] < 150


def test_a_teacher_says_between_shapes_what_it_learned_on_them() -> None:
    """What is best below a border and above it is expected to be so beside what was measured."""
    sizes = np.array([[round(1.9**i)] for i in range(1, 25)])
    regret = np.array([[0.0, 1.0]] * 12 + [[1.0, 0.0]] * 12)
    problem = Problem(
        axis_names=("M",),
        configs=configs({"BLOCK": 16}, {"BLOCK": 32}),
        shapes=sizes,
        regret=regret,
        untried=np.zeros(regret.shape, dtype=np.bool_),
        weights=np.ones(24, dtype=np.int64),
        rank=np.arange(2),
        band=0.01,
    )
    expected, doubt = Teacher(problem).regret(np.array([[100], [300_000]]))
    assert expected.min(axis=1).tolist() == [0.0, 0.0]
    assert expected.argmin(axis=1).tolist() == [0, 1]
    assert (expected.max(axis=1) > 0.8).all()
    border = round(1.9**12.5)
    assert (doubt < Teacher(problem).regret(np.array([[border]]))[1]).all()
