import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    r = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    c = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (r[:, None] < M) & (c[None, :] < N)
    offsets = r[:, None] * N + c[None, :]
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        M, N = x.shape
        y = torch.empty_like(x)
        copy_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, y, M, N, BLOCK_M=32, BLOCK_N=32)
        return y
