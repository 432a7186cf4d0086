import torch
import triton
import triton.language as tl

__all__ = ["BLOCK", "ModelNew"]

BLOCK = 512  # callers pad their tensors to a multiple of this


@triton.jit
def relu_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + i), 0.0))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu_kernel[(x.numel() // BLOCK,)](x, y, BLOCK=BLOCK)
        return y
