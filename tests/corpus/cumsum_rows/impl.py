import torch
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    carry = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        offs = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + row * n_cols + offs, mask=offs < n_cols, other=0.0)
        y = tl.cumsum(x, axis=0) + carry
        tl.store(y_ptr + row * n_cols + offs, y, mask=offs < n_cols)
        carry += tl.sum(x, axis=0)


class ModelNew(torch.nn.Module):
    """Running sum along the last dimension."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        BLOCK_SIZE = 128
        NUM_WARPS = 4
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, cols = x.shape
        cumsum_kernel[rows,](x, y, cols, BLOCK_SIZE=BLOCK_SIZE, num_warps=NUM_WARPS)
        return y
