"""The shape that `key` of `@triton.autotune` stands for, as an expression over the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from tuner.convert.calls import bound
from tuner.convert.constants import constant
from tuner.convert.functions import Functions
from tuner.convert.kernels import signature
from tuner.convert.source import Source, dotted

__all__ = ["Sizes"]

_LIKE = frozenset({"empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"})
_MADE = frozenset({"empty", "zeros", "ones", "rand", "randn", "new_empty", "new_zeros", "new_ones"})
_SAME = frozenset(
    {
        *("bfloat16", "clone", "contiguous", "cpu", "cuda", "detach", "double", "float", "half"),
        *("requires_grad_", "to", "type", "type_as"),
    }
)
_VIEWS = frozenset({"reshape", "view"})
_OPERATORS: dict[type[cst.BaseBinaryOp], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
}
_MOST_LEVELS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tensor:
    """The shape of a tensor: that of an input, or sizes of their own."""

    like: str | None = None
    sizes: tuple[str, ...] = ()

    def size(self, index: int) -> str | None:
        if self.like is not None:
            return f"{self.like}.shape[{index}]"
        inside = -len(self.sizes) <= index < len(self.sizes)
        return self.sizes[index] if inside else None

    def count(self) -> str:
        if self.like is not None:
            return f"{self.like}.numel()"
        return " * ".join(map(_within, self.sizes))


class Sizes:
    """Follows the sizes that a launch is given back to the inputs of the function called."""

    def __init__(self, source: Source, functions: Functions, entry: cst.FunctionDef) -> None:
        """Look in `entry`, and in what it calls."""
        self._source, self._functions, self._entry = source, functions, entry
        self._level = 0

    def size(self, node: cst.BaseExpression) -> str | None:
        """Return `node`, an integer, as an expression over the inputs; None if it is not seen."""
        if self._level > _MOST_LEVELS:
            return None
        self._level += 1
        try:
            return self._size(node)
        finally:
            self._level -= 1

    def _size(self, node: cst.BaseExpression) -> str | None:
        match node:
            case cst.Integer():
                return node.value
            case cst.Name():
                return self._named(node)
            case cst.Subscript(
                value=cst.Attribute(value=base, attr=cst.Name(value="shape")),
                slice=[cst.SubscriptElement(slice=cst.Index(value=index))],
            ):
                return self._element(base, index)
            case cst.Call(
                func=cst.Attribute(value=base, attr=cst.Name(value="size")),
                args=[cst.Arg(value=index)],
            ):
                return self._element(base, index)
            case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="numel")), args=[]):
                tensor = self._tensor(base)
                return tensor.count() if tensor else None
            case cst.BinaryOperation(left=left, right=right) if type(node.operator) in _OPERATORS:
                parts = self.size(left), self.size(right)
                if parts[0] is None or parts[1] is None:
                    return None
                sign = _OPERATORS[type(node.operator)]
                return f"{_within(parts[0])} {sign} {_within(parts[1])}"
        return None

    def _element(self, base: cst.BaseExpression, index: cst.BaseExpression) -> str | None:
        tensor, number = self._tensor(base), constant(index)
        if tensor is None or number is None or not isinstance(number.value, int):
            return None
        return tensor.size(number.value)

    def _named(self, name: cst.Name) -> str | None:
        origin = self._origin(name)
        if isinstance(origin, cst.Param):
            given = self._given(origin)
            return origin.name.value if given is origin else self._size_of(given)
        return self._of_target(origin) if origin is not None else None

    def _size_of(self, given: cst.CSTNode | None) -> str | None:
        return self.size(given) if isinstance(given, cst.BaseExpression) else None

    def _of_target(self, target: cst.CSTNode) -> str | None:
        """Return what the target of an assignment gets: all of a value, or an element of it."""
        path, assign = self._assigned(target)
        if assign is None:
            return None
        value: cst.BaseExpression = assign
        while path and isinstance(value, cst.Tuple | cst.List) and path[0] < len(value.elements):
            value = value.elements[path.pop(0)].value
        if not path:
            return self.size(value)
        base = _shape_of(value)
        if base is None or len(path) > 1:
            return None
        tensor = self._tensor(base)
        return tensor.size(path[0]) if tensor else None

    def _assigned(self, target: cst.CSTNode) -> tuple[list[int], cst.BaseExpression | None]:
        path: list[int] = []
        inner, outer = target, self._source.parent(target)
        while isinstance(outer, cst.Element | cst.Tuple | cst.List):
            if isinstance(outer, cst.Tuple | cst.List):
                path.insert(0, next(i for i, e in enumerate(outer.elements) if e is inner))
            inner, outer = outer, self._source.parent(outer)
        if isinstance(outer, cst.AssignTarget):
            outer = self._source.parent(outer)
        plain = isinstance(outer, cst.Assign | cst.AnnAssign)
        return path, outer.value if plain else None  # type: ignore[union-attr]

    def _origin(self, name: cst.Name) -> cst.CSTNode | None:
        """Return what gave `name` its value: a param, or the last target of an assignment.

        An assignment counts where it stands in the body of its function, under no condition.
        """
        place = self._source.place(name)
        found: cst.CSTNode | None = None
        for binding in self._source.bindings(name):
            node = getattr(binding, "node", None)
            if isinstance(node, cst.Param):
                found = node
            elif not isinstance(node, cst.Name) or not self._is_in_body(node):
                return None
            elif self._end(node) < place:
                found = node
        return found

    def _statement(self, node: cst.CSTNode) -> cst.CSTNode | None:
        for outer in self._source.around(node):
            if isinstance(outer, cst.SimpleStatementLine):
                return outer
        return None

    def _end(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return where the value of an assignment ends: its target holds it from there on."""
        return self._source.end(self._statement(node) or node)

    def _is_in_body(self, node: cst.CSTNode) -> bool:
        statement = self._statement(node)
        block = self._source.parent(statement) if statement else None
        return block is not None and isinstance(self._source.parent(block), cst.FunctionDef)

    def _given(self, param: cst.Param) -> cst.CSTNode | None:
        """Return what the only call gives for `param`; the param itself if it is an input."""
        function = self._functions.function_of(param)
        if function is self._entry:
            return param
        if not isinstance(function, cst.FunctionDef):
            return None
        sites = self._functions.calls_of(function)
        if len(sites) != 1:
            return None
        arguments = bound(self._source, sites[0].call, signature(function), skip=sites[0].skip)
        argument = arguments.get(param.name.value)
        return argument.value if argument else None

    def _tensor(self, node: cst.BaseExpression) -> _Tensor | None:
        if self._level > _MOST_LEVELS:
            return None
        self._level += 1
        try:
            return self._shaped(node)
        finally:
            self._level -= 1

    def _shaped(self, node: cst.BaseExpression) -> _Tensor | None:
        if isinstance(node, cst.Name):
            return self._named_tensor(node)
        if not isinstance(node, cst.Call):
            return None
        name = dotted(node.func).split(".")[-1]
        if not name and isinstance(node.func, cst.Attribute):
            name = node.func.attr.value
        if name in _LIKE and node.args:
            return self._tensor(node.args[0].value)
        if name in _MADE:
            return self._made(node.args)
        if isinstance(node.func, cst.Attribute):
            base = self._tensor(node.func.value)
            if base and name in _SAME:
                return base
            if base and name in _VIEWS:
                return self._viewed(base, node.args)
        return None

    def _named_tensor(self, name: cst.Name) -> _Tensor | None:
        origin = self._origin(name)
        if isinstance(origin, cst.Param):
            given = self._given(origin)
            if given is origin:
                return _Tensor(like=origin.name.value)
            return self._tensor(given) if isinstance(given, cst.BaseExpression) else None
        if origin is None:
            return None
        path, value = self._assigned(origin)
        while path and isinstance(value, cst.Tuple) and path[0] < len(value.elements):
            value = value.elements[path.pop(0)].value
        return self._tensor(value) if value is not None and not path else None

    def _listed(self, args: Sequence[cst.Arg]) -> list[cst.BaseExpression]:
        """Return the sizes that are given one by one, or as a tuple."""
        plain = [arg.value for arg in args if arg.keyword is None and not arg.star]
        if plain and isinstance(plain[0], cst.Tuple | cst.List):
            return [element.value for element in plain[0].elements]
        return plain

    def _made(self, args: Sequence[cst.Arg]) -> _Tensor | None:
        sizes = [self.size(value) for value in self._listed(args)]
        known = tuple(size for size in sizes if size is not None)
        return _Tensor(sizes=known) if known and len(known) == len(sizes) else None

    def _viewed(self, base: _Tensor, args: Sequence[cst.Arg]) -> _Tensor | None:
        """Return the shape after `x.view(-1, n)`."""
        values = self._listed(args)
        open_ends = [i for i, v in enumerate(values) if (c := constant(v)) and c.value == -1]
        sizes = [None if i in open_ends else self.size(v) for i, v in enumerate(values)]
        known = [size for size in sizes if size is not None]
        if len(known) + len(open_ends) != len(values) or len(open_ends) > 1:
            return None
        product = " * ".join(map(_within, known))
        rest = f"{base.count()} // {_within(product)}" if known else base.count()
        return _Tensor(sizes=tuple(rest if size is None else size for size in sizes))


def _within(code: str) -> str:
    """Return `code` as part of a larger expression."""
    return f"({code})" if " " in code else code


def _shape_of(value: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return x of `x.shape` or `x.size()`."""
    match value:
        case cst.Attribute(value=base, attr=cst.Name(value="shape")):
            return base
        case cst.Call(func=cst.Attribute(value=base, attr=cst.Name(value="size")), args=[]):
            return base
    return None
