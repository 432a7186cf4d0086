"""Which argument of a call is which param, and what its call is known to be given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from tuner.convert.kernels import KernelParam
from tuner.convert.source import Source

__all__ = ["Argument", "Arguments", "bound", "only_value"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Argument:
    """What a param is given.

    Attributes:
        arg: its place in the call; None where it comes by `**` from a dict.
    """

    name: str
    value: cst.BaseExpression
    arg: cst.Arg | None
    positional: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arguments:
    """The arguments of a call.

    Attributes:
        hidden: the `*x` or `**x` whose contents cannot be seen, the first of them.
    """

    call: cst.Call
    named: tuple[Argument, ...]
    hidden: cst.Arg | None

    def get(self, name: str) -> Argument | None:
        """Return what is given for the param `name`, None if that is not seen."""
        for argument in self.named:
            if argument.name == name:
                return argument
        return None


def bound(
    source: Source, call: cst.Call, params: Sequence[KernelParam] | None, *, skip: int = 0
) -> Arguments:
    """Return the arguments of `call` by the names of `params`; without these, keywords alone.

    `skip` is how many of the first params the call does not write, as `self`.
    """
    named: list[Argument] = []
    hidden: list[cst.Arg] = []
    names: list[str] | None = [param.name for param in (params or ())[skip:]]
    for arg in call.args:
        if arg.star == "**":
            pairs = _pairs(source, arg.value)
            named += [Argument(name=n, value=v, arg=None, positional=False) for n, v in pairs or ()]
            hidden += [arg] if pairs is None else []
        elif arg.star == "*":
            names = None
            hidden.append(arg)
        elif arg.keyword:
            name = arg.keyword.value
            named.append(Argument(name=name, value=arg.value, arg=arg, positional=False))
        elif names:
            named.append(Argument(name=names.pop(0), value=arg.value, arg=arg, positional=True))
    return Arguments(call=call, named=tuple(named), hidden=hidden[0] if hidden else None)


def _pairs(source: Source, node: cst.BaseExpression) -> list[tuple[str, cst.BaseExpression]] | None:
    """Return the contents of a dict that is written out, if only as the value of a variable."""
    if isinstance(node, cst.Name):
        value = only_value(source, node)
        return _pairs(source, value) if value is not None else None
    pairs = [*_items(node)]
    return [pair for pair in pairs if pair] if all(pairs) and _is_dict(node) else None


def _is_dict(node: cst.BaseExpression) -> bool:
    called = isinstance(node, cst.Call) and isinstance(node.func, cst.Name)
    return isinstance(node, cst.Dict) or (called and node.func.value == "dict")  # type: ignore[attr-defined]


def _items(node: cst.BaseExpression) -> Iterator[tuple[str, cst.BaseExpression] | None]:
    if isinstance(node, cst.Dict):
        for element in node.elements:
            if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString):
                yield str(element.key.evaluated_value), element.value
            else:
                yield None
    elif isinstance(node, cst.Call):
        for arg in node.args:
            yield (arg.keyword.value, arg.value) if arg.keyword else None


def only_value(source: Source, name: cst.Name) -> cst.BaseExpression | None:
    """Return the value of a variable that is assigned once, in a plain `x = …`.

    None as well where the variable is read otherwise than by `**x` or a call, as it may be changed,
    and where it is not one of the function in which it is read.
    """
    bindings = source.bindings(name)
    if len(bindings) != 1:
        return None
    node = getattr(bindings[0], "node", None)
    if node is None or source.host(node) is None or source.host(node) is not source.host(name):
        return None
    target = source.parent(node)
    statement = source.parent(target) if isinstance(target, cst.AssignTarget) else None
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    if all(_is_plain(source, access.node) for access in bindings[0].references):
        return statement.value
    return None


def _is_plain(source: Source, name: cst.CSTNode) -> bool:
    use = source.parent(name)
    return isinstance(use, cst.Call) or (isinstance(use, cst.Arg) and use.star == "**")
