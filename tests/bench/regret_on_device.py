"""Measure on this device what a dispatch costs on shapes it has not seen.

    python tests/bench/regret_on_device.py [--kernel K] [--shapes 12] [--seed 0]
        [--multiple 1] [-o out.json]

For each kernel, fresh shapes are drawn within the range of the recorded table, every config of
the table is timed on each, and four choices are scored by their slowdown over the best config of
the shape: the emitted `_select_config`, the module's DEFAULT, the one config that is best over
all these shapes, and, as the noise floor, the best of one half of the repeats scored in the other.

Needs a CUDA device, torch and triton; nothing else.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median, quantiles
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ("matmul", "softmax", "conv2d")
CONV2D_CHANNELS = 64
MAX_ELEMENTS = 2**31
# 0.15 ms of device work: longer than a launch, and ten times the L2 of an H200.
FLUSH_BYTES = 640 * 10**6
# 10 ms of work ahead of the first repeat: the clock is up, and the host has a lead.
LEAD_FLUSHES = 64
REPEATS = 9
# A launch this long is timed less often: its noise is small, and device time is scarce.
LONG_US = 20_000.0
LONG_REPEATS = 3

Shape = tuple[int, ...]
Launch = Callable[[], object]


# ---- What is measured ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A config as the table records it, in the form that a kernel's forward reads."""

    kwargs: dict[str, Any]
    num_warps: int | None
    num_stages: int | None

    def param(self, name: str) -> Any:
        """A tile size by its name."""
        return self.kwargs[name]

    def all_kwargs(self) -> dict[str, Any]:
        """The params, and the launch options that are set."""
        options = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        return self.kwargs | {name: value for name, value in options.items() if value is not None}

    def __str__(self) -> str:
        """`BLOCK_M=16 … num_warps=4`."""
        return " ".join(f"{name}={value}" for name, value in self.all_kwargs().items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The part of a recorded latency table that says what to measure."""

    kernel: str
    axis_names: tuple[str, ...]
    configs: tuple[Config, ...]
    shapes: frozenset[Shape]

    def bounds(self) -> tuple[tuple[int, int], ...]:
        """The least and the greatest size recorded on each axis."""
        return tuple((min(sizes), max(sizes)) for sizes in zip(*self.shapes, strict=True))


def load_table(path: Path) -> Table:
    """Read a table of the format `latency-table/1`."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    configs = tuple(
        Config(
            kwargs=config["params"],
            num_warps=config.get("num_warps"),
            num_stages=config.get("num_stages"),
        )
        for config in raw["configs"]
    )
    return Table(
        kernel=raw["kernel"],
        axis_names=tuple(raw["axis_names"]),
        configs=configs,
        shapes=frozenset(tuple(shape) for shape in raw["shapes"]),
    )


def input_extents(kernel: str, shape: Shape) -> tuple[Shape, ...]:
    """The sizes of the tensors that a shape of the table stands for, inputs only."""
    match kernel, shape:
        case "matmul", (m, n, k):
            return (m, k), (k, n)
        case "softmax", (rows, cols):
            return ((rows, cols),)
        case "conv2d", (images, height, width):
            return ((images, CONV2D_CHANNELS, height, width),)
    raise ValueError(f"no kernel {kernel} takes a shape {shape}: one of {', '.join(KERNELS)}")


def largest_tensor(kernel: str, shape: Shape) -> int:
    """Elements in the largest tensor that the kernel reads or writes at a shape."""
    sizes = [math.prod(extent) for extent in input_extents(kernel, shape)]
    # A matrix product's output may exceed both inputs; the others' outputs are like the input.
    return max(*sizes, shape[0] * shape[1]) if kernel == "matmul" else max(sizes)


def draw_size(rng: random.Random, low: int, high: int, multiple: int) -> int:
    """A size drawn log-uniformly from low..high, rounded down to a multiple if it holds one."""
    size = round(math.exp(rng.uniform(math.log(low), math.log(high))))
    if size >= multiple:
        size -= size % multiple
    return min(high, max(low, size))


def draw_shapes(table: Table, count: int, seed: int, multiple: int = 1) -> tuple[Shape, ...]:
    """Distinct shapes within the table's range that are not in it and fit into memory."""
    rng = random.Random(f"{table.kernel} {seed}")  # noqa: S311 - repeatable, not secret
    shapes: list[Shape] = []
    for _ in range(1000 * count):
        if len(shapes) == count:
            break
        shape = tuple(draw_size(rng, low, high, multiple) for low, high in table.bounds())
        known = shape in table.shapes or shape in shapes
        if not known and largest_tensor(table.kernel, shape) <= MAX_ELEMENTS:
            shapes.append(shape)
    return tuple(shapes)


