"""Does an emitted module choose what `Policy.evaluate` chooses, and is it nothing but a chooser?

The shapes asked about are those where an emitter goes wrong: each threshold, edge, pinned size and
end of the envelope, with the integers beside it.
"""

from __future__ import annotations

import ast
import io
import itertools
import random
import re
import tokenize
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from codegen.axes import Axis, AxisValue, CategoryAxis, Shape
from codegen.decision import Choose, Decision, Split
from codegen.features import AxisTerm, Cdiv, Mod, Product, Ratio, Term, value_of
from codegen.policy import OutsideEnvelopeError, Policy, TooManyProgramsError

__all__ = ["assert_agrees", "assert_harmless", "chosen", "edge_shapes", "loaded", "wanted"]

_OUTSIDE = "outside"
_TOO_MANY = "too many programs"
_FAR = (-(2**63), -1, 0, 1, 2**63 - 1)
_STRANGERS: tuple[AxisValue, ...] = ("", "no such value", 0, -(2**40))


def loaded(text: str) -> dict[str, Any]:
    """Return the namespace of the module whose source is `text`, which leaves no trace."""
    namespace: dict[str, Any] = {"__name__": "emitted"}
    exec(compile(text, "<emitted>", "exec", dont_inherit=True), namespace)  # noqa: S102
    return namespace


def wanted(policy: Policy, shape: Shape) -> str:
    """Return what `policy` says of `shape`, spelled out so that 1, 1.0 and True differ."""
    try:
        return _spelled(policy.evaluate(shape))
    except TooManyProgramsError:
        return _TOO_MANY
    except OutsideEnvelopeError:
        return _OUTSIDE


def chosen(module: dict[str, Any], shape: Shape) -> str:
    """Return what `module` says of `shape`, in the words of `wanted`."""
    try:
        return _spelled(module["_select_config"](shape))
    except ValueError as error:
        if "needs a grid of more than" in str(error):
            return _TOO_MANY
        outside = "lies outside the tuned envelope" in str(error)
        return _OUTSIDE if outside else f"{error!r}"


def _spelled(config: Any) -> str:
    launch = [config.num_warps, config.num_stages, config.num_ctas, config.maxnreg]
    return repr((list(config.kwargs.items()), launch, list(config.all_kwargs().items())))


def assert_agrees(
    policy: Policy, text: str, *, more: Sequence[Shape] = (), limit: int = 3000
) -> int:
    """Assert that the module `text` agrees with `policy` on its edges and on `more`; count them."""
    module = loaded(text)
    assert module["AXIS_NAMES"] == tuple(axis.name for axis in policy.axes)
    assert _spelled(module["DEFAULT"]) == _spelled(policy.default)
    shapes = [*edge_shapes(policy, limit=limit), *more]
    for shape in shapes:
        assert chosen(module, shape) == wanted(policy, shape), f"shape {shape!a} in\n{text}"
    return len(shapes)


def edge_shapes(policy: Policy, *, limit: int = 3000) -> list[Shape]:
    """Return every combination of the axes' edges, or `limit` of them, always the same ones."""
    columns = _columns(policy)
    dice = random.Random(0)  # noqa: S311 (a sample, not a secret)
    if prod(map(len, columns)) <= limit:
        return [*itertools.product(*columns), *_on_the_line(policy, columns, dice)]
    longest = max(map(len, columns))
    # Each edge at least once beside whatever else, the rest at random.
    shapes = [tuple(column[i % len(column)] for column in columns) for i in range(longest)]
    shapes += [tuple(map(dice.choice, columns)) for _ in range(limit - longest)]
    return [*shapes, *_on_the_line(policy, columns, dice)]


def _columns(policy: Policy) -> list[list[AxisValue]]:
    found: dict[str, set[int]] = {axis.name: set(_FAR) for axis in policy.axes}
    for split in _splits(policy.selector.lower()):
        if not isinstance(split.feature, Ratio):
            for axis, value in _crossings(split.feature, split.threshold):
                found[axis].add(value)
    for shape, _ in policy.selector.pinned:
        for axis, value in zip(policy.axes, shape, strict=True):
            if isinstance(value, int):
                found[axis.name].add(value)
    return [_column(axis, found[axis.name]) for axis in policy.axes]


def _column(axis: Axis, values: set[int]) -> list[AxisValue]:
    if isinstance(axis, CategoryAxis):
        return [*axis.values, *(value for value in _STRANGERS if value not in axis.values)]
    values = values | {end for end in (axis.low, axis.high) if end is not None}
    return sorted({value + step for value in values for step in (-1, 0, 1)})


def _splits(node: Decision) -> Iterator[Split]:
    stack = [node]
    while stack:
        node = stack.pop()
        if isinstance(node, Choose):
            continue
        if isinstance(node, Split):
            yield node
        stack += [node.left, node.right]


def _crossings(feature: Term | Product, threshold: int) -> Iterator[tuple[str, int]]:
    """Yield sizes at which `feature` alone comes to pass `threshold`."""
    match feature:
        case AxisTerm(axis):
            yield axis, threshold
        case Cdiv(axis, by):
            yield axis, threshold * by
        case Mod(axis, by):
            yield from ((axis, by), (axis, by + threshold), (axis, -by))
        case Product(terms):
            for term in terms:
                yield from _crossings(term, 1 if isinstance(term, Mod) else 16)


