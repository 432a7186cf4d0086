"""A converted model under `torch.compile`: traced from its first call, whatever its leaves."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import emitted, integer, leaf, manifest_of, split, tree

from tuner.convert import convert_source

torch = pytest.importorskip("torch", reason="tracing needs torch: pip install -e '.[torch]'")

from torch._dynamo.exc import FailOnRecompileLimitHit  # noqa: E402 (only where there is torch)
from torch._dynamo.testing import CompileCounter  # noqa: E402

RAW = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        BLOCK_M, BLOCK_N = 16, 16
        return x * BLOCK_M + BLOCK_N
"""
LEAVES = 20


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Any]:
    """Return a converted model, loaded by path; its dispatch has a leaf for four sizes each."""
    text = convert_source(
        RAW,
        name="impl.py",
        shape_expr="(x.shape[0],)",
        config_param_names=("BLOCK_M", "BLOCK_N"),
        launch_options=(),
    )
    root = leaf(LEAVES - 1)
    for i in reversed(range(LEAVES - 1)):
        root = split("M", 4 * i + 4, leaf(i), root)
    manifest = manifest_of(axes=[integer("M")], selector=tree(root), n_configs=LEAVES)
    (tmp_path / "impl.py").write_text(text)
    (tmp_path / "impl_dispatch.py").write_text(emitted(manifest))
    spec = importlib.util.spec_from_file_location("compiled_impl", tmp_path / "impl.py")
    assert spec
    assert spec.loader
    module = sys.modules["compiled_impl"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module.ModelNew()
    del sys.modules["compiled_impl"], sys.modules["compiled_impl_dispatch"]


def compiles(forward: Callable[..., Any], sizes: Sequence[int], expected: Any) -> int:
    """Return how often `forward` is compiled for `sizes`; each must give what `expected` does."""
    counter: Any = CompileCounter()
    traced = torch.compile(forward, dynamic=True, fullgraph=True, backend=counter)
    for size in sizes:
        x = torch.ones(size, 3)
        torch._dynamo.mark_dynamic(x, 0)
        assert torch.equal(traced(x), expected(x))
    return int(counter.frame_count)


def test_a_converted_model_compiles_once_a_leaf_that_is_reached(model: Any) -> None:
    """From the first call on: finding the dispatch is neither a break nor a compile."""
    assert compiles(model, [2, 17, 3, 30, 18, 31, 4], model) == 3


def test_more_leaves_than_torch_compiles_are_an_error_of_torch(model: Any) -> None:
    """Which is why the README shows another way for them."""
    with pytest.raises(FailOnRecompileLimitHit):
        compiles(model, range(3, 4 * LEAVES, 4), model)


def test_a_custom_op_serves_any_number_of_leaves_in_one_compile(model: Any) -> None:
    """It is not traced into: the selection runs in it, on plain integers, at each call."""

    @torch.library.custom_op("tuned_dispatch_test::scale", mutates_args=())
    def scale(x: torch.Tensor) -> torch.Tensor:
        return model(x)

    @scale.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    assert compiles(lambda x: scale(x) + 1, range(3, 4 * LEAVES, 4), lambda x: model(x) + 1) == 1
