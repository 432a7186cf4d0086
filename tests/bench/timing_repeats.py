"""How well timings repeat, by the way of taking them, on this CUDA device.

    python tests/bench/timing_repeats.py [--kernels softmax,matmul] [--ways mixed,cycle]
        [-o samples.json]

Each way times the candidates of a kernel on small shapes three times, on inputs allocated at other
addresses the second time and on those again the third, and is judged by how far two lie apart:

mixed   a flush of 640 MB that writes, each launch of another config
read    the flush reads, so that no line of the L2 is left to be written back
clean   the flush writes, then 128 MB are read
turns   four launches of a config in a row, the first not counted
lead    100 ms of work ahead of the first launch instead of 2.4
cycle   as the tuner does: 17 launches of a config in a row, the first not counted, and a kernel of
        no work ahead of every second flush
both    the same, and after the flush 128 MB are read

and of each way are shown the median of 16 and of 48 launches, and the mean of the middle half of
them; `less null` subtracts what the smallest kernel took among them. `offset` is what all configs
of a shape lie apart together, `rest` what one does besides.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tuner.cases import load_case
from tuner.devices.cuda import Cuda
from tuner.devices.events import EventClock
from tuner.tune import kernel_of
from tuner.worker.kernel import load_kernel

CASES = Path(__file__).resolve().parents[1] / "cases"
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "relu": ((1,), (1000,), (4096,), (131072,)),
    "softmax": ((1, 16), (14, 16), (2, 59), (20, 768), (12, 4800), (746, 128), (1192, 2816)),
    "matmul": ((1, 1, 1), (64, 64, 1), (1, 5584, 256), (511, 441, 14), (320, 2864, 64)),
}
WAYS = ("mixed", "read", "clean", "turns", "lead", "cycle", "both")
COUNT = 48
BYTES = 640 * 10**6
TURN = {"turns": 4, "cycle": 17, "both": 17}
NULL = "(null)"
PASSES = 3
LEAD = {"lead": 650}
Estimate = Callable[[Sequence[float]], float]


def middle(us: Sequence[float]) -> float:
    """Return the mean of the middle half."""
    quarter = len(us) // 4
    return statistics.fmean(sorted(us)[quarter : len(us) - quarter])


ESTIMATES: dict[str, tuple[int, Estimate]] = {
    "median of 16": (16, statistics.median),
    "middle of 16": (16, middle),
    "middle of 32": (32, middle),
    "median of 48": (48, statistics.median),
    "middle of 48": (48, middle),
}


class Timer:
    """Times launches in any of the ways."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._buffer = torch.empty(BYTES // 4, dtype=torch.float32, device="cuda")
        self._one = torch.zeros(1, device="cuda")
        self._part = torch.zeros(32 * 10**6, dtype=torch.float32, device="cuda")

    def samples(
        self, way: str, launches: dict[str, Callable[[], object]]
    ) -> dict[str, list[float]]:
        """Return `COUNT` times of each launch in microseconds; late ones are measured anew."""
        flushes = {"read": self._read, "clean": self._clean, "both": self._clean}
        flush = flushes.get(way, self._buffer.zero_)
        odd = self._one.zero_ if way in {"cycle", "both"} else None
        clock = EventClock(self._torch.cuda, flush, odd=odd, lead=LEAD.get(way, 16))
        clock.time(list(launches.values()))
        turn = TURN.get(way, 1)
        us: dict[str, list[float]] = {name: [] for name in launches}
        rng = random.Random(0)  # noqa: S311 (an order, not a secret)
        while short := [name for name, times in us.items() if len(times) < COUNT]:
            order = []
            for _ in range(1 if turn > 5 else 5):
                rng.shuffle(short)
                order += [name for name in short for _ in range(turn)]
            times = clock.time([launches[name] for name in order])
            for i, (name, one, late) in enumerate(zip(order, times.us, times.late, strict=True)):
                first = turn > 1 and i % turn == 0
                if not late and not first:
                    us[name].append(one)
        return {name: times[:COUNT] for name, times in us.items()}

    def _read(self) -> None:
        self._buffer.sum()

    def _clean(self) -> None:
        self._buffer.zero_()
        self._part.sum()


