import torch
import triton
import triton.language as tl

BLOCK = 128


@triton.jit
def partial_sums_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0)))


class ModelNew(torch.nn.Module):
    def __init__(self, max_n=4096):
        super().__init__()
        self.register_buffer("partial", torch.zeros(max_n // BLOCK))

    def forward(self, x):
        n = x.numel()
        programs = triton.cdiv(n, BLOCK)
        partial_sums_kernel[(programs,)](x, self.partial, n, BLOCK=BLOCK)
        return self.partial[:programs].sum()
