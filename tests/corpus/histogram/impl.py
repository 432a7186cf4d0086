import torch
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(x_ptr, hist_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    bins = tl.load(x_ptr + offs, mask=mask, other=0)
    tl.atomic_add(hist_ptr + bins, 1, mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, bins=256):
        super().__init__()
        self.bins = bins  # the number of bins happens to be a block size too
        self.block = 256

    def forward(self, x):
        hist = torch.zeros(self.bins, dtype=torch.int32, device=x.device)
        n = x.numel()
        histogram_kernel[triton.cdiv(n, self.block),](x, hist, n, BLOCK=self.block)
        return hist
