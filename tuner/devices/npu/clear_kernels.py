"""The L2 clears as Triton kernels, whose names are the marks of the steps in a profile.

To be imported where triton is, and an NPU to run them on. Each program goes round by itself, since
a grid of many small blocks may exceed what an NPU takes.
"""

# Pointers and sizes have no annotations: Triton would read them.
# ruff: noqa: ANN001
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

__all__ = ["BETWEEN_KERNEL", "BLOCK", "CLEAR_KERNELS", "PROGRAMS"]

BLOCK = 8192  # Elements of 4 bytes: with two buffers, a third of the unified buffer of a 910B.
PROGRAMS = 32  # No more than the vector cores of the smallest device.


def _clear(pointer, size, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr) -> None:
    for block in range(tl.program_id(0), tl.cdiv(size, BLOCK), PROGRAMS):
        offsets = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(pointer + offsets, 0, mask=offsets < size)


_clear = triton.jit(_clear)


def tuned_dispatch_l2_clear_0(pointer, size, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr) -> None:
    """Clear ahead of the first step and every third after it."""
    _clear(pointer, size, BLOCK, PROGRAMS)


def tuned_dispatch_l2_clear_1(pointer, size, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr) -> None:
    """Clear ahead of the second step and every third after it."""
    _clear(pointer, size, BLOCK, PROGRAMS)


def tuned_dispatch_l2_clear_2(pointer, size, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr) -> None:
    """Clear ahead of the third step and every third after it."""
    _clear(pointer, size, BLOCK, PROGRAMS)


def tuned_dispatch_l2_between(pointer, size, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr) -> None:
    """Clear ahead of what belongs to no step."""
    _clear(pointer, size, BLOCK, PROGRAMS)


CLEAR_KERNELS: tuple[Any, ...] = tuple(
    triton.jit(function)
    for function in (
        tuned_dispatch_l2_clear_0,
        tuned_dispatch_l2_clear_1,
        tuned_dispatch_l2_clear_2,
    )
)
BETWEEN_KERNEL: Any = triton.jit(tuned_dispatch_l2_between)
