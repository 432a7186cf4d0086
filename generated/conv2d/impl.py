"""Stride-1 convolution with same padding as an implicit GEMM: fp16 in and out, summed in fp32."""

import torch
import triton
import triton.language as tl


# All tensors are channels-last: x (pixels, IN), w (OUT, taps, IN), y (pixels, OUT).
# Every vector runs along channels, so the divisibility of the image sizes changes no load,
# and not specialising on it saves a compile per new image size.
@triton.jit(do_not_specialize=["pixels", "height", "width"])
def conv2d_kernel(
    x_ptr,
    w_ptr,
    y_ptr,
    pixels,
    height,
    width,
    IN_CHANNELS: tl.constexpr,
    OUT_CHANNELS: tl.constexpr,
    KERNEL_SIZE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
) -> None:
    """Compute BLOCK_M pixels of BLOCK_N output channels."""
    TAPS: tl.constexpr = KERNEL_SIZE * KERNEL_SIZE
    REACH: tl.constexpr = KERNEL_SIZE // 2
    STEPS_PER_TAP: tl.constexpr = (IN_CHANNELS + BLOCK_K - 1) // BLOCK_K

    # Tiles of the same pixels are neighbours: the second finds x in L2.
    pid = tl.program_id(0)
    tiles_n = tl.cdiv(OUT_CHANNELS, BLOCK_N)
    pixel = pid // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
    out_channel = pid % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
    lane = tl.arange(0, BLOCK_K)
    row = pixel // width % height
    col = pixel % width

    # Pixel offsets are 64-bit: an image batch may hold more than 2^31 elements.
    x_pixels = x_ptr + pixel[:, None].to(tl.int64) * IN_CHANNELS
    w_filters = w_ptr + out_channel[None, :] * (TAPS * IN_CHANNELS)

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    # One loop over taps and channels, not two: the pipeline need not drain at each tap.
    for step in range(TAPS * STEPS_PER_TAP):
        tap = step // STEPS_PER_TAP
        channel = step % STEPS_PER_TAP * BLOCK_K + lane
        down = tap // KERNEL_SIZE - REACH
        right = tap % KERNEL_SIZE - REACH
        in_image = (row + down >= 0) & (row + down < height)
        in_image &= (col + right >= 0) & (col + right < width)
        in_image &= pixel < pixels
        x = tl.load(
            x_pixels + (down * width + right) * IN_CHANNELS + channel[None, :],
            mask=in_image[:, None] & (channel[None, :] < IN_CHANNELS),
            other=0.0,
        )
        w = tl.load(
            w_filters + tap * IN_CHANNELS + channel[:, None],
            mask=(channel[:, None] < IN_CHANNELS) & (out_channel[None, :] < OUT_CHANNELS),
            other=0.0,
        )
        acc = tl.dot(x, w, acc)

    y_ptrs = y_ptr + pixel[:, None].to(tl.int64) * OUT_CHANNELS + out_channel[None, :]
    in_y = (pixel[:, None] < pixels) & (out_channel[None, :] < OUT_CHANNELS)
    tl.store(y_ptrs, acc.to(y_ptr.dtype.element_ty), mask=in_y)


def _tuned_dispatch():
    """Load impl_dispatch.py, which `codegen emit manifest.json` writes beside this file.

    A warning says so if it was tuned for other code, where tuned-dispatch is installed to tell.
    TUNED_DISPATCH=strict raises instead, TUNED_DISPATCH=off does not ask.
    """
    import importlib.util
    import os
    import sys

    source = globals().get("__file__", "")
    path = os.path.join(os.path.dirname(source), "impl_dispatch.py")
    if __package__:
        from . import impl_dispatch as dispatch
    elif os.path.exists(path):  # A loose file, which may have been loaded by its path alone.
        spec = importlib.util.spec_from_file_location(f"{__name__}_dispatch", path)
        dispatch = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(dispatch)
        sys.modules[spec.name] = dispatch
    else:
        import impl_dispatch as dispatch
    mode = os.environ.get("TUNED_DISPATCH", "")
    if mode != "off":
        try:
            from codegen.beside import check_source
        except ImportError as error:
            if mode == "strict":
                raise RuntimeError("TUNED_DISPATCH=strict needs tuned-dispatch") from error
        else:
            check_source(source, getattr(dispatch, "SOURCE_SHA256", None), mode)
    return dispatch


try:
    _select_config = _tuned_dispatch()._select_config
except ImportError:

    def _select_config(shape):
        """Raise: there was no dispatch to choose the config for `shape` when this was imported."""
        message = "no impl_dispatch.py beside this file: `codegen emit manifest.json` writes it"
        raise ModuleNotFoundError(message)


class ModelNew(torch.nn.Module):
    """`conv2d(x, weight, padding=kernel_size // 2)` for fp16 images (N, channels, H, W).

    Tensors are kept channels-last; an input that is not costs a copy.
    """

    def __init__(self, in_channels: int = 64, out_channels: int = 64, kernel_size: int = 3) -> None:
        super().__init__()
        if kernel_size % 2 == 0:
            raise ValueError(f"kernel_size is {kernel_size}: same padding needs an odd one")
        weight = torch.empty(
            (out_channels, in_channels, kernel_size, kernel_size),
            dtype=torch.float16,
            memory_format=torch.channels_last,
        )
        fan_in = in_channels * kernel_size * kernel_size
        self.weight = torch.nn.Parameter(weight.normal_(std=fan_in**-0.5))

    def forward(self, x: torch.Tensor, config=None) -> torch.Tensor:
        """The convolved images."""
        if config is None:
            config = _select_config((x.shape[0], x.shape[2], x.shape[3]))
        BLOCK_M = config.param("BLOCK_M")
        BLOCK_N = config.param("BLOCK_N")
        BLOCK_K = config.param("BLOCK_K")
        N, in_channels, H, W = x.shape
        out_channels, weight_channels, kernel_size, _ = self.weight.shape
        if in_channels != weight_channels:
            raise ValueError(
                f"x has {in_channels} channels and weight takes {weight_channels}: make them equal"
            )
        x = x.contiguous(memory_format=torch.channels_last)
        weight = self.weight.contiguous(memory_format=torch.channels_last)
        y = torch.empty(
            (N, out_channels, H, W),
            dtype=x.dtype,
            device=x.device,
            memory_format=torch.channels_last,
        )
        pixels = N * H * W
        tiles_m = triton.cdiv(pixels, BLOCK_M)
        tiles_n = triton.cdiv(out_channels, BLOCK_N)
        conv2d_kernel[(tiles_m * tiles_n,)](
            x,
            weight,
            y,
            pixels,
            H,
            W,
            IN_CHANNELS=in_channels,
            OUT_CHANNELS=out_channels,
            KERNEL_SIZE=kernel_size,
            BLOCK_M=BLOCK_M,
            BLOCK_N=BLOCK_N,
            BLOCK_K=BLOCK_K,
            num_warps=config.num_warps,
            num_stages=config.num_stages,
        )
        return y
