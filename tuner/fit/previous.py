"""What the manifest that is replaced decided, for a fit to keep unless it is worse than noise."""

from __future__ import annotations

from collections.abc import Mapping

from codegen.axes import IntegerAxis
from codegen.decision import Choose, Decision, Split
from codegen.manifest import Manifest, policy_of
from tuner.table import LatencyTable

__all__ = ["GONE", "mismatch", "previous_decision"]

# The index of a config that the table does not have, or rejects.
GONE = -1


def mismatch(manifest: Manifest, table: LatencyTable, kernel: str | None = None) -> str | None:
    """Say why `manifest` cannot precede a fit to `table`; None if it can.

    `kernel` is the kernel's name, if it is not that of the table.
    """
    wanted = table.kernel if kernel is None else kernel
    if manifest.kernel.name != wanted:
        return f"is of kernel {manifest.kernel.name}, not of {wanted}"
    policy = policy_of(manifest)
    names = tuple(axis.name for axis in policy.axes)
    if names != table.axis_names or not all(isinstance(axis, IntegerAxis) for axis in policy.axes):
        return f"has the axes {', '.join(names)}, not {', '.join(table.axis_names)}"
    return None


def previous_decision(manifest: Manifest, table: LatencyTable) -> Decision | None:
    """Return what `manifest` decides, with indices into `table.kept`, `GONE` for other configs.

    None where it asks what a fit never does.
    """
    policy = policy_of(manifest)
    places = {table.configs[kept].id: place for place, kept in enumerate(table.kept)}
    numbers = {i: places.get(config.id, GONE) for i, config in enumerate(policy.configs)}
    return _renumbered(policy.selector.lower(), numbers)


def _renumbered(decision: Decision, numbers: Mapping[int, int]) -> Decision | None:
    match decision:
        case Choose(config):
            return Choose(numbers[config])
        case Split(feature, threshold, left, right, denominator):
            sides = _renumbered(left, numbers), _renumbered(right, numbers)
            if sides[0] is None or sides[1] is None:
                return None
            return Split(feature, threshold, sides[0], sides[1], denominator)
    return None
