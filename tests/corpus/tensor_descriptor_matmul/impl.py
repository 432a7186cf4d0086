import torch
import triton
import triton.language as tl


@triton.jit
def matmul_descriptor_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = a_desc.load([pid_m * BM, k])
        b = b_desc.load([k, pid_n * BN])
        acc = tl.dot(a, b, acc)
    c_desc.store([pid_m * BM, pid_n * BN], acc)


def _alloc(size: int, alignment: int, stream):
    return torch.empty(size, device="cuda", dtype=torch.int8)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        # descriptors need scratch memory on the device
        triton.set_allocator(_alloc)
        (M, K), (_, N) = a.shape, b.shape
        c = a.new_empty((M, N))
        matmul_descriptor_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 64))](
            a, b, c, M, N, K,
            BM=32, BN=64, BK=16, num_warps=4, num_stages=2,
        )
        return c
