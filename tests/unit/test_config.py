"""A config, and the id by which it is known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codegen.config import LAUNCH_OPTIONS, Config, Value, config_id

FULL = Config(
    params=(("BLOCK_M", 64), ("SPLIT_K", 1)),
    num_warps=8,
    num_stages=3,
    num_ctas=2,
    maxnreg=168,
    options=(("unit_flag", None), ("multibuffer", True)),
)


@pytest.mark.parametrize(
    ("config", "id_"),
    [
        (Config(params=()), "default"),
        (Config(params=(("B", 2), ("A", 1))), "A=1,B=2"),
        (Config(params=(("A", 1),), num_warps=4), "A=1;num_warps=4"),
        (Config(params=(), num_warps=4), ";num_warps=4"),
        (Config(params=(), options=(("x", 1),)), ";;x=1"),
        (Config(params=(("A", 1),), options=(("x", 1),)), "A=1;;x=1"),
        (
            FULL,
            (
                "BLOCK_M=64,SPLIT_K=1;maxnreg=168,num_ctas=2,num_stages=3,num_warps=8;"
                "multibuffer=true,unit_flag=null"
            ),
        ),
    ],
)
def test_an_id_spells_out_the_config(config: Config, id_: str) -> None:
    """An id is params, launch options and backend options, names sorted and values as JSON."""
    assert config.id == config_id(config) == id_


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0, False),
        (1, 1.0),
        (0.0, -0.0),
        (1, "1"),
        (None, "null"),
        ("", None),
        (True, "true"),
        ('1,B=2"', "1"),
        (2**53, float(2**53)),
    ],
)
def test_values_that_python_calls_equal_have_ids_of_their_own(one: Value, other: Value) -> None:
    """Configs whose values differ in type alone are different configs."""
    first, second = (Config(params=(("A", value),)) for value in (one, other))
    assert first.id != second.id
    assert first != second


def test_the_place_of_a_name_counts() -> None:
    """The same name and value as a param and as an option make different configs."""
    param, option = Config(params=(("x", 1),)), Config(params=(), options=(("x", 1),))
    assert param != option
    assert len({param, option}) == 2


def test_names_that_run_together_are_kept_apart() -> None:
    """`{AB: 12}` and `{AB1: 2}`, `b` and `B` are different configs."""
    pairs: list[tuple[str, Value]] = [("AB", 12), ("AB1", 2), ("ab", 12), ("A", 12)]
    assert len({Config(params=(pair,)).id for pair in pairs}) == len(pairs)


def test_the_order_of_the_params_is_kept_and_does_not_count() -> None:
    """Configs whose params are ordered differently are equal, and each keeps its order."""
    one = Config(params=(("A", 1), ("B", 2)))
    other = Config(params=(("B", 2), ("A", 1)))
    assert one == other
    assert hash(one) == hash(other)
    assert list(other.kwargs) == ["B", "A"]


def test_an_unset_launch_option_is_no_option() -> None:
    """A launch is given only the launch options that are set, in a fixed order."""
    assert FULL.launch_options() == (
        ("num_warps", 8),
        ("num_stages", 3),
        ("num_ctas", 2),
        ("maxnreg", 168),
    )
    assert tuple(name for name, _ in FULL.launch_options()) == LAUNCH_OPTIONS
    assert Config(params=(), num_stages=1).launch_options() == (("num_stages", 1),)


def test_a_launch_is_given_everything() -> None:
    """`all_kwargs` is params, set launch options and backend options, in this order."""
    assert list(FULL.all_kwargs().items()) == [
        ("BLOCK_M", 64),
        ("SPLIT_K", 1),
        ("num_warps", 8),
        ("num_stages", 3),
        ("num_ctas", 2),
        ("maxnreg", 168),
        ("unit_flag", None),
        ("multibuffer", True),
    ]


def test_a_config_looks_like_that_of_triton() -> None:
    """`kwargs` holds the params alone, in a dict of the caller's own, and there is no hook."""
    kwargs = FULL.kwargs
    kwargs["BLOCK_M"] = 0
    assert FULL.kwargs == {"BLOCK_M": 64, "SPLIT_K": 1}
    assert FULL.pre_hook is None


def test_a_param_that_is_missing_is_named_with_those_there_are() -> None:
    """`param` returns the value, or raises a KeyError that lists the params."""
    assert FULL.param("SPLIT_K") == 1
    with pytest.raises(KeyError, match="no param 'BLOCK_K' in this config; it has BLOCK_M, SPLIT"):
        FULL.param("BLOCK_K")


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"params": (("A", 1), ("A", 2))}, "A"),
        ({"params": (("A", 1),), "options": (("A", 1),)}, "A"),
        ({"params": (("num_warps", 1),)}, "num_warps"),
        ({"params": (), "options": (("maxnreg", 1), ("num_ctas", 1))}, "maxnreg, num_ctas"),
    ],
)
def test_a_name_stands_once(fields: dict[str, Any], names: str) -> None:
    """A name that stands twice, or is that of a launch option, makes no config."""
    with pytest.raises(ValueError, match=f"^a config names {names} twice$"):
        Config(**fields)


def test_a_config_without_a_finite_number_has_no_id() -> None:
    """A value that is not finite makes no config."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        Config(params=(("A", float("nan")),))


def test_a_config_is_no_other_thing() -> None:
    """A config equals configs only, and is frozen."""
    assert FULL.__eq__(FULL.id) is NotImplemented
    with pytest.raises(AttributeError, match="num_warps"):
        FULL.num_warps = 4  # type: ignore[misc]


def test_a_string_in_an_id_is_ascii_json() -> None:
    """A string is written into the id as ASCII JSON, whatever it holds."""
    config = Config(params=(("A", '"\n\u2028é;,='),))
    assert config.id == f"A={json.dumps(config.param('A'))}"
    assert config.id.isascii()
