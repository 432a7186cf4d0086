"""Leaves that hold on their whole region, and those that must look at the launch grid first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codegen.axes import IntegerAxis
from codegen.config import Config
from codegen.features import AxisTerm, Product, Term
from codegen.grid import Blocks, LaunchGrid, programs_of
from codegen.plan.nodes import DEFAULT, REFUSED, Guard, Leaf, Node
from codegen.policy import Policy

__all__ = ["Guards"]

_Ranges = Mapping[Term | Product, tuple[int | None, int | None]]


@dataclass(frozen=True, slots=True)
class Guards:
    """Makes leaves of a policy whose configs may launch too many programs somewhere."""

    policy: Policy
    grid: LaunchGrid

    def leaf(self, config: int, ranges: _Ranges) -> Node:
        """Return what `Policy.evaluate` does once `config` is chosen, on shapes within `ranges`.

        A config that can exceed the limit nowhere in there is taken without a question, and one
        that exceeds it everywhere is left out.
        """
        node: Node = REFUSED
        for index in reversed(self._in_order(config)):
            blocks = self.grid.blocks(self._config(index))
            least, most = self._bounds(blocks, ranges)
            if most <= self.grid.limit:
                node = Leaf(index)
            elif least <= self.grid.limit:
                node = Guard(blocks, self.grid.limit, Leaf(index), node)
        return node

    @property
    def default(self) -> int:
        """The default's index among the policy's configs, `DEFAULT` if it is none of them."""
        configs = self.policy.configs
        known = self.policy.default in configs
        return configs.index(self.policy.default) if known else DEFAULT

    def _in_order(self, config: int) -> list[int]:
        """Return the configs to be tried, each with other blocks than those before."""
        coarsest = self.policy.configs.index(self.policy.coarsest)
        found: dict[tuple[Blocks, ...], int] = {}
        for index in (config, self.default, coarsest):
            found.setdefault(self.grid.blocks(self._config(index)), index)
        return list(found.values())

    def _config(self, index: int) -> Config:
        return self.policy.default if index == DEFAULT else self.policy.configs[index]

    def _bounds(self, blocks: tuple[Blocks, ...], ranges: _Ranges) -> tuple[float, float]:
        """Return the fewest and the most programs within `ranges`; infinite where not known."""
        lows: dict[str, int] = {}
        highs: dict[str, int] = {}
        for axis in self.policy.axes:
            low, high = ranges.get(AxisTerm(axis.name), (None, None))
            # A shape beyond the envelope is chosen for at its nearest point, and launched as it is.
            if isinstance(axis, IntegerAxis) and self.policy.outside == "nearest":
                low = None if low == axis.low else low
                high = None if high == axis.high else high
            # Of a negative size nothing is known: two of them make a product that is none.
            if low is not None and low >= 0:
                lows[axis.name] = low
                if high is not None:
                    highs[axis.name] = high
        counted = {axis for dim in blocks for axis in dim.axes}
        return (
            programs_of(blocks, lows) if counted <= {*lows} else float("-inf"),
            programs_of(blocks, highs) if counted <= {*highs} else float("inf"),
        )
