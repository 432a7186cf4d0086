"""Which functions of a file have the config in hand, and under which names.

It comes in at an entry as `config`; an assignment `other = config` gives it another name, a call of
a function in the same file hands it on to one of that function's params.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tuner.contract.entries import Entry
from tuner.contract.module import Module
from tuner.contract.nodes import Function, within

__all__ = ["Carriers", "find_carriers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carriers:
    """Where the config goes.

    Attributes:
        names: the functions that are called from an entry, and what the config is called there.
        escapes: it is given to something that is not of this file, and may be read there.
    """

    names: Mapping[Function, frozenset[str]]
    escapes: bool


def find_carriers(module: Module, entries: Sequence[Entry]) -> Carriers:
    """Return where the config of `entries` goes."""
    names: dict[Function, set[str]] = {entry.function: {"config"} for entry in entries}
    queue = list(names)
    escapes = False
    while queue:
        function = queue.pop()
        _add_aliases(function, names[function])
        for node in within(function):
            if not isinstance(node, ast.Call):
                continue
            found = module.called(node, function)
            if found is None:
                escapes = escapes or _is_given(node, names[function])
                continue
            callee, bound = found
            received = {*_received(node, callee, bound, names[function])}
            known = names.get(callee)
            if known is None or not received <= known:
                names[callee] = (known or set()) | received
                queue.append(callee)
    frozen = {function: frozenset(found) for function, found in names.items()}
    return Carriers(names=frozen, escapes=escapes)


def _add_aliases(function: Function, names: set[str]) -> None:
    for node in within(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.Name(id=value)):
                if value in names:
                    names.add(target)


def _is_given(call: ast.Call, names: set[str]) -> bool:
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(isinstance(value, ast.Name) and value.id in names for value in values)


def _received(call: ast.Call, callee: Function, bound: int, names: set[str]) -> Iterator[str]:
    """Yield the params of `callee` that `call` gives the config to."""
    parameters = [item.arg for item in [*callee.args.posonlyargs, *callee.args.args]][bound:]
    for parameter, value in zip(parameters, call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        if isinstance(value, ast.Name) and value.id in names:
            yield parameter
    for keyword in call.keywords:
        if keyword.arg and isinstance(keyword.value, ast.Name) and keyword.value.id in names:
            yield keyword.arg
