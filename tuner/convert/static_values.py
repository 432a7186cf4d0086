"""Lists of `triton.Config` as they are written in a file, evaluated without running any of it.

Literals, displays, comprehensions, arithmetic, constants of the module, `itertools.product`, and
functions without params that return one of these. What depends on anything else is refused.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codegen.errors import shown
from tuner.convert.errors import ConvertError
from tuner.convert.operations import ARITHMETIC, COMPARISONS, FUNCTIONS, POWERS

__all__ = ["TritonConfig", "Values"]

_MOST_STEPS = 500_000
_MOST_DIGITS = 2**64
_MOST_LEVELS = 40
_WRITE_OUT = "write the configs as a list, with constants alone"

# The params of triton.Config, in order.
_CONFIG = (
    "kwargs",
    "num_warps",
    "num_stages",
    "num_ctas",
    "maxnreg",
    "pre_hook",
    "ir_override",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TritonConfig:
    """A `triton.Config(kwargs, num_warps=4, num_stages=3, …)`: `given` is all but `kwargs`."""

    kwargs: Mapping[str, Any]
    given: Mapping[str, Any]
    line: int


class Values:
    """What the expressions of a file are worth."""

    def __init__(self, text: str, name: str) -> None:
        """Take the names that the module binds once, by `=` or `def`."""
        self._name = name
        self._steps = 0
        tree = ast.parse(text)
        self._constants: dict[str, ast.expr] = {}
        self._functions: dict[str, ast.FunctionDef] = {}
        stored = [
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        ]
        for statement in tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=bound)], value=value) if (
                    stored.count(bound) == 1
                ):
                    self._constants[bound] = value
                case ast.AnnAssign(target=ast.Name(id=bound), value=ast.expr() as value) if (
                    stored.count(bound) == 1
                ):
                    self._constants[bound] = value
                case ast.FunctionDef(name=bound):
                    self._functions[bound] = statement

    def configs(self, code: str, line: int) -> tuple[TritonConfig, ...]:
        """Return the configs of the expression `code`, which begins in `line`.

        Raises:
            ConvertError: they are not constants.
        """
        tree = ast.parse(f"({code}\n)", mode="eval").body
        ast.increment_lineno(tree, line - 1)
        found = self._checked(tree, {})
        if not isinstance(found, list | tuple) or not found:
            raise self._fault(tree, "is no list of configs")
        for config in found:
            if not isinstance(config, TritonConfig):
                raise self._fault(tree, f"holds {shown(str(config))}, which is no triton.Config")
        return tuple(found)

    def strings(self, code: str, line: int) -> tuple[str, ...]:
        """Return the strings of the list `code`, as `configs`."""
        tree = ast.parse(f"({code}\n)", mode="eval").body
        ast.increment_lineno(tree, line - 1)
        found = self._checked(tree, {})
        if not isinstance(found, list | tuple) or not all(isinstance(k, str) for k in found):
            raise self._fault(tree, "is no list of names")
        return tuple(found)

    def _checked(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        try:
            return self._value(node, names, 0)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise self._fault(node, f"cannot be evaluated: {error}") from None
        except RecursionError:
            raise self._fault(node, "is nested too deeply") from None

    def _fault(self, node: ast.expr | ast.stmt, why: str) -> ConvertError:
        code = shown(ast.unparse(node))[1:-1]
        where = f"{self._name}:{node.lineno}"
        return ConvertError(f"{code} {why}", where=where, remedy=_WRITE_OUT)

    def _value(self, node: ast.expr, names: Mapping[str, Any], level: int) -> Any:
        self._steps += 1
        if self._steps > _MOST_STEPS or level > _MOST_LEVELS:
            raise self._fault(node, "takes too long to evaluate")

        def value(inner: ast.expr) -> Any:
            return self._value(inner, names, level + 1)

        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as found):
                return found
            case ast.Name(id=name):
                return self._named(node, name, names, level)
            case ast.List(elts=items):
                return self._items(items, value)
            case ast.Tuple(elts=items):
                return tuple(self._items(items, value))
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values, value)
            case ast.BinOp(left=left, op=op, right=right):
                return self._reckoned(node, op, value(left), value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not value(operand)
            case ast.BoolOp(op=op, values=values):
                return self._either(op, values, value)
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [value(left), *map(value, others)]
                pairs = zip(ops, sides, sides[1:], strict=False)
                return all(COMPARISONS[type(op)](a, b) for op, a, b in pairs)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return value(body if value(test) else orelse)
            case (
                ast.ListComp(elt=item, generators=loops)
                | ast.GeneratorExp(elt=item, generators=loops)
            ):
                return [
                    self._value(item, inner, level + 1) for inner in self._loop(loops, names, level)
                ]
            case ast.Subscript(value=whole, slice=index) if not isinstance(index, ast.Slice):
                return value(whole)[value(index)]
            case ast.Call():
                return self._call(node, value, level)
        raise self._fault(node, "is not a constant")

    def _named(self, node: ast.expr, name: str, names: Mapping[str, Any], level: int) -> Any:
        if name in names:
            return names[name]
        if name not in self._constants:
            raise self._fault(node, "is not a constant of this file that is set once")
        return self._value(self._constants[name], {}, level + 1)

    def _either(
        self, op: ast.boolop, values: Sequence[ast.expr], value: Callable[[ast.expr], Any]
    ) -> Any:
        found: Any = None
        for part in values:
            found = value(part)
            if bool(found) is isinstance(op, ast.Or):
                break
        return found

    def _items(self, items: Sequence[ast.expr], value: Callable[[ast.expr], Any]) -> list[Any]:
        found: list[Any] = []
        for item in items:
            found += value(item.value) if isinstance(item, ast.Starred) else [value(item)]
        return found

    def _dict(
        self,
        keys: Sequence[ast.expr | None],
        values: Sequence[ast.expr],
        value: Callable[[ast.expr], Any],
    ) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, item in zip(keys, values, strict=True):
            found.update(value(item) if key is None else {value(key): value(item)})
        return found

    def _reckoned(self, node: ast.expr, op: ast.operator, a: Any, b: Any) -> Any:
        if type(op) in POWERS and not (type(a) is type(b) is int and 0 <= b < 64):
            raise self._fault(node, "is too large")
        apply = ARITHMETIC.get(type(op)) or POWERS.get(type(op))
        numbers = all(isinstance(part, int | float) for part in (a, b))
        joined = (
            isinstance(op, ast.Add) and type(a) is type(b) and isinstance(a, list | tuple | str)
        )
        if apply is None or not (numbers or joined):
            raise self._fault(node, "is not arithmetic on numbers")
        found = apply(a, b)
        if isinstance(found, int) and abs(found) >= _MOST_DIGITS:
            raise self._fault(node, "is too large")
        self._steps += len(found) if isinstance(found, list | tuple | str) else 0
        return found

    def _loop(
        self, loops: Sequence[ast.comprehension], names: Mapping[str, Any], level: int
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the names as each turn of nested loops binds them."""
        if not loops:
            yield names
            return
        loop = loops[0]
        for item in self._value(loop.iter, names, level + 1):
            bound = {**names, **self._bound(loop.target, item)}
            if all(self._value(test, bound, level + 1) for test in loop.ifs):
                yield from self._loop(loops[1:], bound, level)

    def _bound(self, target: ast.expr, item: Any) -> dict[str, Any]:
        match target:
            case ast.Name(id=name):
                return {name: item}
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                found: dict[str, Any] = {}
                for inner, part in zip(targets, item, strict=True):
                    found.update(self._bound(inner, part))
                return found
        raise self._fault(target, "is no name to be bound")

    def _call(self, node: ast.Call, value: Callable[[ast.expr], Any], level: int) -> Any:
        path = ast.unparse(node.func)
        name = path.rpartition(".")[2]
        if any(keyword.arg is None for keyword in node.keywords) and name != "Config":
            raise self._fault(node, "is not a call that is known here")
        if name == "Config":
            return self._config(node, value)
        arguments = self._items(node.args, value)
        keywords = {k.arg: value(k.value) for k in node.keywords if k.arg is not None}
        if path in {"itertools.product", "product"}:
            return self._product(node, arguments, keywords)
        if path == "range" and not keywords:
            return self._range(node, arguments)
        if path in FUNCTIONS and path not in self._functions:
            return FUNCTIONS[path](*arguments, **keywords)
        if path in self._functions and not (arguments or keywords):
            return self._returned(node, self._functions[path], level)
        raise self._fault(node, "is not a call that is known here")

    def _product(self, node: ast.Call, arguments: list[Any], keywords: dict[str, Any]) -> list[Any]:
        repeat = keywords.get("repeat", 1)
        size = 1
        for part in arguments:
            size *= len(part) ** (repeat if isinstance(repeat, int) and 0 <= repeat < 20 else 20)
        self._steps += size
        if self._steps > _MOST_STEPS:
            raise self._fault(node, "has too many combinations")
        return [*itertools.product(*arguments, **keywords)]

    def _range(self, node: ast.Call, arguments: list[Any]) -> list[int]:
        found = range(*arguments)
        if len(found) > 10_000:
            raise self._fault(node, "is too long")
        return [*found]

    def _config(self, node: ast.Call, value: Callable[[ast.expr], Any]) -> TritonConfig:
        if len(node.args) > len(_CONFIG) or any(isinstance(a, ast.Starred) for a in node.args):
            raise self._fault(node, "is not a triton.Config with its arguments written out")
        given = dict(zip(_CONFIG, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg not in _CONFIG:
                raise self._fault(node, f"has an argument {keyword.arg or '**'} that is not known")
            given[keyword.arg] = keyword.value
        for name in ("pre_hook", "ir_override"):
            code = given.pop(name, None)
            if code is not None and not (isinstance(code, ast.Constant) and code.value is None):
                raise self._fault(node, f"has a {name}, which a config cannot hold")
        values = {name: value(code) for name, code in given.items()}
        kwargs = values.pop("kwargs", {})
        if not isinstance(kwargs, dict) or not all(isinstance(key, str) for key in kwargs):
            raise self._fault(node, "has kwargs that are no dict of names")
        return TritonConfig(kwargs=kwargs, given=values, line=node.lineno)

    def _returned(self, node: ast.Call, function: ast.FunctionDef, level: int) -> Any:
        """Return what a function without params gives: assignments, then a return."""
        arguments = function.args
        body = function.body
        names: dict[str, Any] = {}
        plain = not (arguments.args or arguments.posonlyargs or arguments.kwonlyargs)
        for statement in body if plain and not function.decorator_list else ():
            match statement:
                case ast.Expr(value=ast.Constant()):
                    continue
                case ast.Assign(targets=[target], value=code):
                    names |= self._bound(target, self._value(code, names, level + 1))
                case ast.Return(value=ast.expr() as code):
                    return self._value(code, names, level + 1)
                case _:
                    break
        raise self._fault(node, "calls a function that does more than to return a list")