# ---- How it is measured -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Every config's repeats on one shape; a config that failed has a reason instead."""

    shape: Shape
    latency_us: tuple[tuple[float, ...], ...]
    failed: dict[int, str]
    # Repeats whose launch may have come late: the device could have waited for the host.
    late: int

    def medians_us(self, half: slice = slice(None)) -> tuple[float, ...]:
        """Each config's median over all repeats or a half of them; infinite where it failed."""
        return tuple(median(us[half]) if us else math.inf for us in self.latency_us)


class Stopwatch:
    """Times launches by CUDA events, each with a cold L2 and an idle device before it."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")

    def time(self, launches: Sequence[Launch]) -> tuple[list[float], int]:
        """Microseconds of each launch, all enqueued before the one wait; and how many were late.

        A repeat is late when the device has passed its start event by the time that its end
        event is enqueued: the launch between them may have kept the device waiting.
        """
        torch = self._torch
        events = [
            (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
            for _ in launches
        ]
        late = 0
        torch.cuda.synchronize()
        for _ in range(LEAD_FLUSHES):
            self._flush.zero_()
        for launch, (start, end) in zip(launches, events, strict=True):
            self._flush.zero_()
            start.record()
            launch()
            end.record()
            late += start.query()
        torch.cuda.synchronize()
        return [1000.0 * start.elapsed_time(end) for start, end in events], late


def make_inputs(kernel: str, shape: Shape, seed: int) -> tuple[torch.Tensor, ...]:
    """Random fp16 inputs on the device; images are channels-last, as the kernel takes them."""
    import torch

    rng = torch.Generator("cuda").manual_seed(seed)
    inputs = [
        torch.randn(extent, generator=rng, dtype=torch.float16, device="cuda")
        for extent in input_extents(kernel, shape)
    ]
    if kernel == "conv2d":
        inputs = [image.contiguous(memory_format=torch.channels_last) for image in inputs]
    return tuple(inputs)


def make_launches(
    model: torch.nn.Module, inputs: tuple[torch.Tensor, ...], configs: Sequence[Config]
) -> list[Launch]:
    """A forward pass for each config, over the same inputs."""
    return [partial(model, *inputs, config=config) for config in configs]


def try_launch(launch: Launch) -> str | None:
    """Compile and run a launch once; the reason if it cannot."""
    import torch

    try:
        launch()
        torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001 - a config that fails is a record
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return None


def interleave(repeats: dict[int, int], rng: random.Random) -> list[int]:
    """The order of all repeats: round after round, each round's configs shuffled."""
    order: list[int] = []
    for round_number in range(max(repeats.values(), default=0)):
        due = [index for index, count in repeats.items() if count > round_number]
        rng.shuffle(due)
        order += due
    return order


def measure(watch: Stopwatch, launches: Sequence[Launch], shape: Shape, seed: int) -> Samples:
    """Time every launch that works: one warm-up each, then the interleaved repeats."""
    reasons = {index: try_launch(launch) for index, launch in enumerate(launches)}
    failed = {index: reason for index, reason in reasons.items() if reason is not None}
    working = [index for index in range(len(launches)) if index not in failed]
    warm_up_us, _ = watch.time([launches[index] for index in working])
    repeats = {
        index: REPEATS if us < LONG_US else LONG_REPEATS
        for index, us in zip(working, warm_up_us, strict=True)
    }
    order = interleave(repeats, random.Random(seed))  # noqa: S311 - repeatable, not secret
    times_us, late = watch.time([launches[index] for index in order])
    latency_us: list[list[float]] = [[] for _ in launches]
    for index, us in zip(order, times_us, strict=True):
        latency_us[index].append(us)
    return Samples(shape=shape, latency_us=tuple(map(tuple, latency_us)), failed=failed, late=late)


# ---- What it means ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The slowdowns of one way to choose, one for each shape; infinite where its config failed."""

    name: str
    slowdowns: tuple[float, ...]

    @property
    def geomean(self) -> float:
        """The geometric mean over the shapes."""
        return geometric_mean(self.slowdowns)

    @property
    def p95(self) -> float:
        """The 95th percentile, interpolated."""
        if len(self.slowdowns) == 1 or math.isinf(self.worst):
            return self.worst
        return quantiles(self.slowdowns, n=20, method="inclusive")[-1]

    @property
    def worst(self) -> float:
        """The greatest."""
        return max(self.slowdowns)


def argmin(values: Sequence[float]) -> int:
    """Where the least value is; the first of equals."""
    return min(range(len(values)), key=values.__getitem__)


