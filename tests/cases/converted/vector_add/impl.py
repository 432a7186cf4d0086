"""Sum of two tensors of N elements each: fp32 in and out."""

from typing import Any

import torch
import triton
import triton.language as tl

try:
    from .impl_dispatch import _select_config
except ImportError:
    from impl_dispatch import _select_config


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_SIZE: tl.constexpr) -> None:
    """Compute BLOCK_SIZE elements."""
    # Offsets are 64-bit: a tensor may hold more than 2^31 elements.
    offsets = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < N)
    y = tl.load(y_ptr + offsets, mask=offsets < N)
    tl.store(z_ptr + offsets, x + y, mask=offsets < N)


class ModelNew(torch.nn.Module):
    """`x + y` for two fp32 tensors of one shape."""

    def forward(self, x: torch.Tensor, y: torch.Tensor, config: Any = None) -> torch.Tensor:
        """The sum; the dispatch chooses the config unless one is given."""
        if x.shape != y.shape:
            raise ValueError(f"x is {tuple(x.shape)} and y {tuple(y.shape)}: make them equal")
        N = x.numel()
        if config is None:
            config = _select_config((N,))
        x, y = x.contiguous(), y.contiguous()
        z = torch.empty_like(x)
        grid = (triton.cdiv(N, config.param("BLOCK_SIZE")),)
        vector_add_kernel[grid](x, y, z, N, **config.all_kwargs())
        return z
