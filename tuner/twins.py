"""Configs that are the same to the device: of those, one is measured and the others set aside."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from codegen.config import Config
from tuner.crew import Crew
from tuner.measured import Task
from tuner.no_ops import counting_in, differing, essence, unknown_options
from tuner.progress import Reporter
from tuner.space import Space

__all__ = ["merged_space", "note_aside", "reasons_aside"]


def merged_space(task: Task, crew: Crew, reporter: Reporter) -> Space:
    """Return the task's space, in which configs that an NPU cannot tell apart are one.

    Where the crew has no NPU it is as it was. Options that the NPU's backend does not know are
    told to `reporter`, each once.
    """
    if crew.options is None:
        return task.space
    for name in unknown_options(task.space.configs, crew.options):
        reporter.note(f"{crew.target().device} knows no option {name}, and drops or refuses it")
    merged = task.space.merged(essence)
    if not merged.same or task.source is None:
        return merged
    counting = counting_in(task.source.read_text(encoding="utf-8", errors="replace"))
    careful = task.space.merged(partial(essence, counting=counting))
    if careful != merged:
        reporter.note(
            f"configs that differ in {_or(sorted(counting))} are all measured: by what "
            f"{task.source.name} says it may count on an NPU, too"
        )
    return careful


def note_aside(aside: Mapping[str, str], space: Space, reporter: Reporter) -> None:
    """Say how many configs are set aside, and why; nothing where none is."""
    if not aside:
        return
    configs = {config.id: config for config in space.configs}
    found = (differing(configs[name], configs[other]) for name, other in aside.items())
    names = sorted({name for each in found for name in each})
    differ = "configs differ from others" if len(aside) > 1 else "configs differs from another"
    reporter.note(
        f"{len(aside):,} of {len(configs):,} {differ} in {_or(names)} alone, which an NPU "
        "ignores: one of each is measured"
    )


def reasons_aside(aside: Mapping[str, str], space: Space) -> dict[str, str]:
    """Return by id why a config is set aside; `aside` has the ids of those that stand for them."""
    configs = {config.id: config for config in space.configs}
    return {name: _reason(configs[name], configs[other]) for name, other in aside.items()}


def _reason(config: Config, other: Config) -> str:
    names = " and ".join(differing(config, other))
    return f"an NPU ignores {names}, all that sets it apart from {other.id}"


def _or(names: list[str]) -> str:
    return " or ".join(names)
