"""Fit a bucket selector: a grid grown greedily, the edge first that lowers the regret most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from codegen.selectors.bucket import Bucket, Ranges
from tuner.arrays import IntArray
from tuner.fit.cover import cover
from tuner.fit.growth import Limits
from tuner.fit.samples import Samples
from tuner.fit.splits import side_gain, thresholds_within

__all__ = ["grow", "payload"]

# The edges of each axis, ascending.
_Grid: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class BucketGrowth:
    """The grids on the way, each with one edge more than the one before."""

    samples: Samples
    grids: tuple[_Grid, ...]

    def at(self, leaves: int) -> Bucket:
        """Return the largest grid of at most `leaves` cells, edges between equal cells dropped."""
        grid = next(grid for grid in reversed(self.grids) if _cells(grid) <= leaves)
        cell = _cell_of(self.samples, grid)
        found = [self.samples.evidence(np.flatnonzero(cell == i)) for i in range(_cells(grid))]
        shape = [len(edges) + 1 for edges in grid]
        configs = np.array(cover(found, self.samples), dtype=np.int64).reshape(shape)
        return _simplified(self.samples.axis_names, grid, configs)


def grow(samples: Samples, limits: Limits) -> BucketGrowth:
    """Return the grids grown on `samples`: one edge at a time, the one that gains most.

    It ends when one more would make more cells than `limits.leaves`, or gain no more than noise
    could feign. `limits.depth` does not count: a grid is searched by halving.
    """
    grids: list[_Grid] = [tuple(() for _ in samples.axis_names)]
    while found := _best_edge(samples, grids[-1], limits.leaves):
        axis, edge = found
        edges = tuple(sorted((*grids[-1][axis], edge)))
        grids.append((*grids[-1][:axis], edges, *grids[-1][axis + 1 :]))
    return BucketGrowth(samples, tuple(grids))


def payload(bucket: Bucket, number: Mapping[int, int]) -> dict[str, Any]:
    """Return the manifest's payload; `number` is the place of each config in `config_ids`."""
    dims = [
        {"axis": dim.axis, "edges": list(dim.edges)}
        for dim in bucket.dims
        if isinstance(dim, Ranges)
    ]
    return {"dims": dims, "cells": [number[cell] for cell in bucket.cells]}


def _cells(grid: _Grid) -> int:
    return prod(len(edges) + 1 for edges in grid)


def _cell_of(samples: Samples, grid: _Grid) -> IntArray:
    """Return the row-major number of the cell that each sample lies in."""
    cell = np.zeros(len(samples.sizes), dtype=np.int64)
    for axis, edges in enumerate(grid):
        cell = cell * (len(edges) + 1) + _range_of(samples.sizes[:, axis], edges)
    return cell


def _range_of(sizes: IntArray, edges: Sequence[int]) -> IntArray:
    """Return the range that each size lies in; an edge belongs to the range below it."""
    return np.searchsorted(np.array(edges, dtype=np.int64), sizes, side="left")


def _best_edge(samples: Samples, grid: _Grid, most_cells: int) -> tuple[int, int] | None:
    """Return the axis and the place of the edge that gains most, None if none gains for certain."""
    best, found = 0, None
    cell = _cell_of(samples, grid)
    for axis, edges in enumerate(grid):
        if _cells(grid) // (len(edges) + 1) * (len(edges) + 2) > most_cells:
            continue
        slab = _range_of(samples.sizes[:, axis], edges)
        for number in range(len(edges) + 1):
            rows = np.flatnonzero(slab == number)
            edge, gain = _edge_within(samples, axis, rows, cell[rows])
            if gain > best:
                best, found = gain, (axis, edge)
    return found


def _edge_within(samples: Samples, axis: int, rows: IntArray, cell: IntArray) -> tuple[int, int]:
    """Return the best edge along `axis` among the samples `rows` of the cells `cell`; its gain."""
    sizes = samples.sizes[rows, axis]
    thresholds = thresholds_within(sizes)
    if not thresholds.size:
        return 0, 0
    edges = np.sort(thresholds)
    cells, cell = np.unique(cell, return_inverse=True)
    spot = (np.searchsorted(edges, sizes, side="left"), cell)
    shape = (len(edges) + 1, len(cells))
    cost = _summed(samples.cost[rows], spot, shape)
    hole = _summed(samples.hole[rows].astype(np.int64), spot, shape)
    weight = _summed(samples.weight[rows], spot, shape)
    current = np.where(hole[-1] > 0, np.iinfo(np.int64).max, cost[-1]).argmin(axis=1)
    below = _gains(samples, cost[:-1], hole[:-1], weight[:-1], current)
    above = _gains(
        samples, cost[-1] - cost[:-1], hole[-1] - hole[:-1], weight[-1] - weight[:-1], current
    )
    gains = (below + above)[np.searchsorted(edges, thresholds)]
    best = int(gains.argmax())
    return int(thresholds[best]), int(gains[best])


def _gains(
    samples: Samples, cost: IntArray, hole: IntArray, weight: IntArray, current: IntArray
) -> IntArray:
    """Return the gain of each edge on one side of it, over all cells, (n_edges,).

    `cost` and `hole` are (n_edges, n_cells, n_configs), `weight` is (n_edges, n_cells) and
    `current`, the config used so far, (n_cells,).
    """
    edges, cells, configs = cost.shape
    gain = side_gain(
        samples,
        cost.reshape(-1, configs),
        hole.reshape(-1, configs) > 0,
        weight.ravel(),
        np.tile(current, edges),
    )
    total: IntArray = gain.reshape(edges, cells).sum(axis=1)
    return total


def _summed(values: IntArray, spot: tuple[IntArray, IntArray], shape: tuple[int, int]) -> IntArray:
    """Return `values` added up by cell, over all samples up to each threshold and to the end."""
    sums = np.zeros((*shape, *values.shape[1:]), dtype=np.int64)
    np.add.at(sums, spot, values)
    return sums.cumsum(axis=0)


def _simplified(names: Sequence[str], grid: _Grid, configs: IntArray) -> Bucket:
    """Return the selector, without the edges that part equal cells and the axes without an edge."""
    dims = []
    for axis, edges in enumerate(grid):
        lanes = np.moveaxis(configs, axis, 0)
        kept = [i for i in range(len(edges)) if not np.array_equal(lanes[i], lanes[i + 1])]
        configs = configs.take([*kept, len(edges)], axis=axis)
        dims.append(Ranges(names[axis], tuple(edges[i] for i in kept)))
    used = tuple(dim for dim in dims if dim.edges) or (dims[0],)
    return Bucket(used, tuple(configs.ravel().tolist()))
