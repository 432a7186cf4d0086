"""A stand-in for triton-ascend: a kernel is its name, and takes as long as it writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npu_machine import MACHINE

__version__ = "3.2.0"


class _Kernel:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        """Return what launches it on `grid`."""
        assert 0 < grid[0] <= 65535

        def launch(buffer: Any, size: int, **_: int) -> None:
            assert size <= buffer.numel()
            MACHINE.launch(self.name, 1.0 + size / 2**18)

        return launch


def jit(function: Callable[..., Any]) -> _Kernel:
    """Return the kernel."""
    return _Kernel(function)
