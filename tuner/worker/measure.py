"""Measuring: how often each config is launched on a shape, in which order, and when it is enough.

All configs of a shape take turns, in an order shuffled anew each round, so that a drifting clock
favours none. After a few repeats the hopeless stop; the others go on until the interval of their
median is tight. The interval is McGill, Tukey and Larsen's (Variations of Box Plots, 1978).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from statistics import median, quantiles

from tuner.devices import Device, Launch
from tuner.records import Timing
from tuner.worker.messages import Limits

__all__ = ["Stopwatch"]

_ROUND = 5  # Repeats before a config is judged, and the most between two judgements.
_TIGHT = 0.005  # The half-width of the interval, relative, that is good enough.
_HOPELESS = 1.5  # Times the best median: no more repeats will change the order.
# A launch as long as this has little noise, and device time is dear.
_LONG_US = 20_000.0
_LONG_REPEATS = 3
_LEAST_US = 1e-3
_PATIENCE = 3  # Rounds that may be spent on replacing launches that the host was late for.


class Stopwatch:
    """Times configs on a device; counts what it did for the report."""

    def __init__(self, device: Device, limits: Limits, *, restore: Launch | None) -> None:
        self._device, self._limits, self._restore = device, limits, restore
        self.busy_s = 0.0
        self.samples = 0
        self.late = 0

    def time(
        self,
        launches: Mapping[str, Launch],
        *,
        seed: int,
        tried_s: float,
        began: Callable[[float], None],
    ) -> dict[str, Timing]:
        """Time `launches`, which all worked once, and return a timing of each.

        Args:
            launches: by config id.
            seed: of the order.
            tried_s: how long it took to try them all, compiling included.
            began: called ahead of each round with the seconds that it should take.
        """
        rng = random.Random(seed)  # noqa: S311 (an order, not a secret)
        first: dict[str, float] = {}
        for turn in range(max(1, self._limits.warmup)):
            began(sum(first.values()) / 1e6 if turn else tried_s)
            times = self._device.time(list(launches.values()), before=self._restore)
            first = dict(zip(launches, times.us, strict=True))
            self.busy_s += times.busy_s
        us: dict[str, list[float]] = {name: [] for name in launches}
        late: dict[str, list[float]] = {name: [] for name in launches}
        for due in self._rounds(us, late, first):
            order = _shuffled(due, rng)
            began(sum(first[name] for name in order) / 1e6)
            times = self._device.time([launches[name] for name in order], before=self._restore)
            for name, one, was_late in zip(order, times.us, times.late, strict=True):
                (late if was_late else us)[name].append(one)
            self.busy_s += times.busy_s
            self.samples += len(order)
            self.late += sum(times.late)
        return {name: _timing(us[name] or late[name], self._device.method) for name in launches}

    def _rounds(
        self,
        us: Mapping[str, list[float]],
        late: Mapping[str, list[float]],
        first: Mapping[str, float],
    ) -> Iterator[dict[str, int]]:
        """Yield how often each config is due next, until all have enough."""
        while True:
            most = {name: self._most([first[name], *us[name]]) for name in us}
            due = {
                name: _to_come(len(us[name]), most[name])
                for name in us
                if self._is_open(name, us, late, most[name])
            }
            if not due:
                return
            yield due

    def _most(self, us: list[float]) -> int:
        """Return how many repeats a config may have: a first launch may take longer than others."""
        repeat = self._limits.repeat
        return min(repeat, _LONG_REPEATS) if min(us) >= _LONG_US else repeat

    def _is_open(
        self,
        name: str,
        us: Mapping[str, list[float]],
        late: Mapping[str, list[float]],
        most: int,
    ) -> bool:
        if len(us[name]) >= most or len(late[name]) >= _PATIENCE * _ROUND + most:
            return False
        if len(us[name]) < min(_ROUND, most):
            return True
        best = min(median(times) for times in us.values() if times)
        return median(us[name]) <= _HOPELESS * best and _half_width(us[name]) > _TIGHT


def _to_come(done: int, most: int) -> int:
    """Return how many repeats come before the next judgement."""
    return min(_ROUND - done if done < _ROUND else _ROUND, most - done)


def _shuffled(due: Mapping[str, int], rng: random.Random) -> list[str]:
    """Return each name as often as it is due, round after round."""
    order: list[str] = []
    for turn in range(max(due.values())):
        names = [name for name, times in due.items() if times > turn]
        rng.shuffle(names)
        order += names
    return order


def _timing(us: list[float], method: str) -> Timing:
    # No clock tells less than a nanosecond, and what comes after divides by the median.
    middle = max(median(us), _LEAST_US)
    return Timing(median_us=middle, spread=_spread(us), repeats=len(us), method=method)


def _spread(us: list[float]) -> float:
    """Return the interquartile range over the median."""
    if len(us) < 2:
        return 0.0
    low, _, high = quantiles(us, n=4, method="inclusive")
    return (high - low) / max(median(us), _LEAST_US)


def _half_width(us: list[float]) -> float:
    """Return half the width of the median's 95% interval, relative to the median."""
    return float(1.57 * _spread(us) / len(us) ** 0.5)
