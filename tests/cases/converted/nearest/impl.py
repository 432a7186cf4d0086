"""Nearest centroid of each row: x (M, K) and c (N, K) in float32, the index as int64 (M,)."""

from typing import Any

import numpy as np

try:
    from .impl_dispatch import _select_config
except ImportError:
    from impl_dispatch import _select_config


def nearest_of_block(
    rows: np.ndarray, c: np.ndarray, half_squares: np.ndarray, BLOCK_N: int
) -> np.ndarray:
    """The index of the nearest centroid of each of `rows`, the lowest where several are."""
    least = np.full(len(rows), np.inf, dtype=np.float32)
    index = np.zeros(len(rows), dtype=np.int64)
    for left in range(0, len(c), BLOCK_N):
        # (|x - c|^2 - |x|^2) / 2, which has its minimum where |x - c| has.
        distance = rows @ c[left : left + BLOCK_N].T
        np.subtract(half_squares[left : left + BLOCK_N], distance, out=distance)
        found = distance.argmin(axis=1)
        found_least = np.take_along_axis(distance, found[:, None], axis=1)[:, 0]
        closer = found_least < least
        least = np.where(closer, found_least, least)
        index = np.where(closer, found + left, index)
    return index


class ModelNew:
    """The index of the nearest of N centroids, in blocks of BLOCK_M x BLOCK_N distances.

    A block of a size that the cache holds costs some microseconds of Python, whatever it does: best
    is what covers the shape in the fewest.
    """

    def forward(self, x: np.ndarray, c: np.ndarray, config: Any = None) -> np.ndarray:
        """The indices; the dispatch chooses the config unless one is given."""
        (M, K), N = x.shape, c.shape[0]
        if config is None:
            config = _select_config((M, N, K))
        BLOCK_M, BLOCK_N = config.param("BLOCK_M"), config.param("BLOCK_N")
        half_squares = np.einsum("nk,nk->n", c, c) / np.float32(2)
        index = np.empty(M, dtype=np.int64)
        for top in range(0, M, BLOCK_M):
            rows = x[top : top + BLOCK_M]
            index[top : top + BLOCK_M] = nearest_of_block(rows, c, half_squares, BLOCK_N)
        return index
