"""What lets a file do more than can be seen in it."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from codegen.config import LAUNCH_OPTIONS
from tuner.convert.kernels import Kernel
from tuner.convert.launches import Launch, kernel_of
from tuner.convert.source import Source, dotted

__all__ = ["refuse_hazards"]

_BLIND = frozenset({"eval", "exec", "globals", "locals", "vars"})


def refuse_hazards(
    source: Source,
    kernels: tuple[Kernel, ...],
    launches: Iterable[Launch],
    params: frozenset[str],
) -> None:
    """Refuse code that runs text, and launches whose kernel cannot be seen.

    `params` are those that the config gives.

    Raises:
        ConvertError: with the line.
    """
    inside = {id(node) for kernel in kernels for node in source.within(kernel.node)}
    launched = {id(launch.subscript.value) for launch in launches}
    seen = {id(launch.call) for launch in launches}
    wanting = {kernel.name for kernel in kernels if params & {p.name for p in kernel.params}}
    for node in source.within(source.module):
        if id(node) in inside:
            continue
        if isinstance(node, cst.Call):
            _refuse_blind(source, node)
            if id(node) not in seen:
                _refuse_dynamic(source, node, params)
        elif isinstance(node, cst.Name) and node.value in wanting and id(node) not in launched:
            _refuse_read(source, kernels, node)


def _refuse_read(source: Source, kernels: tuple[Kernel, ...], name: cst.Name) -> None:
    if kernel_of(source, kernels, name):
        fact = f"the kernel {name.value} is passed on or read here, not launched"
        source.fail(name, fact, f"launch it by its name: {name.value}[grid](…)")


def _refuse_blind(source: Source, call: cst.Call) -> None:
    if isinstance(call.func, cst.Name) and call.func.value in _BLIND:
        name = call.func.value
        fact = f"{name}() reads or runs what cannot be seen here"
        source.fail(call, fact, "write the code out without it")


def _refuse_dynamic(source: Source, call: cst.Call, params: frozenset[str]) -> None:
    """Refuse `x[grid](…)` of which x is no kernel of this file, and looks like one."""
    if not isinstance(call.func, cst.Subscript):
        return
    base = call.func.value
    given = {arg.keyword.value for arg in call.args if arg.keyword}
    looked_up = isinstance(base, cst.Call) and dotted(base.func) == "getattr"
    if looked_up or given & (params | {*LAUNCH_OPTIONS}) or _is_param(source, call.func):
        fact = f"{source.code(base)}[…](…) launches a kernel that is known only when it runs"
        source.fail(call, fact, "launch it by its name")


def _is_param(source: Source, subscript: cst.Subscript) -> bool:
    """Say whether the base is an argument, and the index no plain number as of a list."""
    bindings = source.bindings(subscript.value)
    index = subscript.slice[0].slice
    plain = isinstance(index, cst.Index) and isinstance(index.value, cst.Integer)
    return not plain and any(isinstance(getattr(b, "node", None), cst.Param) for b in bindings)
