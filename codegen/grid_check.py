"""What must hold of a launch grid, given axes, configs and selector."""

from __future__ import annotations

from codegen.axes import IntegerAxis
from codegen.config import Config
from codegen.errors import ManifestError, shown
from codegen.grid import LaunchGrid, programs_of
from codegen.policy import Policy

__all__ = ["check_grid"]


def check_grid(policy: Policy) -> None:
    """Check that the grid of `policy` can be counted, and that no exact shape exceeds its limit.

    Raises:
        ManifestError: with the dotted path of what does not fit.
    """
    if policy.grid is None:
        return
    integers = {axis.name for axis in policy.axes if isinstance(axis, IntegerAxis)}
    for i, dim in enumerate(policy.grid.dims):
        for j, axis in enumerate(dim.axes):
            if axis not in integers:
                raise ManifestError(
                    f"{axis} is no integer axis",
                    where=f"launch_grid.dims[{i}].axes[{j}]",
                    remedy=f"name one of {', '.join(sorted(integers)) or 'some'}",
                )
        if isinstance(dim.block, str):
            for config in (*policy.configs, policy.default):
                _check_block(config, dim.block, f"launch_grid.dims[{i}].block")
    _check_pinned(policy, policy.grid)


def _check_block(config: Config, name: str, where: str) -> None:
    value = dict(config.params).get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        said = f"is {shown(value)}" if isinstance(value, str | int | float) else "is no param"
        raise ManifestError(
            f"{name} {said} in config {shown(config.id)}, and not an integer of 1 or more",
            where=where,
            remedy="name a param that is a block size in all of them",
        )


def _check_pinned(policy: Policy, grid: LaunchGrid) -> None:
    names = [axis.name for axis in policy.axes]
    for shape, index in policy.selector.pinned:
        config = policy.configs[index]
        sizes = {n: v for n, v in zip(names, shape, strict=True) if isinstance(v, int)}
        programs = programs_of(grid.blocks(config), sizes)
        if programs > grid.limit:
            raise ManifestError(
                f"on the exact shape {shape} config {shown(config.id)} launches {programs} "
                f"programs, more than {grid.limit}",
                where="selector.payload",
                remedy="choose a config of larger blocks there",
            )
