"""`torch.compile` traces a selection whole, and compiles once for each leaf that is reached.

Sizes start at 2, and equal sizes do not share a symbol: what torch specialises by itself does not
count here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest
from support import category, emitted, integer, leaf, load_module, manifest_of, split, tree

from codegen.axes import Shape
from codegen.manifest import Manifest, policy_of

torch = pytest.importorskip("torch", reason="tracing needs torch: pip install -e '.[torch]'")

from torch._dynamo.testing import CompileCounter  # noqa: E402 (only where there is torch)
from torch.fx.experimental import _config  # noqa: E402

SYMBOLS: Any = _config
LOW, HIGH = 4, 256
AXES = tuple(integer(name, LOW, HIGH) for name in "MNK")
OPEN_AXES = tuple(integer(name) for name in "MNK")


@pytest.fixture(autouse=True)
def _fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    with SYMBOLS.patch(use_duck_shape=False):
        yield
    torch._dynamo.reset()


def random_shapes(n: int) -> list[Shape]:
    """Return `n` shapes inside the envelope: sizes small, aligned to 64, and any."""
    dice = random.Random(0)  # noqa: S311 (a sample, not a secret)
    aligned = range(64, HIGH + 1, 64)
    sizes = [dice.choice((range(LOW, HIGH), range(LOW, 64), aligned)[i % 3]) for i in range(4 * n)]
    return [tuple(sizes[i : i + 3]) for i in range(0, 4 * n, 4)]


def product_of_tensors(module: ModuleType) -> Callable[..., Any]:
    """Return a function of x (M, K) and y (K, N) whose work depends on the config."""

    def forward(x: Any, y: Any, *categories: int) -> Any:
        config = module._select_config((x.shape[0], y.shape[1], x.shape[1], *categories))
        tiles = torch.arange(config.param("BLOCK_M")).sum() + config.param("BLOCK_K")
        return (x @ y) * config.param("BLOCK_N") + tiles

    return forward


def compiles(forward: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> int:
    """Return how often `forward` is compiled for `calls`; each must give what eager gives."""
    counter: Any = CompileCounter()
    traced = torch.compile(forward, dynamic=True, fullgraph=True, backend=counter)
    for call in calls:
        for tensor in filter(torch.is_tensor, call):
            torch._dynamo.maybe_mark_dynamic(tensor, list(range(tensor.dim())))
        assert torch.equal(traced(*call), forward(*call))
    return int(counter.frame_count)


def tensors(shape: Shape) -> tuple[Any, ...]:
    """Return x (M, K), y (K, N) and the categories of `shape`."""
    m, n, k, *categories = shape
    return (torch.ones(m, k), torch.ones(k, n), *categories)


def assert_one_compile_a_leaf(manifest: Manifest, shapes: Sequence[Shape], leaves: int) -> None:
    """Check that `shapes` reach `leaves` leaves, each with its own config, in as many compiles."""
    policy = policy_of(manifest)
    assert len({policy.evaluate(shape).id for shape in shapes}) == leaves
    forward = product_of_tensors(load_module(emitted(manifest)))
    assert compiles(forward, [tensors(shape) for shape in shapes]) == leaves


def test_a_tree_with_an_envelope_compiles_once_a_leaf() -> None:
    """Checks of the envelope add no compile for shapes inside it."""
    root = split("M", 64, split("N", 100, leaf(0), leaf(1)), split("K", 100, leaf(2), leaf(3)))
    manifest = manifest_of(axes=AXES, selector=tree(root))
    assert_one_compile_a_leaf(manifest, random_shapes(30), leaves=4)


@pytest.mark.parametrize("outside", ["default", "nearest", "raise"])
def test_a_tree_of_features_compiles_once_a_leaf(outside: str) -> None:
    """Products, counts of tiles, remainders and ratios are asked of symbols."""
    tiles = {"product": [{"cdiv": "M", "by": 64}, {"cdiv": "N", "by": 64}]}
    aspect = {"ratio": {"axis": "M"}, "over": {"axis": "N"}}
    wide = split(aspect, 3, leaf(1), leaf(2), denominator=2)
    root = split(
        {"product": [{"axis": "M"}, {"axis": "N"}]},
        10_000,
        split({"mod": "K", "by": 64}, 0, leaf(0), wide),
        split(tiles, 9, leaf(3), leaf(4)),
    )
    manifest = manifest_of(axes=AXES, selector=tree(root), outside=outside, n_configs=5)
    assert_one_compile_a_leaf(manifest, random_shapes(40), leaves=5)


def test_a_bucket_compiles_once_a_cell() -> None:
    """A grid is questions about symbols, one way to each cell."""
    dims = [{"axis": "M", "edges": [40, 99]}, {"axis": "K", "edges": [100]}]
    selector = {"kind": "bucket", "payload": {"dims": dims, "cells": [0, 1, 2, 3, 4, 5]}}
    manifest = manifest_of(axes=AXES, selector=selector, n_configs=6)
    assert_one_compile_a_leaf(manifest, random_shapes(40), leaves=6)


def test_a_table_compiles_once_an_exact_shape_and_once_a_leaf() -> None:
    """An exact shape is a compile of its own, which no other shape runs into."""
    pinned: list[Shape] = [(64, 65, 66), (64, 65, 128), (600, 64, 128)]
    entries = [{"shape": list(shape), "config": i} for i, shape in enumerate(pinned)]
    otherwise = tree(split("M", 100, leaf(3), leaf(4)))
    selector = {"kind": "table", "payload": {"entries": entries, "otherwise": otherwise}}
    manifest = manifest_of(axes=AXES, selector=selector, n_configs=5)
    others = [shape for shape in random_shapes(20) if shape[0] not in (64, 600)]
    assert_one_compile_a_leaf(manifest, [*pinned, *others, *pinned], leaves=5)


def test_a_dtype_compiles_once_a_value() -> None:
    """The name of a dtype is a constant of the trace: each is a compile, whatever else is asked."""
    axes = [*AXES, category("dtype", "torch.float32", "torch.float64", "torch.int64")]
    root = {"category": "dtype", "values": ["torch.float32"], "left": leaf(0), "right": leaf(1)}
    module = load_module(emitted(manifest_of(axes=axes, selector=tree(root))))

    def forward(x: Any) -> Any:
        config = module._select_config((*x.shape, str(x.dtype)))
        return x * config.param("BLOCK_M")

    kinds = (torch.float32, torch.float64, torch.int64, torch.int32)
    calls = [(torch.ones(m, 5, 6, dtype=kind),) for kind in kinds for m in (7, 8)]
    assert compiles(forward, calls) == len(kinds)


def test_a_category_of_integers_compiles_once_a_leaf() -> None:
    """Integers that share a leaf are one question, not one a value."""
    axes = [*OPEN_AXES, category("groups", 2, 4, 8, 16)]
    root = {"category": "groups", "values": [2, 8], "left": leaf(0), "right": leaf(1)}
    manifest = manifest_of(axes=axes, selector=tree(root))
    shapes = [(*shape, groups) for shape in random_shapes(3) for groups in (2, 4, 8, 16)]
    assert_one_compile_a_leaf(manifest, shapes, leaves=2)


@pytest.mark.parametrize("outside", ["default", "nearest"])
def test_shapes_outside_the_envelope_trace(outside: str) -> None:
    """Taking the default, and moving to the nearest point, leave the trace whole."""
    area = {"product": [{"axis": "M"}, {"axis": "N"}]}
    manifest = manifest_of(
        axes=AXES, selector=tree(split(area, 10_000, leaf(1), leaf(2))), outside=outside
    )
    calls = [(100, 100, 100), (2, 100, 100), (600, 100, 100), (100, 2, 100), (100, 600, 100)]
    forward = product_of_tensors(load_module(emitted(manifest)))
    assert compiles(forward, [tensors(call) for call in calls]) <= len(calls)


def test_the_error_outside_the_envelope_can_be_caught_in_a_trace() -> None:
    """A caller that falls back on ValueError is traced whole, and once for all such shapes."""
    manifest = manifest_of(axes=AXES, selector=tree(leaf(1)), outside="raise")
    module = load_module(emitted(manifest))

    def forward(x: Any) -> Any:
        try:
            return x * module._select_config(x.shape).param("BLOCK_M")
        except ValueError:
            return x

    calls = [(torch.ones(m, 5, 6),) for m in (600, 700, 100, 200)]
    assert compiles(forward, calls) == 2


def test_everything_a_launch_reads_from_a_config_traces() -> None:
    """Params, launch options, and both dictionaries, also unpacked into a call."""
    module = load_module(emitted(manifest_of(axes=OPEN_AXES, selector=tree(leaf(1)))))

    def launch(x: Any, **options: int) -> Any:
        return x * options["BLOCK_M"] + options.get("num_stages", 1)

    def forward(x: Any) -> Any:
        config = module._select_config(x.shape)
        x = launch(x, **config.kwargs) + launch(x, **config.all_kwargs())
        return x * config.num_warps + (config.maxnreg or 2)

    assert compiles(forward, [(torch.ones(2, 3, 4),)]) == 1


def test_an_unknown_param_can_be_caught_in_a_trace() -> None:
    """`param` raises KeyError in a trace as elsewhere."""
    module = load_module(emitted(manifest_of(axes=OPEN_AXES, selector=tree(leaf(1)))))

    def forward(x: Any) -> Any:
        try:
            return x * module._select_config(x.shape).param("SPLIT_K")
        except KeyError:
            return x

    assert compiles(forward, [(torch.ones(2, 3, 4),)]) == 1
