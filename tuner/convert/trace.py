"""From what a kernel is given back to the constant in the file that it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

import libcst as cst
from libcst import metadata

from codegen.config import Value
from codegen.errors import shown
from tuner.convert.calls import bound
from tuner.convert.cells import Cell, Store, attribute_stores, store_of
from tuner.convert.constants import constant, same
from tuner.convert.functions import CallSite, Functions
from tuner.convert.kernels import signature
from tuner.convert.source import Binding, Source, dotted

__all__ = ["Addition", "Seed", "Tracer"]

_ONCE = "set it once, to a constant"
_FREE = "take it out of config_param_names, or set it to a constant"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seed:
    """A constant as it is written: the expression to be replaced, and what replaces it.

    Attributes:
        wanted: the config's param or launch option.
        cell: what keeps it; None where it stands in a call itself.
    """

    node: cst.BaseExpression
    value: Value
    wanted: str
    cell: Cell | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Addition:
    """A keyword that a call gets because a default stood in for it."""

    call: cst.Call
    keyword: str
    wanted: str


class Tracer:
    """Finds constants and remembers them.

    Attributes:
        seeds: by the id of their expression.
        cells: what keeps them, and what it becomes, by the id of the target that is set.
        defaults: the ids of the defaults that stood in for a config's value.
        values: what each config value is in the file as it stands.
    """

    __slots__ = (
        "_entries",
        "_functions",
        "_reach",
        "_seen",
        "_source",
        "additions",
        "cells",
        "defaults",
        "seeds",
        "values",
    )

    def __init__(
        self,
        source: Source,
        functions: Functions,
        entries: Iterable[cst.FunctionDef],
        reach: Iterable[cst.FunctionDef],
    ) -> None:
        """Look in what `entries` call, which is `reach`."""
        self._source, self._functions = source, functions
        self._entries, self._reach = tuple(entries), tuple(reach)
        self._seen: set[tuple[int, str]] = set()
        self.seeds: dict[int, Seed] = {}
        self.cells: dict[int, tuple[Cell, str]] = {}
        self.defaults: set[int] = set()
        self.additions: dict[tuple[int, str], Addition] = {}
        self.values: dict[str, tuple[Value, cst.CSTNode]] = {}

    def reaches(self, node: cst.CSTNode) -> bool:
        """Say whether `node` stands in a function that the entries call."""
        host = self._source.host(node)
        return any(host is function for function in self._reach)

    def expression(self, node: cst.BaseExpression, wanted: str) -> None:
        """Find the constant that `node` is, which is to be the config's `wanted`.

        Raises:
            ConvertError: it is none, or one with another meaning besides.
        """
        if constant(node) is not None:
            self._take(node, wanted, None)
            return
        match node:
            case cst.Name():
                self.bindings(node, self._source.bindings(node), wanted)
            case cst.Attribute():
                self._attribute(node, wanted)
            case cst.Call(args=[cst.Arg(keyword=None, star="", value=inner)]) if _is_constexpr(
                node
            ):
                self.expression(inner, wanted)
            case _:
                self._computed(node, node, wanted)

    def _computed(self, where: cst.CSTNode, value: cst.CSTNode, wanted: str) -> NoReturn:
        fact = f"{wanted} is computed, as {self._source.code(value)}: it is no free parameter"
        self._source.fail(where, fact, _FREE)

    def _take(self, node: cst.BaseExpression, wanted: str, cell: Cell | None) -> None:
        found = constant(node)
        assert found is not None  # noqa: S101 (the caller has looked)
        known = self.seeds.get(id(node))
        if known and known.wanted != wanted:
            fact = f"one constant, {self._source.code(node)}, is both {known.wanted} and {wanted}"
            self._source.fail(node, fact, "write one constant for each")
        self._agree(node, found.value, wanted)
        self.seeds[id(node)] = Seed(node=node, value=found.value, wanted=wanted, cell=cell)
        if cell:
            self.cells[id(cell.store.target)] = cell, wanted

    def _agree(self, node: cst.CSTNode, value: Value, wanted: str) -> None:
        """Refuse a second value: no config gives two."""
        before, place = self.values.setdefault(wanted, (value, node))
        if not same(before, value):
            line = self._source.place(place)[0]
            fact = f"{wanted} is {shown(value)} here and {shown(before)} in line {line}"
            remedy = "make them one constant, or rename the param of one of the kernels"
            self._source.fail(node, fact, remedy)

    def bindings(self, at: cst.CSTNode, bindings: tuple[Binding, ...], wanted: str) -> None:
        """Find the constant that a variable read at `at` holds; as `expression`."""
        name = self._source.code(at)
        if not bindings:
            self._source.fail(at, f"{name} is not defined in this file", "set it to a constant")
        if name in self._source.captures:
            self._source.fail(at, f"{name} is a name in a case of a match", "rename one of them")
        if len(bindings) > 1:
            lines = self._source.lines(bindings)
            fact = f"{wanted} is set more than once, as {name} in lines {lines}"
            self._source.fail(at, fact, _ONCE)
        binding = bindings[0]
        if (id(binding), wanted) in self._seen:
            return
        self._seen.add((id(binding), wanted))
        node = getattr(binding, "node", None)
        if isinstance(binding, metadata.Assignment) and isinstance(node, cst.Param):
            self._param(at, node, wanted)
        elif isinstance(binding, metadata.Assignment) and isinstance(node, cst.Name):
            self._variable(at, binding, node, wanted)
        else:
            what = "imported" if isinstance(binding, metadata.ImportAssignment) else "no constant"
            fact = f"{wanted} is {what}, as {name}"
            self._source.fail(at, fact, "set it to a constant in this file")

    def _variable(
        self, at: cst.CSTNode, binding: metadata.Assignment, node: cst.Name, wanted: str
    ) -> None:
        for access in binding.references:
            if isinstance(self._source.parent(access.node), cst.Del):
                self._source.fail(access.node, f"{node.value} is deleted here", "do not delete it")
        store = self._sound(node, node.value, wanted, store_of(self._source, node))
        value = store.value
        assert value is not None  # noqa: S101 (sound)
        is_global = isinstance(binding.scope, metadata.GlobalScope)
        if isinstance(binding.scope, metadata.ClassScope):
            self._source.fail(at, f"{node.value} is read in a class's body", "read it in a method")
        inner = _unwrapped(value)
        if constant(inner) is not None:
            cell = Cell(
                kind="global" if is_global else "local",
                name=node.value,
                store=store,
                binding=binding,
            )
            self._take(inner, wanted, cell)
        elif is_global or not isinstance(inner, cst.Name | cst.Attribute):
            self._computed(node, value, wanted)
        else:
            self.expression(inner, wanted)

    def _sound(self, at: cst.CSTNode, name: str, wanted: str, store: Store) -> Store:
        """Return `store` if it is a plain assignment."""
        if store.value is None:
            fact = f"{wanted} is not set by a plain assignment, as {name}"
            self._source.fail(at, fact, f"write {name} = … with a constant")
        if not store.alone:
            fact = f"one constant is assigned to several names, {name} among them"
            self._source.fail(at, fact, "write one assignment for each")
        return store

    def _attribute(self, node: cst.Attribute, wanted: str) -> None:
        owner = self._functions.class_of(node.value)
        if owner is None:
            self._computed(node, node, wanted)
        name = node.attr.value
        stores = attribute_stores(self._source, self._functions, owner, name)
        if not stores:
            fact = f"{wanted} is {self._source.code(node)}, which {owner.name.value} never sets"
            self._source.fail(node, fact, "set it in __init__, to a constant")
        if len(stores) > 1:
            lines = ", ".join(str(self._source.place(store.target)[0]) for store in stores)
            fact = f"{wanted} is set more than once, as {name} in lines {lines}"
            self._source.fail(node, fact, _ONCE)
        store = self._sound(stores[0].target, name, wanted, stores[0])
        host = self._source.host(store.target)
        if host is not None and host.name.value != "__init__":
            fact = f"{name} is set in {host.name.value}"
            self._source.fail(store.target, fact, "set it in __init__, to a constant")
        assert store.value is not None  # noqa: S101 (sound)
        value = _unwrapped(store.value)
        cell = Cell(kind="attribute", name=name, store=store, owner=owner)
        if constant(value) is not None:
            self._take(value, wanted, cell)
            return
        bindings = self._source.bindings(value)
        bound_by = getattr(bindings[0], "node", None) if len(bindings) == 1 else None
        if isinstance(bound_by, cst.Param):
            fact = f"{wanted} is an argument of __init__, {self._source.code(value)}"
            self._source.fail(store.target, fact, "set it to a constant there")
        if not isinstance(bound_by, cst.Name):
            self._computed(store.target, value, wanted)
        self.bindings(value, bindings, wanted)
        self.cells[id(store.target)] = cell, wanted

    def _param(self, at: cst.CSTNode, param: cst.Param, wanted: str) -> None:
        """Go on to what the calls give for `param`."""
        function = self._functions.function_of(param)
        name = param.name.value
        if not isinstance(function, cst.FunctionDef) or param.star:
            fact = f"{wanted} is an argument, {name}, of a function whose calls cannot be followed"
            self._source.fail(at, fact, "pass the constant to the kernel itself")
        if any(function is entry for entry in self._entries):
            fact = f"{wanted} is an argument of {function.name.value}, {name}: its callers choose"
            self._source.fail(param, fact, "make it a constant in the body")
        sites = self._functions.calls_of(function)
        for use in self._functions.uses_of(function):
            fact = f"{function.name.value} is not called but passed on, and {wanted} is its {name}"
            self._source.fail(use, fact, "call it by its name")
        if not sites:
            fact = f"{wanted} is an argument of {function.name.value}, which nothing here calls"
            self._source.fail(param, fact, "pass the constant to the kernel itself")
        for site in sites:
            self._given(site, param, wanted)

    def _given(self, site: CallSite, param: cst.Param, wanted: str) -> None:
        name = param.name.value
        call, function = site.call, site.function.name.value
        if not self.reaches(call):
            fact = f"{function} gets {wanted} here too, outside of what takes the config"
            self._source.fail(call, fact, "let it have a function of its own")
        arguments = bound(self._source, call, signature(site.function), skip=site.skip)
        argument = arguments.get(name)
        if argument is not None:
            self.expression(argument.value, wanted)
        elif arguments.hidden:
            fact = f"{self._source.code(arguments.hidden)} may hide {name}, which is {wanted}"
            self._source.fail(call, fact, f"write {name}=… out")
        else:
            self.default(call, param.default or param, name, wanted)

    def default(self, call: cst.Call, default: cst.CSTNode, keyword: str, wanted: str) -> None:
        """Let `call` give the param `keyword`, for which its `default` stood in until now.

        Raises:
            ConvertError: that is no constant.
        """
        found = constant(default)
        if found is None:
            self._computed(default, default, wanted)
        self._agree(default, found.value, wanted)
        self.defaults.add(id(default))
        self.additions[id(call), keyword] = Addition(call=call, keyword=keyword, wanted=wanted)


def _is_constexpr(call: cst.Call) -> bool:
    return dotted(call.func).split(".")[-1] == "constexpr"


def _unwrapped(value: cst.BaseExpression) -> cst.BaseExpression:
    """Return what `tl.constexpr(…)` holds, anything else as it is."""
    if isinstance(value, cst.Call) and _is_constexpr(value) and len(value.args) == 1:
        return value.args[0].value
    return value
