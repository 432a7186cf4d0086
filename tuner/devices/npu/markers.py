"""The kernels that divide a capture into steps, by their names.

Ahead of each launch the L2 cache is cleared by a kernel whose name counts the steps modulo three,
so that a step that the profiler lost is known by its number, and behind it all is dropped from a
kernel of another name on: what restores the inputs, and the profiler's own warm-up step, which some
versions record and some do not.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

__all__ = ["BETWEEN", "CLEARS", "Marker", "marker_of"]

CLEARS = tuple(f"tuned_dispatch_l2_clear_{turn}" for turn in range(3))
BETWEEN = "tuned_dispatch_l2_between"

# The turn of a step, or that what follows belongs to none.
Marker: TypeAlias = Literal["between"] | int

# A compiler may put a signature behind a name, and a namespace before it.
_NAMES = re.compile(r"tuned_dispatch_l2_(?:clear_([0-2])|between)")


def marker_of(name: str) -> Marker | None:
    """Return which marker the kernel `name` is, None if it is none."""
    match = _NAMES.search(name)
    if match is None:
        return None
    return "between" if match[1] is None else int(match[1])
