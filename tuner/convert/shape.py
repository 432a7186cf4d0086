"""The shape as the kernel hands it to the dispatch."""

from __future__ import annotations

import ast

from codegen.errors import shown
from tuner.convert.errors import ConvertError
from tuner.errors import CaseError
from tuner.expressions import ShapeExpr

__all__ = ["Shape", "shape_of"]


class Shape:
    """A `shape_expr`, checked.

    Attributes:
        code: a tuple of sizes, as an expression in Python.
        names: of the inputs in it.
    """

    __slots__ = ("code", "names")

    def __init__(self, code: str, names: tuple[str, ...]) -> None:
        """Keep the two."""
        self.code, self.names = code, names


def shape_of(text: str) -> Shape:
    """Return the shape that the `shape_expr` `text` of a sample.json gives.

    Raises:
        ConvertError: it is not one.
    """
    try:
        parsed = ShapeExpr.parse(text)
    except CaseError as error:
        raise ConvertError(error.fact, where=error.where, remedy=error.remedy) from None
    tree = ast.parse(f"({text}\n)", mode="eval").body
    match tree:
        case ast.List():
            code = _code(ast.Tuple(elts=tree.elts, ctx=ast.Load()))
        case _ if _is_number(tree):
            code = f"({_code(tree)},)"
        case ast.Attribute() | ast.Subscript() | ast.Call() | ast.BinOp() | ast.Tuple():
            code = _code(tree)
        case _:  # a name: an input that is a size, or several
            fact = f"{shown(text)} may be one size or several"
            remedy = "write it as a tuple, such as (n,)"
            raise ConvertError(fact, where="shape_expr", remedy=remedy)
    return Shape(code, parsed.names)


def _code(tree: ast.expr) -> str:
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_number(tree: ast.expr) -> bool:
    """Say whether `tree` is one size, and not a tuple of them."""
    match tree:
        case ast.Constant() | ast.UnaryOp():
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_number(left) or _is_number(right)
        case ast.BinOp():
            return True
        case ast.Call(func=ast.Name(id="tuple" | "list")):
            return False
        case ast.Call(func=ast.Attribute(attr="size"), args=[]):
            return False
        case ast.Call():
            return True
        case ast.Subscript(slice=index):
            return not isinstance(index, ast.Slice)
    return False
