"""Twice a vector, in numpy: what the hostile kernel beside this file is compared with."""

from typing import Any

import numpy as np

SHAPES = ((4,), (7,), (16,), (33,), (64,), (101,))  # (N,)


class Model:
    """`2 * x`."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Twice the vector."""
        return 2 * x


def get_init_inputs() -> list[Any]:
    """The arguments of `Model` and `ModelNew`."""
    return []


def get_inputs_for_shape(shape: tuple[int, ...]) -> list[np.ndarray]:
    """A new random vector in float32 for `shape`, which is (N,); no element is 0."""
    rng = np.random.default_rng()
    return [rng.uniform(1, 2, shape).astype(np.float32)]


def get_inputs_dyn_list() -> list[list[np.ndarray]]:
    """Inputs for each of `SHAPES`."""
    return [get_inputs_for_shape(shape) for shape in SHAPES]
