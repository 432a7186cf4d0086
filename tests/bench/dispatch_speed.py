"""Measure what a selection, an import and an emission cost, against what they may cost.

    python tests/bench/dispatch_speed.py [--quick]

Selections are given as multiples of something timed in turns with them in this run, so that the
numbers hold on a faster or busier machine. Exits with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import platform
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contenders import (
    calling,
    empty,
    hand_written,
    json_reader,
    json_walker,
    nearest_neighbour,
    with_params,
)
from stopwatch import Contender, ns_per_shape, process_seconds, processor, reported_us
from support import emitted, integer, leaf, load_module, manifest_of, split, tree, tree_manifest

from codegen.decision import Choose, Decision, Split
from codegen.manifest import Manifest, dump_manifest, load_manifest, policy_of

GENERATED = Path(__file__).resolve().parents[2] / "generated"
TOP = 2**20
# How often shapes repeat decides how many branches the processor foresees, and how much of the
# code it has at hand: among few shapes all is cheaper, a select most of all. So each
# row that stands close to its target is shown for another number, too.
SHAPES = 600
FEW = 300
IMPORT = """
import sys, time
sys.path.insert(0, sys.argv[1])
start = time.perf_counter()
import {}
print(time.perf_counter() - start)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table; without a target it is there for scale."""

    what: str
    against: str
    time: str
    value: float
    unit: str
    target: float | None = None

    @property
    def missed(self) -> bool:
        """Say whether the target is missed."""
        return self.target is not None and self.value > self.target

    def cells(self) -> tuple[str, ...]:
        """Return the line's texts: what, against what, time, value, target, verdict."""
        value = f"{self.value:,.2f}" if self.value < 100 else f"{self.value:,.0f}"
        target = "" if self.target is None else f"<= {self.target:g}{self.unit}"
        verdict = "" if self.target is None else "MISSED" if self.missed else "ok"
        return self.what, self.against, self.time, value + self.unit, target, verdict


# ---- Selections ---------------------------------------------------------------------------


def selections(directory: Path, *, turns: int) -> Iterator[Row]:
    """Yield the rows of one selection each, all timed in turns with each other."""
    times = ns_per_shape(_contenders(directory), turns=turns)

    def row(what: str, base: str, target: float | None = None) -> Row:
        return Row(
            what=what,
            against=base,
            time=f"{times[what]:,.0f} ns",
            value=times[what] / times[base],
            unit="x",
            target=target,
        )

    yield row("hand-written", "empty call")
    yield row("select, 64 leaves, open", "hand-written", 1.10)
    yield row("select, 64 leaves, envelope", "hand-written", 1.6)
    yield row("select, fitted tree of features", "the same tree over axes alone", 2)
    yield row("select + three params", "hand-written", 2.5)
    yield row("select + three params, 300 shapes", "hand-written, 300 shapes")
    yield row("bucket, 1,000 ranges, 300 lengths", "empty call", 8)
    yield row("bucket, 1,000 ranges, 1,000 lengths", "empty call")
    yield row("rival: JSON tree held, walked", "hand-written")
    yield row("rival: JSON tree read each call", "hand-written")
    yield row("rival: nearest of 300, log2", "hand-written")


def _contenders(directory: Path) -> dict[str, Contender]:
    open_tree, shapes, few = tree_manifest(64, envelope=False), _shapes(SHAPES), _shapes(FEW)
    root = policy_of(open_tree).selector.lower()
    bare, closed = load_module(emitted(open_tree)), load_module(emitted(tree_manifest(64)))
    fitted, real = _fitted(), _log_uniform(SHAPES)
    featured = load_module(emitted(fitted))
    hand, bucket = hand_written(root, bare.AXIS_NAMES), _bucket(1000)
    lengths = [(m,) for m, *_ in _shapes(1000)]
    rivals = {
        "rival: JSON tree held, walked": json_walker(root, bare),
        "rival: JSON tree read each call": json_reader(root, bare, directory / "t.json"),
        "rival: nearest of 300, log2": nearest_neighbour(bare, _shapes(300)),
    }
    return {
        "empty call": (calling(empty), shapes),
        "hand-written": (calling(hand), shapes),
        "select, 64 leaves, open": (calling(bare._select_config), shapes),
        "select, 64 leaves, envelope": (calling(closed._select_config), shapes),
        "select, fitted tree of features": (calling(featured._select_config), real),
        "the same tree over axes alone": (calling(_plain(fitted, real)._select_config), real),
        "select + three params": (with_params(bare._select_config), shapes),
        "hand-written, 300 shapes": (calling(hand), few),
        "select + three params, 300 shapes": (with_params(bare._select_config), few),
        "bucket, 1,000 ranges, 300 lengths": (calling(bucket._select_config), lengths[:FEW]),
        "bucket, 1,000 ranges, 1,000 lengths": (calling(bucket._select_config), lengths),
    } | {name: (calling(rival), shapes) for name, rival in rivals.items()}


