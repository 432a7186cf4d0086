"""The kernels under `generated/` compute what they say, with every config and every shape.

They need torch, triton and a CUDA device. Without a device, `TRITON_INTERPRET=1` runs all but
the largest shapes on the CPU, slowly.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch

GENERATED = Path(__file__).resolve().parents[2] / "generated"
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

MATMUL_SHAPES = (  # (M, N, K)
    (1, 1, 1),
    (1, 64, 1),
    (1, 1, 129),
    (1, 48, 80),
    (2, 3, 257),
    (16, 16, 16),
    (33, 65, 17),
    (77, 135, 4),
    (64, 64, 64),
    (127, 255, 31),
    (200, 1, 300),
    (257, 130, 96),
    (300, 310, 333),
    (256, 512, 1024),
)
SOFTMAX_SHAPES = (  # (R, C)
    (1, 1),
    (1, 16),
    (3, 1),
    (2, 43),
    (7, 640),
    (5, 1023),
    (33, 257),
    (65, 31),
    (64, 64),
    (129, 100),
    (2, 8193),
    (1, 65474),
    (3, 65537),
)
CONV2D_SHAPES = (  # (N, H, W)
    (1, 1, 1),
    (1, 1, 7),
    (1, 9, 1),
    (2, 2, 2),
    (3, 5, 7),
    (1, 17, 16),
    (1, 16, 16),
    (2, 18, 18),
    (5, 13, 11),
    (1, 19, 33),
    (8, 20, 26),
    (1, 31, 65),
)
SHAPES = {"matmul": MATMUL_SHAPES, "softmax": SOFTMAX_SHAPES, "conv2d": CONV2D_SHAPES}
# For every config: one shape smaller than any tile, one odd, one of several whole tiles.
CONFIG_SHAPES = {
    "matmul": ((1, 1, 1), (131, 259, 133), (256, 512, 256)),
    "softmax": ((1, 3), (67, 777), (64, 2048)),
    "conv2d": ((1, 1, 1), (3, 7, 13), (2, 16, 32)),
}
# More than 2^31 elements in one tensor: the offset of the last row needs 64 bits.
HUGE_SHAPES = {
    "matmul": (2**20 + 1, 16, 2**11),
    "softmax": (2**20 + 3, 2**11),
    "conv2d": (8, 2052, 2052),
}
HUGE_BYTES = 24 * 2**30

Shape = tuple[int, ...]
Tensors = tuple["torch.Tensor", ...]

pytestmark = pytest.mark.device
each_kernel = pytest.mark.parametrize("kernel", sorted(SHAPES))
each_shape = pytest.mark.parametrize(
    ("kernel", "shape"),
    [(kernel, shape) for kernel, shapes in sorted(SHAPES.items()) for shape in shapes],
)


@pytest.fixture(scope="module")
def device() -> str:
    """Where the kernels run; skips the test where they cannot."""
    torch = pytest.importorskip("torch", reason="the kernels need torch", exc_type=ImportError)
    pytest.importorskip("triton", reason="the kernels need triton", exc_type=ImportError)
    if INTERPRETED:
        return "cpu"
    if not torch.cuda.is_available():
        pytest.skip("the kernels need a CUDA device, and torch sees none")
    return "cuda"


def load(kernel: str) -> tuple[ModuleType, ModuleType]:
    """Import `impl` and `impl_dispatch` of a kernel as members of a package of their own.

    Three directories hold modules of the same names: on `sys.path` they would shadow each other.
    """
    name = f"_generated_{kernel}"
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(GENERATED / kernel)]
        sys.modules[name] = package
    impl = importlib.import_module(f"{name}.impl")
    return impl, importlib.import_module(f"{name}.impl_dispatch")


@contextmanager
def poisoned_memory() -> Iterator[None]:
    """Let `torch.empty` give NaN, so that an element that no program writes shows."""
    import torch

    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(1).isnan().all(), "torch.empty is not poisoned: the test proves nothing"
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def make_inputs(kernel: str, shape: Shape, device: str, seed: int = 0) -> Tensors:
    """Random fp16 inputs, the same for the same seed."""
    import torch

    extents: tuple[Shape, ...]
    if kernel == "matmul":
        m, n, k = shape
        extents = ((m, k), (k, n))
    elif kernel == "softmax":
        extents = (shape,)
    else:
        images, height, width = shape
        extents = ((images, 64, height, width),)
    rng = torch.Generator(device).manual_seed(seed)
    return tuple(
        torch.randn(extent, generator=rng, dtype=torch.float16, device=device) for extent in extents
    )


def reference(kernel: str, model: torch.nn.Module, inputs: Tensors) -> torch.Tensor:
    """What torch computes in float32, without TF32."""
    import torch

    wide = [tensor.float() for tensor in inputs]
    if kernel == "matmul":
        return wide[0] @ wide[1]
    if kernel == "softmax":
        return torch.softmax(wide[0], dim=1)
    weight: Any = model.weight
    with torch.backends.cudnn.flags(allow_tf32=False):
        return torch.nn.functional.conv2d(wide[0], weight.float(), padding=1)


def assert_matches(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Each element is right to two roundings of fp16, or to a thousandth of the largest one."""
    import torch

    assert actual.dtype == torch.float16
    atol = 1e-3 * float(expected.abs().max())
    torch.testing.assert_close(actual.float(), expected, rtol=1e-3, atol=atol)


def make_model(impl: ModuleType, device: str) -> torch.nn.Module:
    """The kernel's module on the device, with the same weights each time."""
    import torch

    torch.manual_seed(0)
    model: torch.nn.Module = impl.ModelNew().to(device)
    return model.requires_grad_(False)


