"""Nearest centroid of each row, in numpy and all at once."""

from typing import Any

import numpy as np

SHAPES = (  # (M, N, K)
    (1, 4096, 64),
    (5, 3001, 32),
    (16, 4096, 64),
    (64, 6000, 16),
    (100, 1000, 32),
    (128, 128, 64),
    (333, 777, 64),
    (1000, 64, 16),
    (1024, 1024, 32),
    (2048, 256, 64),
    (4096, 16, 32),
    (6001, 7, 24),
)
_LARGEST = 8


class Model:
    """The index of the nearest of N centroids, the lowest where several are."""

    def forward(self, x: np.ndarray, c: np.ndarray) -> np.ndarray:
        """The indices (M,) in int64, computed in float64."""
        x, c = x.astype(np.float64), c.astype(np.float64)
        return (np.square(c).sum(axis=1) / 2 - x @ c.T).argmin(axis=1)


def get_init_inputs() -> list[Any]:
    """The arguments of `Model` and `ModelNew`."""
    return []


def get_inputs_for_shape(shape: tuple[int, ...]) -> list[np.ndarray]:
    """New random rows (M, K) and centroids (N, K) for `shape`, which is (M, N, K).

    All are small integers, so float32 holds every distance exactly, in whatever order it is summed:
    no rounding decides which centroid is nearest.
    """
    M, N, K = shape
    rng = np.random.default_rng()
    sizes = ((M, K), (N, K))
    return [rng.integers(-_LARGEST, _LARGEST + 1, size).astype(np.float32) for size in sizes]


def get_inputs_dyn_list() -> list[list[np.ndarray]]:
    """Inputs for each of `SHAPES`."""
    return [get_inputs_for_shape(shape) for shape in SHAPES]
