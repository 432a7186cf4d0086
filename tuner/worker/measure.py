"""Measuring: how often each config is launched on a shape, in which order, and when it is enough.

All configs of a shape take turns, in an order shuffled anew each round, so that a drifting clock
favours none. A turn is one launch; or, where what the device's clock adds comes and goes by a
pattern, one that does not count, after which the kernel's code is in the caches, and as many more
as meet the whole pattern. After a few repeats the hopeless stop; the others go on until the
interval of their median is tight. The interval is McGill, Tukey and Larsen's (Variations of Box
Plots, 1978).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from statistics import fmean, median, quantiles

from tuner.devices import Device, Launch
from tuner.records import Timing
from tuner.worker.messages import Limits

__all__ = ["Stopwatch"]

_ROUND = 5  # Repeats before a config is judged, and the most between two judgements.
_TIGHT = 0.005  # The half-width of the interval, relative, that is good enough.
_HOPELESS = 1.5  # Times the best median: no more repeats will change the order.
# To a launch as long as this, what the clock adds is nothing; it needs no whole pattern of it.
_SHORT_US = 100.0
_FEW = 4
_TURNS = 2  # Ahead of a judgement, so that no timing is one of a single turn.
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
            turns = {name: self._turn([first[name], *us[name]]) for name in due}
            order = _shuffled(due, turns, rng)
            began(sum(first[name] for name, _ in order) / 1e6)
            times = self._device.time([launches[name] for name, _ in order], before=self._restore)
            for (name, counts), one, was_late in zip(order, times.us, times.late, strict=True):
                if counts:
                    (late if was_late else us)[name].append(one)
                    self.samples += 1
                    self.late += was_late
            self.busy_s += times.busy_s
        return {
            name: self._timing(us[name] or late[name], self._turn([first[name], *us[name]]))
            for name in launches
        }

    def _rounds(
        self,
        us: Mapping[str, list[float]],
        late: Mapping[str, list[float]],
        first: Mapping[str, float],
    ) -> Iterator[dict[str, int]]:
        """Yield how often each config is due next, until all have enough."""
        while True:
            best = min((median(times) for times in us.values() if times), default=math.inf)
            due = {
                name: times
                for name in us
                if (times := self._due(us[name], late[name], first[name], best))
            }
            if not due:
                return
            yield due

    def _most(self, us: list[float]) -> int:
        """Return how many repeats a config may have: a first launch may take longer than others."""
        repeat = self._limits.repeat or self._device.repeat
        return min(repeat, _LONG_REPEATS) if min(us) >= _LONG_US else repeat

    def _turn(self, us: list[float]) -> int:
        """Return how many launches in a row count."""
        if self._device.turn == 1 or min(us) >= _LONG_US:
            return 1
        return self._device.turn if min(us) < _SHORT_US else min(_FEW, self._device.turn)

    def _round(self, us: list[float]) -> int:
        """Return how many repeats, in whole turns, come ahead of a judgement."""
        turn = self._turn(us)
        return max(math.ceil(_ROUND / turn), 1 if turn == 1 else _TURNS) * turn

    def _timing(self, us: list[float], turn: int) -> Timing:
        # No clock tells less than a nanosecond, and what comes after divides by the median.
        middle = max(_median_of_turns(us, turn), _LEAST_US)
        return Timing(
            median_us=middle, spread=_spread(us), repeats=len(us), method=self._device.method
        )

    def _due(self, us: list[float], late: list[float], first: float, best: float) -> int:
        """Return how many repeats of a config come ahead of a judgement; 0 if it has enough."""
        most, judged_after = self._most([first, *us]), self._round([first, *us])
        if len(us) >= most or len(late) >= _PATIENCE * judged_after + most:
            return 0
        if len(us) < min(judged_after, most):
            return min(judged_after, most) - len(us)
        if median(us) > _HOPELESS * best or _half_width(us) <= _TIGHT:
            return 0
        return min(judged_after, most - len(us))


def _shuffled(
    due: Mapping[str, int], turns: Mapping[str, int], rng: random.Random
) -> list[tuple[str, bool]]:
    """Return each name as often as it is due, turn by turn, and which launches count."""
    order: list[tuple[str, bool]] = []
    left = dict(due)
    while left:
        names = list(left)
        rng.shuffle(names)
        for name in names:
            now = min(turns[name], left[name])
            order += [(name, False)] * (turns[name] > 1) + [(name, True)] * now
            left[name] -= now
        left = {name: times for name, times in left.items() if times}
    return order


def _median_of_turns(us: list[float], turn: int) -> float:
    """Return the median over turns of a turn's mean, from which its outliers are left out.

    What the pattern adds is the same in each turn's mean; the median of single launches may lie
    between what it adds to the one half and to the other.
    """
    turns = max(1, len(us) // turn)
    bounds = [i * len(us) // turns for i in range(turns + 1)]
    return median(_trimmed_mean(us[low:high]) for low, high in pairwise(bounds))


def _trimmed_mean(us: list[float]) -> float:
    """Return the mean without the longest eighth and the shortest, one each at least."""
    cut = min(max(1, len(us) // 8), (len(us) - 1) // 2)
    return fmean(sorted(us)[cut : len(us) - cut])


def _spread(us: list[float]) -> float:
    """Return the interquartile range over the median."""
    if len(us) < 2:
        return 0.0
    low, _, high = quantiles(us, n=4, method="inclusive")
    return (high - low) / max(median(us), _LEAST_US)


def _half_width(us: list[float]) -> float:
    """Return half the width of the median's 95% interval, relative to the median."""
    return float(1.57 * _spread(us) / len(us) ** 0.5)
