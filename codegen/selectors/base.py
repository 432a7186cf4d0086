"""What every kind of selector is built with, and what it owes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from codegen.axes import Axis, CategoryAxis, IntegerAxis, Shape
from codegen.decision import Decision
from codegen.errors import ManifestError, shown

__all__ = ["MAX_DEPTH", "MAX_LEAVES", "Selector", "Site"]

# CPython refuses 100 levels of indentation, and a reader long before; its compiler recurses once
# for each `elif`. Both stay far away below these.
MAX_DEPTH = 64
MAX_LEAVES = 10_000


class Selector(Protocol):
    """Chooses a config, by index, for a shape inside the envelope."""

    @property
    def kind(self) -> str:
        """The name under which the manifest knows it."""

    @property
    def pinned(self) -> tuple[tuple[Shape, int], ...]:
        """Shapes whose config is fixed wherever they lie, asked before the envelope is."""

    def choose(self, sizes: Mapping[str, Any]) -> int:
        """Return the config's index for a shape given as axis name → value: the reference."""

    def lower(self) -> Decision:
        """Return the same choice as a decision, to emit code from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where in the manifest a payload is being read, and what it may refer to."""

    path: str
    axes: Mapping[str, Axis]
    configs: int

    def at(self, *parts: str | int) -> Site:
        """Return the site further down."""
        steps = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
        return Site(path=self.path + steps, axes=self.axes, configs=self.configs)

    def error(self, fact: str, remedy: str) -> ManifestError:
        """Return an error that stands here."""
        return ManifestError(fact, where=self.path, remedy=remedy)

    def config(self, index: int) -> int:
        """Return `index` if there is such a config."""
        if not 0 <= index < self.configs:
            fact = f"config index {index} is out of range, config_ids has {self.configs}"
            raise self.error(fact, f"use 0 to {self.configs - 1} or extend selector.config_ids")
        return index

    def axis(self, name: str) -> Axis:
        """Return the axis called `name`."""
        if name not in self.axes:
            fact = f"there is no axis {shown(name)}"
            raise self.error(fact, f"the axes are {', '.join(self.axes)}")
        return self.axes[name]

    def integer_axis(self, name: str) -> str:
        """Return `name` if it is an integer axis."""
        if not isinstance(self.axis(name), IntegerAxis):
            raise self.error(
                f"axis {name} is a category and has no order", "split a category by its values"
            )
        return name

    def category_axis(self, name: str) -> CategoryAxis:
        """Return the category axis called `name`."""
        axis = self.axis(name)
        if not isinstance(axis, CategoryAxis):
            raise self.error(
                f"axis {name} is an integer, not a category", "split it by a threshold"
            )
        return axis
