"""Expressions in a case's files: what they give, what they refuse, and in which words."""

from __future__ import annotations

import math
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import CaseError
from tuner.expressions import Constraint, ShapeExpr

INPUTS: dict[str, Any] = {
    "x": np.zeros((4, 5, 6), dtype=np.float16),
    "y": SimpleNamespace(shape=[7, 8]),
    "k": 3,
    "n": np.int64(9),
    "flag": True,
    "rate": 0.5,
    "name": "text",
    "empty": np.zeros(()),
    "several": [1, np.int32(2), np.zeros((2, 3))],
}


def shape(text: str) -> tuple[int, ...]:
    """Return the shape of INPUTS by the expression `text`."""
    return ShapeExpr.parse(text, names=tuple(INPUTS)).shape_of(INPUTS)


def holds(text: str, **values: Any) -> bool:
    """Say whether the constraint `text` holds for `values`."""
    return Constraint.parse(text, names=tuple(values)).holds(values, of=lambda: "BLOCK=1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(x.shape[0], y.shape[1], k)", (4, 8, 3)),
        ("x.shape", (4, 5, 6)),
        ("[*x.shape[:2], k]", (4, 5, 3)),
        ("(*x.shape[:2], *y.shape)", (4, 5, 7, 8)),
        ("(int(x.shape[0]),)", (4,)),
        ("x.shape[-1]", (6,)),
        ("x.shape[::-1]", (6, 5, 4)),
        ("x.shape[k - 2:]", (5, 6)),
        ("x.size()", (4, 5, 6)),
        ("x.size(-1)", (6,)),
        ("x.size(k - 3)", (4,)),
        ("x.size()[1]", (5,)),
        ("x.numel()", (120,)),
        ("empty.numel()", (1,)),
        ("x.dim()", (3,)),
        ("len(x)", (4,)),
        ("len(x.shape)", (3,)),
        ("sum(x.shape)", (15,)),
        ("(min(x.shape), max(k, 2), max(y.shape))", (4, 3, 8)),
        ("tuple(x.shape)", (4, 5, 6)),
        ("list(x.shape) + [1]", (4, 5, 6, 1)),
        ("x.shape + y.shape", (4, 5, 6, 7, 8)),
        ("x.shape[0] + 1", (5,)),
        ("(x.shape[0] * x.shape[1], -k + 5, 7 // 2, 7 % 4)", (20, 2, 3, 3)),
        ("((-7) // 2 + 10,)", (6,)),
        ("k", (3,)),
        ("n", (9,)),
        ("(n, several[0], several[1])", (9, 1, 2)),
        ("several[:2]", (1, 2)),
        ("several[2].shape", (2, 3)),
        ("len(several)", (3,)),
        ("(\n  x.shape[0],\n)", (4,)),
        ("  x.shape  ", (4, 5, 6)),
    ],
)
def test_a_shape_expression_gives_what_python_would(text: str, expected: tuple[int, ...]) -> None:
    """Arrays, plain integers, lists and anything with a shape give sizes as plain integers."""
    found = shape(text)
    assert found == expected
    assert {type(size) for size in found} == {int}