def passes(
    kernel: str, timer: Timer, ways: Sequence[str]
) -> dict[str, list[dict[str, dict[str, list[float]]]]]:
    """Return for each way its passes: by shape and config the samples."""
    import torch

    impl = CASES / "converted" / kernel / "impl.py"
    case = load_case(CASES / "original" / kernel, impl=impl)
    device = Cuda()
    loaded = load_kernel(kernel_of(case), device)
    found: dict[str, list[dict[str, dict[str, list[float]]]]] = {way: [] for way in ways}
    kept: list[Any] = []  # What keeps the second pass from getting the first one's addresses.
    one = torch.zeros(1, device="cuda")
    last: dict[tuple[int, ...], Any] = {}
    for turn in range(PASSES):
        for way in ways:
            by_shape = {}
            for shape in SHAPES[kernel]:
                inputs = last[shape] if turn == PASSES - 1 else loaded.inputs(shape)
                last[shape] = inputs
                kept += [inputs, torch.empty(1000 * (turn + 1), device="cuda")]
                launches: dict[str, Callable[[], object]] = {NULL: one.zero_}
                for config in case.space.configs:
                    launch = partial(loaded.model, *inputs, config=config)
                    try:
                        launch()
                        device.synchronize()
                    except Exception:  # noqa: BLE001, S112 (it needs more than the device has)
                        continue
                    launches[config.id] = launch
                samples = timer.samples(way, launches)
                by_shape[",".join(map(str, shape))] = {
                    config: [round(us, 3) for us in times] for config, times in samples.items()
                }
            found[way].append(by_shape)
    return found


def judged(first: dict[str, Any], second: dict[str, Any]) -> list[tuple[str, str]]:
    """Return, for each estimate, how far two passes lie apart."""
    rows = []
    for (name, (most, estimate)), less in product(ESTIMATES.items(), (False, True)):
        logs, offsets, rests, costs, all_us = [], [], [], [], []
        for shape, by_config in first.items():
            a = {config: estimate(times[:most]) for config, times in by_config.items()}
            b = {config: estimate(times[:most]) for config, times in second[shape].items()}
            a_null, b_null = a.pop(NULL), b.pop(NULL)
            if less:
                b = {config: us + a_null - b_null for config, us in b.items()}
            both = [config for config in a if config in b]
            logs += [abs(math.log(a[config] / b[config])) for config in both]
            gaps = [a[config] - b[config] for config in both]
            offsets.append(abs(statistics.median(gaps)))
            rests += [abs(gap - statistics.median(gaps)) for gap in gaps]
            costs.append(b[min(both, key=a.__getitem__)] / min(b[config] for config in both))
            all_us += list(a.values())
        logs.sort()
        numbers = (
            f"{statistics.median(all_us):.2f}",
            f"{statistics.median(logs):.4f}",
            f"{logs[int(0.95 * (len(logs) - 1))]:.4f}",
            f"{statistics.median(offsets):.3f}",
            f"{max(offsets):.3f}",
            f"{statistics.median(rests):.3f}",
            f"{statistics.geometric_mean(costs) - 1:.4f}",
        )
        rows.append((name + ", less null" * less, " | ".join(numbers)))
    return rows


def main() -> int:
    """Time, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kernels", default=",".join(SHAPES))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("-o", "--output", type=Path, help="where all samples are kept")
    arguments = parser.parse_args()
    timer = Timer()
    samples = {
        kernel: passes(kernel, timer, arguments.ways.split(","))
        for kernel in arguments.kernels.split(",")
    }
    if arguments.output:
        arguments.output.write_text(json.dumps(samples))
    print(
        "| kernel | way | addresses | of each config | us | log ratio, median | p95 "
        "| offset us, median | worst | rest us | cost of the choice |"
    )
    print("|" + "---|" * 11)
    for kernel, ways in samples.items():
        for way, (first, second, third) in ways.items():
            for addresses, (a, b) in {
                "others": (first, second),
                "the same": (second, third),
            }.items():
                for name, row in judged(a, b):
                    print(f"| {kernel} | {way} | {addresses} | {name} | {row} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
