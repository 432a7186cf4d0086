"""The functions of a file that are no kernels: what each calls, and who calls it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from tuner.convert.kernels import Kernel
from tuner.convert.source import Source, dotted

__all__ = ["CallSite", "Functions"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CallSite:
    """A call of a function of this file; `skip` of its params the call does not write."""

    call: cst.Call
    function: cst.FunctionDef
    skip: int


class Functions:
    """Calls of this file's functions and methods that can be followed.

    Attributes:
        hosts: the outermost functions, those of a class too, in the order of the file.
    """

    __slots__ = ("_source", "hosts", "sites")

    def __init__(self, source: Source, kernels: Iterable[Kernel]) -> None:
        """Look up the callee of every call."""
        self._source = source
        inside = {id(node) for kernel in kernels for node in source.within(kernel.node)}
        nodes = [node for node in source.within(source.module) if id(node) not in inside]
        self.hosts = tuple(
            node
            for node in nodes
            if isinstance(node, cst.FunctionDef) and source.host(node) is node
        )
        calls = (node for node in nodes if isinstance(node, cst.Call))
        self.sites = tuple(site for call in calls if (site := self._site(call, inside)))

    def _site(self, call: cst.Call, kernels: set[int]) -> CallSite | None:
        found, skip = self._callee(call.func)
        if found is None or id(found) in kernels:
            return None
        return CallSite(call=call, function=found, skip=skip)

    def _callee(self, func: cst.BaseExpression) -> tuple[cst.FunctionDef | None, int]:
        if isinstance(func, cst.Name):
            nodes = [getattr(binding, "node", None) for binding in self._source.bindings(func)]
            plain = nodes[0] if len(nodes) == 1 else None
            return plain if isinstance(plain, cst.FunctionDef) else None, 0
        if not isinstance(func, cst.Attribute):
            return None, 0
        owner = self.class_of(func.value)
        found = self.methods(owner, func.attr.value) if owner else ()
        if owner is None or len(found) != 1:
            return None, 0
        kind = _kind(found[0])
        by_class = isinstance(func.value, cst.Name) and func.value.value == owner.name.value
        return found[0], 0 if kind == "staticmethod" or (by_class and kind == "method") else 1

    def class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """Return the class of which `node` is `self` in a method, or that it names."""
        if not isinstance(node, cst.Name):
            return None
        bindings = self._source.bindings(node)
        bound = getattr(bindings[0], "node", None) if len(bindings) == 1 else None
        if isinstance(bound, cst.ClassDef):
            return bound
        if not isinstance(bound, cst.Param):
            return None
        function = self.function_of(bound)
        if not isinstance(function, cst.FunctionDef) or _kind(function) == "staticmethod":
            return None
        first = (*function.params.posonly_params, *function.params.params)[:1]
        return self._source.owner(function) if first and first[0] is bound else None

    def function_of(self, param: cst.Param) -> cst.FunctionDef | cst.Lambda | None:
        """Return the function that has `param`."""
        for outer in self._source.around(param):
            if isinstance(outer, cst.FunctionDef | cst.Lambda):
                return outer
        return None

    def methods(self, owner: cst.ClassDef, name: str) -> tuple[cst.FunctionDef, ...]:
        """Return the definitions of the method `name` in a class, not in its bases."""
        return tuple(
            node
            for node in self._source.within(owner)
            if isinstance(node, cst.FunctionDef)
            and node.name.value == name
            and self._source.owner(node) is owner
        )

    def calls_of(self, function: cst.FunctionDef) -> tuple[CallSite, ...]:
        """Return the calls of `function` in this file."""
        return tuple(site for site in self.sites if site.function is function)

    def uses_of(self, function: cst.FunctionDef) -> Iterator[cst.CSTNode]:
        """Yield where `function` is used otherwise than by a call that is followed."""
        called = {id(site.call.func) for site in self.calls_of(function)}
        owner = self._source.owner(function)
        name = function.name.value
        for node in self._source.within(self._source.module):
            if id(node) in called:
                continue
            if owner is not None and isinstance(node, cst.Attribute) and node.attr.value == name:
                known = self.class_of(node.value)
                if known is owner or (known is None and not self._source.is_imported(node)):
                    yield node
            elif isinstance(node, cst.Name) and node.value == name:
                bindings = self._source.bindings(node)
                if any(getattr(b, "node", None) is function for b in bindings):
                    yield node

    def reach(self, entries: Iterable[cst.FunctionDef]) -> tuple[cst.FunctionDef, ...]:
        """Return the outermost functions that run when `entries` are called, these first."""
        found = list(entries)
        for host in found:  # it grows meanwhile
            for site in self.sites:
                within = self._source.host(site.call) is host
                callee = self._source.host(site.function)
                if within and callee is not None and all(callee is not known for known in found):
                    found.append(callee)
        return tuple(found)


def _kind(function: cst.FunctionDef) -> str:
    names = {dotted(decorator.decorator) for decorator in function.decorators}
    return next((kind for kind in ("staticmethod", "classmethod") if kind in names), "method")
