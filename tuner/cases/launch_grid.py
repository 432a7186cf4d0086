"""The launch grid of `tune.yaml`: a product such as `cdiv(M, BLOCK_M) * cdiv(N * K, BLOCK_N)`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from math import prod

from codegen.errors import listed, shown
from codegen.grid import GridDim
from tuner.errors import CaseError
from tuner.expressions.core import FaultError, parsed

__all__ = ["grid_dims"]

_MOST = 8
_TOO_LARGE = 2**63
_REMEDY = "write axes, numbers and cdiv(axes, block), multiplied"


def grid_dims(
    text: str, *, axes: Collection[str], params: Collection[str], where: str
) -> tuple[GridDim, ...]:
    """Return the dimensions of the grid that `text` says.

    It is read as a tree, and never run.

    Raises:
        CaseError: it is no such product, or names what is neither axis nor param.
    """
    try:
        tree = parsed(text)
    except FaultError as error:
        raise CaseError(f"{error}", where=where, remedy=error.remedy or _REMEDY) from None
    dims = tuple(_dim(node, axes, params, where) for node in _factors(tree))
    if len(dims) > _MOST:
        raise CaseError(f"has {len(dims)} factors, more than {_MOST}", where=where, remedy=_REMEDY)
    return dims


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)
    else:
        yield node


def _dim(node: ast.expr, axes: Collection[str], params: Collection[str], where: str) -> GridDim:
    covered: ast.expr = node
    block: str | int = 1
    match node:
        case ast.Call(func=ast.Name(id="cdiv"), args=[inner, by], keywords=[]):
            covered, block = inner, _block(by, params, where)
    factors = [*_factors(covered)]
    times = prod(value for factor in factors if (value := _number(factor)) is not None)
    if times >= _TOO_LARGE:
        fact = f"{shown(ast.unparse(node))} does not fit in 64 bits"
        raise CaseError(fact, where=where, remedy="write less")
    names = tuple(_axis(one, axes, where) for one in factors if _number(one) is None)
    return GridDim(names, block, times)


def _number(node: ast.expr) -> int | None:
    """Return the number of 1 or more that `node` is, None if it is none."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value if 1 <= value < _TOO_LARGE else None
    return None


def _axis(node: ast.expr, axes: Collection[str], where: str) -> str:
    if not isinstance(node, ast.Name):
        fact = f"{shown(ast.unparse(node))} is no axis, no number and no cdiv"
        raise CaseError(fact, where=where, remedy=_REMEDY)
    if node.id not in axes:
        remedy = f"the axes are {listed(axes, most=12)}"
        raise CaseError(f"{shown(node.id)} is not an axis", where=where, remedy=remedy)
    return node.id


def _block(node: ast.expr, params: Collection[str], where: str) -> str | int:
    if isinstance(node, ast.Name) and node.id in params:
        return node.id
    if (value := _number(node)) is not None:
        return value
    fact = f"{shown(ast.unparse(node))} is no block size"
    known = listed(params, most=12) if params else "none"
    remedy = f"write a number of 1 or more, or a param that is one in each config: {known}"
    raise CaseError(fact, where=where, remedy=remedy)
