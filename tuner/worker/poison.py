"""Poison: memory that is allocated and not written reads as something that no kernel computes.

Else a config that leaves a part of its output unwritten passes wherever the memory still holds
what a right config left there. Out of reach are functions that a kernel took out of numpy before,
as by `from numpy import empty`, and memory of neither library; in a boolean output a hole reads as
True.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["cannot_poison", "poisoned"]

_FILL = "fill_empty_deterministic_"


@contextlib.contextmanager
def poisoned() -> Iterator[None]:
    """Fill what `empty` and its like allocate: NaN, or the greatest integer."""
    with contextlib.ExitStack() as stack:
        if "torch" in sys.modules:
            stack.enter_context(_torch(sys.modules["torch"]))
        if "numpy" in sys.modules:
            stack.enter_context(_numpy(sys.modules["numpy"]))
        yield


def cannot_poison(error: BaseException) -> bool:
    """Say whether `error` is torch's, that it cannot fill a tensor of some dtype."""
    return isinstance(error, NotImplementedError) and _FILL in str(error)


@contextlib.contextmanager
def _torch(torch: Any) -> Iterator[None]:
    # torch fills for us in its deterministic mode; that mode's warnings concern nobody here.
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    filled = torch.utils.deterministic.fill_uninitialized_memory
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = True
        try:
            yield
        finally:
            torch.utils.deterministic.fill_uninitialized_memory = filled
            torch.use_deterministic_algorithms(before, warn_only=warn_only)


@contextlib.contextmanager
def _numpy(numpy: Any) -> Iterator[None]:
    plain = {name: getattr(numpy, name) for name in ("empty", "empty_like")}
    for name, function in plain.items():
        setattr(numpy, name, _filling(numpy, function))
    try:
        yield
    finally:
        for name, function in plain.items():
            setattr(numpy, name, function)


def _filling(numpy: Any, allocate: Callable[..., Any]) -> Callable[..., Any]:
    def filled(*arguments: Any, **options: Any) -> Any:
        array = allocate(*arguments, **options)
        kind = array.dtype.kind
        if kind in "fc":
            array.fill(numpy.nan)
        elif kind in "iu":
            array.fill(numpy.iinfo(array.dtype).max)
        elif kind == "b":
            array.fill(True)
        return array

    return filled
