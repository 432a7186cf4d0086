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

        A config that can exceed the limit nowhere in there is taken without a question.
        """
        node: Node = REFUSED
        for index in reversed(self._in_order(config)):
            blocks = self.grid.blocks(self._config(index))
            if self._most(blocks, ranges) <= self.grid.limit:
                node = Leaf(index)
            else:
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

    def _most(self, blocks: tuple[Blocks, ...], ranges: _Ranges) -> float:
        """Return the most programs within `ranges`; infinite where that is not known."""
        highs: dict[str, int] = {}
        for axis in self.policy.axes:
            low, high = ranges.get(AxisTerm(axis.name), (None, None))
            # A shape beyond the envelope is chosen for at its nearest point, and launched as it is.
            if isinstance(axis, IntegerAxis) and self.policy.outside == "nearest":
                low = None if low == axis.low else low
                high = None if high == axis.high else high
            if low is not None and low >= 0 and high is not None:
                highs[axis.name] = high
        if not all(axis in highs for dim in blocks for axis in dim.axes):
            return float("inf")
        return programs_of(blocks, highs)
