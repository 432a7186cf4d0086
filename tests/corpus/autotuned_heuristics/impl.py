import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config(kwargs={"BLOCK_N": 64}, num_warps=2),
        triton.Config(kwargs={"BLOCK_N": 256}, num_warps=4),
    ],
    key=["N"],
)
@triton.heuristics({"EVEN_N": lambda args: args["N"] % args["BLOCK_N"] == 0})
@triton.jit
def row_sum_kernel(x_ptr, out_ptr, M, N, BLOCK_N: tl.constexpr, EVEN_N: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        if EVEN_N:
            acc += tl.load(x_ptr + row * N + cols)
        else:
            acc += tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)
    tl.store(out_ptr + row, tl.sum(acc, axis=0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        M, N = x.shape
        out = torch.empty(M, dtype=torch.float32, device=x.device)
        row_sum_kernel[(M,)](x, out, M, N)
        return out
