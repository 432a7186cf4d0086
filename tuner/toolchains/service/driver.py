"""A stand-in for the driver of a device: it knows what to compile for, and launches nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Built", "Captured", "Compiler", "activate", "grid_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A launch that was not made.

    Attributes:
        key: equal for launches that are compiled alike.
        kernel: the name of the kernel.
        grid: the sizes of the grid.
        parts: what the compiler needs, its own affair.
    """

    key: str
    kernel: str
    grid: tuple[int, ...]
    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a compiler made of a launch, or said.

    Attributes:
        shared: bytes of shared memory a block; None where it was not compiled, or has none.
        text: what the compiler printed.
        status: its exit status, where it is a program.
        refused: whether it was turned down before it came to the compiler that plans memory.
    """

    shared: int | None = None
    text: str = ""
    status: int = 0
    refused: bool = False


class Compiler(Protocol):
    """A compiler of a target."""

    def options(self) -> tuple[str, ...]:
        """Return the names of the options that a launch may have."""

    def take(self) -> list[Captured]:
        """Return the launches since the last call."""

    def build(self, launch: Captured) -> Built:
        """Compile a launch; never raises for what a kernel does."""


class _Driver:
    def __init__(self, target: Any) -> None:
        self._target = target

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        """Do nothing: there is one."""

    def get_current_stream(self, device: int) -> int:  # noqa: ARG002 (triton's)
        return 0

    def get_current_target(self) -> Any:
        return self._target

    def get_benchmarker(self) -> Any:
        raise RuntimeError("a kernel under @triton.autotune cannot be gated: it wants to be timed")


def activate(target: Any) -> None:
    """Let triton compile for `target`, a `GPUTarget`."""
    from triton.runtime import driver  # noqa: PLC0415 (a toolchain's)

    driver.set_active(_Driver(target))


def grid_of(
    function: Any, grid: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]
) -> tuple[int, ...]:
    """Return the sizes of the grid of a launch; a grid that is a function is called as triton does.

    `function` is the JITFunction.
    """
    if callable(grid):
        known = {name: value for name, value in options.items() if name in function.arg_names}
        bound = function.signature.bind(*arguments, **known)
        bound.apply_defaults()
        grid = grid(dict(bound.arguments))
    sizes = grid if isinstance(grid, list | tuple) else (grid,)
    return tuple(int(size) for size in sizes)