def score_choices(name: str, samples: Sequence[Samples], choices: Sequence[int]) -> Score:
    """Score one chosen config for each shape."""
    slowdowns = []
    for sample, choice in zip(samples, choices, strict=True):
        medians_us = sample.medians_us()
        slowdowns.append(medians_us[choice] / min(medians_us))
    return Score(name=name, slowdowns=tuple(slowdowns))


def score_noise(samples: Sequence[Samples]) -> Score:
    """Choose by the even repeats and score in the odd ones: what a perfect choice would lose."""
    slowdowns = []
    for sample in samples:
        choice = argmin(sample.medians_us(slice(0, None, 2)))
        scored_us = sample.medians_us(slice(1, None, 2))
        slowdowns.append(scored_us[choice] / min(scored_us))
    return Score(name="noise floor", slowdowns=tuple(slowdowns))


def score_single(samples: Sequence[Samples], configs: Sequence[Config]) -> Score:
    """The config with the least geometric mean over these very shapes."""
    scores = [
        score_choices(f"best single: #{index} {config}", samples, [index] * len(samples))
        for index, config in enumerate(configs)
    ]
    return min(scores, key=lambda score: score.geomean)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the emitted module chooses, as indices into the table's configs."""

    selected: tuple[int, ...]
    default: int


def index_of(config: Any, configs: Sequence[Config]) -> int:
    """Which of the measured configs a config of the dispatch is."""
    wanted = config.all_kwargs()
    for index, candidate in enumerate(configs):
        if candidate.all_kwargs() == wanted:
            return index
    raise LookupError(f"the dispatch returns {wanted}, which the table does not hold: emit it anew")


def ask(dispatch: ModuleType, configs: Sequence[Config], shapes: Sequence[Shape]) -> Choices:
    """Put every shape to the dispatch: before the measuring, so that a stale one costs no time."""
    return Choices(
        selected=tuple(index_of(dispatch._select_config(shape), configs) for shape in shapes),
        default=index_of(dispatch.DEFAULT, configs),
    )


def score_all(table: Table, choices: Choices, samples: Sequence[Samples]) -> tuple[Score, ...]:
    """The dispatch first, then what it is held against."""
    return (
        score_choices("_select_config", samples, choices.selected),
        score_choices("DEFAULT", samples, [choices.default] * len(samples)),
        score_single(samples, table.configs),
        score_noise(samples),
    )


# ---- What is printed and written ----------------------------------------------------------


def shape_lines(table: Table, samples: Sequence[Samples], selected: Score) -> list[str]:
    """A line for each shape: its best config, and how far the dispatch is from it."""
    lines = [f"{'(' + ', '.join(table.axis_names) + ')':>24}     best us   best  _select_config"]
    for sample, slowdown in zip(samples, selected.slowdowns, strict=True):
        medians_us = sample.medians_us()
        best = f"#{argmin(medians_us)}"
        lines.append(f"{sample.shape!s:>24} {min(medians_us):11.2f} {best:>6} {slowdown:15.3f}")
    return lines


def score_lines(scores: Sequence[Score]) -> list[str]:
    """A line for each way to choose: slowdown over the best config of the shape."""
    lines = [
        f"{score.geomean:9.3f}{score.p95:9.3f}{score.worst:9.3f}  {score.name}" for score in scores
    ]
    return ["  geomean      p95    worst  choice", *lines]


def report_lines(table: Table, samples: Sequence[Samples], scores: Sequence[Score]) -> list[str]:
    """Everything to print of one kernel."""
    late = sum(sample.late for sample in samples)
    timed = sum(len(us) for sample in samples for us in sample.latency_us)
    failed = sorted({index for sample in samples for index in sample.failed})
    lines = [f"\n{table.kernel}: {len(samples)} fresh shapes, {len(table.configs)} configs"]
    lines += shape_lines(table, samples, scores[0])
    lines += score_lines(scores)
    for index in failed:
        reason = next(one.failed[index] for one in samples if index in one.failed)
        shapes = sum(index in one.failed for one in samples)
        lines.append(f"#{index} failed on {shapes} shapes: {reason}")
    if late:
        lines.append(
            f"WARNING: the device may have waited for the host in {late} of {timed} repeats"
        )
    return lines


def finite(value: float) -> float | None:
    """JSON has no infinity: a config that failed reads null."""
    return round(value, 4) if math.isfinite(value) else None


