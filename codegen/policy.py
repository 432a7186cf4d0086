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
from codegen.grid import LaunchGrid, programs_of
from codegen.selectors import Selector

__all__ = ["Outside", "OutsideEnvelopeError", "Policy", "TooManyProgramsError"]

Outside: TypeAlias = Literal["default", "nearest", "raise"]


class OutsideEnvelopeError(ValueError):
    """A shape outside the envelope, where the manifest says to raise."""


class TooManyProgramsError(OutsideEnvelopeError):
    """A shape on which every config launches more programs than the target takes."""


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
    5. Where `grid` says that the config so found launches too many programs, the default config is
       taken instead, and where that does, too, the config of the largest blocks. Where all three
       do, an error is raised.
    """

    axes: tuple[Axis, ...]
    configs: tuple[Config, ...]
    default: Config
    outside: Outside
    selector: Selector
    grid: LaunchGrid | None = None

    def evaluate(self, shape: Sequence[AxisValue]) -> Config:
        """Return the config for `shape`, one value an axis in the order of `axes`.

        Raises:
            ValueError: `shape` has another length than `axes`.
            OutsideEnvelopeError: it lies outside the envelope and the rule is `raise`.
            TooManyProgramsError: no config that may be taken stays below the limit of the grid.
        """
        chosen = self.chosen(shape)
        if self.grid is None:
            return chosen
        for config in (chosen, self.default, self.coarsest):
            if self.programs(config, shape) <= self.grid.limit:
                return config
        raise TooManyProgramsError(f"{shape} needs more than {self.grid.limit} programs")

    def programs(self, config: Config, shape: Sequence[AxisValue]) -> int:
        """Return how many programs `config` launches on `shape`, as it is; 0 without a grid."""
        sizes = {a.name: v for a, v in zip(self.axes, shape, strict=True) if isinstance(v, int)}
        return programs_of(self.grid.blocks(config), sizes) if self.grid else 0

    @property
    def coarsest(self) -> Config:
        """The config of the largest blocks, the first of several; the default without a grid."""
        grid = self.grid
        return max(self.configs, key=grid.volume) if grid else self.default

    def chosen(self, shape: Sequence[AxisValue]) -> Config:
        """Return the config for `shape`, whatever its grid; raises as `evaluate`."""
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
