"""Where constants are kept: in a local variable, in one of the module, in an attribute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import libcst as cst
from libcst import metadata

from tuner.convert.functions import Functions
from tuner.convert.source import Source

__all__ = ["Cell", "Store", "attribute_stores", "attributes", "is_target", "store_of"]

Kind: TypeAlias = Literal["local", "global", "attribute"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Store:
    """A plain assignment of one value to one target: `x = 1`, or its part in `x, y = 1, 2`.

    Attributes:
        value: None where it is set in another way: by a loop, an import, `+=`.
        alone: no other target gets the same value.
    """

    target: cst.CSTNode
    value: cst.BaseExpression | None
    statement: cst.BaseSmallStatement | None
    alone: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cell:
    """What keeps a constant that becomes the config's.

    Attributes:
        store: the assignment that sets it, the only one.
        owner: the class, of an attribute.
        binding: of a variable.
    """

    kind: Kind
    name: str
    store: Store
    owner: cst.ClassDef | None = None
    binding: metadata.BaseAssignment | None = None


def store_of(source: Source, target: cst.CSTNode) -> Store:
    """Return how `target`, a name or an attribute that is set, gets its value."""
    path: list[int] = []
    inner, outer = target, source.parent(target)
    while isinstance(outer, cst.Element | cst.Tuple | cst.List):
        if isinstance(outer, cst.Tuple | cst.List):
            path.append(next(i for i, e in enumerate(outer.elements) if e is inner))
        inner, outer = outer, source.parent(outer)
    if isinstance(outer, cst.AnnAssign) and outer.target is inner and not path:
        return Store(target=target, value=outer.value, statement=outer, alone=True)
    assign = source.parent(outer) if isinstance(outer, cst.AssignTarget) else None
    if not isinstance(assign, cst.Assign):
        return Store(target=target, value=None, statement=None, alone=False)
    value: cst.BaseExpression | None = assign.value
    for index in reversed(path):
        value = _element(value, index)
    return Store(target=target, value=value, statement=assign, alone=len(assign.targets) == 1)


def _element(value: cst.BaseExpression | None, index: int) -> cst.BaseExpression | None:
    """Return an element of a tuple that is written out without stars."""
    if not isinstance(value, cst.Tuple | cst.List) or index >= len(value.elements):
        return None
    plain = all(isinstance(element, cst.Element) for element in value.elements)
    return value.elements[index].value if plain else None


def attribute_stores(
    source: Source, functions: Functions, owner: cst.ClassDef, name: str
) -> tuple[Store, ...]:
    """Return what sets the attribute `name`: in the class's body, or on `self` in a method."""
    return tuple(_stores(source, functions, owner, name))


def _stores(
    source: Source, functions: Functions, owner: cst.ClassDef, name: str
) -> Iterator[Store]:
    for node in source.within(source.module):
        if isinstance(node, cst.Name) and node.value == name and not source.is_read(node):
            in_body = source.host(node) is None and source.owner(node) is owner
            if in_body and is_target(source, node):
                yield store_of(source, node)
        elif isinstance(node, cst.Attribute) and node.attr.value == name:
            on_self = functions.class_of(node.value) is owner
            if on_self and is_target(source, node):
                yield store_of(source, node)


def attributes(source: Source, name: str) -> tuple[cst.Attribute, ...]:
    """Return every `….name` of the file."""
    return tuple(
        node
        for node in source.within(source.module)
        if isinstance(node, cst.Attribute) and node.attr.value == name
    )


def is_target(source: Source, node: cst.CSTNode) -> bool:
    """Say whether `node` is set where it stands, by an assignment, a loop, `with` or `del`."""
    inner, outer = node, source.parent(node)
    while isinstance(outer, cst.Element | cst.Tuple | cst.List):
        inner, outer = outer, source.parent(outer)
    match outer:
        case cst.AssignTarget() | cst.Del():
            return True
        case cst.AnnAssign(target=target) | cst.AugAssign(target=target):
            return target is inner
        case cst.For(target=target) | cst.CompFor(target=target):
            return target is inner
        case cst.AsName(name=named):
            return named is inner
    return False
