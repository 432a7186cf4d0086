"""What is done with the config once it is there: its values are read, and it stays as it is."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from codegen.config import LAUNCH_OPTIONS
from tuner.contract.breach import Breach
from tuner.contract.carriers import Carriers
from tuner.contract.dispatch import is_select
from tuner.contract.module import Module
from tuner.contract.nodes import Function, parents_of, quoted, within

__all__ = ["Reads", "Use", "config_use"]

# What an emitted config offers, besides param().
_OFFERED = frozenset({"all_kwargs", "kwargs", "param", "pre_hook", *LAUNCH_OPTIONS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The values of the config that a file asks for.

    Attributes:
        params: by name, and where first.
        every: it asks for all params, or may do so out of sight.
        anything: it asks for something at all.
    """

    params: Mapping[str, ast.AST]
    every: bool
    anything: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The reads of a file, and what is wrong with how it uses the config."""

    reads: Reads
    breaches: tuple[Breach, ...]


def config_use(module: Module, carriers: Carriers, right: Collection[ast.stmt]) -> Use:
    """Return what `module` reads of the config, and where it changes or misuses it.

    `right` are the statements that may assign to it: those that select.
    """
    params: dict[str, ast.AST] = {}
    breaches: list[Breach] = []
    every, anything = carriers.escapes, carriers.escapes
    for function, names in carriers.names.items():
        if not names:
            continue
        parents = parents_of(function)
        breaches += _rebindings(module, function, names, right)
        for node in _loads(function, names):
            anything = anything or not _is_test_of_none(node, parents)
            match parents[node]:
                case ast.Attribute(attr=attribute) as access:
                    found, whole = _read(access, parents)
                    every = every or whole
                    if found is not None:
                        params.setdefault(found, access)
                    breaches += _attribute_breaches(module, access, attribute, parents)
                case ast.Subscript() as access:
                    fact = f"`{quoted(access)}` takes the config for a mapping"
                    remedy = 'write config.param("NAME")'
                    breaches.append(module.breach(access, "config", fact, remedy))
    reads = Reads(params=params, every=every, anything=anything)
    return Use(reads=reads, breaches=tuple(breaches))


def _loads(function: Function, names: Collection[str]) -> Iterator[ast.Name]:
    for node in within(function, names):
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
            yield node


def _is_test_of_none(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    return isinstance(parents[node], ast.Compare)


def _read(access: ast.Attribute, parents: Mapping[ast.AST, ast.AST]) -> tuple[str | None, bool]:
    """Return the param that `access` reads, and whether it may read all of them."""
    outer = parents.get(access)
    if access.attr == "param" and isinstance(outer, ast.Call) and outer.func is access:
        match outer.args:
            case [ast.Constant(value=str(name))]:
                return name, False
        return None, True
    if access.attr == "all_kwargs" and isinstance(outer, ast.Call):
        access, outer = outer, parents.get(outer)  # type: ignore[assignment]
    elif access.attr != "kwargs":
        return None, access.attr == "param"
    match outer:
        case ast.Subscript(slice=ast.Constant(value=str(name))) if outer.value is access:
            return name, False
    return None, True


def _attribute_breaches(
    module: Module, access: ast.Attribute, attribute: str, parents: Mapping[ast.AST, ast.AST]
) -> Iterator[Breach]:
    outer = parents.get(access)
    if not isinstance(access.ctx, ast.Load):
        fact = f"`{quoted(access)}` is assigned, and a config cannot be changed"
        yield module.breach(access, "config", fact, "compute another value from it instead")
    elif attribute not in _OFFERED:
        fact = f"reads {quoted(access)}, which a config from the dispatch does not have"
        remedy = "it has param(name), kwargs, all_kwargs() and the launch options"
        yield module.breach(access, "config", fact, remedy)
    elif attribute == "param":
        yield from _param_breaches(module, access, outer)


def _param_breaches(
    module: Module, access: ast.Attribute, outer: ast.AST | None
) -> Iterator[Breach]:
    remedy = 'write config.param("NAME"), with the name as a literal'
    if not (isinstance(outer, ast.Call) and outer.func is access):
        fact = f"`{quoted(access)}` is not called where it stands"
        yield module.breach(access, "param", fact, remedy)
        return
    match outer:
        case ast.Call(args=[ast.Constant(value=str())], keywords=[]):
            return
    fact = f"`{quoted(outer)}` does not say which param it reads"
    yield module.breach(outer, "param", fact, remedy)


def _rebindings(
    module: Module, function: Function, names: Collection[str], right: Collection[ast.stmt]
) -> Iterator[Breach]:
    """Yield a breach for each statement that gives the config's name another value."""
    allowed = {
        name
        for statement in right
        for target in getattr(statement, "targets", [getattr(statement, "target", None)])
        for name in ast.walk(target)
    }
    for node in within(function, names):
        match node:
            case ast.Assign(value=ast.Name(id=value)) if value in names:
                allowed |= {*node.targets}  # another name for it
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                if node.value and any(map(is_select, ast.walk(node.value))):
                    allowed |= {*ast.walk(node)}  # where that is wrong, it is so as a selection
        name = _bound(node)
        if name in names and node not in allowed:
            fact = f"{name} is assigned to a second time"
            remedy = "give the other value a name of its own"
            yield module.breach(node, "config", fact, remedy)


def _bound(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return name
        case ast.alias(name=name, asname=asname):
            return asname or name
        case ast.ExceptHandler(name=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name
    return None