def test_a_tensor_of_torch_gives_its_shape() -> None:
    """The same expressions work on tensors, meta tensors too."""
    torch = pytest.importorskip("torch")
    expression = ShapeExpr.parse("(x.size(0), x.shape[1], x.numel(), x.dim(), len(x))")
    for device in ("cpu", "meta"):
        found = expression.shape_of({"x": torch.empty((2, 3), device=device)})
        assert found == (2, 3, 6, 2, 2)
        assert {type(size) for size in found} == {int}
    assert ShapeExpr.parse("x.size()").shape_of({"x": torch.empty((2, 3))}) == (2, 3)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("(x.shape[0], k)", 2),
        ("[k]", 1),
        ("x.shape[0]", 1),
        ("x.numel()", 1),
        ("x.size(0) * 2", 1),
        ("x.shape[0] + 1", 1),
        ("k + x.shape[0]", 1),
        ("(k,) + (k, 1)", 3),
        ("tuple((k, k))", 2),
        ("-k", 1),
        ("len(x)", 1),
        ("x.shape", None),
        ("x.size()", None),
        ("x.shape[:2]", None),
        ("(*x.shape, k)", None),
        ("x.shape + (k,)", None),
        ("k", None),
        ("several[0]", None),
        ("tuple(x.shape)", None),
    ],
)
def test_the_number_of_sizes_is_known_where_it_can_be(text: str, length: int | None) -> None:
    """A tuple that is written out has a known length, the shape of an input has none."""
    assert ShapeExpr.parse(text).length == length


def test_the_names_that_occur_are_listed() -> None:
    """An expression knows the inputs it needs, each once and sorted."""
    assert ShapeExpr.parse("(y.shape[k], x.numel(), k)").names == ("k", "x", "y")
    assert Constraint.parse("B > A or A == 1").names == ("A", "B")


@pytest.mark.parametrize("text", ["x.shape", "(x.shape[0] // k, k)"])
def test_a_shape_expression_can_be_sent_to_a_worker(text: str) -> None:
    """Pickled and back it is the same, and gives the same."""
    expression = ShapeExpr.parse(text, names=("x", "k"), where="sample.json: shape_expr")
    again = pickle.loads(pickle.dumps(expression))  # noqa: S301
    assert again == expression
    assert again.shape_of(INPUTS) == expression.shape_of(INPUTS)
    constraint = Constraint.parse("A > 1", where="tune.yaml:3: constraints[0]")
    assert pickle.loads(pickle.dumps(constraint)) == constraint  # noqa: S301


@pytest.mark.parametrize(
    "text",
    [
        "x.__class__",
        "x.__class__.__bases__[0].__subclasses__()",
        "x.dtype",
        "x.T.shape",
        "x.tolist()",
        "x.shape()",
        "x.stride(0)",
        "(lambda: 1)()",
        "(y := 3)",
        "f'{x}'",
        "f'{x.__class__}'",
        "[i for i in x.shape]",
        "(i for i in x.shape)",
        "{i: i for i in x.shape}",
        "{1, 2}",
        "{1: 2}",
        "x.shape[0] if k else 1",
        "k == 3",
        "k and 1",
        "not k",
        "~k",
        "+k",
        "k ** 2",
        "k << 2",
        "k | 1",
        "k @ k",
        "10**10**10",
        "True",
        "None",
        "...",
        "'text'",
        "b'text'",
        "1.5",
        "2j",
        "x.shape[...]",
        "x.shape[0:1, 2]",
        "max(*x.shape)",
        "int(x=1)",
        "await_(x)[0]",
        "(yield)",
    ],
)
def test_what_is_not_of_the_grammar_is_refused_before_it_is_run(text: str) -> None:
    """Attributes, calls, comprehensions and the rest of Python are faults of the expression."""
    with pytest.raises(CaseError, match=r"^shape_expr: ") as caught:
        ShapeExpr.parse(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("A.shape", "A is not an input of forward; its inputs are 'x', 'k'"),
        ("x.shap", r"x\.shap is not allowed; use the inputs' names, \.shape"),
        ("x.size", r"x\.size is a method; write \.size\(\)"),
        ("x.size(0, 1)", "gives 2 arguments, not 1"),
        ("x.numel(0)", "gives 1 arguments, not 0"),
        ("k / 2", "k / 2 is not an integer; write //"),
        ("__import__('os')", "calls __import__, which is not among the functions; .* len, int"),
        ("eval('1')", "calls eval, which is not among the functions"),
        ("len()", r"len\(\) gives 0 arguments, not 1"),
        ("min()", r"gives 0 arguments, not 1 or more"),
        ("x.shape[0", r"'x.shape\[0' is not an expression: .* at character 8; correct it there"),
        ("x.shape x", "is not an expression"),
        ("x = 1", "is not an expression"),
        ("import os", "is not an expression"),
        ("*x.shape", "is not an expression"),
        ("", "'' is not an expression"),
        ("   ", "is not an expression"),
        ("k\0", "is not an expression"),
        ("k\ud800", "is not an expression"),
        ("9223372036854775808", "9223372036854775808 does not fit in 64 bits"),
        ("9" * 900, "does not fit in 64 bits"),
        ("()", "gives 0 sizes; give 1 to 32"),
        ("(" + "k, " * 33 + ")", "gives 33 sizes; give 1 to 32"),
    ],
)
def test_a_slip_is_named_with_the_remedy(text: str, match: str) -> None:
    """A mistyped name or attribute is quoted, and what could stand there is listed."""
    with pytest.raises(CaseError, match=match):
        ShapeExpr.parse(text, names=("x", "k"))


