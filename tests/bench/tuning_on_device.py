"""Tune on this device, and measure what that costs and what it is worth.

    python tests/bench/tuning_on_device.py [--device cuda:0] [--parts cases,conv2d,…]
        [--kernels relu,matmul,…] [-o DIR]

cases    every Triton case under tests/cases from end to end: tuned, verified, emitted, and
         `ModelNew.forward` without a config compared with the reference on other shapes
conv2d   one config, tuned for 224 x 224 alone, against the dispatch at 224, 384, 512 and 640;
         needs `cases` in the same run
repeat   two tunings with nothing in common: how far their timings lie apart, and what a choice by
         the one costs in the other
wall     the time to tune matmul on 340 shapes, and how busy the device was meanwhile
forward  the time of one call of forward on small shapes: the emitted dispatch, one constant
         config, and `@triton.autotune` with a warm cache, side by side
devices  the same tuning on --device and on all of --devices

Each part prints a table; DIR gets what was tuned, and `results.json` after each part. Needs a CUDA
device, torch and triton, and what the tuner needs. With TRITON_INTERPRET=1 and `--device cpu
--smoke` all but `forward` and `devices` run anywhere, on few shapes, to try the script out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from regret_on_device import draw_shapes, load_table

from tuner.cases import load_case, run_case
from tuner.devices.names import parse_devices
from tuner.kb import KnowledgeBase
from tuner.outcome import Delivery, TuneOutcome
from tuner.progress import Plain
from tuner.records import Shape, Timing
from tuner.tune import CaseRequest, tune_case
from tuner.worker.messages import Limits

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"
KERNELS = ("relu", "vector_add", "rms_norm", "softmax", "matmul", "conv2d")
PARTS = ("cases", "conv2d", "repeat", "wall", "forward", "devices")
SIDES = (224, 384, 512, 640)
WALL_SHAPES = 340
# Small enough that the device waits for the host: what is seen is the host's part.
CALL_SHAPES: dict[str, Shape] = {"matmul": (64, 64, 64), "softmax": (64, 256)}
CALLS = 1000
ROUNDS = 15
SMOKE: dict[str, tuple[Shape, ...]] = {
    "relu": ((1,), (100,), (2049,)),
    "vector_add": ((1,), (100,), (2049,)),
    "rms_norm": ((3, 100), (16, 64)),
    "softmax": ((3, 100), (16, 64), (2, 257)),
    "matmul": ((17, 33, 64), (64, 64, 64), (1, 16, 48)),
    "conv2d": ((1, 9, 11), (2, 8, 8)),
}


def request(kernel: str, arguments: argparse.Namespace, name: str, **changes: Any) -> CaseRequest:
    """Return what to ask for `kernel`, with a directory and a knowledge base called `name`."""
    impl = CASES / "converted" / kernel / "impl.py"
    directory = arguments.output / name
    found = CaseRequest(
        case=load_case(CASES / "original" / kernel, impl=impl),
        devices=parse_devices(arguments.device),
        kb=arguments.output / f"{name}.sqlite",
        delivery=Delivery(directory=directory, source=impl),
        limits=Limits(repeat=2) if arguments.smoke else Limits(),
        shapes=SMOKE[kernel] if arguments.smoke else None,
    )
    return replace(found, **changes)


def kernels(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the kernels to be tuned in the parts `cases` and `repeat`."""
    return tuple(arguments.kernels.split(","))


# ---- Every case from end to end -----------------------------------------------------------


def cases(arguments: argparse.Namespace, _: dict[str, Any]) -> list[dict[str, Any]]:
    """Tune, emit and check each Triton case."""
    rows = []
    for kernel in kernels(arguments):
        began = perf_counter()
        report = run_case(
            CASES / "original" / kernel,
            device=arguments.device,
            impl=CASES / "converted" / kernel / "impl.py",
            output=arguments.output / kernel,
            kb=arguments.output / f"{kernel}.sqlite",
            shapes=SMOKE[kernel] if arguments.smoke else None,
            reporter=Plain(),
        )
        outcome, shapes = report.outcome, report.summary["shapes"]
        fitted, timing = outcome.fitted, outcome.measured.timing
        others = [row for row in shapes if not row["tuned"]]
        rows.append(
            {
                "kernel": kernel,
                "configs kept": len(fitted.table.kept),
                "rejected": len(fitted.table.configs) - len(fitted.table.kept),
                "shapes tuned": len(shapes) - len(others),
                "right": f"{sum(row['right'] for row in shapes)}/{len(shapes)}",
                "of them not tuned": f"{sum(row['right'] for row in others)}/{len(others)}",
                "winners": sum(fate.kind == "won" for fate in outcome.fates),
                "used": len(outcome.manifest.selector.config_ids),
                "regret": fitted.fit.score and round(fitted.fit.score.geomean, 3),
                "dispatch / best": report.summary["slowdown_over_best"],
                "default / dispatch": report.summary["speedup_over_default"],
                "reference / dispatch": report.summary["speedup_over_reference"],
                "s": round(perf_counter() - began, 1),
                "busy": busy(outcome),
                "late": f"{timing.late}/{timing.samples}",
            }
        )
    return rows


