"""What adaptive measuring saves: the same shapes, a part of the measurements, the same quality?

    python tests/bench/adaptive_saves.py

The 340 shapes of tests/data/h200_matmul_340.json (NVIDIA H200) are divided in halves, three times:
one half to tune on, the other to score the selectors on. `all` measures every config on each shape
of the first half; `adaptive` goes by `--adaptive`; `random` measures all configs on as many shapes,
drawn at random, as make the same number of measurements. Nothing is measured here: the table
answers.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tuner.arrays import FloatArray
from tuner.fit import fit_table
from tuner.fit.regret import log_regret
from tuner.search.adaptive import AdaptiveSearcher
from tuner.table import LatencyTable, read_table

DATA = Path(__file__).resolve().parents[1] / "data"
DIVISIONS = 3


def part(table: LatencyTable, rows: np.ndarray) -> LatencyTable:
    """Return some of the shapes of a table."""
    return replace(
        table,
        shapes=table.shapes[rows],
        latency_us=table.latency_us[rows],
        untried=table.untried[rows],
        repeat_latency_us=table.repeat_latency_us[:0],
        weights=table.weights[rows],
    )


def adaptive(table: LatencyTable) -> LatencyTable:
    """Return what of `table` adaptive measuring asks for."""
    rows = {tuple(shape): i for i, shape in enumerate(table.shapes.tolist())}
    columns = {config.id: i for i, config in enumerate(table.configs)}
    searcher = AdaptiveSearcher(table.configs, {shape: tuple(columns) for shape in rows})
    tried = np.zeros(table.latency_us.shape, dtype=np.bool_)
    while asks := searcher.next(rows.keys()):
        for ask in asks:
            row = rows[ask.shape]
            us = {config.id: table.latency_us[row, columns[config.id]] for config in ask.configs}
            tried[row, [columns[name] for name in us]] = True
            searcher.tell(ask, {n: None if np.isnan(one) else one for n, one in us.items()}, ())
    kept = part(table, np.flatnonzero(tried.any(axis=1)))
    seen = tried[tried.any(axis=1)]
    return replace(kept, latency_us=np.where(seen, kept.latency_us, np.nan), untried=~seen)


def regrets(fitted: LatencyTable, test: LatencyTable) -> FloatArray:
    """Return the regret, on the shapes of one table, of a selector fitted to another."""
    fit, kept = fit_table(fitted), list(fitted.kept)
    shapes = [dict(zip(test.axis_names, shape, strict=True)) for shape in test.shapes.tolist()]
    chosen = [kept[fit.selector.choose(shape)] for shape in shapes]
    regret: FloatArray = log_regret(test.latency_us)[np.arange(len(chosen)), chosen]
    if np.isnan(regret).any():
        raise SystemExit("a config was chosen where it fails")
    return regret


def main() -> int:
    """Print the table."""
    whole = read_table(DATA / "h200_matmul_340.json")
    found: dict[str, list[FloatArray]] = {"all": [], "adaptive": [], "random": []}
    shares = []
    for seed in range(DIVISIONS):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(whole.shapes))
        half = len(order) // 2
        tuned, test = part(whole, np.sort(order[:half])), part(whole, np.sort(order[half:]))
        some = adaptive(tuned)
        shares.append(float((~some.untried).sum() / tuned.latency_us.size))
        rows = rng.choice(half, round(shares[-1] * half), replace=False)
        found["all"].append(regrets(tuned, test))
        found["adaptive"].append(regrets(some, test))
        found["random"].append(regrets(part(tuned, np.sort(rows)), test))
    share = float(np.mean(shares))
    print(
        f"{whole.kernel} on {whole.device}: {half} shapes tuned, {half} scored, {DIVISIONS} times\n"
    )
    print("| measured | share | mean excess | each time | p95 | worst |\n|---|---|---|---|---|---|")
    for name, regret in found.items():
        each = ", ".join(f"{np.expm1(one.mean()):.3f}" for one in regret)
        every = np.concatenate(regret)
        print(
            f"| {name} | {1.0 if name == 'all' else share:.0%} | {np.expm1(every.mean()):.4f} "
            f"| {each} | {np.exp(np.percentile(every, 95)):.3f} | {np.exp(every.max()):.3f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
