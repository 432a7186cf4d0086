"""Jobs in which configs are tried out: dealt such that all workers have something to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TypeAlias

from codegen.config import Config
from tuner.records import Shape
from tuner.worker.messages import Job, Step

__all__ = ["Untried", "by_config", "by_shape"]

Untried: TypeAlias = Mapping[Shape, Sequence[Config]]


def by_config(untried: Untried, devices: int) -> list[Job]:
    """Return jobs of some configs each, on all shapes that they are untried on."""
    jobs = []
    for part in _parts([c for found in untried.values() for c in found], 2 * devices):
        steps = tuple(
            Step(shape=shape, configs=chosen)
            for shape, found in untried.items()
            if (chosen := tuple(config for config in found if config.id in part))
        )
        jobs.append(Job(steps=steps, measure=False))
    return jobs


def by_shape(untried: Untried, devices: int) -> list[Job]:
    """Return jobs of some configs each, on one shape."""
    jobs = []
    parts = -(-2 * devices // max(1, len(untried)))
    for shape, found in untried.items():
        for part in _parts(found, parts):
            chosen = tuple(config for config in found if config.id in part)
            jobs.append(Job(steps=(Step(shape=shape, configs=chosen),), measure=False))
    return jobs


def _parts(configs: Sequence[Config], count: int) -> list[set[str]]:
    """Deal the configs' ids out to at most `count` parts, the first those with the largest blocks.

    These take a compiler longest: begun last, they would be waited for.
    """
    by_cost = sorted({c.id: c for c in configs}.values(), key=_cost, reverse=True)
    parts = [{config.id for config in by_cost[first::count]} for first in range(count)]
    return [part for part in parts if part]


def _cost(config: Config) -> int:
    """Return the product of the config's sizes: how much code it may become."""
    return prod(v for v in dict(config.params).values() if isinstance(v, int) and v > 0)
