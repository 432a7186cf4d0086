import torch
import triton
import triton.language as tl


@triton.jit
def scale_shift_kernel(
    x_ptr, y_ptr, alpha, beta, rows, cols,
    sx0, sx1, sy0, sy1,
    BLOCK_X: tl.constexpr,
    BLOCK_Y: tl.constexpr,
):
    i = tl.program_id(1) * BLOCK_Y + tl.arange(0, BLOCK_Y)[:, None]
    j = tl.program_id(0) * BLOCK_X + tl.arange(0, BLOCK_X)[None, :]
    mask = (i < rows) & (j < cols)
    x = tl.load(x_ptr + i * sx0 + j * sx1, mask=mask)
    tl.store(y_ptr + i * sy0 + j * sy1, x * alpha + beta, mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x, alpha=2.0, beta=1.0):
        """Works on any strides: x may be a transposed view."""
        BLOCK_X = 64  # along the columns
        BLOCK_Y = 8  # along the rows
        rows, cols = x.shape
        y = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
        grid_x = triton.cdiv(cols, BLOCK_X)
        grid_y = triton.cdiv(rows, BLOCK_Y)
        scale_shift_kernel[(grid_x, grid_y)](
            x, y, alpha, beta, rows, cols, *x.stride(), *y.stride(), BLOCK_X=BLOCK_X, BLOCK_Y=BLOCK_Y
        )
        return y
