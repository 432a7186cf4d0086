"""Cover: few configs for many leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.fit.samples import Evidence, Samples

__all__ = ["cover"]

# A config was chosen that cost up to a band more than the best. Noise may make that more in a
# second run; a leaf changes its config when it costs twice as much.
_LOYALTY = 2.0


def cover(
    leaves: Sequence[Evidence], samples: Samples, previous: Sequence[int | None] = ()
) -> tuple[int, ...]:
    """Return a config for each leaf, acceptable there, so that few different ones are used.

    A leaf keeps its config of `previous`, if there is one and it is nearly acceptable. The default
    is taken wherever else it is acceptable: a leaf has to beat it to exist. Then greedily the
    config that is acceptable in most of the leaves left, of those the simplest.
    """
    acceptable = np.array([leaf.acceptable(samples) for leaf in leaves])
    chosen = np.full(len(leaves), -1)
    for leaf, config in enumerate(previous):
        if config is not None and leaves[leaf].acceptable(samples, _LOYALTY)[config]:
            chosen[leaf] = config
    config = samples.default
    while True:
        chosen[(chosen < 0) & acceptable[:, config]] = config
        left = chosen < 0
        if not left.any():
            return tuple(chosen.tolist())
        counts = acceptable[left].sum(axis=0)
        config = int(np.lexsort((samples.rank, -counts))[0])
