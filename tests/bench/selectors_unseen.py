"""Measure how good fitted selectors are on shapes that nobody measured, and what a fit costs.

    python tests/bench/selectors_unseen.py [--quick]

Shapes are divided again and again, into fifths and into halves; what is fitted to one part is
scored on the other, ours and the rivals' alike. Exits with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contenders import calling
from selectors_rivals import RIVALS, Chooser
from stopwatch import ns_per_shape
from support import emitted, load_module

from codegen.decision import count_leaves
from tuner.fit import MAX_DEPTH, MAX_LEAVES, fit_table, tree
from tuner.fit.crossing import Crossing
from tuner.fit.folds import Folds
from tuner.fit.growth import Limits
from tuner.fit.problem import Problem, problem_of
from tuner.fit.splits import columns
from tuner.fit.teacher import Teacher
from tuner.fit.to_manifest import manifest_of
from tuner.table import LatencyTable, parse_table, read_table

DATA = Path(__file__).resolve().parents[1] / "data"
KERNELS = ("matmul", "softmax", "conv2d")
LIMITS = Limits(leaves=MAX_LEAVES, depth=MAX_DEPTH)
OURS, TEACHER = "ours", "our teacher, not deployable"
MEAN, P95, WORST = 0.020, 1.12, 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Regrets on shapes left out: float64 (n_divisions, n_shapes), and the leaves of each fit."""

    regret: Any
    leaves: tuple[int, ...] = ()

    @property
    def excess(self) -> float:
        """The geometric mean of the slowdowns, less 1; the mean over divisions."""
        return float(np.mean(self.each))

    @property
    def each(self) -> Any:
        """The same of each division."""
        return np.expm1(np.nanmean(self.regret, axis=1))

    def slowdown(self, percent: float) -> float:
        """Return the slowdown that so many percent of the choices stay below."""
        return float(np.exp(np.nanpercentile(self.regret, percent)))


# ---- Shapes left out ----------------------------------------------------------------------


def divisions(n_shapes: int, parts: int, times: int) -> Iterator[list[Any]]:
    """Yield `times` divisions of the indices of `n_shapes` shapes into `parts` parts."""
    for seed in range(times):
        order = np.random.default_rng(seed).permutation(n_shapes)
        yield [np.sort(order[part::parts]) for part in range(parts)]


def tried(problem: Problem, parts: int, times: int) -> dict[str, Tried]:
    """Return how each way to choose does on each part, fitted to the others."""
    names = (OURS, TEACHER, *RIVALS)
    regret = {name: np.full((times, len(problem.shapes)), np.nan) for name in names}
    leaves = []
    for turn, division in enumerate(divisions(len(problem.shapes), parts, times)):
        for part in division:
            rest = np.setdiff1d(np.arange(len(problem.shapes)), part)
            known = problem.of_shapes(rest)
            ours = fitted(known)
            leaves.append(count_leaves(ours.lower()))
            for name, choose in _choosers(known, ours).items():
                chosen = choose(problem.shapes[part])
                regret[name][turn, part] = problem.regret[part, chosen]
    found = {name: Tried(regret=each) for name, each in regret.items()}
    return found | {OURS: replace(found[OURS], leaves=tuple(leaves))}


def _choosers(known: Problem, ours: Any) -> dict[str, Chooser]:
    def choose(asked: Any) -> Any:
        sizes = (dict(zip(known.axis_names, shape, strict=True)) for shape in asked.tolist())
        return np.array([ours.choose(each) for each in sizes])

    teacher = {TEACHER: lambda asked: Teacher(known).regret(asked)[0].argmin(axis=1)}
    rivals = {name: rival(known.shapes, known.regret) for name, rival in RIVALS.items()}
    return {OURS: choose} | teacher | rivals


# ---- What a fit and its selector cost ------------------------------------------------------


def fitted(problem: Problem) -> Any:
    """Return the tree for `problem`, its size chosen by its own shapes alone."""
    crossing = Crossing(Folds(problem), tree.grow, LIMITS)
    return crossing.grown().at(crossing.size())


def repeated(table: LatencyTable) -> LatencyTable:
    """Return `table` as a second run would have it: noise drawn from how two runs did differ."""
    first = table.latency_us[: len(table.repeat_latency_us)]
    apart = np.log(first / table.repeat_latency_us)
    seen = apart[~np.isnan(apart)]
    drawn = np.random.default_rng(1).choice(seen, table.latency_us.shape)
    return replace(table, latency_us=table.latency_us * np.exp(drawn))


def changed_lines(one: Any, other: Any) -> float:
    """Return the added and removed lines from the module of one manifest to that of the other."""
    before, after = emitted(one).splitlines(), emitted(other).splitlines()
    lines = list(unified_diff(before, after, lineterm="", n=0))[2:]
    return sum(line[0] in "+-" for line in lines) / len(before)


def stability(table: LatencyTable) -> tuple[float, float]:
    """Return the share of changed lines of a second run's module: fitted afresh, and loyally."""
    again = repeated(table)
    first = fit_table(table)
    # The same provenance for all: what is compared is the selector.
    one, other, kept = (
        manifest_of(table, fit)
        for fit in (first, fit_table(again), fit_table(again, previous=first.selector.lower()))
    )
    return changed_lines(one, other), changed_lines(one, kept)


def select_ratio(table: LatencyTable) -> float:
    """Return what a selection costs as a multiple of one by a tree that asks about axes alone."""
    derived = manifest_of(table, fit_table(table))

    def axes_alone(samples: Any) -> Any:
        return columns(samples)[: len(samples.axis_names)]

    with patch.object(tree, "columns", axes_alone):
        plain = manifest_of(table, fit_table(table))
    shapes = [tuple(shape) for shape in table.shapes.tolist()]
    modules = {"derived": load_module(emitted(derived)), "plain": load_module(emitted(plain))}
    contenders = {name: (calling(m._select_config), shapes) for name, m in modules.items()}
    times = ns_per_shape(contenders, turns=20)
    return times["derived"] / times["plain"]


