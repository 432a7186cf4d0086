"""Twice a vector."""

from typing import Any

import torch


class Model(torch.nn.Module):
    """`2 * x`."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Twice x."""
        return 2 * x


def get_init_inputs() -> list[Any]:
    """The arguments of `Model` and `ModelNew`: none."""
    return []


def get_inputs_for_shape(shape: tuple[int, ...]) -> list[torch.Tensor]:
    """New random inputs for `shape`, which is (N,)."""
    return [torch.randn(shape)]


def get_inputs_dyn_list() -> list[list[torch.Tensor]]:
    """Inputs of a few sizes."""
    return [get_inputs_for_shape((n,)) for n in (1, 100, 1024, 5000)]
