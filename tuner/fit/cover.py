"""Cover: few configs for many leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.fit.samples import Evidence, Samples

__all__ = ["cover"]


def cover(leaves: Sequence[Evidence], samples: Samples) -> tuple[int, ...]:
    """Return a config for each leaf, acceptable there, so that few different ones are used.

    The default is taken wherever it is acceptable: a leaf has to beat it to exist. Then greedily
    the config that is acceptable in most of the leaves left, of those the simplest.
    """
    acceptable = np.array([leaf.acceptable(samples) for leaf in leaves])
    chosen = np.full(len(leaves), -1)
    config = samples.default
    while True:
        chosen[(chosen < 0) & acceptable[:, config]] = config
        left = chosen < 0
        if not left.any():
            return tuple(chosen.tolist())
        counts = acceptable[left].sum(axis=0)
        config = int(np.lexsort((samples.rank, -counts))[0])