def run(model: Callable[..., torch.Tensor], inputs: Tensors, config: Any = None) -> torch.Tensor:
    """One forward pass into poisoned memory."""
    with poisoned_memory():
        return model(*inputs, config=config)


def complain(
    model: torch.nn.Module, inputs: Tensors, config: Any, expected: torch.Tensor
) -> str | None:
    """What is wrong with a config's output, in words: the other configs are still to be tried."""
    try:
        assert_matches(run(model, inputs, config), expected)
    except Exception as error:  # noqa: BLE001 - a failed compile or launch is a finding too
        return f"{type(error).__name__}: {error}"
    return None


@each_shape
def test_the_selected_config_matches_torch(kernel: str, shape: Shape, device: str) -> None:
    """With no config given, the output is torch's on every shape and every element is written."""
    impl, _ = load(kernel)
    model = make_model(impl, device)
    inputs = make_inputs(kernel, shape, device, seed=sum(shape))
    assert_matches(run(model, inputs), reference(kernel, model, inputs))


@each_kernel
def test_every_config_matches_torch(kernel: str, device: str) -> None:
    """Each config the dispatch may return computes the same function."""
    impl, dispatch = load(kernel)
    model = make_model(impl, device)
    wrong: list[str] = []
    for shape in CONFIG_SHAPES[kernel]:
        inputs = make_inputs(kernel, shape, device, seed=sum(shape))
        expected = reference(kernel, model, inputs)
        for index, config in enumerate(dispatch.CONFIGS):
            if complaint := complain(model, inputs, config, expected):
                wrong.append(f"config {index} {config.all_kwargs()} at {shape}: {complaint}")
    assert not wrong, "\n".join(wrong)


@each_kernel
def test_the_forward_asks_the_dispatch(
    kernel: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no config given, the forward asks once, with the shape in the order of the axes."""
    impl, dispatch = load(kernel)
    shape = SHAPES[kernel][-1]
    asked: list[Shape] = []

    def select(asked_shape: Shape) -> Any:
        asked.append(asked_shape)
        return dispatch.CONFIGS[0]

    monkeypatch.setattr(impl, "_select_config", select)
    make_model(impl, device)(*make_inputs(kernel, shape, device))
    assert asked == [shape]


def test_softmax_passes_over_masked_tiles(device: str) -> None:
    """A row whose first tiles are all -inf is still a softmax, and a row of only -inf is NaN."""
    import torch

    impl, dispatch = load("softmax")
    model = make_model(impl, device)
    (x,) = make_inputs("softmax", (4, 3000), device)
    x[1, :2990] = float("-inf")
    x[2, 10:] = float("-inf")
    x[3] = float("-inf")
    for config in dispatch.CONFIGS:
        y = model(x, config=config)
        assert_matches(y[:3], torch.softmax(x[:3].float(), dim=1))
        assert y[3].isnan().all()


def test_softmax_survives_the_largest_values(device: str) -> None:
    """Values at the end of fp16's range neither overflow nor vanish."""
    import torch

    impl, _ = load("softmax")
    model = make_model(impl, device)
    (x,) = make_inputs("softmax", (5, 1023), device)
    x = (x * 60000).clamp(-65504, 65504)
    assert_matches(run(model, (x,)), torch.softmax(x.float(), dim=1))


@each_kernel
def test_strided_inputs_are_read_by_their_strides(kernel: str, device: str) -> None:
    """An input whose last two axes are swapped views gives what its contiguous copy gives."""
    impl, _ = load(kernel)
    model = make_model(impl, device)
    inputs = make_inputs(kernel, (12, 12, 12)[: len(SHAPES[kernel][0])], device)
    views = tuple(tensor.transpose(-1, -2) for tensor in inputs)
    assert_matches(run(model, views), reference(kernel, model, views))


def last_rows(
    kernel: str, model: torch.nn.Module, inputs: Tensors, output: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The end of the output, and the same part computed by torch from the end of the input."""
    if kernel == "conv2d":
        tail = inputs[0][-1:, :, -6:]
        # The first row of the crop misses the neighbour above it.
        return output[-1:, :, -5:], reference(kernel, model, (tail,))[:, :, 1:]
    tail = inputs[0][-5:]
    return output[-5:], reference(kernel, model, (tail, *inputs[1:]))


@each_kernel
def test_offsets_past_2_to_the_31(kernel: str, device: str) -> None:
    """The last rows of a tensor of more than 2^31 elements are read and written in place."""
    if INTERPRETED:
        pytest.skip("a tensor of 2^31 elements is too large for the interpreter")
    import torch

    free_bytes, _ = torch.cuda.mem_get_info()
    if free_bytes < HUGE_BYTES:
        pytest.skip(f"needs {HUGE_BYTES >> 30} GiB of device memory, {free_bytes >> 30} are free")
    impl, _ = load(kernel)
    model = make_model(impl, device)
    inputs = make_inputs(kernel, HUGE_SHAPES[kernel], device)
    assert max(tensor.numel() for tensor in inputs) > 2**31
    try:
        assert_matches(*last_rows(kernel, model, inputs, run(model, inputs)))
    finally:
        del inputs
        torch.cuda.empty_cache()


@each_kernel
def test_a_forward_is_captured_in_a_cuda_graph(kernel: str, device: str) -> None:
    """A forward that asks the dispatch can be captured, and the replay computes it anew."""
    import torch

    if INTERPRETED:
        pytest.skip("the interpreter has no graphs")
    impl, _ = load(kernel)
    model, inputs = make_model(impl, device), make_inputs(kernel, SHAPES[kernel][-1], device)
    model(*inputs)  # compiles, which a capture must not do
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = model(*inputs)
    for tensor in inputs:
        tensor.normal_()
    output.fill_(float("nan"))
    graph.replay()
    torch.testing.assert_close(output, model(*inputs))
