"""Where in a function the config is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tuner.convert.plan import Plan
from tuner.convert.source import Source, dotted

__all__ = ["selection_index"]

_PLAIN = frozenset({"bool", "int", "len", "max", "min", "tuple"})


def selection_index(source: Source, plan: Plan, entry: cst.FunctionDef) -> int:
    """Return the index of the statement of `entry` before which its config is chosen.

    That is at the top, so that the shape is that of the inputs as they were given; but behind the
    checks at the top, whose words for a wrong input are better than those of the dispatch.
    """
    found = start = 1 if entry.get_docstring(clean=False) is not None else 0
    body: Sequence[cst.CSTNode] = entry.body.body
    inputs = {param.name.value for param in _params(entry)}
    reading = {id(node) for node in _readers(source, plan)}
    for index, statement in enumerate(body[start:], start):
        nodes = [*source.within(statement)]
        if any(id(node) in reading for node in nodes):
            break
        if _is_guard(statement):
            found = index + 1
        elif not _is_harmless(statement, inputs):
            break
    return found


def _params(entry: cst.FunctionDef) -> tuple[cst.Param, ...]:
    params = entry.params
    return (*params.posonly_params, *params.params, *params.kwonly_params)


def _readers(source: Source, plan: Plan) -> Iterator[cst.CSTNode]:
    """Yield the nodes that will read the config, or a constant that is taken from it."""
    tracer = plan.tracer
    yield from (item.launch.call for item in plan.tuned)
    yield from (seed.node for seed in tracer.seeds.values())
    yield from (addition.call for addition in tracer.additions.values())
    yield from (site.call for site in plan.handed)
    yield from (repeat.node for repeat in plan.repeats)
    yield from (node for node, _ in plan.uses.inline)
    for _, cell, _ in plan.uses.moved:
        if cell.binding:
            yield from (access.node for access in cell.binding.references)
    yield from (
        node
        for node in source.within(source.module)
        if isinstance(node, cst.NamedExpr | cst.Await | cst.Yield | cst.Lambda)
    )


def _is_guard(statement: cst.CSTNode) -> bool:
    """Say whether `statement` does nothing but raise, under a condition."""
    if isinstance(statement, cst.If):
        lines = statement.body.body
        raises = [
            isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], cst.Raise)
            for line in lines
        ]
        return statement.orelse is None and raises == [True]
    return isinstance(statement, cst.SimpleStatementLine) and all(
        isinstance(small, cst.Assert) for small in statement.body
    )


def _is_harmless(statement: cst.CSTNode, inputs: set[str]) -> bool:
    """Say whether `statement` only gives names to values, and none of them to an input's."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    for small in statement.body:
        if not isinstance(small, cst.Assign):
            return False
        names = [*_names(small)]
        if not all(isinstance(name, cst.Name) and name.value not in inputs for name in names):
            return False
        if _may_change(small.value):
            return False
    return True


def _names(assign: cst.Assign) -> Iterator[cst.CSTNode]:
    stack: list[cst.CSTNode] = [target.target for target in assign.targets]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Tuple | cst.List):
            stack += [element.value for element in node.elements]
        else:
            yield node


def _may_change(value: cst.CSTNode) -> bool:
    """Say whether `value` calls something that may change an input.

    That is a function, or a method with a final `_`, which changes its tensor; those of torch and
    Triton do not.
    """
    if isinstance(value, cst.Call):
        path = dotted(value.func)
        method = isinstance(value.func, cst.Attribute) and not path.endswith("_")
        if not method and path not in _PLAIN:
            return True
    return any(_may_change(inner) for inner in value.children)
