"""Syntax trees, asked what the contract wants to know of them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from tuner.printable import printable

__all__ = [
    "Function",
    "all_parameters",
    "body_of",
    "decorators",
    "dotted",
    "is_none",
    "parents_of",
    "quoted",
    "statements",
    "within",
]

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run with `body`, those within if, try and with too, in order."""
    stack = list(reversed(body))  # of our own: a chain of elif is as deep as it is long
    while stack:
        statement = stack.pop()
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            handlers = getattr(statement, "handlers", [])
            inner = [*statement.body, *(item for handler in handlers for item in handler.body)]
            inner += [*getattr(statement, "orelse", []), *getattr(statement, "finalbody", [])]
            stack += reversed(inner)


def within(function: ast.AST, names: Collection[str] = ()) -> Iterator[ast.AST]:
    """Yield what is in `function`, functions in it too unless a param of theirs is in `names`."""
    stack = [*reversed([*ast.iter_child_nodes(function)])]
    while stack:
        node = stack.pop()
        if isinstance(node, _SCOPES) and names and {*all_parameters(node.args)} & {*names}:
            continue
        yield node
        stack.extend(reversed([*ast.iter_child_nodes(node)]))


def parents_of(root: ast.AST) -> dict[ast.AST, ast.AST]:
    """Return each node below `root` with the node that it stands in."""
    return {child: node for node in ast.walk(root) for child in ast.iter_child_nodes(node)}


def all_parameters(arguments: ast.arguments) -> tuple[str, ...]:
    """Return the names of all parameters, in order, those with stars too."""
    plain = [*arguments.posonlyargs, *arguments.args]
    stars = [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
    return tuple(item.arg for item in [*plain, *arguments.kwonlyargs, *stars])


def body_of(function: Function) -> list[ast.stmt]:
    """Return the statements of `function` that do something: no docstring, no pass, no dots."""
    return [
        item
        for item in function.body
        if not isinstance(item, ast.Pass)
        and not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
    ]


def dotted(node: ast.AST) -> str | None:
    """Return `a.b.c` where `node` is names joined by dots, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def decorators(function: Function | ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the last name of each decorator, `jit` of `@triton.jit(…)`, and the decorator."""
    for item in function.decorator_list:
        name = dotted(item.func if isinstance(item, ast.Call) else item)
        if name is not None:
            yield name.rpartition(".")[2], item


def is_none(node: ast.AST | None) -> bool:
    """Say whether `node` is the literal None."""
    return isinstance(node, ast.Constant) and node.value is None


def quoted(node: ast.AST) -> str:
    """Return the code of `node` as it may stand in a message."""
    return printable(ast.unparse(node), limit=60)
