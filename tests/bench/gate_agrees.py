"""Hold the verdicts of `tuner gate` against what launched on the device: the confusion table.

    tuner gate CASE --target sm_90 --shapes "…" --kb gate.sqlite
    python tests/bench/gate_agrees.py latencies.json gate.sqlite [--target sm_90]

latencies.json is what `tuner tune` measured of the same source on a GPU of the target; a hole in it
is a config that failed to launch on that shape. Without --shapes of your own: `--print-shapes`
prints one of each kind that Triton compiles apart, eight a line, for as many calls of the gate.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tuner.kb import KnowledgeBase
from tuner.plan import shapes_ahead
from tuner.records import Failure, Shape
from tuner.table import LatencyTable, read_table

# What `tuner gate` compiles for at most in one call.
GATE_SHAPES = 8


def verdicts(kb: Path, target: str, source: str) -> dict[tuple[Shape, str], bool]:
    """Return by shape and config whether the gate keeps it for `target`."""
    found: dict[tuple[Shape, str], bool] = {}
    with KnowledgeBase.open(kb, create=False) as base:
        for summary in base.scopes():
            scope = summary.scope
            if (scope.target.device, scope.source_sha256) == (target, source):
                found |= {(shape, config): True for _, _, shape, config in base.passes(scope)}
                for record in base.lookup(scope):
                    found[record.shape, record.config.id] = not isinstance(record.result, Failure)
    return found


def launched(table: LatencyTable) -> dict[tuple[Shape, str], bool]:
    """Return by shape and config whether it ran on the device."""
    return {
        (tuple(shape), config.id): not math.isnan(us)
        for shape, row in zip(table.shapes.tolist(), table.latency_us.tolist(), strict=True)
        for config, us in zip(table.configs, row, strict=True)
    }


def main() -> int:
    """Print the table; fail where the two disagree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("table", type=Path)
    parser.add_argument("kb", type=Path, nargs="?")
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--print-shapes", action="store_true")
    arguments = parser.parse_args()
    table = read_table(arguments.table)
    if arguments.print_shapes:
        kinds = shapes_ahead([tuple(shape) for shape in table.shapes.tolist()], ())
        for first in range(0, len(kinds), GATE_SHAPES):
            part = kinds[first : first + GATE_SHAPES]
            print(";".join(",".join(map(str, shape)) for shape in part))
        return 0
    if arguments.kb is None:
        parser.error("give the knowledge base of the gate, or --print-shapes")
    gate = verdicts(arguments.kb, arguments.target, table.source_sha256 or "")
    device = launched(table)
    both = Counter((gate[key], device[key]) for key in gate.keys() & device.keys())
    if not both:
        print(f"{arguments.kb} has no verdict on what is in {arguments.table}", file=sys.stderr)
        return 2
    shapes = {shape for shape, _ in gate.keys() & device.keys()}
    print(f"{table.kernel}, {arguments.target} against {table.device}: {len(shapes)} shapes\n")
    print("| | launched | refused |\n|---|---|---|")
    for kept, name in ((True, "kept by the gate"), (False, "rejected by the gate")):
        print(f"| {name} | {both[kept, True]} | {both[kept, False]} |")
    return 1 if both[True, False] or both[False, True] else 0


if __name__ == "__main__":
    sys.exit(main())
