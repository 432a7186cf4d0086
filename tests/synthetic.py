"""A made-up kernel: a matrix product whose time is a pure function of shape and config.

Blocks that do not fill a size are wasted, waves that do not fill the device too; a block is held
back by memory, by the matrix units or by latency that too few warps and stages hide; a split sum
is added up in the end. On top of each config's time lies a fixed ripple, as different code has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from math import ceil
from pathlib import Path
from typing import Any

from codegen.config import Config
from tuner.records import Shape
from tuner.space import Space, combinations

__all__ = [
    "AXES",
    "CONSTRAINTS",
    "PARAMETERS",
    "SHAPES",
    "case",
    "latency_us",
    "some",
    "space",
    "table",
    "table_of",
]

AXES = ("M", "N", "K")
PARAMETERS = {
    "BLOCK_M": (16, 32, 64, 128, 256),
    "BLOCK_N": (16, 32, 64, 128, 256),
    "BLOCK_K": (16, 32, 64, 128),
    "GROUP_M": (1, 4, 8),
    "SPLIT_K": (1, 2, 4),
    "num_warps": (2, 4, 8),
    "num_stages": (2, 3, 4),
}
CONSTRAINTS = (
    "BLOCK_M * BLOCK_N <= 32768",
    "BLOCK_M * BLOCK_N >= 512 * num_warps",
    "(BLOCK_M + BLOCK_N) * BLOCK_K * num_stages <= 114688",
)
SHAPES: tuple[Shape, ...] = (
    (1, 4096, 4096),
    (8, 8192, 1024),
    (16, 1024, 4096),
    (33, 4097, 300),
    (64, 64, 16384),
    (128, 4096, 4096),
    (200, 700, 3000),
    (512, 512, 512),
    (1000, 1000, 1000),
    (2048, 768, 3072),
    (4096, 4096, 4096),
    (6000, 300, 200),
)
_UNITS = 132
_LAUNCH_US = 2.0
_RIPPLE = 0.02


def space() -> Space:
    """Return the configs that meet the constraints, more than 2,000."""
    return Space.of(
        _config(values) for values in combinations(PARAMETERS, "parameters") if _fits(values)
    )


def latency_us(shape: Shape, config: Config) -> float:
    """Return the time of `config` on `shape` (M, N, K) in microseconds."""
    M, N, K = shape
    values = config.all_kwargs()
    bm, bn, bk = values["BLOCK_M"], values["BLOCK_N"], values["BLOCK_K"]
    split, warps, stages = values["SPLIT_K"], values["num_warps"], values["num_stages"]
    steps = ceil(ceil(K / split) / bk)
    blocks = ceil(M / bm) * ceil(N / bn) * split
    resident = max(1, min(16 // warps, 229376 // ((bm + bn) * bk * 2 * stages)))
    waves = ceil(blocks / (_UNITS * resident))
    sharing = min(1.0, blocks / _UNITS / resident) * resident
    compute = bm * bn * bk / 1.6e6 * max(1.0, sharing) * (1 + 16 / bm + 16 / bn)
    reuse = 1.0 + 0.3 * abs(values["GROUP_M"] - 4) / 4 * (M > 1024)
    memory = (bm + bn) * bk * 2 / 2.2e5 * max(1.0, sharing) * reuse
    waiting = 0.5 / (stages - 1) / (warps * resident / 8) ** 0.5
    spill = 1.0 + max(0.0, bm * bn / (warps * 4096) - 1.0)
    body = steps * max(compute, memory, waiting) * spill
    summing = M * N * 4 * split / 3.3e6 if split > 1 else 0.0
    return (_LAUNCH_US + waves * (body + 0.6) + summing) * _ripple(shape, config)


def some(every: int) -> tuple[Config, ...]:
    """Return one config of so many, spread over the space."""
    return space().configs[::every]


def table(
    path: Path,
    configs: Sequence[Config],
    shapes: Sequence[Shape] = SHAPES,
    failing: Collection[tuple[Shape, str]] = (),
) -> Path:
    """Write a latency table to `path`, with holes on the shapes and of the configs of `failing`."""
    value = table_of(shapes, configs)
    for shape, row in zip(shapes, value["latency_us"], strict=True):
        for i, config in enumerate(configs):
            row[i] = None if (shape, config.id) in failing else row[i]
    path.write_text(json.dumps(value))
    return path


def case(place: Path, configs: Sequence[Config]) -> Path:
    """Write a case with these candidates to `place`; it can be replayed, and not be run."""
    place.mkdir()
    (place / "impl.py").write_text(
        _MODEL.replace("Model", "ModelNew").replace("b)", "b, config=None)")
    )
    (place / "base.py").write_text(_MODEL + _INPUTS)
    names = [name for name in PARAMETERS if not name.startswith("num_")]
    sample = {
        "op_name": "synthetic",
        "shape_expr": "(a.shape[0], b.shape[1], a.shape[1])",
        "config_param_names": names,
        "autotune": {"key": list(AXES), "configs": [config.all_kwargs() for config in configs]},
    }
    (place / "sample.json").write_text(json.dumps(sample))
    return place


_MODEL = """class Model:
    def forward(self, a, b):
        return a @ b
"""
_INPUTS = """

def get_init_inputs():
    return []


def get_inputs_dyn_list():
    return []
"""


def table_of(shapes: Sequence[Shape], configs: Sequence[Config]) -> dict[str, Any]:
    """Return a latency table as JSON."""
    return {
        "format": "latency-table/1",
        "kernel": "synthetic",
        "axis_names": list(AXES),
        "dtype": "float16",
        "device": "none",
        "configs": [
            {
                "params": dict(config.params),
                "num_warps": config.num_warps,
                "num_stages": config.num_stages,
            }
            for config in configs
        ],
        "shapes": [list(shape) for shape in shapes],
        "latency_us": [[round(latency_us(s, c), 3) for c in configs] for s in shapes],
    }


def _config(values: dict[str, Any]) -> Config:
    params = {name: value for name, value in values.items() if not name.startswith("num_")}
    return Config(
        params=tuple(params.items()),
        num_warps=values["num_warps"],
        num_stages=values["num_stages"],
    )


def _fits(values: dict[str, Any]) -> bool:
    return all(eval(text, {"__builtins__": {}}, values) for text in CONSTRAINTS)  # noqa: S307


def _ripple(shape: Shape, config: Config) -> float:
    text = f"{config.id} {max(shape).bit_length()}".encode()
    part = int.from_bytes(hashlib.sha256(text).digest()[:4], "big") / 2**32
    return 1.0 + _RIPPLE * part
