"""Sizes, compared by what they are and not by how they are written.

After `M, K = a.shape` the name M is `a.shape[0]`; so are `a.size(0)` and `len(a)`, and `int()` of
it. A name that is bound twice, as K in `M, K = a.shape; K, N = b.shape`, is either.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice, product
from typing import TypeAlias

from tuner.contract.nodes import Function, all_parameters, within

__all__ = ["Sizes"]

_Meanings: TypeAlias = dict[str, list[ast.expr | None]]

_DEEPEST = 30
_MOST = 64
# Names that double at each line, a = b + b, are not followed for ever.
_MOST_STEPS = 5_000
# What leaves a tensor's sizes as they are.
_SAME_SIZES = frozenset(
    {"bfloat16", "clone", "contiguous", "cpu", "cuda", "detach", "double", "float", "half", "to"}
)


class Sizes:
    """The sizes that names of `function` stand for, in the lines above `before`."""

    def __init__(self, function: Function, *, before: int) -> None:
        self._meanings: _Meanings = {}
        self._ranks: dict[str, int] = {}
        self._here = _Reader(self._meanings, self._ranks)
        self._inputs = _Reader({}, self._ranks)
        inputs = {*all_parameters(function.args)}
        for node in within(function):
            if getattr(node, "lineno", before) >= before:
                continue
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._bind(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._bind(target, value)
                case ast.AugAssign(target=target) | ast.For(target=target):
                    self._bind(target, None)
        for name in inputs & {*self._meanings}:
            changed = [value for value in self._meanings[name] if not _keeps_sizes(value, name)]
            self._meanings[name] = changed
            if not changed:
                del self._meanings[name]

    def equal(self, left: ast.expr, right: ast.expr) -> bool:
        """Say whether `left`, in this function, and `right`, of its inputs, are the same sizes.

        A size alone is a tuple of one.
        """
        here, inputs = self._here, self._inputs
        counts = [here.count(left), inputs.count(right)]
        known = next((count for count in counts if count is not None), None)
        one, other = here.elements(left, known), inputs.elements(right, known)
        if one is None or other is None:
            return bool({*here.forms(left)} & {*inputs.forms(right)})
        return len(one) == len(other) and all(a & b for a, b in zip(one, other, strict=True))

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._meanings.setdefault(target.id, []).append(value)
        if not isinstance(target, ast.Tuple | ast.List):
            return
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else None
        stars = [i for i, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
        tensor = _tensor(value)
        if parts is None and tensor is not None and not stars:
            for form in self._here.forms(tensor):
                self._ranks[form] = len(target.elts)
        for i, item in enumerate(target.elts):
            if parts is not None and len(parts) == len(target.elts):
                self._bind(item, parts[i])
            elif parts is not None or value is None or i in stars:
                self._bind(item.value if isinstance(item, ast.Starred) else item, None)
            else:
                place = i if not stars or i < stars[0] else i - len(target.elts)
                self._bind(item, _at(value, place))


class _Reader:
    """Reads sizes: `meanings` are what names stand for, `ranks` how many sizes a tensor has."""

    def __init__(self, meanings: _Meanings, ranks: dict[str, int]) -> None:
        self._meanings = meanings
        self._ranks = ranks
        self._steps = 0

    def count(self, node: ast.expr) -> int | None:
        """Return how many sizes `node` is; None where that depends on the inputs."""
        node = self._followed(node)
        if isinstance(node, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in node.elts):
            return len(node.elts)
        if _tensor(node) is None and not isinstance(node, ast.Subscript | ast.BinOp | ast.Tuple):
            return 1
        return None

    def _followed(self, node: ast.expr) -> ast.expr:
        for _ in range(_DEEPEST):
            meanings = self._meanings.get(node.id, []) if isinstance(node, ast.Name) else []
            if len(meanings) != 1 or meanings[0] is None:
                break
            node = meanings[0]
        while isinstance(node, ast.Call) and _calls(node, "tuple") and len(node.args) == 1:
            node = node.args[0]
        return node

    def elements(self, node: ast.expr, count: int | None) -> list[set[str]] | None:
        """Return the forms of each size of `node`, of which there are `count`."""
        node = self._followed(node)
        if isinstance(node, ast.Tuple):
            found: list[set[str]] = []
            for element in node.elts:
                if isinstance(element, ast.Starred):
                    rest = None if count is None else count - len(node.elts) + 1
                    inner = self.elements(element.value, rest)
                    if inner is None:
                        return None
                    found += inner
                else:
                    found.append({*self.forms(element)})
            return found
        tensor = _tensor(node)
        if tensor is not None:
            return self._dims(tensor, 0, count, count)
        match node:
            case ast.Subscript(value=whole, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                return self._slice(whole, lower, upper, count)
        return [{*self.forms(node)}]

    def _slice(
        self, whole: ast.expr, lower: ast.expr | None, upper: ast.expr | None, count: int | None
    ) -> list[set[str]] | None:
        tensor = _tensor(self._followed(whole))
        start, stop = _integer(lower, 0), _integer(upper, None)
        if tensor is None or start is None or start < 0 or (upper is not None and stop is None):
            return None
        rank = next((self._ranks[form] for form in self.forms(tensor) if form in self._ranks), None)
        if stop is not None and stop < 0:
            stop = rank + stop if rank is not None else None
        elif stop is None and rank is not None:
            stop = rank
        if stop is None and count is not None:
            stop = start + count
        return self._dims(tensor, start, stop, None)

    def _dims(
        self, tensor: ast.expr, start: int, stop: int | None, rank: int | None
    ) -> list[set[str]] | None:
        if stop is None:
            return None
        if rank is not None:
            for form in self.forms(tensor):
                self._ranks.setdefault(form, rank)
        return [{*self._dim(tensor, i, _DEEPEST)} for i in range(start, stop)]

    def _dim(self, tensor: ast.expr, index: int, depth: int) -> tuple[str, ...]:
        forms = self.forms(tensor, depth)
        return tuple(f"{form}.shape[{self._index(form, index)}]" for form in forms)

    def _index(self, form: str, index: int) -> int:
        rank = self._ranks.get(form)
        return index + rank if index < 0 and rank is not None else index

    def forms(self, node: ast.expr, depth: int = _DEEPEST) -> tuple[str, ...]:
        """Return the ways to write `node` in the names of the inputs, in a form of our own."""
        self._steps += 1
        if not depth or self._steps > _MOST_STEPS:
            return (ast.unparse(node),)
        return tuple(dict.fromkeys(islice(self._spelled(node, depth), _MOST)))

    def _spelled(self, node: ast.expr, depth: int) -> Iterator[str]:
        depth -= 1
        match node:
            case ast.Name(id=name) if name in self._meanings:
                values = self._meanings[name]
                if any(value is None or _mentions(value, name) for value in values):
                    yield f"{name} as this function has changed it"
                    return
                for value in values:
                    yield from self.forms(value, depth) if value is not None else ()
            case ast.Call(func=ast.Name(id="int" | "tuple"), args=[only], keywords=[]):
                yield from self.forms(only, depth)
            case ast.Call(func=ast.Name(id="len"), args=[tensor], keywords=[]):
                yield from self._dim(tensor, 0, depth)
            case ast.Call(func=ast.Attribute(value=tensor, attr="numel"), args=[], keywords=[]):
                yield from (f"{form}.numel()" for form in self.forms(tensor, depth))
            case ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[index], keywords=[]):
                yield from self._at(node, tensor, _integer(index, None), depth)
            case ast.Subscript(value=whole, slice=index):
                yield from self._at(
                    node, _tensor(self._followed(whole)), _integer(index, None), depth
                )
            case ast.BinOp(left=left, op=op, right=right):
                sides = product(self.forms(left, depth), self.forms(right, depth))
                commutes = isinstance(op, ast.Add | ast.Mult)
                for pair in sides:
                    one, other = sorted(pair) if commutes else pair
                    yield f"({one} {type(op).__name__} {other})"
            case ast.Call(func=function, args=args, keywords=[]):
                for forms in product(*(self.forms(value, depth) for value in args)):
                    yield f"{ast.unparse(function)}({', '.join(forms)})"
            case _:
                yield ast.unparse(node)

    def _at(
        self, node: ast.expr, tensor: ast.expr | None, index: int | None, depth: int
    ) -> tuple[str, ...]:
        if tensor is None or index is None:
            return (ast.unparse(node),)
        return self._dim(tensor, index, depth)


def _tensor(node: ast.expr | None) -> ast.expr | None:
    """Return x where `node` is `x.shape` or `x.size()`."""
    match node:
        case ast.Attribute(value=tensor, attr="shape"):
            return tensor
        case ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[], keywords=[]):
            return tensor
    return None


def _at(value: ast.expr, index: int) -> ast.expr:
    return ast.Subscript(value=value, slice=ast.Constant(value=index), ctx=ast.Load())


def _integer(node: ast.expr | None, default: int | None) -> int | None:
    match node:
        case None:
            return default
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
    return None


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _mentions(node: ast.AST, name: str) -> bool:
    return any(_is_name(part, name) for part in ast.walk(node))


def _calls(node: ast.Call, name: str) -> bool:
    return _is_name(node.func, name)


def _keeps_sizes(value: ast.expr | None, name: str) -> bool:
    """Say whether `name = value` leaves the sizes of `name` as they were."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in _SAME_SIZES:
            return False
        value = value.func.value
    return value is not None and _is_name(value, name)
