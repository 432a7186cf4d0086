"""The door from data to code: literals, comments and names."""

from __future__ import annotations

import ast
import builtins
import keyword

import pytest
from property.strategies import HOSTILE

from codegen.config import Config, Value
from codegen.errors import InternalError
from codegen.literals import comment, config_names, free_name, literal

ENCODABLE = [text for text in HOSTILE if "\ud800" not in text]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (1, "1"),
        (-8, "-8"),
        (2**70, "1180591620717411303424"),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (1e22, "1e+22"),
        (5e-324, "5e-324"),
        ("a", '"a"'),
        ("it's", '"it\'s"'),
        ('"', "'\"'"),
        ("\n", '"\\n"'),
        ("é\u2028\U0001f642", '"\\xe9\\u2028\\U0001f642"'),
        ("", '""'),
        ("{x}", '"{x}"'),
    ],
)
def test_a_value_is_spelled_as_python_reads_it(value: Value, text: str) -> None:
    """A value becomes a literal in ASCII that evaluates to the same value of the same type."""
    assert literal(value) == text
    again = ast.literal_eval(literal(value))
    assert (type(again), repr(again)) == (type(value), repr(value))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_string_is_one_literal_on_one_line(text: str) -> None:
    """Any string becomes one string literal of printable ASCII that reads back as itself."""
    written = literal(text)
    assert written.isascii()
    assert written.isprintable()
    tree = ast.parse(written, mode="eval")
    assert isinstance(tree.body, ast.Constant)
    assert tree.body.value == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [], (1,), b"", object, 1j])
def test_what_has_no_literal_is_a_fault_of_ours(value: object) -> None:
    """A value of another kind never got here by way of a manifest."""
    with pytest.raises(InternalError, match=r"^no literal for a "):
        literal(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_comment_stays_on_its_line(text: str) -> None:
    """Any text behind a # is one comment, printable, and as long as it was at least."""
    written = comment(text)
    assert written.isprintable()
    assert len(written) >= len(text)
    assert written.splitlines() in ([written], [])
    assert ast.parse(f"# {written}\n1").body[0].lineno == 2


def test_a_comment_keeps_what_can_be_read() -> None:
    """ASCII and letters of the common scripts stay; line ends, marks and directions do not."""
    assert comment("a b~ é Ж 漢 カ 한") == "a b~ é Ж 漢 カ 한"
    assert comment("\n\r\t\x00\x7f") == "\\n\\r\\t\\x00\\x7f"
    assert comment("\u202e\u2066\u2028\x85\xad\ufeff") == "\\u202e\\u2066\\u2028\\x85\\xad\\ufeff"
    assert comment("\ud800") == "\\ud800"


@pytest.mark.parametrize(
    ("wanted", "taken", "got"),
    [
        ("M", (), "M"),
        ("M", ("M",), "M_"),
        ("M", ("M", "M_"), "M__"),
        ("print", (), "print_"),
        ("print", ("print_",), "print__"),
        ("class", (), "class_"),
        ("None", (), "None_"),
        ("match", (), "match"),
    ],
)
def test_a_name_is_free(wanted: str, taken: tuple[str, ...], got: str) -> None:
    """A name gets as many `_` as make it neither taken, a keyword nor a builtin."""
    assert free_name(wanted, taken) == got


@pytest.mark.parametrize("wanted", ["", "1a", "a b", "é", "a\n", "a-b"])
def test_a_name_that_is_none_is_a_fault_of_ours(wanted: str) -> None:
    """A name that is no ASCII identifier never got here by way of a manifest."""
    with pytest.raises(InternalError, match=r"is not an identifier$"):
        free_name(wanted, ())


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (
            Config(params=(("BLOCK_M", 64), ("BLOCK_N", 128)), num_warps=4, num_stages=3),
            "M64_N128_W4_S3",
        ),
        (Config(params=(("BLOCK_M", 64), ("M", 2))), "BLOCK_M64_M2"),
        (Config(params=(("A", -8), ("B", 0.5))), "ANEG8_B0P5"),
        (Config(params=(("EVEN_K", True), ("L", "row-major"))), "EVEN_K_TRUE_L_ROW_MAJOR"),
        (Config(params=(("AB1", 2),)), "AB1_2"),
        (Config(params=(), num_ctas=1, maxnreg=99), "R99"),
        (Config(params=(), num_ctas=2), "C2"),
        (Config(params=()), "CONFIG"),
        (Config(params=(("_1", 5),)), "CONFIG_1_5"),
        (Config(params=(("x", None),), options=(("y", 1),)), "X_NONE_Y1"),
        (Config(params=(("BLOCK_", 4), ("BLOCK__M", 4))), "BLOCK4_BLOCK__M4"),
    ],
)
def test_a_config_is_named_by_what_it_is(config: Config, name: str) -> None:
    """A config's constant is named by its params and launch options."""
    assert config_names([config], ()) == (name,)


def _twins() -> list[Config]:
    texts = ["a b", "a/b", "a-b", "é", "", "漢", "x" * 500, "x" * 499, "CONFIGS", "DEFAULT"]
    params = [Config(params=(("L", text),)) for text in texts]
    bare = [Config(params=((name, ""),)) for name in ("CONFIGS", "DEFAULT", "TARGET", "_outside")]
    return [*params, *bare, Config(params=(("L", None),)), Config(params=(("L", "None"),))]


def test_names_are_free_identifiers_that_differ() -> None:
    """Names are ASCII identifiers, none taken, reserved or equal to another."""
    taken = {"CONFIGS", "DEFAULT", "TARGET", "L_A_B"}
    names = config_names(_twins(), taken)
    assert len({*names}) == len(names) == len(_twins())
    assert not taken & {*names}
    for name in names:
        assert name.isascii()
        assert name.isidentifier()
        assert not keyword.iskeyword(name)
        assert not hasattr(builtins, name)
        assert len(name) <= 60


def test_a_name_does_not_depend_on_the_place() -> None:
    """A config keeps its name when others, with names of their own, come, go or change places."""
    configs = _twins()
    names = dict(zip(configs, config_names(configs, ()), strict=True))
    turned = dict(zip(configs[::-1], config_names(configs[::-1], ()), strict=True))
    assert names == turned
    more = [Config(params=(("NEW", 1),)), *configs]
    assert config_names(more, ())[1:] == tuple(names.values())


@pytest.mark.parametrize("text", ENCODABLE, ids=ascii)
def test_a_hostile_value_still_gives_a_name(text: str) -> None:
    """Whatever a config's string holds, its name is an ASCII identifier."""
    (name,) = config_names([Config(params=(("A", text),))], ())
    assert name.isascii()
    assert name.isidentifier()
