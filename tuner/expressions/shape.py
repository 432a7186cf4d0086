"""The shape of a kernel's inputs, as an expression: `(a.shape[0], b.shape[1], a.shape[1])`.

Allowed are the inputs' names; `x.shape`, `x.size()`, `x.size(i)`, `x.numel()`, `x.dim()`;
`len int min max sum tuple list`; indices and slices of tuples; `+ - * // %` and unary minus on
integers, `+` on tuples as well; integers, tuples and lists, `*` within them. All of it is read off
`x.shape`, so that anything with a shape will do, and no method of an input is called.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import prod
from typing import Any

from codegen.errors import shown
from tuner.errors import CaseError
from tuner.expressions.core import MANY, Compiler, Evaluation, FaultError, Run, excerpt, parsed
from tuner.expressions.dims import (
    MOST_AXES,
    add,
    as_tuple,
    count,
    cut,
    dims,
    greatest,
    integers,
    item,
    least,
    plain,
    size,
    sizes_of,
)
from tuner.expressions.integers import INTEGERS, Operation, ReasonError, integer, limited
from tuner.records import Shape

__all__ = ["ShapeExpr"]

_REMEDY = (
    "use the inputs' names, .shape .size(i) .numel() .dim(), len int min max sum tuple list, "
    "+ - * // %, [i], [i:j] and *"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeExpr:
    """An expression that gives the shape, a tuple of sizes, of a kernel's inputs.

    Attributes:
        text: as it is written.
        names: of the inputs that occur in it, sorted.
        length: how many sizes it gives, None where that depends on the inputs.
        where: the place that its errors name.
    """

    text: str
    names: tuple[str, ...]
    length: int | None
    where: str
    _evaluation: Evaluation = field(repr=False, compare=False)

    @classmethod
    def parse(
        cls, text: str, *, names: Sequence[str] | None = None, where: str = "shape_expr"
    ) -> ShapeExpr:
        """Return the expression `text`, which may use the inputs `names`, any if None.

        Raises:
            CaseError: it is not of the grammar, names another input, or gives no shape.
        """
        try:
            tree = parsed(text)
            evaluation = Evaluation(_ShapeCompiler(text, names), tree)
        except FaultError as fault:
            raise _as_case_error(fault, where, _REMEDY) from None
        length = _length(tree)
        if length is not None and not 1 <= abs(length) <= MOST_AXES:
            fact = f"{shown(text)} gives {abs(length)} sizes"
            raise CaseError(fact, where=where, remedy=f"give 1 to {MOST_AXES}")
        return cls(
            text=text,
            names=evaluation.names,
            length=None if length is None else abs(length),
            where=where,
            _evaluation=evaluation,
        )

    def shape_of(self, values: Mapping[str, object]) -> Shape:
        """Return the shape of the inputs `values`, by name: a tuple of sizes from 0 on.

        Raises:
            CaseError: it has no value for these inputs, or one that is no shape.
        """
        try:
            return sizes_of(self._evaluation.value(values))
        except FaultError as fault:
            error = fault
        except ReasonError as reason:
            error = FaultError(excerpt(self.text), str(reason))
        raise _as_case_error(error, self.where, "correct it, or the inputs", self.text) from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the text: what it compiles to cannot be pickled."""
        return _again, (self.text, self.where)


def _again(text: str, where: str) -> ShapeExpr:
    return ShapeExpr.parse(text, where=where)


def _as_case_error(fault: FaultError, where: str, remedy: str, text: str = "") -> CaseError:
    remedy = fault.remedy or remedy
    within = f" (in {shown(text)})" if text and fault.part != excerpt(text) else ""
    return CaseError(f"{fault.part} {fault.why}{within}", where=where, remedy=remedy)


_METHODS: Mapping[str, tuple[Operation, int, int]] = {
    "size": (size, 0, 1),
    "numel": (lambda value: limited(prod(dims(value))), 0, 0),
    "dim": (lambda value: len(dims(value)), 0, 0),
}


class _ShapeCompiler(Compiler):
    unknown, known = "is not an input of forward", "its inputs are"
    operators: Mapping[type[ast.operator], Operation] = {**INTEGERS, ast.Add: add}
    functions: Mapping[str, tuple[Operation, int, int]] = {
        "len": (count, 1, 1),
        "int": (lambda value: integer(plain(value)), 1, 1),
        "min": (least, 1, MANY),
        "max": (greatest, 1, MANY),
        "sum": (lambda value: limited(sum(integers(value))), 1, 1),
        "tuple": (as_tuple, 1, 1),
        "list": (as_tuple, 1, 1),
    }

    def run(self, node: ast.expr) -> Run:
        match node:
            case ast.Name():
                found = super().run(node)
                return self.guarded(node, lambda values: plain(found(values)))
            case ast.Attribute(value=value, attr="shape"):
                return self.apply(node, dims, value)
            case ast.Attribute(attr=name) if name in _METHODS:
                raise FaultError(self.part(node), "is a method", f"write .{name}()")
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=args, keywords=[]) if (
                name in _METHODS
            ):
                operation, fewest, most = _METHODS[name]
                if not fewest <= len(args) <= most:
                    why = f"gives {len(args)} arguments, not {most}"
                    raise FaultError(self.part(node), why, "correct it")
                return self.apply(node, operation, value, *args)
            case ast.Subscript(value=value, slice=ast.Slice() as bounds):
                return self._sliced(node, value, bounds)
            case ast.Subscript(value=value, slice=index):
                return self.apply(node, item, value, index)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._display(node, elements)
        return super().run(node)

    def _sliced(self, node: ast.expr, value: ast.expr, bounds: ast.Slice) -> Run:
        sliced = self.run(value)
        runs = [
            _no_bound if bound is None else self.run(bound)
            for bound in (bounds.lower, bounds.upper, bounds.step)
        ]
        return self.guarded(
            node, lambda values: cut(sliced(values), *[run(values) for run in runs])
        )

    def _display(self, node: ast.expr, elements: Sequence[ast.expr]) -> Run:
        runs = [
            self.apply(element, as_tuple, element.value)
            if isinstance(element, ast.Starred)
            else self.apply(element, lambda value: (value,), element)
            for element in elements
        ]

        def run(values: Mapping[str, object]) -> object:
            return tuple(chain.from_iterable(run(values) for run in runs))  # type: ignore[arg-type]

        return self.guarded(node, run)


def _no_bound(_: Mapping[str, object]) -> None:
    return None


def _length(node: ast.expr) -> int | None:
    """Return how long the tuple `node` is, -1 for an integer, None if that cannot be told."""
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            starred = any(isinstance(element, ast.Starred) for element in elements)
            return None if starred else len(elements)
        case ast.Constant() | ast.UnaryOp():
            return -1
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sum_length(_length(left), _length(right))
        case ast.BinOp():
            return -1
        case ast.Call(func=ast.Name(id="tuple" | "list"), args=[argument]):
            return _length(argument)
        case ast.Call(func=ast.Attribute(attr="size"), args=[]):
            return None
        case ast.Call():
            return -1
        case ast.Subscript(value=ast.Attribute(), slice=index) if not isinstance(index, ast.Slice):
            return -1
    return None


def _sum_length(a: int | None, b: int | None) -> int | None:
    if -1 in {a, b}:
        return -1
    return None if a is None or b is None else a + b