def report_json(
    table: Table, samples: Sequence[Samples], scores: Sequence[Score]
) -> dict[str, Any]:
    """Everything to write of one kernel: scores, and every repeat that they come from."""
    return {
        "kernel": table.kernel,
        "axis_names": table.axis_names,
        "configs": [config.all_kwargs() for config in table.configs],
        "shapes": [sample.shape for sample in samples],
        "latency_us": [[finite(us) for us in sample.medians_us()] for sample in samples],
        "repeat_latency_us": [
            [[round(one, 3) for one in us] for us in sample.latency_us] for sample in samples
        ],
        "failed": [sample.failed for sample in samples],
        "late_repeats": [sample.late for sample in samples],
        "slowdown": {
            score.name: {
                "geomean": finite(score.geomean),
                "p95": finite(score.p95),
                "worst": finite(score.worst),
                "by_shape": [finite(slowdown) for slowdown in score.slowdowns],
            }
            for score in scores
        },
    }


def provenance(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was measured, with what and how."""
    import torch
    import triton

    return {
        "format": "regret-on-device/1",
        "device": torch.cuda.get_device_name(),
        "toolchain": {"torch": torch.__version__, "triton": triton.__version__},
        "method": f"cuda events, {FLUSH_BYTES // 10**6} MB L2 flush outside the timed region, "
        f"interleaved, median of {REPEATS} ({LONG_REPEATS} from {LONG_US / 1000:g} ms on)",
        "seed": arguments.seed,
        "multiple": arguments.multiple,
    }


# ---- The script ---------------------------------------------------------------------------


def load_generated(kernel: str) -> tuple[ModuleType, ModuleType]:
    """Import `impl` and `impl_dispatch` of a kernel as members of a package of their own.

    Three directories hold modules of the same names: on `sys.path` they would shadow each other.
    """
    package = ModuleType(f"_generated_{kernel}")
    package.__path__ = [str(ROOT / "generated" / kernel)]
    sys.modules[package.__name__] = package
    impl = importlib.import_module(f"{package.__name__}.impl")
    return impl, importlib.import_module(f"{package.__name__}.impl_dispatch")


def measure_kernel(
    table: Table, watch: Stopwatch, impl: ModuleType, shapes: Sequence[Shape], seed: int
) -> list[Samples]:
    """Every config on every shape, with a line of progress for each."""
    model = impl.ModelNew().to("cuda").requires_grad_(False)
    samples = []
    for number, shape in enumerate(shapes, start=1):
        print(f"{table.kernel} {number}/{len(shapes)} {shape}", file=sys.stderr, flush=True)
        launches = make_launches(model, make_inputs(table.kernel, shape, seed), table.configs)
        samples.append(measure(watch, launches, shape, seed))
    return samples


def positive(text: str) -> int:
    """An argument that counts something."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def parse_arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kernel", choices=KERNELS, help="only this one (default: all)")
    parser.add_argument("--shapes", type=positive, default=12, help="fresh shapes for each kernel")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--multiple",
        type=positive,
        default=1,
        help="round sizes down to a multiple of this: 16 gives shapes that load in full vectors",
    )
    parser.add_argument("-o", "--output", type=Path, help="write every measurement as JSON")
    return parser.parse_args()


def run_kernel(
    kernel: str, watch: Stopwatch, arguments: argparse.Namespace
) -> tuple[list[str], dict[str, Any]]:
    """Measure and score one kernel; the lines to print and the record to write."""
    table = load_table(ROOT / "tests" / "data" / f"h200_{kernel}.json")
    shapes = draw_shapes(table, arguments.shapes, arguments.seed, arguments.multiple)
    impl, dispatch = load_generated(kernel)
    choices = ask(dispatch, table.configs, shapes)
    samples = measure_kernel(table, watch, impl, shapes, arguments.seed)
    scores = score_all(table, choices, samples)
    return report_lines(table, samples, scores), report_json(table, samples, scores)


def missing() -> str | None:
    """What this machine lacks for the measurement, in words."""
    try:
        import torch
        import triton  # noqa: F401 - asked for before minutes of work
    except ImportError as error:
        return f"needs torch and triton: {error}"
    return None if torch.cuda.is_available() else "needs a CUDA device, and torch sees none"


def main() -> int:
    """Measure, print, write; 2 where there is nothing to measure on."""
    arguments = parse_arguments()
    if lack := missing():
        print(lack, file=sys.stderr)
        return 2
    watch = Stopwatch()
    result = provenance(arguments) | {"kernels": []}
    for kernel in (arguments.kernel,) if arguments.kernel else KERNELS:
        lines, record = run_kernel(kernel, watch, arguments)
        print("\n".join(lines), flush=True)
        result["kernels"].append(record)
        if arguments.output:
            # After each kernel: what is measured survives what comes next.
            arguments.output.write_text(json.dumps(result) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
