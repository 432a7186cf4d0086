"""Fit a constant: the one config with the least mean regret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from codegen.decision import Choose, Decision
from codegen.selectors.constant import Constant
from tuner.fit.cover import cover
from tuner.fit.growth import Limits
from tuner.fit.samples import Samples

__all__ = ["grow", "kept", "payload"]


@dataclass(frozen=True, slots=True)
class ConstantGrowth:
    """A constant, which has one size."""

    constant: Constant

    def at(self, leaves: int) -> Constant:  # noqa: ARG002 (the protocol's)
        """Return the constant."""
        return self.constant


def grow(samples: Samples, limits: Limits) -> ConstantGrowth:  # noqa: ARG001 (the protocol's)
    """Return the best single config that was measured everywhere; of those tied the default."""
    return ConstantGrowth(_best(samples, None))


def kept(
    fresh: Constant,
    samples: Samples,
    limits: Limits,  # noqa: ARG001 (the protocol's)
    previous: Decision,
) -> Constant:
    """Return what `previous` chooses, if that is acceptable, else `fresh`."""
    if not isinstance(previous, Choose) or previous.config < 0:
        return fresh
    return _best(samples, previous.config)


def _best(samples: Samples, previous: int | None) -> Constant:
    everything = samples.evidence(np.arange(len(samples.sizes)))
    (config,) = cover([everything], samples, [previous])
    return Constant(config)


def payload(constant: Constant, number: Mapping[int, int]) -> dict[str, Any]:
    """Return the manifest's payload; `number` is the place of each config in `config_ids`."""
    return {"config": number[constant.config]}
