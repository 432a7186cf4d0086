"""The contract as a whole: read the file, then ask each rule in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from codegen.errors import listed
from tuner.cases.sample import Sample, read_sample
from tuner.contract.breach import Breach
from tuner.contract.candidates import candidates_of, without_case
from tuner.contract.carriers import find_carriers
from tuner.contract.config_use import Use, config_use
from tuner.contract.dispatch import dispatch_breaches
from tuner.contract.entries import Entry, find_entries
from tuner.contract.launches import launch_breaches
from tuner.contract.module import Module, read_module
from tuner.contract.nodes import body_of
from tuner.contract.selection import Selection, delegate, read_selection
from tuner.contract.shape import shape_breaches
from tuner.errors import CaseError
from tuner.expressions import ShapeExpr

__all__ = ["breaches"]


def breaches(path: Path, *, case: Path | None = None) -> tuple[Breach, ...]:
    """Return where the kernel's file `path` breaks the contract, in the order of its lines.

    With `case`, the directory of its `sample.json`, the params that it reads, its launch options
    and the shape that it asks for are compared with what is tuned. Nothing of the file is run.

    Raises:
        CaseError: the file is missing or not Python, or the case cannot be read.
    """
    sample = read_sample(case / "sample.json") if case is not None else None
    if sample is not None:
        ShapeExpr.parse(sample.shape_expr, where=f"{sample.place}: shape_expr")
    module = read_module(path)
    try:
        found = {*_breaches(module, sample, case)}
    except RecursionError:
        remedy = "split its longest expression into several statements"
        raise CaseError("is nested too deeply", where=str(path), remedy=remedy) from None
    return tuple(sorted(found, key=lambda breach: (breach.line, breach.fact)))


def _breaches(module: Module, sample: Sample | None, case: Path | None) -> Iterator[Breach]:
    entries, faults = find_entries(module)
    yield from faults
    yield from dispatch_breaches(module)
    chosen: list[tuple[Entry, Selection]] = []
    sound = [entry for entry in entries if body_of(entry.function)]
    for entry in _selecting(module, sound):
        selection, faults = read_selection(module, entry)
        yield from faults
        if selection is not None:
            chosen.append((entry, selection))
            shape_expr = sample.shape_expr if sample else None
            yield from shape_breaches(module, entry.function, selection, shape_expr)
    carriers = find_carriers(module, sound)
    use = config_use(module, carriers, [selection.assignment for _, selection in chosen])
    yield from use.breaches
    if sound:
        yield from _read_breaches(module, sound, use, sample)
    candidates = without_case([*use.reads.params])
    if sample is not None and case is not None:
        candidates = candidates_of(sample, case)
    yield from launch_breaches(module, carriers, candidates)


def _selecting(module: Module, entries: list[Entry]) -> list[Entry]:
    """Return the entries that select, each once: those that `entries` leave it to, or they."""
    found: list[Entry] = []
    for entry in entries:
        seen = {entry.function}
        while (next_one := delegate(module, entry)) and next_one.function not in seen:
            entry = next_one  # noqa: PLW2901 (a chain is followed to its end)
            seen.add(entry.function)
        if entry.function not in [each.function for each in found]:
            found.append(entry)
    return found


def _read_breaches(
    module: Module, entries: list[Entry], use: Use, sample: Sample | None
) -> Iterator[Breach]:
    reads, first = use.reads, entries[0]
    if not reads.anything:
        fact = f"{first.name} takes a config and uses none of it"
        remedy = 'launch with **config.all_kwargs(), or read config.param("NAME")'
        yield module.breach(first.function, "config", fact, remedy)
        return
    if sample is None:
        return
    for name, node in reads.params.items():
        if name not in sample.names.params:
            fact = f"reads the param {name}, which config_param_names does not list"
            remedy = f"it lists {listed(sample.names.params, most=12) or 'none'}"
            yield module.breach(node, "param", fact, remedy)
    unread = [name for name in sample.names.params if name not in reads.params]
    if unread and not reads.every:
        fact = f"no line reads the param {listed(unread)}, which config_param_names lists"
        remedy = f'read config.param("{unread[0]}"), or remove it there'
        yield module.breach(first.function, "param", fact, remedy)
