"""RMS norm over the rows of an fp16 matrix, in torch."""

from typing import Any

import torch

SHAPES = (  # (R, C)
    (1, 4096),
    (7, 1023),
    (33, 257),
    (128, 5120),
    (512, 128),
    (1000, 1536),
    (2048, 4096),
    (8191, 64),
)


class Model(torch.nn.Module):
    """`x / sqrt(mean(x * x) + eps) * weight`, each row by itself."""

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """The rows normalised, computed in fp32."""
        wide = x.float()
        mean_square = wide.square().mean(dim=1, keepdim=True)
        return (wide * torch.rsqrt(mean_square + self.eps) * weight.float()).to(x.dtype)


def get_init_inputs() -> list[Any]:
    """The arguments of `Model` and `ModelNew`."""
    return [1e-6]


def get_inputs_for_shape(shape: tuple[int, ...]) -> list[torch.Tensor]:
    """New random inputs for `shape`, which is (R, C), on torch's default device."""
    R, C = shape
    return [torch.randn(R, C, dtype=torch.float16), torch.randn(C, dtype=torch.float16)]


def get_inputs_dyn_list() -> list[list[torch.Tensor]]:
    """Inputs for each of `SHAPES`."""
    return [get_inputs_for_shape(shape) for shape in SHAPES]