def synthetic(n_shapes: int, n_configs: int) -> LatencyTable:
    """Return a table of tiled products: as many waves of tiles as it takes, and some noise."""
    dice = np.random.default_rng(0)
    drawn = np.unique(np.exp2(dice.uniform(0, 13, (2 * n_shapes, 3))).astype(int), axis=0)
    shapes = drawn[dice.permutation(len(drawn))[:n_shapes]]
    tiles = [(2**m, 2**n, 2**k) for m in range(4, 9) for n in range(4, 9) for k in (5, 6)]
    tiles = tiles[:n_configs]
    cost = np.stack(
        [
            np.ceil(np.ceil(shapes[:, 0] / m) * np.ceil(shapes[:, 1] / n) / 132)
            * (1 + np.ceil(shapes[:, 2] / k) * (k * m * n) ** 0.7 / 2**8)
            for m, n, k in tiles
        ],
        axis=1,
    )
    cost *= np.exp(0.01 * dice.standard_normal(cost.shape))
    raw = {
        "format": "latency-table/1",
        "kernel": "synthetic",
        "axis_names": ["M", "N", "K"],
        "device": "none",
        "configs": [{"params": {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}} for m, n, k in tiles],
        "shapes": shapes.tolist(),
        "latency_us": cost.tolist(),
    }
    return parse_table(raw, name="synthetic", file="synthetic.json", digest="0" * 64)


def seconds_of(table: LatencyTable) -> float:
    """Return how long a whole fit takes, its validation with it."""
    start = time.perf_counter()
    fit_table(table)
    return time.perf_counter() - start


# ---- The table ----------------------------------------------------------------------------


class Report:
    """Prints lines, and remembers whether a target was missed."""

    def __init__(self) -> None:
        self.missed = False

    def line(self, what: str, value: str, *, target: str = "", good: bool = True) -> None:
        """Print one line of the table."""
        self.missed |= not good
        verdict = (f"  <= {target}  " + ("ok" if good else "MISSED")) if target else ""
        print(f"{what:<58} {value:>20}{verdict}", flush=True)

    def limit(self, what: str, value: float, most: float, form: str) -> None:
        """Print a line with a target."""
        self.line(what, format(value, form), target=f"{most:g}", good=value <= most)


def quality(report: Report, found: Mapping[str, Mapping[str, Tried]], how: str) -> None:
    """Print what each way to choose costs, by kernel and on the mean."""
    print(f"\nexcess over the best config of each shape, {how}")
    for name in next(iter(found.values())):
        by_kernel = [each[name] for each in found.values()]
        spread = np.mean([each.each for each in by_kernel], axis=0)
        words = " ".join(f"{each.excess:.4f}" for each in by_kernel)
        mean, what = float(np.mean(spread)), f"{name} ({words})"
        apart = f"{mean:.4f} ± {spread.std():.4f}"
        held = name == OURS and "fifths" in how
        target = f"{MEAN:g}" if held else ""
        report.line(what, apart, target=target, good=not held or mean <= MEAN)


def tails(report: Report, found: Mapping[str, Mapping[str, Tried]]) -> None:
    """Print the 95th percentile and the worst of all slowdowns, by kernel."""
    for kernel, each in found.items():
        print(f"\n{kernel}, fifths: slowdowns beyond the mean")
        for name, one in each.items():
            p95, worst = one.slowdown(95), one.slowdown(100)
            held = name == OURS
            report.line(
                f"{name}: p95 / worst",
                f"{p95:.3f} / {worst:.2f}",
                target=f"{P95:g} / {WORST:g}" if held else "",
                good=not held or (p95 <= P95 and worst <= WORST),
            )
        print(f"leaves {min(each[OURS].leaves)} to {max(each[OURS].leaves)}")


def costs(report: Report, tables: Mapping[str, LatencyTable], *, quick: bool) -> None:
    """Print what two fits differ by, what a selection costs, and what a fit does."""
    print()
    for kernel, table in tables.items():
        afresh, loyal = stability(table)
        report.limit(f"{kernel}: lines changed by a second run", loyal, 0.10, ".1%")
        report.line("  the same, with no manifest to replace", f"{afresh:.0%}")
        ratio = select_ratio(table)
        report.limit(f"{kernel}: select ÷ a tree of axes alone", ratio, 2.0, ".2f")
    report.limit("seconds to fit 170 shapes x 26 configs", seconds_of(tables["matmul"]), 30, ".1f")
    if not quick:
        seconds = seconds_of(synthetic(5000, 50))
        report.limit("seconds to fit 5,000 shapes x 50 configs", seconds, 120, ".1f")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--quick", action="store_true", help="one division of each kind")
    options = parser.parse_args(arguments)
    tables = {kernel: read_table(DATA / f"h200_{kernel}.json") for kernel in KERNELS}
    problems = {kernel: problem_of(table) for kernel, table in tables.items()}
    report, times = Report(), 1 if options.quick else 3
    fifths = {kernel: tried(problem, 5, times) for kernel, problem in problems.items()}
    quality(report, fifths, f"fitted to four fifths of the shapes, {times} divisions")
    halves = {kernel: tried(problem, 2, times) for kernel, problem in problems.items()}
    quality(report, halves, f"fitted to half of the shapes, {times} divisions")
    tails(report, fifths)
    costs(report, tables, quick=options.quick)
    return int(report.missed)


if __name__ == "__main__":
    sys.exit(main())
