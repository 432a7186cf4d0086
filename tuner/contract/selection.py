"""`if config is None: config = _select_config(shape)`: there, once, and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tuner.binding import SELECT
from tuner.contract.breach import Breach
from tuner.contract.dispatch import is_select
from tuner.contract.entries import Entry
from tuner.contract.module import Module
from tuner.contract.nodes import Function, is_none, parents_of, quoted, within

__all__ = ["Selection", "delegate", "read_selection"]

_REMEDY = f"write if config is None: config = {SELECT}(shape)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Where an entry gets its config from the dispatch.

    Attributes:
        test: the statement `if config is None`.
        call: of the dispatch.
        assignment: of its result to config.
    """

    test: ast.If
    call: ast.Call
    assignment: ast.stmt


def delegate(module: Module, entry: Entry) -> Entry | None:
    """Return the entry that `entry` leaves the choice to: it hands it a config that may be None."""
    function = entry.function
    if any(_tests_config(node) or is_select(node) for node in within(function, {"config"})):
        return None
    for node in within(function, {"config"}):
        if isinstance(node, ast.Call) and (found := module.called(node, function)):
            callee, bound = found
            given = [keyword.arg for keyword in node.keywords if _is_config(keyword.value)]
            names = [item.arg for item in [*callee.args.posonlyargs, *callee.args.args]][bound:]
            given += [name for name, value in zip(names, node.args) if _is_config(value)]  # noqa: B905 (either may be longer)
            if given == ["config"] and callee is not function:
                return Entry(function=callee, name=callee.name)
    return None


def read_selection(module: Module, entry: Entry) -> tuple[Selection | None, tuple[Breach, ...]]:
    """Return where `entry` selects, and what is wrong with that."""
    function = entry.function
    parents = parents_of(function)
    tests = [
        node
        for node in within(function, {"config"})
        if isinstance(node, ast.If) and _is_none_test(node.test)
    ]
    found = [each for test in tests if (each := _selection(test)) is not None]
    breaches = [*_call_breaches(module, entry, found, parents)]
    breaches += [
        _without_selection(module, test)
        for test in tests
        if _selection(test) is None and not any(map(is_select, ast.walk(test)))
    ]
    for extra in found[1:]:
        fact = "a config is selected a second time"
        breaches.append(module.breach(extra.test, "selection", fact, "remove it"))
    if not tests and not breaches:
        fact = f"{entry.name} selects no config when it is given none"
        breaches.append(module.breach(function, "selection", fact, _REMEDY))
    if not found:
        return None, tuple(breaches)
    breaches += _place_breaches(module, function, found[0], parents)
    return found[0], tuple(breaches)


def _is_config(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "config"


def _is_none_test(test: ast.expr) -> bool:
    match test:
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[right]):
            return (_is_config(left) and is_none(right)) or (is_none(left) and _is_config(right))
    return False


def _tests_config(node: ast.AST) -> bool:
    test = getattr(node, "test", None)
    return isinstance(test, ast.AST) and any(map(_is_config, ast.walk(test)))


def _selection(test: ast.If) -> Selection | None:
    """Return the selection in the body of `test`, `if config is None`."""
    for item in test.body:
        match item:
            case ast.Assign(targets=[ast.Name(id="config")], value=ast.Call() as call):
                pass
            case ast.AnnAssign(target=ast.Name(id="config"), value=ast.Call() as call):
                pass
            case _:
                continue
        if is_select(call):
            return Selection(test=test, call=call, assignment=item)
    return None


def _without_selection(module: Module, test: ast.AST) -> Breach:
    """Say what the body of `if config is None` does instead of selecting."""
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and node.id == "config" and isinstance(node.ctx, ast.Store):
            fact = f"config, when it is None, is not selected by {SELECT}"
            return module.breach(node, "selection", fact, f"write config = {SELECT}(shape)")
    fact = "nothing is selected when config is None"
    return module.breach(test, "selection", fact, f"write config = {SELECT}(shape) there")


def _call_breaches(
    module: Module, entry: Entry, found: list[Selection], parents: Mapping[ast.AST, ast.AST]
) -> Iterator[Breach]:
    """Yield a breach for each call of the dispatch that is none of `found`."""
    right = {selection.call for selection in found}
    for call in within(entry.function):
        if is_select(call) and call not in right:
            yield module.breach(call, "selection", _wrong_call(call, parents), _REMEDY)


def _wrong_call(call: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> str:
    """Say of a call of the dispatch why it does not stand where it should."""
    node, assigned = call, False
    while node in parents:
        inner, node = node, parents[node]
        assigned = assigned or (
            isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr)
            and any(map(_is_config, ast.walk(_target(node))))
        )
        test = getattr(node, "test", None)
        if isinstance(node, ast.If) and _is_none_test(node.test) and inner in node.body:
            if assigned:
                return "the config is selected on a condition besides config being None"
            return f"what {SELECT} returns is not assigned to config"
        if isinstance(test, ast.AST) and any(map(_is_config, ast.walk(test))) and inner is not test:
            return f"a config is selected under the test `{quoted(test)}`"
        if isinstance(node, ast.BoolOp):
            return f"a config is selected by `{quoted(node)}`, in which a config may count as false"
    return "a config is selected although one may be given"


def _target(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> ast.AST:
    return ast.Tuple(elts=node.targets) if isinstance(node, ast.Assign) else node.target


def _place_breaches(
    module: Module, function: Function, selection: Selection, parents: Mapping[ast.AST, ast.AST]
) -> Iterator[Breach]:
    """Yield what is wrong with where the selection stands."""
    node: ast.AST = selection.test
    while node in parents and parents[node] is not function:
        node = parents[node]
        if not isinstance(node, ast.With | ast.Try):
            fact = "the selection may be passed over, or run again: it stands in another statement"
            remedy = "move it to the function's own level, before config is used"
            yield module.breach(selection.test, "selection", fact, remedy)
            break
    for node in _early_uses(function, selection.test.lineno):
        fact = "config is used before it is selected"
        yield module.breach(node, "selection", fact, "move the selection up, before this line")


def _early_uses(function: Function, line: int) -> Iterator[ast.AST]:
    """Yield the first use of config that runs before `line`; a function's body runs later."""
    stack: list[ast.AST] = [*reversed(function.body)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if _is_config(node) and isinstance(getattr(node, "ctx", None), ast.Load):
            if getattr(node, "lineno", line) < line:
                yield node
            return
        stack.extend(reversed([*ast.iter_child_nodes(node)]))
