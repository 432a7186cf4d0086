import torch
import triton
import triton.language as tl


@triton.jit
def group_max_kernel(x_ptr, out_ptr, n, GROUP: tl.constexpr):
    i = tl.program_id(0) * GROUP + tl.arange(0, GROUP)
    x = tl.load(x_ptr + i, mask=i < n, other=-float("inf"))
    tl.store(out_ptr + tl.program_id(0), tl.max(x, axis=0))


@triton.jit
def divide_kernel(x_ptr, max_ptr, y_ptr, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    scale = tl.load(max_ptr + i // GROUP, mask=i < n, other=1.0)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) / scale, mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        SIZE = 64  # the quantisation group, and a convenient block
        n = x.numel()
        groups = triton.cdiv(n, SIZE)
        largest = torch.empty(groups, device=x.device)
        y = torch.empty_like(x)
        group_max_kernel[(groups,)](x, largest, n, GROUP=SIZE)
        divide_kernel[(groups,)](x, largest, y, n, GROUP=SIZE, BLOCK=SIZE)
        return y
