"""Sum of two fp32 tensors, in torch."""

from typing import Any

import torch

SHAPES = (  # (N,)
    (7,),
    (1024,),
    (10001,),
    (131072,),
    (777777,),
    (1048576,),
    (5000011,),
    (8388608,),
)


class Model(torch.nn.Module):
    """`x + y`."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The sum, element by element."""
        return x + y


def get_init_inputs() -> list[Any]:
    """The arguments of `Model` and `ModelNew`."""
    return []


def get_inputs_for_shape(shape: tuple[int, ...]) -> list[torch.Tensor]:
    """New random inputs for `shape`, which is (N,), on torch's default device."""
    (N,) = shape
    return [torch.randn(N), torch.randn(N)]


def get_inputs_dyn_list() -> list[list[torch.Tensor]]:
    """Inputs for each of `SHAPES`."""
    return [get_inputs_for_shape(shape) for shape in SHAPES]
