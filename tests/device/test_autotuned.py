"""A kernel under `@triton.autotune`, served by an emitted module: on a CUDA device."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import without_cuda

MATMUL = Path(__file__).parents[2] / "generated" / "matmul"
SHAPES = ((128, 256, 512), (77, 135, 31), (1024, 512, 256), (128, 256, 512))


LACK = without_cuda()
pytestmark = [pytest.mark.device, pytest.mark.skipif(LACK is not None, reason=LACK or "")]


@pytest.fixture
def matmul(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the kernel's module of `generated/matmul`."""
    monkeypatch.syspath_prepend(MATMUL)
    for name in ("impl", "impl_dispatch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("impl")


def no_timer(_kernel_call: Callable[[], Any], quantiles: tuple[float, ...]) -> list[float]:
    """Launch nothing: Triton before 3.9 has even a single config timed."""
    return [0.0] * len(quantiles)


def launches_of(kernel: Any, **more: Any) -> int:
    """Return how often the device ran `kernel`, under autotune, when it was called per shape."""
    import torch
    import triton

    dispatch = sys.modules["impl_dispatch"]
    configs = [
        triton.Config(c.kwargs, num_warps=c.num_warps, num_stages=c.num_stages)
        for c in dispatch.CONFIGS
    ]
    tuned = triton.autotune(configs=configs, key=["M", "N", "K"], **more)(kernel)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for M, N, K in SHAPES:
            a = torch.randn(M, K, dtype=torch.float16, device="cuda")
            b = torch.randn(K, N, dtype=torch.float16, device="cuda")
            c = torch.empty(M, N, dtype=torch.float16, device="cuda")
            tuned[
                lambda meta, M=M, N=N: (
                    triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),
                )
            ](a, b, c, M, N, K)
            torch.testing.assert_close(c, a @ b, rtol=2e-2, atol=2e-2 * K**0.5)
            chosen = dispatch._select_config((M, N, K)).all_kwargs()
            if more:
                assert chosen.items() <= tuned.best_config.all_kwargs().items()
        torch.cuda.synchronize()
    return sum(
        event.count for event in profile.key_averages() if event.key.startswith("matmul_kernel")
    )


def test_the_device_runs_each_call_once_and_benchmarks_nothing(matmul: ModuleType) -> None:
    """Without the dispatch the same calls are many launches, which proves that they are counted."""
    dispatch = sys.modules["impl_dispatch"]
    served = {
        "prune_configs_by": {"early_config_prune": dispatch.early_config_prune},
        "do_bench": no_timer,
    }
    assert launches_of(matmul.matmul_kernel, **served) == len(SHAPES)
    assert launches_of(matmul.matmul_kernel) > 10 * len(SHAPES)
