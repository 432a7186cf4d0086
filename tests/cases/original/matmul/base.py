"""Matrix product of two fp16 matrices, in torch."""

from typing import Any

import torch

SHAPES = (  # (M, N, K)
    (1, 4096, 4096),
    (16, 1024, 4096),
    (77, 135, 31),
    (128, 128, 4096),
    (511, 441, 129),
    (1024, 1024, 1024),
    (2048, 768, 3072),
    (4096, 4096, 1024),
)


class Model(torch.nn.Module):
    """`a @ b`."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """The product (M, N) of a (M, K) and b (K, N), computed in fp32."""
        return (a.float() @ b.float()).to(a.dtype)


def get_init_inputs() -> list[Any]:
    """The arguments of `Model` and `ModelNew`."""
    return []


def get_inputs_for_shape(shape: tuple[int, ...]) -> list[torch.Tensor]:
    """New random inputs for `shape`, which is (M, N, K), on torch's default device."""
    M, N, K = shape
    return [torch.randn(M, K, dtype=torch.float16), torch.randn(K, N, dtype=torch.float16)]


def get_inputs_dyn_list() -> list[list[torch.Tensor]]:
    """Inputs for each of `SHAPES`."""
    return [get_inputs_for_shape(shape) for shape in SHAPES]
