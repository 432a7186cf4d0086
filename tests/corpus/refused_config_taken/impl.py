import torch
import triton
import triton.language as tl


@triton.jit
def leaky_kernel(x_ptr, y_ptr, n, slope, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.where(x >= 0, x, slope * x), mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x, config):
        """`config` is the model's: a dict with the slope."""
        y = torch.empty_like(x)
        n = x.numel()
        BLOCK = 512
        leaky_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, config["slope"], BLOCK=BLOCK)
        return y
