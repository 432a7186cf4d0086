"""An unchanged kernel under `@triton.autotune` is served by the emitted module, in one launch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import category, configs, emitted, integer, leaf, load_module, manifest_of, split, tree

from codegen.config import Config

MANIFEST = manifest_of(
    axes=[integer("M"), integer("n")], selector=tree(split("n", 100, leaf(0), leaf(1)))
)
KERNEL = """
import json
import sys

import torch
import triton
import triton.language as tl

import tuned_dispatch_of_scale as tuned

timed = []


def timer(kernel_call, quantiles):
    timed.append(1)
    return [0.0] * len(quantiles)


@triton.autotune(
    configs=[triton.Config(dict(params), **launch) for params, launch in json.loads(sys.argv[1])],
    key=["M", "n"],
    prune_configs_by={"early_config_prune": tuned.early_config_prune},
    do_bench=timer,
)
@triton.jit
def scale(x_ptr, M, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    at = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


for n in (50, 150, 60):
    x = torch.ones(n)
    scale[lambda meta: (triton.cdiv(n, meta["BLOCK_M"]),)](x, 1, n)
    assert x.sum() == 2 * n, x
    chosen = scale.best_config
    print(json.dumps([chosen.kwargs, chosen.num_warps, len(timed)]))
"""


class Candidate:
    """What a `triton.Config` offers."""

    def __init__(self, config: Config, **more: int) -> None:
        """Take the values of `config`, and `more`, such as Triton's defaults."""
        self.values = {"num_ctas": 1, **config.all_kwargs(), **more}

    def all_kwargs(self) -> dict[str, object]:
        """Return all that a launch is given."""
        return dict(self.values)


def test_the_tuned_config_alone_is_left_of_the_kernels_own() -> None:
    """By value, the object that the kernel listed; sizes may come by position or by name."""
    module = load_module(emitted(MANIFEST))
    own = [Candidate(config) for config in reversed(configs(4))]
    assert module.early_config_prune(own, {"x_ptr": None, "M": 1, "n": 50}) == [own[3]]
    assert module.early_config_prune(own, {"x_ptr": None, "M": 1}, n=150) == [own[2]]


def test_a_kernel_without_the_tuned_config_is_told_so() -> None:
    """Neither is anything else chosen silently, nor one of two that cannot be told apart."""
    module = load_module(emitted(MANIFEST))
    sizes = {"M": 1, "n": 50}
    own = [Candidate(config) for config in configs(4)]
    with pytest.raises(ValueError, match=r"^0 of the kernel's configs have \{'BLOCK_M'"):
        module.early_config_prune(own[1:], sizes)
    twice = [*own, Candidate(configs(4)[0], num_ctas=2)]
    with pytest.raises(ValueError, match=r"^2 of the kernel's configs have"):
        module.early_config_prune(twice, sizes)
    with pytest.raises(KeyError, match="the kernel has no argument n, an axis of its dispatch"):
        module.early_config_prune(own, {"M": 1})


def test_a_category_is_no_argument_of_a_kernel() -> None:
    """With a dtype for an axis the module offers no such function."""
    axes = [integer("M"), category("dtype", "float16", "float32")]
    module = load_module(emitted(manifest_of(axes=axes, selector=tree(leaf(1)))))
    assert not hasattr(module, "early_config_prune")


def test_triton_times_nothing(tmp_path: Path) -> None:
    """Each new key takes the config that the dispatch chooses; in the interpreter, on the CPU."""
    pytest.importorskip("triton", reason="needs triton: pip install -e '.[torch]'")
    (tmp_path / "tuned_dispatch_of_scale.py").write_text(emitted(MANIFEST))
    (tmp_path / "kernel.py").write_text(KERNEL)
    import json

    listed = [[dict(c.params), dict(c.launch_options())] for c in configs(4)]
    ran = subprocess.run(
        [sys.executable, "kernel.py", json.dumps(listed)],
        cwd=tmp_path,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    chosen = [configs(4)[i] for i in (0, 1, 0)]
    assert found == [[dict(c.params), c.num_warps or 4, 0] for c in chosen]
