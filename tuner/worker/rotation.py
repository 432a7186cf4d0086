"""Launches that go round copies of their inputs, so that no timing is one of a single address.

How far memory lies from the part of the chip that asks for it, and what of the page table is at
hand, are the address's doing: 0.1 us and more, for all configs of a shape alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import cycle
from typing import Any

from tuner.devices import Launch
from tuner.worker.copies import clone
from tuner.worker.values import mapped

__all__ = ["Rotation"]

_COPIES = 4
# What is larger lies at many addresses by itself.
_MOST_BYTES = 8 * 2**20


class Rotation:
    """The copies of one shape's inputs, and the outputs that were made of them last."""

    def __init__(self, inputs: Sequence[Any], output: Any) -> None:
        """Copy `inputs`, unless they are large, or `output`, which is like what is made of them."""
        small = _bytes(inputs) + _bytes(output) <= _MOST_BYTES
        self._copies = [
            list(inputs),
            *(clone(list(inputs)) for _ in range(_COPIES - 1 if small else 0)),
        ]
        # While an output lives the next cannot be where it is.
        self._alive: deque[Any] = deque(maxlen=len(self._copies) - 1)

    def launch(self, function: Callable[..., Any], options: Mapping[str, Any]) -> Launch:
        """Return the call that runs `function` on the next of the copies."""
        calls = cycle([partial(function, *inputs, **options) for inputs in self._copies])

        def call() -> None:
            self._alive.append(next(calls)())

        return call


def _bytes(value: Any) -> int:
    """Return how much memory the tensors and arrays of `value` take."""
    sizes: list[int] = []

    def add(leaf: Any) -> Any:
        sizes.append(int(getattr(leaf, "nbytes", 0)))
        return leaf

    mapped(add, value)
    return sum(sizes)
