"""The numbers that an expression may be worth, as far as constants of the file tell."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import libcst as cst

from tuner.convert.calls import bound
from tuner.convert.cells import attribute_stores, store_of
from tuner.convert.constants import constant
from tuner.convert.functions import Functions
from tuner.convert.kernels import signature
from tuner.convert.source import Source

__all__ = ["numbers_of"]

_MOST_LEVELS = 8


def numbers_of(
    source: Source, functions: Functions, node: cst.CSTNode, known: Collection[int]
) -> frozenset[int]:
    """Return the integers that `node` may stand for: a literal, or a variable that holds one.

    What has its id in `known` is left out: expressions, and targets of assignments.
    """
    return frozenset(_numbers(source, functions, node, known, _MOST_LEVELS))


def _numbers(
    source: Source, functions: Functions, node: cst.CSTNode, known: Collection[int], levels: int
) -> Iterator[int]:
    if id(node) in known:
        return
    found = constant(node)
    if found is not None:
        if isinstance(found.value, int):
            yield found.value
        return
    for target, origin in _origins(source, functions, node) if levels else ():
        if id(target) not in known:
            yield from _numbers(source, functions, origin, known, levels - 1)


def _origins(
    source: Source, functions: Functions, node: cst.CSTNode
) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Yield what `node` gets its value from: the target that is set, and the value."""
    if isinstance(node, cst.Attribute):
        owner = functions.class_of(node.value)
        if owner is not None:
            stores = attribute_stores(source, functions, owner, node.attr.value)
            yield from ((one.target, one.value) for one in stores if one.value is not None)
    for binding in source.bindings(node):
        bound_by = getattr(binding, "node", None)
        if isinstance(bound_by, cst.Param):
            yield from ((bound_by, value) for value in _given(source, functions, bound_by))
        elif isinstance(bound_by, cst.Name):
            value = store_of(source, bound_by).value
            if value is not None:
                yield bound_by, value


def _given(source: Source, functions: Functions, param: cst.Param) -> Iterator[cst.CSTNode]:
    function = functions.function_of(param)
    if param.default is not None:
        yield param.default
    if not isinstance(function, cst.FunctionDef):
        return
    for site in functions.calls_of(function):
        arguments = bound(source, site.call, signature(function), skip=site.skip)
        argument = arguments.get(param.name.value)
        if argument is not None:
            yield argument.value
