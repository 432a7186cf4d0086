"""The functions that get a param `config`: `ModelNew.forward`, or a plain public function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

import libcst as cst

from codegen.errors import listed
from tuner.binding import SELECT
from tuner.convert.errors import ConvertError
from tuner.convert.functions import Functions
from tuner.convert.kernels import find_kernels, signature
from tuner.convert.source import Source, dotted
from tuner.convert.template import CONFIG

__all__ = ["find_entries", "takes_config"]

_MODEL, _FORWARD = "ModelNew", "forward"


def takes_config(source: Source, functions: Functions) -> bool:
    """Say whether the file takes its config from a dispatch already.

    That is: a function does, and `ModelNew.forward`, if there is one, has a param for it.
    """
    selecting = [host for host in functions.hosts if _selects(source, host)]
    forwards = _forwards(source, functions)
    return bool(selecting) and (not forwards or any(map(_has_config, forwards)))


def _forwards(source: Source, functions: Functions) -> list[cst.FunctionDef]:
    return [
        host
        for host in functions.hosts
        if host.name.value == _FORWARD
        and (owner := source.owner(host)) is not None
        and owner.name.value == _MODEL
    ]


def _has_config(function: cst.FunctionDef) -> bool:
    """Say whether `function` has a param `config=None`."""
    default = {param.name: param.default for param in signature(function)}.get(CONFIG)
    return isinstance(default, cst.Name) and default.value == "None"


def _selects(source: Source, function: cst.FunctionDef) -> bool:
    return _has_config(function) and any(map(_is_selection, source.within(function.body)))


def _is_selection(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.Assign) or not isinstance(node.value, cst.Call):
        return False
    target = node.targets[0].target
    called = dotted(node.value.func).split(".")[-1]
    return isinstance(target, cst.Name) and target.value == CONFIG and called == SELECT


def find_entries(
    source: Source,
    functions: Functions,
    names: Sequence[str],
    touches: Callable[[cst.FunctionDef], bool],
    params: Sequence[str],
) -> tuple[cst.FunctionDef, ...]:
    """Return the functions that take the config.

    These are `ModelNew.forward`, of each definition of the class that needs one, and in a file
    without that class the public function that has the params `names`, those of the shape.
    `touches` says of an outermost function whether it launches a kernel that wants the config,
    whose params are `params`.

    Raises:
        ConvertError: there is no such function, or several; or it cannot take one.
    """
    forwards = _forwards(source, functions)
    models = [
        node
        for node in source.within(source.module)
        if isinstance(node, cst.ClassDef) and node.name.value == _MODEL
    ]
    if models and not forwards:
        inside = any(isinstance(one, cst.FunctionDef) for one in source.around(models[-1]))
        fact = (
            "ModelNew is defined in a function" if inside else "ModelNew has no forward of its own"
        )
        source.fail(models[-1], fact, "define it at the module's level, with a forward")
    found = [host for host in forwards if any(map(touches, functions.reach([host])))]
    if not models:
        found = _plain(source, functions, names, touches)
    if not found:
        _out_of_reach(source, functions, touches, forwards, params)
    for entry in found:
        _check(source, entry, names)
    return tuple(found)


def _plain(
    source: Source,
    functions: Functions,
    names: Sequence[str],
    touches: Callable[[cst.FunctionDef], bool],
) -> list[cst.FunctionDef]:
    """Return the public function, if any, that takes the config."""
    public = [
        host
        for host in functions.hosts
        if source.owner(host) is None
        and not host.name.value.startswith("_")
        and any(map(touches, functions.reach([host])))
    ]
    fitting = [host for host in public if {*names} <= {param.name for param in signature(host)}]
    below = [inner for host in fitting for inner in functions.reach([host])[1:]]
    outer = [host for host in fitting if all(host is not inner for inner in below)]
    if len(outer) > 1:
        fact = f"{listed(host.name.value for host in outer)} all launch a kernel with a config"
        source.fail(outer[1], fact, "put each into a file of its own")
    if public and not outer:
        fact = f"{public[0].name.value} has no params {', '.join(names)}, which shape_expr names"
        source.fail(public[0], fact, "correct shape_expr, or name the params so")
    return outer


def _out_of_reach(
    source: Source,
    functions: Functions,
    touches: Callable[[cst.FunctionDef], bool],
    forwards: Sequence[cst.FunctionDef],
    params: Sequence[str],
) -> NoReturn:
    """Say where what wants a config stands instead."""
    caller = "ModelNew.forward" if forwards else "no public function"
    remedy = "call it by its name from there" if forwards else "define ModelNew with a forward"
    for host in functions.hosts:
        if touches(host):
            twins = [one for one in functions.hosts if one.name.value == host.name.value]
            if len(twins) > 1 and source.owner(host) is None:
                lines = ", ".join(str(source.place(one)[0]) for one in twins)
                fact = f"{host.name.value} is defined more than once, in lines {lines}"
                source.fail(twins[-1], fact, "keep one, or give each a name of its own")
            never = "does not call" if forwards else "calls"
            fact = f"{_name(source, host)} wants the config, and {caller} {never} it"
            source.fail(host, fact, remedy)
    fact = f"has no launch with, and no constant called, {listed(params)}"
    constants = [p.name for k in find_kernels(source) for p in signature(k.node) if p.constexpr]
    remedy = "correct config_param_names"
    if constants:
        remedy += f"; the kernels' constants are {listed(dict.fromkeys(constants), most=12)}"
    raise ConvertError(fact, where=source.name, remedy=remedy)


def _name(source: Source, function: cst.FunctionDef) -> str:
    owner = source.owner(function)
    return f"{owner.name.value}.{function.name.value}" if owner else function.name.value


def _check(source: Source, entry: cst.FunctionDef, names: Sequence[str]) -> None:
    """Refuse a function that cannot take a config, or not choose it by `names`."""
    name = _name(source, entry)
    stars = [star for star in _stars(entry.params) if star is not None]
    if stars:
        fact = f"{name} takes {' and '.join(stars)}"
        source.fail(entry, fact, "name its inputs one by one")
    params = [param.name for param in signature(entry)]
    if CONFIG in params:
        fact = f"{name} has a param config already, and does not choose it by {SELECT}"
        source.fail(entry, fact, "rename it, or take the config from the dispatch by hand")
    missing = [wanted for wanted in names if wanted not in params]
    if missing:
        inputs = params[1:] if source.owner(entry) else params
        fact = f"shape_expr names {listed(missing)}, which {name} does not take"
        source.fail(entry, fact, f"its inputs are {listed(inputs, most=12) or 'none'}")


def _stars(params: cst.Parameters) -> Iterator[str | None]:
    if isinstance(params.star_arg, cst.Param):
        yield f"*{params.star_arg.name.value}"
    if params.star_kwarg is not None:
        yield f"**{params.star_kwarg.name.value}"
