"""The search space: which configs there are, and which are allowed at a shape."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from codegen.config import Config, Value
from tuner.errors import CaseError
from tuner.expressions import Constraint
from tuner.space import Space, Subspace, combinations

AXES = ("M", "N")


def config_of(values: Any) -> Config:
    """Return the config whose params are `values`, but for num_warps and the option `buffers`."""
    own = {"num_warps", "buffers"}
    return Config(
        params=tuple(pair for pair in values.items() if pair[0] not in own),
        num_warps=values.get("num_warps"),
        options=tuple(pair for pair in values.items() if pair[0] == "buffers"),
    )


def space(
    parameters: dict[str, list[Value]], *constraints: str, subspaces: tuple[Subspace, ...] = ()
) -> Space:
    """Return the space of the product of `parameters`."""
    return Space.build(
        combinations(parameters, "parameters"),
        config_of=config_of,
        where="tune.yaml",
        constraints=[Constraint.parse(text, where="tune.yaml:9") for text in constraints],
        subspaces=subspaces,
        axis_names=AXES,
    )


def ids(found: Space, indices: tuple[int, ...] | None = None) -> list[str]:
    """Return the ids of the configs at `indices`, of all if None."""
    chosen = range(len(found.configs)) if indices is None else indices
    return [found.configs[i].id for i in chosen]


def test_a_space_can_be_made_of_configs() -> None:
    """Every config is allowed at every shape, whatever the axes are."""
    configs = [Config(params=(("B", size),)) for size in (16, 32)]
    found = Space.of(configs)
    assert found.configs == tuple(configs)
    assert found.notes == ()
    assert found.allowed({"M": 1}) == (0, 1)
    assert not found.is_empty({})


def test_a_space_of_nothing_is_refused() -> None:
    """No config is no space."""
    with pytest.raises(CaseError, match="configs: lists no config; list one at least"):
        Space.of([])


def test_a_config_that_stands_twice_is_kept_once_and_said() -> None:
    """The first place counts; order of params makes no other config, a launch option does."""
    a = Config(params=(("A", 1), ("B", 2)), num_warps=4)
    same = Config(params=(("B", 2), ("A", 1)), num_warps=4)
    other = Config(params=(("A", 1), ("B", 2)), num_warps=8)
    found = Space.of([a, other, same, a])
    assert found.configs == (a, other)
    assert found.notes == (
        "1 config stands more than once and is tried once: 'A=1,B=2;num_warps=4'",
    )


def test_the_product_is_in_the_order_written() -> None:
    """The last parameter changes fastest, as nested loops would have it."""
    found = combinations({"A": [1, 2], "B": [True, "x", None]}, "parameters")
    assert [tuple(values.values()) for values in found] == [
        (1, True),
        (1, "x"),
        (1, None),
        (2, True),
        (2, "x"),
        (2, None),
    ]


def test_too_many_combinations_are_refused_with_their_number() -> None:
    """200,000 are the most, and no more are ever made."""
    parameters = {"A": list(range(1000)), "B": list(range(1000)), "C": list(range(10**4))}
    with pytest.raises(CaseError, match=r"has 10,000,000,000 combinations, more than 200,000"):
        combinations(parameters, "tune.yaml:1: parameters")
    assert len(combinations({"A": list(range(400)), "B": list(range(500))}, "")) == 200_000


def test_a_constraint_without_an_axis_leaves_configs_out_for_good() -> None:
    """What does not meet it is no config of the space, and how many that are is said."""
    found = space({"A": [16, 32, 64], "B": [16, 32]}, "A * B <= 512", "A != B")
    assert ids(found) == ["A=16,B=32", "A=32,B=16"]
    assert found.constraints == ()
    assert found.notes == ("constraints leave out 4 of 6 configs",)


def test_a_constraint_with_an_axis_holds_at_shapes() -> None:
    """It leaves a config out where it fails, and nowhere else."""
    found = space({"A": [16, 32, 64]}, "A <= M * 2")
    assert len(found.configs) == 3
    assert found.allowed({"M": 8, "N": 1}) == (0,)
    assert found.allowed({"M": 16, "N": 1}) == (0, 1)
    assert found.allowed({"M": 99, "N": 1}) == (0, 1, 2)
    assert found.allowed({"M": 1, "N": 1}) == ()
    assert found.is_empty({"M": 1, "N": 1})
    assert not found.is_empty({"M": 8, "N": 1})


def test_a_constraint_that_leaves_nothing_is_an_error_that_names_it() -> None:
    """The one that takes the last configs is to blame, at its place."""
    with pytest.raises(CaseError, match=r"'A > 99' leaves no config; .* A=16, to begin") as caught:
        space({"A": [16, 32]}, "A > 1", "A > 99")
    assert caught.value.where == "tune.yaml:9"


def test_a_constraint_without_a_value_names_the_config_and_the_shape() -> None:
    """A division by zero is said with the config's id, and with the sizes if they matter."""
    with pytest.raises(CaseError, match=r"16 // B divides by zero \(in .*, for B=0\)"):
        space({"B": [1, 0]}, "16 // B > 1")
    found = space({"B": [1]}, "16 // (M - B) > 1")
    with pytest.raises(CaseError, match=r"divides by zero \(in .*, for B=1 at M=1, N=7\)"):
        found.allowed({"M": 1, "N": 7})


