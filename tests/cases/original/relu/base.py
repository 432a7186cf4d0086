"""ReLU of an fp16 tensor, in torch."""

from typing import Any

import torch

SHAPES = (  # (N,)
    (1,),
    (1000,),
    (4096,),
    (65537,),
    (262144,),
    (1000003,),
    (4194304,),
    (12345678,),
)


class Model(torch.nn.Module):
    """`torch.relu(x)`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The elements, negative ones as 0."""
        return torch.relu(x)


def get_init_inputs() -> list[Any]:
    """The arguments of `Model` and `ModelNew`."""
    return []


def get_inputs_for_shape(shape: tuple[int, ...]) -> list[torch.Tensor]:
    """New random inputs for `shape`, which is (N,), on torch's default device."""
    (N,) = shape
    return [torch.randn(N, dtype=torch.float16)]


def get_inputs_dyn_list() -> list[list[torch.Tensor]]:
    """Inputs for each of `SHAPES`."""
    return [get_inputs_for_shape(shape) for shape in SHAPES]
