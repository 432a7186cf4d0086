"""Softmax over the rows of an fp16 matrix, in torch."""

from typing import Any

import torch

SHAPES = (  # (R, C)
    (1, 8193),
    (11, 137),
    (64, 2048),
    (257, 1000),
    (1024, 16),
    (2048, 512),
    (4096, 1024),
    (63, 65474),
)


class Model(torch.nn.Module):
    """`torch.softmax(x, dim=1)`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The softmax of each row, computed in fp32."""
        return torch.softmax(x.float(), dim=1).to(x.dtype)


def get_init_inputs() -> list[Any]:
    """The arguments of `Model` and `ModelNew`."""
    return []


def get_inputs_for_shape(shape: tuple[int, ...]) -> list[torch.Tensor]:
    """New random inputs for `shape`, which is (R, C), on torch's default device."""
    R, C = shape
    return [torch.randn(R, C, dtype=torch.float16)]


def get_inputs_dyn_list() -> list[list[torch.Tensor]]:
    """Inputs for each of `SHAPES`."""
    return [get_inputs_for_shape(shape) for shape in SHAPES]
