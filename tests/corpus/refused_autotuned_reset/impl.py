import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128, "SPLIT": 2}),
        triton.Config({"BLOCK": 256, "SPLIT": 4}),
    ],
    key=["n"],
    reset_to_zero=["out_ptr"],
)
@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, SPLIT: tl.constexpr):
    total = 0.0
    for start in range(tl.program_id(0) * BLOCK, n, BLOCK * SPLIT):
        i = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0))
    tl.atomic_add(out_ptr, total)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.zeros(1, dtype=torch.float32, device=x.device)
        sum_kernel[lambda meta: (meta["SPLIT"],)](x, out, x.numel())
        return out