def _shapes(n: int) -> list[Any]:
    """Return `n` shapes inside the envelope, spread over the leaves."""
    dice = random.Random(0)  # noqa: S311 (a sample, not a secret)
    return [tuple(dice.randint(1, TOP) for _ in "MNK") for _ in range(n)]


def _fitted() -> Manifest:
    """Return the manifest of a tree that was fitted, over products of axes too; no envelope."""
    manifest = load_manifest(GENERATED / "matmul" / "manifest.json")
    axes = [axis.model_copy(update={"min": None, "max": None}) for axis in manifest.axes]
    return manifest.model_copy(update={"axes": axes})


def _log_uniform(n: int) -> list[Any]:
    """Return `n` shapes (M, N, K) up to 8192, as many small ones as large ones."""
    dice = random.Random(0)  # noqa: S311 (a sample, not a secret)
    return [tuple(round(2 ** dice.uniform(0, 13)) for _ in "MNK") for _ in range(n)]


def _plain(fitted: Manifest, shapes: Sequence[Any]) -> ModuleType:
    """Return the module of a tree with the splits of `fitted`, but each on an axis alone.

    Where that asks for a derived feature, this halves the shapes that come there.
    """

    def node(decision: Decision, within: Sequence[Any], depth: int) -> dict[str, Any]:
        if not isinstance(decision, Split):
            assert isinstance(decision, Choose)
            return leaf(decision.config)
        axis = depth % 3
        ordered = sorted(shape[axis] for shape in within) or [1]
        threshold = ordered[(len(ordered) - 1) // 2]
        left = [shape for shape in within if shape[axis] <= threshold]
        right = [shape for shape in within if shape[axis] > threshold]
        return split(
            "MNK"[axis],
            threshold,
            node(decision.left, left, depth + 1),
            node(decision.right, right, depth + 1),
        )

    selector = tree(node(policy_of(fitted).selector.lower(), shapes, 0))
    axes = [integer(name) for name in "MNK"]
    n_configs = len(fitted.selector.config_ids)
    return load_module(emitted(manifest_of(axes=axes, selector=selector, n_configs=n_configs)))


def _bucket(ranges: int) -> ModuleType:
    """Return the module of a kernel of one axis, cut into `ranges`."""
    edges = [i * (TOP // ranges) for i in range(1, ranges)]
    payload = {"dims": [{"axis": "M", "edges": edges}], "cells": [i % 40 for i in range(ranges)]}
    selector = {"kind": "bucket", "payload": payload}
    axes = [integer("M", 1, TOP)]
    return load_module(emitted(manifest_of(axes=axes, selector=selector, n_configs=40)))


# ---- Processes ----------------------------------------------------------------------------


def importing(directory: Path, *, turns: int) -> Row:
    """Return the row of an import, beyond that of a module with nothing in it."""
    (directory / "emitted_tree.py").write_text(emitted(tree_manifest(64)))
    (directory / "emitted_none.py").write_text("")
    commands = {
        name: [sys.executable, "-S", "-I", "-c", IMPORT.format(name), str(directory)]
        for name in ("emitted_tree", "emitted_none")
    }
    times = reported_us(commands, turns=turns)
    beyond = (times["emitted_tree"] - times["emitted_none"]) / 1000
    return Row(
        what="import, 64 leaves, cached",
        against="empty module, beyond it",
        time=f"{times['emitted_tree']:,.0f} us",
        value=beyond,
        unit=" ms",
        target=1.0,
    )


def emitting(directory: Path, leaves: int, target: float, *, turns: int) -> Row:
    """Return the row of the whole process of `codegen emit`."""
    manifest, output = directory / f"{leaves}.json", directory / f"of_{leaves}.py"
    manifest.write_text(dump_manifest(tree_manifest(leaves)))
    command = [sys.executable, "-m", "codegen", "emit", str(manifest), "-o", str(output)]
    seconds = process_seconds(command, turns=turns)
    return Row(
        what=f"codegen emit, {leaves:,} leaves",
        against="whole process",
        time=f"{seconds:.2f} s",
        value=seconds,
        unit=" s",
        target=target,
    )


# ---- The table ----------------------------------------------------------------------------


def rows(directory: Path, *, quick: bool) -> Iterator[Row]:
    """Yield all rows."""
    yield from selections(directory, turns=60 if quick else 400)
    yield importing(directory, turns=15 if quick else 60)
    yield emitting(directory, 64, 1.0, turns=2 if quick else 5)
    yield emitting(directory, 2000, 6.0, turns=1 if quick else 3)


def printed(table: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of `table`, its columns aligned, the third to fifth to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        pairs = enumerate(zip(cells, widths, strict=True))
        texts = [text.rjust(w) if i in (2, 3, 4) else text.ljust(w) for i, (text, w) in pairs]
        yield "  ".join(texts).rstrip()


def main() -> int:
    """Print the table; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, wider error")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as directory:
        found = list(rows(Path(directory), quick=quick))
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"{python}, {processor()}, {platform.system()}")
    head = ("what", "against", "time", "value", "target", "")
    print("\n".join(printed([head, *(row.cells() for row in found)])))
    missed = [row.what for row in found if row.missed]
    if missed:
        print(f"missed: {'; '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