def test_an_option_that_a_config_lacks_is_none() -> None:
    """A constraint may speak of what only some configs set."""
    found = Space.build(
        [{"A": 1}, {"A": 2, "num_warps": 4}, {"A": 3, "buffers": True}],
        config_of=config_of,
        where="configs",
        constraints=[
            Constraint.parse("num_warps == None or M > 1"),
            Constraint.parse("buffers == None or buffers"),
        ],
        axis_names=AXES,
    )
    assert ids(found, found.allowed({"M": 1, "N": 1})) == ["A=1", "A=3;;buffers=true"]
    assert len(found.allowed({"M": 2, "N": 1})) == 3


def test_subspaces_restrict_in_their_range_and_add_up() -> None:
    """Ends are inclusive, None is no end, and where two ranges meet both restrictions hold."""
    found = space(
        {"A": [16, 32, 64], "num_warps": [2, 4]},
        subspaces=(
            Subspace(when=(("M", (1, 64)),), values=(("A", (16, 32)),)),
            Subspace(
                when=(("M", (64, None)), ("N", (None, 9))),
                constraints=(Constraint.parse("num_warps <= 2 and A < N * 10"),),
            ),
        ),
    )
    assert len(found.configs) == 6
    assert ids(found, found.allowed({"M": 0, "N": 9})) == ids(found)
    assert ids(found, found.allowed({"M": 1, "N": 9})) == ids(found)[:4]
    assert ids(found, found.allowed({"M": 64, "N": 10})) == ids(found)[:4]
    assert ids(found, found.allowed({"M": 64, "N": 9})) == ["A=16;num_warps=2", "A=32;num_warps=2"]
    assert ids(found, found.allowed({"M": 65, "N": 5})) == ["A=16;num_warps=2", "A=32;num_warps=2"]
    assert ids(found, found.allowed({"M": 65, "N": 10})) == ids(found)


def test_values_that_only_compare_equal_are_different() -> None:
    """True, 1 and 1.0 are three values to a subspace, and an option that is missing is none."""
    only_true = Subspace(when=(("M", (None, None)),), values=(("A", (True,)),))
    found = space({"A": [1, True, 1.0]}, subspaces=(only_true,))
    assert ids(found, found.allowed({"M": 1, "N": 1})) == ["A=true"]
    missing = Subspace(when=(("M", (None, None)),), values=(("buffers", (True,)),))
    found = space({"A": [1]}, subspaces=(missing,))
    assert found.allowed({"M": 1, "N": 1}) == ()


def test_a_large_space_is_said_and_not_refused() -> None:
    """More than 300 configs are worth a note."""
    found = space({"A": list(range(50)), "B": [1, 2, 3, 4, 5], "num_warps": [1, 2]})
    told = "500 configs are more than 300: trying them takes long; --search measures some of them"
    assert found.size_notes() == (told,)
    assert space({"A": [1, 2, 3, 4, 5]}).notes == ()


def test_notes_can_be_added_in_front() -> None:
    """What others know of a space comes first, and nothing else changes."""
    found = space({"A": [1, 1]}).noted("first", "second")
    assert found.notes[:2] == ("first", "second")
    assert found.notes[2].startswith("1 config stands more than once")
    assert len(found.configs) == 1


def test_a_space_can_be_sent_to_another_process() -> None:
    """Pickled and back it allows the same."""
    found = space(
        {"A": [16, 32]}, "A <= M", subspaces=(Subspace(when=(("N", (1, 2)),), values=()),)
    )
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert again == found
    assert again.allowed({"M": 16, "N": 1}) == (0,)


def without_warps(config: Config) -> Config:
    """Return what of `config` counts on a device that ignores warps."""
    return Config(params=config.params, options=config.options)


def test_of_configs_that_are_the_same_to_the_device_the_first_is_allowed() -> None:
    """The others are set aside, and it is said for which."""
    merged = space({"B": [1, 2], "num_warps": [8, 4, 2]}).merged(without_warps)
    assert merged.allowed({"M": 1, "N": 1}) == (0, 3)
    assert merged.aside({"M": 1, "N": 1}) == {1: 0, 2: 0, 4: 3, 5: 3}
    assert len(merged.configs) == 6


def test_where_all_differ_nothing_is_merged() -> None:
    """The space is as it was."""
    plain = space({"B": [1, 2]})
    assert plain.merged(without_warps) == plain
    assert plain.aside({"M": 1, "N": 1}) == {}


def test_the_first_that_a_shape_allows_stands_for_the_others() -> None:
    """No shape gets a config that its constraints forbid, and none is without the essence of it."""
    few = Subspace(when=(("M", (1, 9)),), values=(("num_warps", (4, 2)),))
    given = {"B": [1, 2], "num_warps": [8, 4, 2]}
    merged = space(given, "B <= N", subspaces=(few,)).merged(without_warps)
    assert merged.allowed({"M": 10, "N": 2}) == (0, 3)
    assert merged.allowed({"M": 9, "N": 2}) == (1, 4)
    assert merged.aside({"M": 9, "N": 1}) == {2: 1}
