"""The launch grid: how many programs a config launches on a shape, and how many a target takes.

A grid is a product of dimensions, each of which covers some axes by blocks: `cdiv(M, BLOCK_M)`, or
`cdiv(N * H * W, BLOCK)`. It may count too many, never too few: it is there to be stayed below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from codegen.config import Config
from codegen.errors import InternalError

__all__ = ["Blocks", "GridDim", "LaunchGrid", "programs_of"]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A dimension as one config launches it: `times` the product of `axes` in blocks of `by`."""

    axes: tuple[str, ...]
    by: int
    times: int = 1


@dataclass(frozen=True, slots=True)
class GridDim:
    """A dimension: `times` the product of `axes` in blocks of a param, or of a number."""

    axes: tuple[str, ...]
    block: str | int = 1
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchGrid:
    """A kernel's grid, and the most programs that its target launches at once."""

    dims: tuple[GridDim, ...]
    limit: int

    def blocks(self, config: Config) -> tuple[Blocks, ...]:
        """Return the dimensions with the blocks of `config`, whose params they must be."""
        return tuple(Blocks(d.axes, _size(d.block, config), d.times) for d in self.dims)

    def volume(self, config: Config) -> int:
        """Return how much one program of `config` covers: the more, the fewer are launched."""
        return prod(blocks.by for blocks in self.blocks(config))

    def text(self) -> str:
        """Return the grid as it would stand in code: `cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)`."""
        return " * ".join(map(_text, self.dims))


def programs_of(blocks: tuple[Blocks, ...], sizes: Mapping[str, int]) -> int:
    """Return how many programs are launched on the shape `sizes`."""
    return prod(-(-prod((d.times, *(sizes[axis] for axis in d.axes))) // d.by) for d in blocks)


def _size(block: str | int, config: Config) -> int:
    size = dict(config.params)[block] if isinstance(block, str) else block
    if not isinstance(size, int):
        raise InternalError(f"{block} of {config.id} is no block size")
    return size


def _text(dim: GridDim) -> str:
    factors = [*([str(dim.times)] if dim.times > 1 or not dim.axes else []), *dim.axes]
    covered = " * ".join(factors)
    return covered if dim.block == 1 else f"cdiv({covered}, {dim.block})"