@pytest.mark.parametrize(
    "text",
    [
        "1" * 10_000_000,
        "(" * 5_000_000 + "1" + ")" * 5_000_000,
        "(" * 400 + "k" + ")" * 400,
        "[" * 150 + "k" + "]" * 150,
        "-" * 900 + "k",
        "+".join(["k"] * 400),
        "k" + "[0]" * 300,
        "len(" * 150 + "k" + ")" * 150,
    ],
)
def test_size_and_depth_are_limited(text: str) -> None:
    """Ten megabytes, and brackets in brackets, are refused at once, in one short line."""
    with pytest.raises(CaseError, match=r"characters, more than|deep|nested") as caught:
        ShapeExpr.parse(text)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("x.shape[5]", r"x\.shape\[5\] takes number 5 of 3, which there is not"),
        ("x.size(3)", "takes number 3 of 3"),
        ("x", r"x gives a value of type ndarray; the shape of an input is its \.shape"),
        ("x[0]", r"x\[0\] indexes a value of type ndarray; write \.shape before the \["),
        ("(x.shape, k)", r"gives a tuple of 3 as size 0; write \* before it"),
        ("(x, k)", "gives a value of type ndarray as size 0"),
        ("k.shape", "asks for the shape of an integer, which is a size itself"),
        ("name.shape", "asks for the shape of a string"),
        ("flag", "gives a boolean as size 0"),
        ("(flag, k)", "gives a boolean as size 0"),
        ("flag + 1", "needs an integer, not a boolean"),
        ("rate", "gives a float"),
        ("int(rate)", r"int\(rate\) needs an integer, not a float"),
        ("rate * 2", "needs an integer, not a float"),
        ("(k - 5,)", "gives -2 as size 0, which is negative"),
        ("k // (k - 3)", r"k // \(k - 3\) divides by zero"),
        ("k % 0", "k % 0 divides by zero"),
        ("(k, k // 0)", r"k // 0 divides by zero \(in '\(k, k // 0\)'\)"),
        ("9223372036854775807 + k", "does not fit in 64 bits"),
        ("(0,) * 1000000000", r"needs an integer, not a tuple of 1"),
        ("x.shape * 2", "needs an integer, not a tuple of 3"),
        ("x.shape + 1", "needs an integer, not a tuple of 3"),
        ("x.shape[:0]", "gives 0 sizes"),
        ("x.shape[::0]", "has a step of 0"),
        ("x.shape[x.shape:]", "needs an integer, not a tuple of 3"),
        ("len(empty)", "asks for the length of a value of type ndarray without dimensions"),
        ("max(x.shape[:0])", "is of an empty tuple"),
        ("tuple(x)", "needs a tuple, not a value of type ndarray"),
        ("(*k,)", r"\*k needs a tuple, not an integer"),
        ("sum(k)", "needs a tuple, not an integer"),
        ("gone", "gone has no value"),
    ],
)
def test_what_has_no_value_for_the_inputs_is_named(text: str, match: str) -> None:
    """The part, the reason and the place are said when an expression does not suit its inputs."""
    expression = ShapeExpr.parse(text, where="sample.json: shape_expr")
    with pytest.raises(CaseError, match=match) as caught:
        expression.shape_of(INPUTS)
    assert caught.value.where == "sample.json: shape_expr"


