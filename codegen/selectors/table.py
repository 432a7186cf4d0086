"""The table selector: exact shapes first, then another selector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from codegen.axes import AxisValue, IntegerAxis, Shape
from codegen.decision import Decision
from codegen.errors import shown
from codegen.fields import AxisValueField, Int64, Strict
from codegen.selectors.base import MAX_LEAVES, Selector, Site
from codegen.selectors.bucket import BucketBody
from codegen.selectors.constant import ConstantBody
from codegen.selectors.tree import TreeBody

__all__ = ["Table", "TableBody", "TablePayload"]


@dataclass(frozen=True, slots=True)
class Table:
    """Pinned shapes, and the selector for all others."""

    pinned: tuple[tuple[Shape, int], ...]
    otherwise: Selector
    kind = "table"

    def choose(self, sizes: Mapping[str, Any]) -> int:
        """Return what the other selector chooses."""
        return self.otherwise.choose(sizes)

    def lower(self) -> Decision:
        """Return the other selector's decision; the pinned shapes are asked before it."""
        return self.otherwise.lower()


class EntryField(Strict):
    """`{"shape": [1, 4096, 4096], "config": 2}`."""

    shape: list[AxisValueField]
    config: Int64

    def build(self, site: Site) -> tuple[Shape, int]:
        """Return shape and config; raises ManifestError when the shape is not one of the axes."""
        if len(self.shape) != len(site.axes):
            fact = f"has {len(self.shape)} values for {len(site.axes)} axes"
            raise site.at("shape").error(fact, f"give one each for {', '.join(site.axes)}")
        for i, (value, axis) in enumerate(zip(self.shape, site.axes.values(), strict=True)):
            if not (isinstance(value, int) if isinstance(axis, IntegerAxis) else axis.holds(value)):
                fact = f"{shown(value)} is not a value of axis {axis.name}"
                raise site.at("shape", i).error(fact, "write a value that the axis can take")
        return tuple(self.shape), site.at("config").config(self.config)


OtherwiseField: TypeAlias = Annotated[
    TreeBody | BucketBody | ConstantBody, Field(discriminator="kind")
]


class TablePayload(Strict):
    """`{"entries": […], "otherwise": {"kind": …, "payload": …}}`."""

    entries: Annotated[list[EntryField], Field(max_length=MAX_LEAVES)]
    otherwise: OtherwiseField

    def build(self, site: Site) -> Table:
        """Return the selector; raises ManifestError for what contradicts the manifest."""
        pinned: dict[tuple[AxisValue, ...], int] = {}
        for i, entry in enumerate(self.entries):
            shape, config = entry.build(site.at("entries", i))
            if shape in pinned:
                fact = f"the shape {list(shape)} has an entry already"
                raise site.at("entries", i, "shape").error(fact, "keep one of the two")
            pinned[shape] = config
        otherwise = self.otherwise.payload.build(site.at("otherwise", "payload"))
        return Table(tuple(pinned.items()), otherwise)


class TableBody(Strict):
    """A table selector as the manifest writes it."""

    kind: Literal["table"]
    payload: TablePayload
