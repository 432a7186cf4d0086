import torch
import triton
import triton.language as tl


def zero_output(args):
    args["out_ptr"].zero_()


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128}, pre_hook=zero_output),
        triton.Config({"BLOCK": 256}, pre_hook=zero_output),
    ],
    key=["n"],
)
@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0)))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(1, dtype=torch.float32, device=x.device)
        n = x.numel()
        sum_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
        return out
