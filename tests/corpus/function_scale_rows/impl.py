"""Multiply each row by a factor of its own."""

from typing import Optional

import torch
import triton
import triton.language as tl


@triton.jit
def _scale_rows_kernel(
    x_ptr, s_ptr, y_ptr, n_rows, n_cols,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    r = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = (r[:, None] < n_rows) & (c[None, :] < n_cols)
    s = tl.load(s_ptr + r, mask=r < n_rows, other=0.0)
    x = tl.load(x_ptr + r[:, None] * n_cols + c[None, :], mask=mask)
    tl.store(y_ptr + r[:, None] * n_cols + c[None, :], x * s[:, None], mask=mask)


def scale_rows(x: torch.Tensor, s: torch.Tensor, *, out: Optional[torch.Tensor] = None) -> torch.Tensor:
    """Return x (R, C) times s (R,), in `out` if there is one."""
    BLOCK_R = 4
    BLOCK_C = 128
    n_rows, n_cols = x.shape
    if out is None:
        out = torch.empty_like(x)
    grid = (triton.cdiv(n_rows, BLOCK_R), triton.cdiv(n_cols, BLOCK_C))
    _scale_rows_kernel[grid](x, s, out, n_rows, n_cols, BLOCK_R=BLOCK_R, BLOCK_C=BLOCK_C, num_warps=2)
    return out
