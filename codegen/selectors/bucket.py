"""The bucket selector: a grid of ranges, one config a cell."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any, Literal

from pydantic import Field

from codegen.axes import AxisValue, CategoryAxis, Shape
from codegen.decision import Among, Choose, Decision, Split, count_leaves
from codegen.features import AxisTerm
from codegen.fields import Identifier, Int64, Strict
from codegen.selectors.base import MAX_LEAVES, Site

__all__ = ["Bucket", "BucketBody", "BucketPayload", "Categories", "Ranges"]

_MAX_CELLS = 100_000


@dataclass(frozen=True, slots=True)
class Ranges:
    """An integer axis cut at `edges`, ascending; an edge belongs to the range below it."""

    axis: str
    edges: tuple[int, ...]

    @property
    def bins(self) -> int:
        """How many ranges there are."""
        return len(self.edges) + 1

    def index(self, value: int) -> int:
        """Return the range that `value` lies in."""
        return bisect_left(self.edges, value)

    def split(self, low: int, middle: int, left: Decision, right: Decision) -> Decision:  # noqa: ARG002 (the sibling's)
        """Return the question that parts the ranges before `middle` from those behind."""
        return Split(AxisTerm(self.axis), self.edges[middle - 1], left, right)


@dataclass(frozen=True, slots=True)
class Categories:
    """A category axis, one bin a value."""

    axis: str
    values: tuple[AxisValue, ...]

    @property
    def bins(self) -> int:
        """How many values there are."""
        return len(self.values)

    def index(self, value: AxisValue) -> int:
        """Return the bin of `value`."""
        return self.values.index(value)

    def split(self, low: int, middle: int, left: Decision, right: Decision) -> Decision:
        """Return the question that parts the values before `middle` from those behind."""
        return Among(self.axis, self.values[low:middle], left, right)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Dimensions, and the config of each cell in row-major order."""

    dims: tuple[Ranges | Categories, ...]
    cells: tuple[int, ...]
    kind = "bucket"
    pinned: tuple[tuple[Shape, int], ...] = ()

    def choose(self, sizes: Mapping[str, Any]) -> int:
        """Return the config of the cell that `sizes` lies in."""
        cell = 0
        for dim in self.dims:
            cell = cell * dim.bins + dim.index(sizes[dim.axis])
        return self.cells[cell]

    def lower(self) -> Decision:
        """Return questions that halve the grid, dimension by dimension, until one config is left.

        Comparisons written out cost a few nanoseconds each, so ten of them find one range in a
        thousand sooner than any search through a sequence could in Python.
        """
        return _halve(self.dims, self.cells, 0, self.dims[0].bins if self.dims else 1)


def _halve(
    dims: tuple[Ranges | Categories, ...], cells: tuple[int, ...], low: int, high: int
) -> Decision:
    """Lower bins `low` to `high` of the first of `dims`, whose cells are `cells`."""
    if min(cells) == max(cells):
        return Choose(cells[0])
    if high - low == 1:
        return _halve(dims[1:], cells, 0, dims[1].bins)
    middle = (low + high) // 2
    at = len(cells) // (high - low) * (middle - low)
    left, right = _halve(dims, cells[:at], low, middle), _halve(dims, cells[at:], middle, high)
    return left if left == right else dims[0].split(low, middle, left, right)


class DimField(Strict):
    """`{"axis": "M", "edges": [64, 128]}`; a category axis has no edges."""

    axis: Identifier
    edges: list[Int64] | None = None

    def build(self, site: Site) -> Ranges | Categories:
        """Return the dimension; raises ManifestError for edges that do not ascend."""
        axis = site.at("axis").axis(self.axis)
        if isinstance(axis, CategoryAxis):
            if self.edges is not None:
                fact = f"axis {axis.name} is a category and cannot be cut at edges"
                raise site.at("edges").error(fact, "remove them: each value is a bin")
            return Categories(axis.name, axis.values)
        if self.edges is None:
            raise site.at("edges").error("missing field", "give the edges, ascending; [] for none")
        for i, (edge, following) in enumerate(zip(self.edges, self.edges[1:], strict=False), 1):
            if following <= edge:
                fact = f"edge {following} does not lie above {edge}"
                raise site.at("edges", i).error(fact, "write the edges in ascending order")
        return Ranges(axis.name, tuple(self.edges))


class BucketPayload(Strict):
    """`{"dims": […], "cells": […]}`, cells in row-major order."""

    dims: Annotated[list[DimField], Field(min_length=1)]
    cells: Annotated[list[Int64], Field(max_length=_MAX_CELLS)]

    def build(self, site: Site) -> Bucket:
        """Return the selector; raises ManifestError for what contradicts the manifest."""
        dims = tuple(dim.build(site.at("dims", i)) for i, dim in enumerate(self.dims))
        names = [dim.axis for dim in dims]
        for i, name in enumerate(names):
            if name in names[:i]:
                raise site.at("dims", i, "axis").error(
                    f"axis {name} has a dimension already", "merge the two"
                )
        wanted = prod(dim.bins for dim in dims)
        if len(self.cells) != wanted:
            fact = f"has {len(self.cells)} cells, the dims make {wanted}"
            raise site.at("cells").error(fact, "give one config index for each cell, row-major")
        cells = (site.at("cells", i).config(cell) for i, cell in enumerate(self.cells))
        bucket = Bucket(dims, tuple(cells))
        leaves = count_leaves(bucket.lower())
        if leaves > MAX_LEAVES:
            fact = f"the grid needs {leaves} leaves, at most {MAX_LEAVES} can be emitted"
            raise site.at("cells").error(fact, "fit it with fewer edges")
        return bucket


class BucketBody(Strict):
    """A bucket selector as the manifest writes it."""

    kind: Literal["bucket"]
    payload: BucketPayload
