"""Where a config comes in: `ModelNew.forward`, or a public function, with `config=None`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tuner.contract.breach import Breach
from tuner.contract.module import Module
from tuner.contract.nodes import Function, all_parameters, body_of, is_none

__all__ = ["Entry", "find_entries"]

_REMEDY = "let it take its config from a last param config=None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A function that takes `config=None`; `name` is what a message calls it."""

    function: Function
    name: str


def find_entries(module: Module) -> tuple[tuple[Entry, ...], tuple[Breach, ...]]:
    """Return the entries of `module` that have a param `config`, and what is wrong with them."""
    models = module.classes.get("ModelNew", ())
    found = [*_models(module, models)] if models else [*_functions(module)]
    entries = tuple(entry for entry in found if _takes_config(entry))
    breaches = [breach for entry in entries for breach in _faults(module, entry)]
    for entry in found:
        # A ModelNew for want of Triton, in an else or except, needs no config.
        if not _takes_config(entry) and (not entries or _launches(module, entry.function)):
            names = ", ".join(all_parameters(entry.function.args)) or "none"
            fact = f"{entry.name} has no param config (its params are {names})"
            breaches.append(module.breach(entry.function, "signature", fact, _REMEDY))
    if not found:
        breaches.append(_missing(module, models))
    return entries, tuple(breaches)


def _models(module: Module, models: tuple[ast.ClassDef, ...]) -> Iterator[Entry]:
    for model in models:
        forward = module.method(model, "forward")
        if forward is not None:
            yield Entry(function=forward, name="ModelNew.forward")


def _functions(module: Module) -> Iterator[Entry]:
    """Yield the public functions that take a config; if there is none, those that launch."""
    public = [item for name, item in module.functions.items() if not name.startswith("_")]
    entries = [Entry(function=item, name=item.name) for item in public]
    taking = [entry for entry in entries if _takes_config(entry)]
    yield from taking or [entry for entry in entries if _launches(module, entry.function)]


def _missing(module: Module, models: tuple[ast.ClassDef, ...]) -> Breach:
    if models:
        fact, remedy = "ModelNew has no forward in this file", "define it, with config=None"
        return module.breach(models[-1], "entry", fact, remedy)
    return module.breach(
        None,
        "entry",
        "has neither a class ModelNew nor a public function that takes config=None",
        "define one of them in this file",
    )


def _launches(module: Module, function: Function) -> bool:
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in module.kernels
        for node in ast.walk(function)
    )


def _takes_config(entry: Entry) -> bool:
    return "config" in all_parameters(entry.function.args)


def _faults(module: Module, entry: Entry) -> Iterator[Breach]:
    function, arguments = entry.function, entry.function.args
    fault = _signature_fault(arguments)
    if fault is not None:
        fact = f"{entry.name} {fault}"
        yield module.breach(function, "signature", fact, "write config=None in its signature")
    if not body_of(function):
        yield module.breach(function, "entry", f"{entry.name} has no code", "write its body")
    if isinstance(function, ast.AsyncFunctionDef):
        yield module.breach(function, "entry", f"{entry.name} is async", "make it a plain def")


def _signature_fault(arguments: ast.arguments) -> str | None:
    plain = [item.arg for item in arguments.args]
    if "config" in plain:
        place = plain.index("config") - len(plain) + len(arguments.defaults)
        if place < 0:
            return "has a param config without a default"
        return _default_fault(arguments.defaults[place])
    for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if item.arg == "config":
            return _default_fault(default) if default else "has a param config without a default"
    if any(item.arg == "config" for item in arguments.posonlyargs):
        return "has a param config that cannot be given by name"
    return "takes config as * or ** arguments"


def _default_fault(default: ast.expr) -> str | None:
    return None if is_none(default) else "has a param config whose default is not None"