def test_no_method_of_an_input_is_called() -> None:
    """`size`, `numel` and `len` read the shape; an input's own methods may do anything."""

    class Trap:
        shape = (2, 3)

        def size(self, *_: object) -> int:
            raise AssertionError

        numel = dim = __len__ = __getitem__ = __iter__ = __index__ = size

    found = ShapeExpr.parse("(x.size(0), x.numel(), x.dim(), len(x))").shape_of({"x": Trap()})
    assert found == (2, 6, 2, 2)


def test_a_shape_that_raises_is_a_fault_of_the_input() -> None:
    """An object without a usable shape is named by its type."""

    class Ragged:
        @property
        def shape(self) -> tuple[int, ...]:
            raise RuntimeError("no")

    with pytest.raises(CaseError, match="asks for the shape of a value of type Ragged"):
        ShapeExpr.parse("x.shape").shape_of({"x": Ragged()})


@given(st.text(alphabet="xk.shape[](),:*+-/%0123456789 minletudq_'\"\\\n", max_size=40))
def test_no_text_ends_in_anything_but_sizes_or_one_line(text: str) -> None:
    """Whatever is written, there is a shape or a CaseError."""
    found: tuple[int, ...] = ()
    said = ""
    try:
        found = ShapeExpr.parse(text, names=("x", "k")).shape_of(INPUTS)
    except CaseError as error:
        said = str(error)
    assert found or said.startswith("shape_expr: ")
    assert "\n" not in said
    assert all(type(size) is int and size >= 0 for size in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A * B <= 128", True),
        ("A * B < 128", False),
        ("A != B", True),
        ("1 < A <= 16 > B", True),
        ("1 < A > 16", False),
        ("A % 16 == 0 and B % 16 == 0", False),
        ("A > 100 or B == 8", True),
        ("not A > 100", True),
        ("A in (8, 16)", True),
        ("A in [1, -16]", False),
        ("A not in (1, 2)", True),
        ("A in ()", False),
        ("min(A, B) == 8 and max(A, B, 99) == 99", True),
        ("cdiv(17, A) == 2 and cdiv(-1, A) == 0", True),
        ("abs(A - 20) == 4 and -A < 0", True),
        ("A // 3 == 5", True),
        ("S == 'nt'", True),
        ("S != 'nt'", False),
        ("S in ('nt', 'nn')", True),
        ("F", True),
        ("not F", False),
        ("F == True", True),
        ("F and A == 16", True),
        ("U == None", True),
        ("U != None and U > 3", False),
        ("U == 4", False),
        ("U in (None, 4)", True),
        ("R < 1", True),
        ("True", True),
        ("(A == 16) == (B == 8)", True),
        ("B == 0 or A // B > 1", True),
        ("B == 8 or A // 0 > 1", True),
        ("A < 8 < 1 // 0", False),
    ],
)
def test_a_constraint_means_what_python_means(text: str, expected: bool) -> None:
    """Comparisons chain, `and` and `or` stop early, strings compare with strings."""
    assert holds(text, A=16, B=8, S="nt", F=True, U=None, R=0.5) is expected


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("C > 1", "C is not known here; the names are 'A', 'S'"),
        ("A == true", "true is not known here; write True"),
        ("A is None", "A is None is not allowed; write == or !="),
        ("A / 2 == 1", "A / 2 is not an integer; write //"),
        ("A in S", r"S stands after in; list values there, as in \(1, 2\)"),
        ("A in (S,)", "S is not a literal"),
        ("A in (1 + 1,)", r"1 \+ 1 is not a literal"),
        ("A == 1.0", r"1\.0 is not allowed; use the names of params"),
        ("A = 16", "is not an expression"),
        ("A => 16", "is not an expression"),
        ("A and", "is not an expression"),
        ("A.real", r"A\.real is not allowed"),
        ("A[0] == 1", "is not allowed"),
        ("(A, S) == (1, 2)", "is not allowed"),
        ("pow(A, 2)", "calls pow, which is not among the functions; .* min, max, abs, cdiv"),
        ("max(A)", "gives 1 arguments, not 2 or more"),
        ("cdiv(A)", "gives 1 arguments, not 2"),
        ("(lambda: True)()", "is not allowed"),
        ("(A := 1) == 1", "is not allowed"),
        ("A if S else A", "is not allowed"),
        ("A ** 2 < 5", "is not allowed"),
        ("A < 1" + " and A < 1" * 200, "characters, more than"),
    ],
)
def test_a_constraint_of_no_grammar_is_refused(text: str, match: str) -> None:
    """Unknown names and foreign syntax are faults of the constraint, whatever the configs."""
    with pytest.raises(CaseError, match=match) as caught:
        Constraint.parse(text, names=("A", "S"), where="tune.yaml:4: constraints[0]")
    assert caught.value.where == "tune.yaml:4: constraints[0]"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("A // Z < 2", r"A // Z divides by zero \(in 'A // Z < 2', for BLOCK=1\); .* guard it"),
        ("A % Z == 0", "A % Z divides by zero"),
        ("cdiv(A, Z) == 0", r"cdiv\(A, Z\) divides by zero"),
        ("A", r"A is an integer, neither true nor false; compare it, as in … == 0"),
        ("A and F", "A is an integer, neither true nor false"),
        ("not A", "is an integer, neither true nor false"),
        ("S", "S is a string, neither true nor false"),
        ("S == 1", "S == 1 compares a string with an integer"),
        ("S != 1", "compares a string with an integer"),
        ("A in ('1', '2')", "compares an integer with a string"),
        ("F == 1", "compares a boolean with an integer"),
        ("F < 2", "asks whether a boolean is less or more"),
        ("S < 'x'", "asks whether a string is less or more"),
        ("U <= 4", "U <= 4 asks whether null is less or more"),
        ("F + 1 == 2", r"F \+ 1 needs an integer, not a boolean"),
        ("S * 3 == 'x'", "needs an integer, not a string"),
        ("R * 2 == 1", "needs an integer, not a float"),
        ("A * 9223372036854775807 > 1", "does not fit in 64 bits"),
    ],
)
def test_a_constraint_without_a_value_says_where_and_for_what(text: str, match: str) -> None:
    """Nothing is converted: the part, the kinds of its values and the config are named."""
    with pytest.raises(CaseError, match=match):
        holds(text, A=16, Z=0, F=True, S="nt", U=None, R=0.5)


@given(
    st.sampled_from(["<", "<=", "==", "!=", ">", ">="]),
    st.sampled_from(["+", "-", "*", "//", "%"]),
    *[st.integers(-1000, 1000)] * 3,
)
def test_arithmetic_is_that_of_python(compare: str, operator: str, a: int, b: int, c: int) -> None:
    """Random integers give the truth that Python gives, division towards minus infinity."""
    text = f"A {operator} B {compare} C"
    if operator in {"//", "%"} and b == 0:
        with pytest.raises(CaseError, match="divides by zero"):
            holds(text, A=a, B=b, C=c)
    else:
        expected = eval(text, {"A": a, "B": b, "C": c})  # noqa: S307 (what is compared with)
        assert holds(text, A=a, B=b, C=c) is expected
    if b:
        assert holds("cdiv(A, B) == C", A=a, B=b, C=math.ceil(a / b))
