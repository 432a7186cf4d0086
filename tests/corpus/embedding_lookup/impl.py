import torch
import triton
import triton.language as tl


@triton.jit
def embedding_kernel(idx_ptr, weight_ptr, out_ptr, n_idx, dim, BLOCK_I: tl.constexpr, BLOCK_D: tl.constexpr):
    i = tl.program_id(0) * BLOCK_I + tl.arange(0, BLOCK_I)
    d = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    idx = tl.load(idx_ptr + i, mask=i < n_idx, other=0)
    mask = (i[:, None] < n_idx) & (d[None, :] < dim)
    rows = tl.load(weight_ptr + idx[:, None] * dim + d[None, :], mask=mask)
    tl.store(out_ptr + i[:, None].to(tl.int64) * dim + d[None, :], rows, mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self, num_embeddings, dim):
        super().__init__()
        values = torch.arange(num_embeddings * dim, dtype=torch.float32)
        self.weight = torch.nn.Parameter(values.reshape(num_embeddings, dim), requires_grad=False)

    def _launch(self, idx, out):
        # one program gathers BLOCK_I rows, BLOCK_D columns each
        BLOCK_I = 8
        BLOCK_D = 64
        n_idx, dim = out.shape
        grid = (triton.cdiv(n_idx, BLOCK_I), triton.cdiv(dim, BLOCK_D))
        embedding_kernel[grid](idx, self.weight, out, n_idx, dim, BLOCK_I=BLOCK_I, BLOCK_D=BLOCK_D)

    def forward(self, idx):
        out = torch.empty((idx.numel(), self.weight.shape[1]), device=idx.device, dtype=self.weight.dtype)
        self._launch(idx, out)
        return out
