"""Twice a vector, and every way in which a launch can go wrong on a device, each on demand."""

from typing import Any

import torch
import triton
import triton.language as tl

try:
    from .impl_dispatch import _select_config
except ImportError:
    from impl_dispatch import _select_config

BLOCK = 128


@triton.jit
def double_kernel(x_ptr, y_ptr, n, FACTOR: tl.constexpr, STRAY: tl.constexpr, BLOCK: tl.constexpr):
    """Multiply a block; STRAY moves the stores far beyond any allocation."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at + STRAY, x * FACTOR, mask=at < n)


@triton.jit
def loop_kernel(flag_ptr):
    """Wait for a flag that nobody raises."""
    flag = tl.atomic_add(flag_ptr, 0)
    while flag == 0:
        flag = tl.atomic_add(flag_ptr, 0)


@triton.jit
def shared_kernel(x_ptr, y_ptr, SIZE: tl.constexpr):
    """Need more shared memory than there is: two square tiles of SIZE in fp32."""
    rows, cols = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + (rows * SIZE + cols) % 1)
    tl.store(y_ptr + (rows * SIZE + cols) % 1, tl.dot(x, tl.trans(x)))


@triton.jit
def assert_kernel(x_ptr):
    """Fail to compile."""
    tl.static_assert(False, "no such tile")
    tl.store(x_ptr, 0.0)


class ModelNew(torch.nn.Module):
    """`2 * x`, if all goes well."""

    def forward(self, x: torch.Tensor, config: Any = None) -> torch.Tensor:
        """Do what the config's MODE says."""
        if config is None:
            config = _select_config(tuple(x.shape))
        mode = config.param("MODE")
        y = torch.empty_like(x)
        n = x.numel()
        grid = (triton.cdiv(n, BLOCK),)
        match mode:
            case "loop":
                loop_kernel[(1,)](torch.zeros(1, dtype=torch.int32, device=x.device))
            case "shared":
                shared_kernel[(1,)](x, y, SIZE=256)
            case "memory":
                torch.empty(2**60, dtype=torch.int8, device=x.device)
            case "assert":
                assert_kernel[(1,)](x)
            case "good":
                for i in range(0, n, BLOCK):
                    part, out = x[i : i + BLOCK], y[i : i + BLOCK]
                    double_kernel[(1,)](part, out, part.numel(), FACTOR=2, STRAY=0, BLOCK=BLOCK)
            case _:
                factor = 3 if mode == "wrong" else 2
                stray = 2**40 if mode == "stray" else 0
                size = n - 1 if mode == "hole" else n
                double_kernel[grid](x, y, size, FACTOR=factor, STRAY=stray, BLOCK=BLOCK)
        return y
