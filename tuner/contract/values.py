"""What an expression in a function stands for: a fixed number, a value of the config, or neither.

A name is looked up where it is bound: in the function, if it is so once; else in the module. So is
`self.NAME`, in the class and in its `__init__`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tuner.contract.module import Module
from tuner.contract.nodes import Function, all_parameters, statements, within

__all__ = ["Fixed", "Read", "Scope", "Value"]

_DEEPEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A constant: `name` is what it is called, None for a literal in place."""

    value: bool | int | float | str | None
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The param or launch option `name` of the config; of another one, where `other` names it."""

    other: str | None
    name: str


Value: TypeAlias = Fixed | Read | None


class Scope:
    """A function of a file, in which names are looked up.

    Attributes:
        names: what the config is called in it.
    """

    def __init__(
        self, module: Module, function: Function, carriers: Mapping[Function, frozenset[str]]
    ) -> None:
        self.module = module
        self.function = function
        self.names = carriers.get(function, frozenset())
        self._carriers = carriers
        self._bound = _bindings(function)
        self._parameters = {*all_parameters(function.args)}
        self._attributes = _attributes(module, function)

    def called(self, call: ast.Call) -> Scope | None:
        """Return the function of this file that `call` calls."""
        found = self.module.called(call, self.function)
        return Scope(self.module, found[0], self._carriers) if found else None

    def returned(self) -> list[ast.expr]:
        """Return what the function returns."""
        nodes = within(self.function)
        return [node.value for node in nodes if isinstance(node, ast.Return) and node.value]

    def definition(self, name: str) -> ast.AST | None:
        """Return what `name` is bound to, None where that cannot be told."""
        if name in self._bound:
            return self._bound[name]
        if name in self._parameters:
            return None
        return self.module.names.get(name)

    def expanded(self, node: ast.AST) -> ast.AST:
        """Return what `node` stands for, following names to where they are bound."""
        for _ in range(_DEEPEST):
            found = self._next(node)
            if found is None:
                return node
            node = found
        return node

    def value(self, node: ast.AST) -> Value:
        """Return what `node` stands for."""
        name = _last_name(node)
        end = self.expanded(node)
        match end:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return Fixed(value=value, name=name)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=receiver), attr="param"),
                args=[ast.Constant(value=str(param))],
            ):
                return self._read(receiver, param)
            case ast.Attribute(value=ast.Name(id=receiver), attr=option) if receiver in self.names:
                return self._read(receiver, option)
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=receiver), attr="kwargs"),
                slice=ast.Constant(value=str(param)),
            ):
                return self._read(receiver, param)
        return None

    def _read(self, receiver: str, name: str) -> Read:
        return Read(other=None if receiver in self.names else receiver, name=name)

    def _next(self, node: ast.AST) -> ast.AST | None:
        match node:
            case ast.Name(id=name):
                return self.definition(name)
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner not in self.names:
                return self._attributes.get((owner, name))
            case ast.Call(func=ast.Name(id="int"), args=[only], keywords=[]):
                return only
        return None


def _last_name(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def _bindings(function: Function) -> dict[str, ast.AST | None]:
    """Return what each local name is bound to; None if several times, or to part of something."""
    found: dict[str, ast.AST | None] = {}

    def bind(name: str, value: ast.AST | None) -> None:
        found[name] = None if name in found else value

    for node in within(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for name, part in _pairs(target, value):
                        bind(name, part)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                bind(name, value)
            case ast.FunctionDef(name=name):
                bind(name, node)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                bind(name, value)
            case ast.AugAssign(target=target) | ast.For(target=target):
                for name, _ in _pairs(target, None):
                    bind(name, None)
            case ast.comprehension(target=target):
                for name, _ in _pairs(target, None):
                    bind(name, None)
            case ast.withitem(optional_vars=ast.expr() as target):
                for name, _ in _pairs(target, None):
                    bind(name, None)
    for name in all_parameters(function.args):
        if name in found:
            found[name] = None
    return found


def _pairs(target: ast.AST, value: ast.AST | None) -> list[tuple[str, ast.AST | None]]:
    """Return each name in `target` with the part of `value` that it takes."""
    match target:
        case ast.Name(id=name):
            return [(name, value)]
        case ast.Starred(value=inner):
            return _pairs(inner, None)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            parts: list[ast.AST | None] = [None] * len(targets)
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(targets):
                parts = [*value.elts]
            return [
                pair
                for each, part in zip(targets, parts, strict=True)
                for pair in _pairs(each, part)
            ]
    return []


def _attributes(module: Module, function: Function) -> Mapping[tuple[str, str], ast.AST]:
    """Return what `self.NAME` and `Class.NAME` are in `function`, where they are set once."""
    owner = module.owners.get(function)
    if owner is None:
        return {}
    found: dict[str, ast.AST | None] = {}
    for item in statements(owner.body):
        match item:
            case ast.Assign(targets=[target], value=value):
                found.update(_pairs(target, value))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
    for method in (each for each, model in module.owners.items() if model is owner):
        for node in within(method):
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            for target in (
                targets if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) else ()
            ):
                for name, part in _own(target, getattr(node, "value", None)):
                    whole = name not in found and not isinstance(node, ast.AugAssign)
                    found[name] = part if whole else None
    own = (*all_parameters(function.args)[:1], owner.name)
    return {(each, name): value for name, value in found.items() if value for each in own}


def _own(target: ast.AST | None, value: ast.AST | None) -> list[tuple[str, ast.AST | None]]:
    """Return each `self.NAME` in `target` with the part of `value` that it takes."""
    match target:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return [(name, value)]
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            parts: list[ast.AST | None] = [None] * len(targets)
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(targets):
                parts = [*value.elts]
            return [
                pair for each, part in zip(targets, parts, strict=True) for pair in _own(each, part)
            ]
    return []
