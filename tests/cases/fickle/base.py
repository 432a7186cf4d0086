"""Twice a vector, in numpy; of some lengths the inputs or the reference end the process."""

import os
import time
from typing import Any

import numpy as np

SHAPES = ((4,), (16,), (64,))  # (N,)
# Lengths that no process survives, or gets beyond.
INPUTS_KILL, REFERENCE_KILLS, REFERENCE_RAISES, REFERENCE_HANGS = 1000, 2000, 3000, 4000


class Model:
    """`2 * x`."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Twice the vector, if the process lives that long."""
        if len(x) == REFERENCE_KILLS:
            os.abort()
        if len(x) == REFERENCE_RAISES:
            raise ValueError(f"length {len(x)} is out of the question")
        if len(x) == REFERENCE_HANGS:
            time.sleep(1000)
        return 2 * x


def get_init_inputs() -> list[Any]:
    """The arguments of `Model` and `ModelNew`."""
    return []


def get_inputs_for_shape(shape: tuple[int, ...]) -> list[np.ndarray]:
    """A new random vector in float32 for `shape`, which is (N,); no element is 0."""
    if shape == (INPUTS_KILL,):
        os._exit(7)
    rng = np.random.default_rng()
    return [rng.uniform(1, 2, shape).astype(np.float32)]


def get_inputs_dyn_list() -> list[list[np.ndarray]]:
    """Inputs for each of `SHAPES`."""
    return [get_inputs_for_shape(shape) for shape in SHAPES]