def busy(outcome: TuneOutcome) -> float:
    """Return the share of the measuring time that the device was at timed work."""
    timing = outcome.measured.timing
    wall_s = timing.wall_s * outcome.measured.devices
    return round(timing.busy_s / wall_s, 3) if wall_s else 0.0


# ---- One config against the dispatch ------------------------------------------------------


def conv2d(arguments: argparse.Namespace, _: dict[str, Any]) -> list[dict[str, Any]]:
    """Compare, as tuned, the best config of 224 x 224 with what the dispatch chooses."""
    outcome = tune_case(request("conv2d", arguments, "conv2d"), Plain())
    times = latencies(outcome)
    sides = [(1, side, side) for side in SIDES if (1, side, side) in times]
    sides = sides or sorted(times)
    static = min(times[sides[0]], key=times[sides[0]].__getitem__)
    rows = []
    for shape in sides:
        us, best = times[shape], min(times[shape].values())
        chosen = us[outcome.select(shape).id]
        rows.append(
            {
                "N, H, W": shape,
                "best us": round(best, 2),
                f"static ({static}) / best": round(us[static] / best, 3),
                "dispatch / best": round(chosen / best, 3),
                "static / dispatch": round(us[static] / chosen, 3),
            }
        )
    return rows


def latencies(outcome: TuneOutcome) -> dict[Shape, dict[str, float]]:
    """Return the median of each config on each shape, in microseconds."""
    found: dict[Shape, dict[str, float]] = {}
    for record in outcome.measured.records:
        if isinstance(record.result, Timing):
            found.setdefault(record.shape, {})[record.config.id] = record.result.median_us
    return found


# ---- Measuring twice ----------------------------------------------------------------------


def repeat(arguments: argparse.Namespace, _: dict[str, Any]) -> list[dict[str, Any]]:
    """Tune each kernel twice, and hold the two against each other."""
    rows, all_off, all_costs = [], [], []
    for kernel in kernels(arguments):
        first, second = (measured_anew(kernel, arguments, f"{kernel}-repeat-{i}") for i in (1, 2))
        off = [
            abs(math.log(us / second[shape][config]))
            for shape, by_config in first.items()
            for config, us in by_config.items()
            if config in second.get(shape, {})
        ]
        costs = [cost(first[shape], second[shape]) for shape in first if shape in second]
        rows.append(repeat_row(kernel, off, costs))
        print(rows[-1], flush=True)
        all_off += off
        all_costs += costs
    return [*rows, repeat_row("all", all_off, all_costs)]


def measured_anew(
    kernel: str, arguments: argparse.Namespace, name: str
) -> dict[Shape, dict[str, float]]:
    """Measure everything of `kernel`, in worker processes and a knowledge base of its own."""
    asked = request(kernel, arguments, name)
    # Nothing is asked of the selector, so that one is fitted which takes no time.
    delivery = replace(asked.delivery, selector="constant")
    return latencies(tune_case(replace(asked, delivery=delivery), Plain()))


def repeat_row(kernel: str, off: Sequence[float], costs: Sequence[float]) -> dict[str, Any]:
    """Return what two tunings came to: |log ratio| of each cell, log cost of each choice."""
    ordered = sorted(off)
    return {
        "kernel": kernel,
        "cells": len(off),
        "|log ratio| median": round(statistics.median(ordered), 4),
        "p95": round(ordered[int(0.95 * (len(ordered) - 1))], 4),
        "worst": round(ordered[-1], 4),
        "cost of the choice": round(math.exp(statistics.fmean(costs)) - 1, 5),
    }


