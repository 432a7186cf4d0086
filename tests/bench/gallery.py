"""Tune the gallery, `generated/`, on this device, and print what came of it.

    python tests/bench/gallery.py --convert                  impl.py of each, from tests/cases
    python tests/bench/gallery.py --tune [--device cuda:0]   everything else of each
    python tests/bench/gallery.py                            the table, of what is there

Each kernel under tests/cases/original is converted by `tuner convert`, and tuned as `tuner run`
does it: generated/K gets the manifest, the latencies, the emitted module, summary.json and
report.md, whose rows are the times of reference, default, dispatch and best on each shape. The
shapes of matmul, softmax and conv2d are those of tests/data/h200_K.json; rms_norm is tuned on
softmax's, and the two that have but one axis on lengths from 1 to 2^27.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from codegen.decision import count_leaves
from codegen.manifest import load_manifest, policy_of
from tuner.cases import run_case
from tuner.progress import Plain
from tuner.records import Shape

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases" / "original"
GALLERY = ROOT / "generated"
KERNELS = ("relu", "vector_add", "rms_norm", "softmax", "matmul", "conv2d")
TABLE_OF = {"rms_norm": "softmax"}
# Aligned and odd, from one element to 256 MiB of fp16.
LENGTHS = tuple((size,) for k in range(28) for size in (2**k, 3 * 2**k // 2 + 1)[: 1 + (k > 2)])


def main() -> int:
    """Do what the command line asks for, then print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--convert", action="store_true", help="write impl.py of each kernel")
    parser.add_argument("--tune", action="store_true", help="tune, emit, check and time each")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--kernels", default=",".join(KERNELS), help="some of them alone")
    parser.add_argument("--kb", type=Path, help="the knowledge base; the user's own by default")
    arguments = parser.parse_args()
    kernels = arguments.kernels.split(",")
    if unknown := sorted({*kernels} - {*KERNELS}):
        parser.error(f"no kernel is called {', '.join(unknown)}; there are {', '.join(KERNELS)}")
    for kernel in kernels:
        if arguments.convert:
            convert(kernel)
        if arguments.tune:
            tune(kernel, arguments.device, arguments.kb)
    print(
        table([row(kernel) for kernel in kernels if (GALLERY / kernel / "summary.json").exists()])
    )
    return 0


def convert(kernel: str) -> None:
    """Write the kernel of the gallery as `tuner convert` gives it."""
    from tuner.convert import draft_case

    (GALLERY / kernel).mkdir(exist_ok=True)
    impl = GALLERY / kernel / "impl.py"
    draft_case(CASES / kernel, output=impl).write(force=True)
    # What is there is kept as it is formatted, and what is added may make a line too long.
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", str(impl)], check=True)


def tune(kernel: str, device: str, kb: Path | None) -> None:
    """Tune the kernel, emit its dispatch, check and time it."""
    run_case(
        CASES / kernel,
        device=device,
        impl=GALLERY / kernel / "impl.py",
        kb=kb,
        shapes=shapes_of(kernel),
        reporter=Plain(),
    )


def shapes_of(kernel: str) -> tuple[Shape, ...]:
    """Return what the kernel is tuned on."""
    path = ROOT / "tests" / "data" / f"h200_{TABLE_OF.get(kernel, kernel)}.json"
    if not path.exists():
        return LENGTHS
    return tuple(tuple(shape) for shape in json.loads(path.read_text())["shapes"])


def row(kernel: str) -> dict[str, Any]:
    """Return what the files of a kernel tell."""
    manifest = load_manifest(GALLERY / kernel / "manifest.json")
    summary = json.loads((GALLERY / kernel / "summary.json").read_text())
    regret, rows = manifest.tune_meta.regret, summary["shapes"]
    gains = [one["default_us"] / one["dispatch_us"] for one in rows if one["dispatch_us"]]
    scores = (regret.geomean, regret.p95, regret.worst) if regret else ()
    kept = [candidate for candidate in manifest.candidates if candidate.status == "kept"]
    return {
        "kernel": kernel,
        "shapes": sum(one["tuned"] for one in rows),
        "leaves": count_leaves(policy_of(manifest).selector.lower()),
        "configs": f"{len(manifest.selector.config_ids)} of {len(kept)}",
        "regret, left out": " / ".join(f"{score:.3f}" for score in scores),
        "default ÷ dispatch": f"{summary['speedup_over_default']:.3f}",
        "lowest to highest": f"{min(gains):.2f} to {max(gains):.2f}",
        "dispatch ÷ best": f"{summary['slowdown_over_best']:.3f}",
        "right": f"{sum(one['right'] for one in rows)} of {len(rows)}",
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return `rows` as a table in Markdown."""
    if not rows:
        return "nothing is tuned yet: --convert, then --tune"
    lines = [f"| {' | '.join(rows[0])} |", "|" + "---|" * len(rows[0])]
    lines += [f"| {' | '.join(str(value) for value in one.values())} |" for one in rows]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