def _on_the_line(
    policy: Policy, columns: Sequence[Sequence[AxisValue]], dice: random.Random
) -> Iterator[Shape]:
    """Yield shapes on and beside the line along which a product or a ratio meets its threshold."""
    names = [axis.name for axis in policy.axes]
    splits = [s for s in _splits(policy.selector.lower()) if isinstance(s.feature, Product | Ratio)]
    for split in splits[:40]:
        for _ in range(4):
            shape = [dice.choice(column) for column in columns]
            sizes = policy.sizes(shape)
            for axis, value in _solutions(split, sizes):
                at = names.index(axis)
                for step in (-1, 0, 1):
                    yield (*shape[:at], value + step, *shape[at + 1 :])


def _solutions(split: Split, sizes: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield sizes of one axis at which `split` turns, the other axes being as in `sizes`."""
    if isinstance(split.feature, Ratio):
        top, below = split.feature.numerator, split.feature.denominator
        target = split.threshold * value_of(below, sizes) // split.denominator
    else:
        top, target = split.feature, split.threshold
    terms = top.terms if isinstance(top, Product) else (top,)
    for i, term in enumerate(terms):
        rest = prod(value_of(other, sizes) for j, other in enumerate(terms) if j != i)
        if rest and not isinstance(term, Mod):
            yield term.axis, target // rest * (term.by if isinstance(term, Cdiv) else 1)


# The language of an emitted module, written down apart from the generator's own list.
_NODES = {
    *(ast.Module, ast.Expr, ast.Constant, ast.Assign, ast.AnnAssign, ast.Name, ast.Load, ast.Store),
    *(ast.Tuple, ast.Dict, ast.Call, ast.ClassDef, ast.FunctionDef, ast.arguments, ast.arg),
    *(ast.Return, ast.Raise, ast.Try, ast.ExceptHandler, ast.If, ast.For, ast.Attribute),
    *(ast.Subscript, ast.JoinedStr, ast.FormattedValue, ast.Compare, ast.Lt, ast.LtE, ast.Gt),
    *(ast.GtE, ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp),
    *(
        ast.ListComp,
        ast.comprehension,
        ast.Not,
        ast.USub,
        ast.BinOp,
        ast.Add,
        ast.Mult,
        ast.FloorDiv,
        ast.Mod,
        ast.Is,
        ast.IsNot,
    ),
}
# Comments that a tool would obey.
_DIRECTIVE = re.compile(r"#[\s#]*(type|fmt|isort|ruff|flake8|pylint|mypy|pyright|yapf)\s*:")
_CALLED_IN_THE_FUNCTION = {"_outside", "_too_many_programs", "ValueError"}
_CALLED_FOR_AUTOTUNE = {"ValueError", "KeyError", "_select_config", "all_kwargs", "items", "len"}


def assert_harmless(text: str) -> None:
    """Assert that the module `text` is code that can do nothing but choose, in plain ASCII.

    A comment may hold letters of any script, as long as they are shown where they stand.
    """
    for character in {*text} - {"\n"}:
        assert character.isprintable(), f"{character!a} stands in the module"
    for line in text.split("\n"):
        assert line.isascii() or line.startswith("#"), f"{line!a} is code"
    tree = ast.parse(text, type_comments=True)
    assert tree.type_ignores == [], "a comment is taken for `# type: ignore`"
    assert {type(node) for node in ast.walk(tree)} <= _NODES
    for statement in tree.body:
        _assert_known(statement)
    assert not [comment for comment in _comments(text) if _DIRECTIVE.match(comment)]


def _assert_known(statement: ast.stmt) -> None:
    """Assert that `statement` is one of a module's few: configs are literal, functions compare."""
    match statement:
        case ast.ClassDef(name="Config") | ast.Expr(ast.Constant(str())):
            return
        case ast.Assign(value=ast.Call(func=ast.Name("Config"), args=args, keywords=[])):
            assert len([ast.literal_eval(arg) for arg in args]) == 2
        case ast.Assign(targets=[ast.Name("CONFIGS")], value=ast.Tuple(names)):
            assert all(isinstance(name, ast.Name) for name in names)
        case ast.Assign(targets=[ast.Name("DEFAULT")], value=ast.Name()):
            return
        case ast.Assign(targets=[ast.Name(name)], value=value):
            assert name in {"AXIS_NAMES", "MANIFEST_SHA256", "SOURCE_SHA256", "TARGET"}
            ast.literal_eval(value)
        case ast.AnnAssign(target=ast.Name("SOURCE_SHA256"), value=ast.Constant(None)):
            return
        case ast.FunctionDef(
            name="_select_config" | "_outside" | "_too_many_programs", body=body, decorator_list=[]
        ):
            calls = [n for part in body for n in ast.walk(part) if isinstance(n, ast.Call)]
            assert {ast.unparse(call.func) for call in calls} <= _CALLED_IN_THE_FUNCTION
        case ast.FunctionDef(name="early_config_prune", body=body, decorator_list=[]):
            calls = [n for part in body for n in ast.walk(part) if isinstance(n, ast.Call)]
            names = {getattr(c.func, "attr", getattr(c.func, "id", None)) for c in calls}
            assert names <= _CALLED_FOR_AUTOTUNE
        case _:
            raise AssertionError(f"a stranger in the module: {ast.unparse(statement)}")


def _comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]