def cost(first: dict[str, float], second: dict[str, float]) -> float:
    """Return the log slowdown, in the second run, of the config that is best in the first."""
    both = {config: us for config, us in first.items() if config in second}
    chosen = min(both, key=both.__getitem__)
    return math.log(second[chosen] / min(second[config] for config in both))


# ---- How long it takes --------------------------------------------------------------------


def wall(arguments: argparse.Namespace, _: dict[str, Any]) -> list[dict[str, Any]]:
    """Tune matmul on many shapes, from nothing, with an empty Triton cache."""
    shapes = SMOKE["matmul"] if arguments.smoke else wall_shapes()
    forget_compiled(arguments.output / "triton-wall")
    began = perf_counter()
    outcome = tune_case(request("matmul", arguments, "matmul-wall", shapes=shapes), Plain())
    return [wall_row(outcome, perf_counter() - began)]


def forget_compiled(cache: Path) -> None:
    """Let Triton, in this process and in workers, compile everything anew."""
    os.environ["TRITON_CACHE_DIR"] = str(cache)


def wall_shapes() -> tuple[Shape, ...]:
    """Return the recorded shapes of matmul and as many new ones as make 340."""
    table = load_table(ROOT / "tests" / "data" / "h200_matmul.json")
    known = sorted(table.shapes)
    return (*known, *draw_shapes(table, WALL_SHAPES - len(known), seed=0))


def wall_row(outcome: TuneOutcome, seconds: float) -> dict[str, Any]:
    """Return how long a tuning took, and what it was busy with."""
    measured = outcome.measured
    return {
        "devices": measured.devices,
        "shapes": len(measured.works),
        "configs": len(measured.space.configs),
        "whole s": round(seconds, 1),
        "gate s": round(measured.gate.wall_s, 1),
        "measuring s": round(measured.timing.wall_s, 1),
        "busy": busy(outcome),
        "launches": measured.timing.samples,
        "late": measured.timing.late,
    }


# ---- What a call costs --------------------------------------------------------------------


def forward(arguments: argparse.Namespace, _: dict[str, Any]) -> list[dict[str, Any]]:
    """Time one call of forward, the device never waited for, three ways side by side."""
    import torch

    from codegen.emit import emission
    from codegen.files import write_text

    rows = []
    for kernel, shape in CALL_SHAPES.items():
        outcome = tune_case(request(kernel, arguments, kernel), Plain())
        item = emission(outcome.manifest_path)
        write_text(item.output, item.text)
        impl = package_of(outcome.manifest_path.parent, kernel)
        with torch.device("cuda"):
            inputs = base_of(kernel).get_inputs_for_shape(shape)
            model = impl.ModelNew()
        constant = outcome.select(shape)
        tuned = autotuned(kernel, impl, outcome)
        calls: dict[str, Callable[[], object]] = {
            "dispatch": lambda model=model, inputs=inputs: model(*inputs),
            "constant": lambda model=model, inputs=inputs: model(*inputs, config=constant),  # noqa: B023
            "autotune": lambda tuned=tuned, inputs=inputs: tuned(*inputs),
        }
        for call in calls.values():
            call()
        us = side_by_side(calls)
        rows.append(
            {
                "kernel": kernel,
                "shape": shape,
                **{f"{name} us": round(value, 2) for name, value in us.items()},
                "dispatch / constant": round(us["dispatch"] / us["constant"], 3),
                "autotune / dispatch": round(us["autotune"] / us["dispatch"], 3),
            }
        )
    return rows


