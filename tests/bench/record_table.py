"""Record the latency table of a kernel in generated/ on this device.

    python tests/bench/record_table.py --kernel K -o DIR

Shapes and configs are those of tests/data/h200_K.json, whose latencies are of other sources; what
is timed is `ModelNew` of generated/K/impl.py. The table goes to DIR/K.json after each shape, so
that a run that is cut short leaves what it measured. The first shapes are measured again at the
end: the second run is the table's `repeat_latency_us`, and tells what is noise.

Needs a CUDA device, torch and triton; nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from regret_on_device import (
    FLUSH_BYTES,
    KERNELS,
    REPEATS,
    ROOT,
    Samples,
    Stopwatch,
    load_generated,
    load_table,
    measure_kernel,
    missing,
)

from codegen.source_hash import source_sha256_of

AGAIN = 24


def main() -> int:
    """Measure one kernel on all shapes of its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kernel", choices=KERNELS, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True, help="a directory")
    arguments = parser.parse_args()
    if lacking := missing():
        print(lacking, file=sys.stderr)
        return 2
    record(arguments.kernel, arguments.output / f"{arguments.kernel}.json")
    return 0


def record(kernel: str, output: Path) -> None:
    """Measure every config of the kernel's table on every shape, and write what is known so far."""
    path = ROOT / "tests" / "data" / f"h200_{kernel}.json"
    table, raw = load_table(path), json.loads(path.read_text())
    shapes = [tuple(shape) for shape in raw["shapes"]]
    watch, (impl, _) = Stopwatch(), load_generated(kernel)
    first: list[Samples] = []
    for i, shape in enumerate(shapes):
        first += measure_kernel(table, watch, impl, [shape], i)
        write(output, raw, shapes, first, [])
    again = measure_kernel(table, watch, impl, shapes[:AGAIN], len(shapes))
    write(output, raw, shapes, first, again)
    late = sum(sample.late for sample in (*first, *again))
    print(f"{kernel}: {len(first)} shapes, {len(again)} of them twice, {late} late repeats")


def write(
    output: Path,
    raw: dict[str, Any],
    shapes: Sequence[tuple[int, ...]],
    first: Sequence[Samples],
    again: Sequence[Samples],
) -> None:
    """Write the table of the shapes that were measured."""
    import torch
    import triton

    major, minor = torch.cuda.get_device_capability()
    failed = [set(sample.failed) for sample in first]
    nowhere = sorted(set.intersection(*failed))
    table = {
        "format": raw["format"],
        "kernel": raw["kernel"],
        "axis_names": raw["axis_names"],
        "dtype": raw["dtype"],
        "source_sha256": source_sha256_of(ROOT / "generated" / raw["kernel"] / "impl.py"),
        "device": torch.cuda.get_device_name(),
        "arch": f"sm_{major}{minor}",
        "toolchain": {"torch": torch.__version__, "triton": triton.__version__},
        "method": f"cuda events, {FLUSH_BYTES // 10**6} MB L2 flush outside the timed region, "
        f"median of {REPEATS}, configs interleaved",
        "configs": raw["configs"],
        "rejected": {str(index): first[0].failed[index] for index in nowhere},
        "shapes": [list(shape) for shape in shapes[: len(first)]],
        "latency_us": [row(sample) for sample in first],
        "repeat_latency_us": [row(sample) for sample in again],
    }
    lines = [f"{json.dumps(key)}: {cells(value)}" for key, value in table.items()]
    part = output.with_suffix(".part")
    part.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    part.replace(output)


def row(sample: Samples) -> list[float | None]:
    """Return the median of each config in microseconds, None where it failed."""
    return [round(us, 3) if math.isfinite(us) else None for us in sample.medians_us()]


def cells(value: Any) -> str:
    """Return `value` as JSON, the rows of a matrix on a line each."""
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return "[\n  " + ",\n  ".join(json.dumps(item) for item in value) + "\n]"
    return json.dumps(value)


if __name__ == "__main__":
    sys.exit(main())
