import torch
import triton
import triton.language as tl

try:

    @triton.jit
    def silu_kernel(x, y, n, BLOCK_SIZE: tl.constexpr):
        pid = tl.program_id(0)
        offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
        v = tl.load(x + offs, mask=offs < n)
        tl.store(y + offs, v * tl.sigmoid(v), mask=offs < n)

    class ModelNew(torch.nn.Module):

        BLOCK_SIZE = 512

        def forward(self, x):
            y = torch.empty_like(x)
            n = x.numel()
            silu_kernel[lambda meta: (triton.cdiv(n, meta['BLOCK_SIZE']),)](
                x, y, n, BLOCK_SIZE=ModelNew.BLOCK_SIZE)
            return y

except AttributeError as error:
    raise ImportError("this Triton is too old") from error