def side_by_side(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return microseconds a call: the median of rounds in which each has its turn."""
    import torch

    us: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            torch.cuda.synchronize()
            began = perf_counter()
            for _ in range(CALLS):
                call()
            torch.cuda.synchronize()
            us[name].append((perf_counter() - began) / CALLS * 1e6)
    return {name: statistics.median(values) for name, values in us.items()}


def package_of(directory: Path, name: str) -> Any:
    """Import `impl` of a directory as a member of a package of its own."""
    import importlib
    from types import ModuleType

    package = ModuleType(f"_tuned_{name}")
    package.__path__ = [str(directory)]
    sys.modules[package.__name__] = package
    return importlib.import_module(f"{package.__name__}.impl")


def base_of(kernel: str) -> Any:
    """Import `base.py` of a case."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(f"_base_{kernel}", CASES / "original" / kernel / "base.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def autotuned(kernel: str, impl: Any, outcome: TuneOutcome) -> Callable[..., Any]:
    """Return the kernel as users of `@triton.autotune` launch it, with the same candidates."""
    import torch
    import triton

    kept = [outcome.fitted.table.configs[i] for i in outcome.fitted.table.kept]
    configs = [
        triton.Config(config.kwargs, num_warps=config.num_warps, num_stages=config.num_stages or 3)
        for config in kept
    ]

    if kernel == "matmul":
        launched = triton.autotune(configs=configs, key=["M", "N", "K"])(impl.matmul_kernel)

        def matmul(a: Any, b: Any) -> Any:
            (M, K), N = a.shape, b.shape[1]
            a, b = a.contiguous(), b.contiguous()
            c = torch.empty((M, N), dtype=a.dtype, device=a.device)

            def grid(meta: Any) -> tuple[int]:
                tiles_m, tiles_n = triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"])
                return (tiles_m * tiles_n,)

            launched[grid](a, b, c, M, N, K)
            return c

        return matmul

    launched = triton.autotune(configs=configs, key=["R", "C"])(impl.softmax_kernel)

    def softmax(x: Any) -> Any:
        R, C = x.shape
        x = x.contiguous()
        y = torch.empty_like(x)
        launched[lambda meta: (triton.cdiv(R, meta["BLOCK_R"]),)](x, y, R, C)
        return y

    return softmax


# ---- Several devices ----------------------------------------------------------------------


def devices(arguments: argparse.Namespace, _: dict[str, Any]) -> list[dict[str, Any]]:
    """Tune matmul on one device and on several, each from an empty knowledge base."""
    rows = []
    shapes = wall_shapes()
    for i, names in enumerate((arguments.device, arguments.devices)):
        forget_compiled(arguments.output / f"triton-devices-{i}")
        began = perf_counter()
        asked = request(
            "matmul", arguments, f"matmul-devices-{i}", shapes=shapes, devices=parse_devices(names)
        )
        rows.append(wall_row(tune_case(asked, Plain()), perf_counter() - began))
    for row in rows:
        row["measuring, times as fast"] = round(rows[0]["measuring s"] / row["measuring s"], 2)
    return rows


# ---- The script ---------------------------------------------------------------------------


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return `rows` as a table in Markdown."""
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    lines += [f"| {' | '.join(str(row[name]) for name in names)} |" for row in rows]
    return "\n".join(lines)


def parse_arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--devices", default="cuda:0,cuda:1", help="for the part devices")
    parser.add_argument("--parts", default="cases,conv2d,repeat,wall,forward")
    parser.add_argument("--smoke", action="store_true", help="few shapes, to try the script out")
    parser.add_argument("-o", "--output", type=Path, help="a directory  [default: a temporary one]")
    parser.add_argument("--kernels", help="some of them alone, in cases and repeat")
    arguments = parser.parse_args()
    # To try the script out, the small ones.
    arguments.kernels = arguments.kernels or (
        "relu,softmax" if arguments.smoke else ",".join(KERNELS)
    )
    unknown = set(arguments.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"no part is called {', '.join(sorted(unknown))}; use {', '.join(PARTS)}")
    arguments.output = arguments.output or Path(tempfile.mkdtemp(prefix="tuning-"))
    arguments.output.mkdir(parents=True, exist_ok=True)
    return arguments


def main() -> int:
    """Do the parts in order, and print a table of each."""
    arguments = parse_arguments()
    results: dict[str, Any] = {"device": arguments.device}
    for part in arguments.parts.split(","):
        rows = globals()[part](arguments, results)
        results[part] = rows
        (arguments.output / "results.json").write_text(json.dumps(results, indent=1, default=str))
        print(f"\n{part}\n\n{table(rows)}", flush=True)
    facts = provenance(arguments.output)
    print(f"\n{facts}", flush=True)
    return 0


def provenance(directory: Path) -> str:
    """Return what was measured on, as the knowledge bases in `directory` tell."""
    found = set()
    for path in sorted(directory.glob("*.sqlite")):
        with KnowledgeBase.open(path, create=False) as kb:
            for summary in kb.scopes():
                target = summary.scope.target
                tools = ", ".join(f"{tool} {version}" for tool, version in target.toolchain)
                found.add(f"{target.device}, {target.arch}, {tools}")
    return "; ".join(sorted(found))


if __name__ == "__main__":
    sys.exit(main())
