"""What a device must be able to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from tuner.records import Target

__all__ = ["Device", "Launch", "Times"]

Launch: TypeAlias = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What came of a sequence of launches.

    Attributes:
        us: device time of each launch in microseconds.
        late: whether the device may have waited for the host within it.
        busy_s: how long the device was at work, flushes included, in seconds.
    """

    us: tuple[float, ...]
    late: tuple[bool, ...]
    busy_s: float


class Device(Protocol):
    """A device that this process has to itself."""

    @property
    def method(self) -> str:
        """How it times, for the record; asked after a timing, how that was taken."""

    @property
    def turn(self) -> int:
        """Launches of a config in a row over which what the clock adds evens out; mostly 1."""

    @property
    def repeat(self) -> int:
        """The most timed launches of a config on a shape, where nobody says another number."""

    def target(self) -> Target:
        """Return what it is, with the versions of the tools that are loaded by now."""

    def creating(self) -> AbstractContextManager[Any]:
        """Return a context in which tensors are created on the device."""

    def moved(self, value: Any) -> Any:
        """Return `value`, a tensor or a model, on the device; anything else as it is."""

    def synchronize(self) -> None:
        """Wait until all that was launched is done; raises what went wrong in it."""

    def healthy(self) -> bool:
        """Say whether the device can still be used by this process."""

    def time(self, launches: Sequence[Launch], *, before: Launch | None = None) -> Times:
        """Time each of `launches`, in order; `before` is run ahead of each, untimed."""
