"""How many configs are measured on a shape until one is within 1% of the best: a Markdown table.

    python tests/bench/search_evaluations.py [--seeds 3] [--trials 128] [--samplers surrogate,tpe]

The latencies are synthetic: a formula for a matrix product with a ripple on top, over 5,373 configs
and 12 shapes (`tests/synthetic.py`). It has what makes such a search hard and nothing of a device's
noise; what a search is worth on a kernel of yours it does not say. Of random search and of brute
force the numbers are exact: of n configs of which k are good, a draw without replacement meets the
first after (n + 1) / (k + 1) on average, and brute force measures all n.

A shape on which a search ends without such a config counts `--trials`, which is too few. Exits
with 1 when the surrogate misses a target.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import synthetic

from codegen.config import Config
from tuner.records import Shape
from tuner.search import SAMPLERS, Search, searcher_of

_NEAR = 1.01
_OF_RANDOM, _OF_ALL = 0.2, 0.03

Table = Mapping[Shape, Mapping[str, float]]


def evaluations(table: Table, configs: tuple[Config, ...], search: Search) -> list[int | None]:
    """Return for each shape after how many configs one was good enough, None for never."""
    searcher = searcher_of(search, configs, table)
    best = {shape: min(times.values()) for shape, times in table.items()}
    asked, found = dict.fromkeys(table, 0), dict[Shape, int]()
    while len(found) < len(table) and (asks := searcher.next(table)):
        for ask in asks:
            times = {config.id: table[ask.shape][config.id] for config in ask.configs}
            for us in times.values():
                asked[ask.shape] += 1
                if us <= _NEAR * best[ask.shape]:
                    found.setdefault(ask.shape, asked[ask.shape])
            searcher.tell(ask, times, ())
    return [found.get(shape) for shape in table]


def of_random(table: Table) -> float:
    """Return how many draws without replacement it takes on average, over all shapes."""
    draws = []
    for times in table.values():
        us = np.array(list(times.values()))
        draws.append((len(us) + 1) / ((us <= _NEAR * us.min()).sum() + 1))
    return float(np.mean(draws))


def mean_of(found: Sequence[int | None], trials: int) -> float:
    """Return the mean; what was not found counts as all trials."""
    return float(np.mean([trials if n is None else n for n in found]))


def rows(
    table: Table, configs: tuple[Config, ...], asked: argparse.Namespace, missed_targets: list[str]
) -> Iterator[str]:
    """Yield the table's lines, as they are known; who misses a target is added to a list."""
    drawn, every = of_random(table), float(len(configs))
    yield "| search | configs measured on a shape | ÷ random | ÷ all | not found | a search takes |"
    yield "|---|---|---|---|---|---|"
    for sampler in asked.samplers.split(","):
        began, found = perf_counter(), list[int | None]()
        for seed in range(asked.seeds):
            search = Search(trials=asked.trials, seed=seed, sampler=sampler)
            found += evaluations(table, configs, search)
        mean = mean_of(found, asked.trials)
        if sampler == "surrogate" and (mean > _OF_RANDOM * drawn or mean > _OF_ALL * every):
            missed_targets.append(sampler)
        missed = f"{sum(n is None for n in found)} of {len(found)}"
        took = f"{(perf_counter() - began) / asked.seeds:.0f} s"
        parts = f"{mean:.0f} | {mean / drawn:.2f} | {mean / every:.1%} | {missed} | {took}"
        yield f"| {sampler} | {parts} |"
    yield f"| random, without replacement | {drawn:.0f} | 1.00 | {drawn / every:.1%} | | |"
    yield f"| brute force | {every:.0f} | {every / drawn:.2f} | 100% | | |"
    yield f"| target | | ≤ {_OF_RANDOM:.2f} | ≤ {_OF_ALL:.0%} | | |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--samplers", default=",".join(s for s in SAMPLERS if s != "random"))
    asked = parser.parse_args()
    configs = synthetic.space().configs
    table = {
        shape: {config.id: synthetic.latency_us(shape, config) for config in configs}
        for shape in synthetic.SHAPES
    }
    print(f"synthetic table: {len(configs):,} configs, {len(table)} shapes, {asked.seeds} seeds\n")
    missed_targets = list[str]()
    for line in rows(table, configs, asked, missed_targets):
        print(line, flush=True)
    sys.exit(1 if missed_targets else 0)


if __name__ == "__main__":
    main()
