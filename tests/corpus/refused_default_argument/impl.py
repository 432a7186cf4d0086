import torch
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + i, mask=i < n), 0.0), mask=i < n)


def padded_length(n, multiple=BLOCK):
    return (n + multiple - 1) // multiple * multiple


class ModelNew(torch.nn.Module):
    def forward(self, x):
        n = x.numel()
        y = torch.empty(padded_length(n), dtype=x.dtype, device=x.device)
        relu_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK)
        return y[:n]
