"""The policy: everything that decides which config a shape gets, and the reference that says so.

`Policy.evaluate` is the meaning of a manifest. Emitted code is right when it agrees with it on
every shape; nothing else defines what a manifest chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from codegen.axes import Axis, AxisValue, CategoryAxis
from codegen.config import Config
from codegen.selectors import Selector

__all__ = ["Outside", "OutsideEnvelopeError", "Policy"]

Outside: TypeAlias = Literal["default", "nearest", "raise"]


class OutsideEnvelopeError(ValueError):
    """A shape outside the envelope, where the manifest says to raise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Axes, configs, and a selector among them.

    The rule for a shape, in this order:
    1. A shape that the selector pins gets its config, wherever it lies.
    2. A category value that was not tuned has no neighbour: `outside="raise"` raises, else the
       default config is taken.
    3. An integer outside its range: `"raise"` raises, `"default"` takes the default config,
       `"nearest"` moves it to the end of the range.
    4. The selector chooses.
    """

    axes: tuple[Axis, ...]
    configs: tuple[Config, ...]
    default: Config
    outside: Outside
    selector: Selector

    def evaluate(self, shape: Sequence[AxisValue]) -> Config:
        """Return the config for `shape`, one value an axis in the order of `axes`.

        Raises:
            ValueError: `shape` has another length than `axes`.
            OutsideEnvelopeError: it lies outside the envelope and the rule is `raise`.
        """
        if len(shape) != len(self.axes):
            raise ValueError(f"shape has {len(shape)} values for {len(self.axes)} axes")
        pinned = dict(self.selector.pinned).get(tuple(shape))
        if pinned is not None:
            return self.configs[pinned]
        strangers = [
            axis for axis, value in zip(self.axes, shape, strict=True) if not axis.holds(value)
        ]
        if strangers and self.outside == "raise":
            raise OutsideEnvelopeError(f"{strangers[0].name} lies outside the tuned envelope")
        if strangers and self.outside == "default":
            return self.default
        if any(isinstance(axis, CategoryAxis) for axis in strangers):
            return self.default
        return self.configs[self.selector.choose(self.sizes(shape))]

    def sizes(self, shape: Sequence[AxisValue]) -> dict[str, Any]:
        """Return `shape` by axis name, moved to the nearest point of the envelope."""
        return {axis.name: axis.nearest(v) for axis, v in zip(self.axes, shape, strict=True)}

    def holds(self, shape: Sequence[AxisValue]) -> bool:
        """Say whether `shape` lies inside the tuned envelope."""
        return all(axis.holds(value) for axis, value in zip(self.axes, shape, strict=True))
