"""Names in a function: those of a config's params, and `config` itself."""

from __future__ import annotations

import libcst as cst
from libcst import metadata

from tuner.binding import SELECT
from tuner.convert.source import Binding, Source, dotted
from tuner.convert.template import CONFIG

__all__ = ["named_constants", "refuse_config", "refuse_select"]


def named_constants(
    source: Source, host: cst.FunctionDef, name: str
) -> list[tuple[cst.CSTNode, tuple[Binding, ...]]]:
    """Return what `name` stands for in `host`: a place of each variable, and what binds it."""
    found: dict[int, tuple[cst.CSTNode, tuple[Binding, ...]]] = {}
    by_scope: dict[int, list[Binding]] = {}
    for binding in source.bound_in(host):
        if binding.name == name:
            by_scope.setdefault(id(binding.scope), []).append(binding)
    for bindings in by_scope.values():
        node = getattr(bindings[0], "node", None)
        # A grid's `meta` may be called anything, and is no constant of ours.
        if node is not None and not _is_of_a_lambda(source, node):
            found[id(bindings[0])] = node, tuple(bindings)
    for node in source.within(host.body):
        if isinstance(node, cst.Name) and node.value == name and source.is_read(node):
            bindings_read = source.bindings(node)
            scopes = {type(binding.scope) for binding in bindings_read}
            if scopes == {metadata.GlobalScope}:
                found.setdefault(id(bindings_read[0]), (node, bindings_read))
    return [*found.values()]


def _is_of_a_lambda(source: Source, node: cst.CSTNode) -> bool:
    return isinstance(source.parent(source.parent(node) or node), cst.Lambda)


def refuse_config(source: Source, host: cst.FunctionDef) -> None:
    """Refuse a function in which `config` means something already.

    Raises:
        ConvertError: with the line.
    """
    for node in source.within(host):
        is_name = isinstance(node, cst.Name) and node.value == CONFIG
        outer = source.parent(node)
        other = isinstance(outer, cst.Attribute) and outer.attr is node
        keyword = isinstance(outer, cst.Arg) and outer.keyword is node
        if is_name and not other and not keyword:
            fact = f"config has another meaning in {host.name.value}"
            source.fail(node, fact, "rename it: the config takes that name")


def refuse_select(source: Source, stem: str) -> None:
    """Refuse a file in which `_select_config` is something else than the dispatch's.

    Raises:
        ConvertError: with the line.
    """
    for node in source.within(source.module):
        if isinstance(node, cst.ImportFrom) and _is_import(node, stem):
            continue
        is_name = isinstance(node, cst.Name) and node.value == SELECT
        of_ours = any(
            isinstance(outer, cst.ImportFrom) and _is_import(outer, stem)
            for outer in (source.around(node) if is_name else ())
        )
        if is_name and not of_ours:
            fact = f"{SELECT} is a name of this file already"
            source.fail(node, fact, "rename it: the dispatch's function is called so")


def _is_import(node: cst.ImportFrom, stem: str) -> bool:
    return node.module is not None and dotted(node.module).split(".")[-1] == f"{stem}_dispatch"
