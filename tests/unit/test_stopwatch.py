"""How often each config is launched, in which order, and when it is enough: on a made-up device."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.devices import Launch, Times
from tuner.records import Target, Timing
from tuner.worker.measure import Stopwatch
from tuner.worker.messages import Limits

Clock = Callable[[str, int], tuple[float, bool]]


@dataclass
class Fake:
    """A device whose `clock` says how long launch number i of a config took, and if it was late.

    Attributes:
        order: the names in the order in which they were launched, a list each time it was asked.
    """

    clock: Clock
    order: list[list[str]] = field(default_factory=list)
    befores: int = 0
    turn: int = 1
    repeat: int = 15
    method = "a fake"

    def launch(self, name: str) -> Launch:
        """Return a launch of the config `name`."""
        return lambda: name

    def time(self, launches: Sequence[Launch], *, before: Launch | None = None) -> Times:
        """Look up the time of each launch."""
        names = [str(launch()) for launch in launches]
        done = list(itertools.chain.from_iterable(self.order))
        self.order.append(names)
        us, late = [], []
        for i, name in enumerate(names):
            if before:
                before()
                self.befores += 1
            took, was_late = self.clock(name, done.count(name) + names[:i].count(name))
            us.append(took)
            late.append(was_late)
        return Times(us=tuple(us), late=tuple(late), busy_s=sum(us) / 1e6)

    def count(self, name: str) -> int:
        """Return how often a config was launched, the warm-up included."""
        return sum(names.count(name) for names in self.order)

    def target(self) -> Target:
        """Return nothing of interest."""
        return Target(device="fake", arch=None, toolchain=())

    def creating(self) -> AbstractContextManager[Any]:
        """Return a context that changes nothing."""
        return nullcontext()

    def moved(self, value: Any) -> Any:
        """Return the value."""
        return value

    def synchronize(self) -> None:
        """Do nothing."""

    def healthy(self) -> bool:
        """Say yes."""
        return True


def noise(us: float, relative: float, seed: int = 0) -> Iterator[float]:
    """Yield times about `us` without end."""
    rng = random.Random(seed)  # noqa: S311
    while True:
        yield us * (1 + relative * rng.uniform(-1, 1))


def timed(
    clock: Clock,
    names: Sequence[str],
    *,
    seed: int = 0,
    restore: Launch | None = None,
    began: Callable[[float], None] = lambda _: None,
    tried_s: float = 0.0,
    turn: int = 1,
    **limits: Any,
) -> tuple[dict[str, Timing], Fake, Stopwatch]:
    """Time `names` by `clock`, and return what came of it."""
    device = Fake(clock, turn=turn, repeat=64 if turn > 1 else 15)
    watch = Stopwatch(device, Limits(**limits), restore=restore)
    launches = {name: device.launch(name) for name in names}
    return watch.time(launches, seed=seed, tried_s=tried_s, began=began), device, watch


def by_name(**times: Iterator[float] | float) -> Clock:
    """Return a clock that never comes late."""

    def clock(name: str, _: int) -> tuple[float, bool]:
        one = times[name]
        return (one if isinstance(one, float) else next(one)), False

    return clock


def test_the_hopeless_get_five_repeats_and_the_noisy_all() -> None:
    """Beyond 1.5 times the best no more repeats are spent, however noisy."""
    clock = by_name(best=noise(100, 0.3), near=noise(120, 0.3, 1), far=noise(300, 0.3, 2))
    found, device, _ = timed(clock, ["best", "near", "far"], repeat=25)
    assert {name: timing.repeats for name, timing in found.items()} == {
        "best": 25,
        "near": 25,
        "far": 5,
    }
    assert device.count("far") == 6  # One warms up.


def test_the_tight_stop_after_five() -> None:
    """Times that hardly differ need no more; medians and spreads are those of the repeats."""
    found, _, watch = timed(by_name(a=noise(100, 0.001), b=noise(101, 0.001, 1)), ["a", "b"])
    assert [timing.repeats for timing in found.values()] == [5, 5]
    assert found["a"].median_us == pytest.approx(100, rel=0.001)
    assert watch.samples == 10
    assert watch.late == 0


def test_median_and_spread_are_those_of_the_timed_repeats() -> None:
    """The warm-up does not count; the spread is the interquartile range over the median."""
    times = iter([999.0, 10.0, 14.0, 12.0, 16.0, 8.0])
    found, _, watch = timed(by_name(a=times), ["a"], repeat=5)
    assert found == {"a": Timing(median_us=12.0, spread=4 / 12, repeats=5, method="a fake")}
    assert watch.busy_s == pytest.approx((999 + 60) / 1e6)


def test_long_launches_get_three() -> None:
    """From 20 ms on there is little noise; others of the same shape are not affected."""
    clock = by_name(long=noise(20_100, 0.004), longer=noise(30_000, 0.3), short=noise(14_000, 0.3))
    found, _, _ = timed(clock, ["long", "longer", "short"])
    assert [found[name].repeats for name in ("long", "longer", "short")] == [3, 3, 15]


@pytest.mark.parametrize("repeat", [1, 2, 3, 4])
def test_fewer_than_five_repeats_can_be_asked_for(repeat: int) -> None:
    """No config gets more than that; one repeat has no spread."""
    found, device, _ = timed(by_name(a=noise(10, 0.5), b=noise(99, 0.5)), ["a", "b"], repeat=repeat)
    assert [timing.repeats for timing in found.values()] == [repeat, repeat]
    assert device.count("a") == repeat + 1
    if repeat == 1:
        assert found["a"].spread == 0.0


def test_each_config_has_its_turn_once_a_round_in_an_order_of_its_own() -> None:
    """Round after round all are launched once; the orders differ, and follow from the seed."""
    names = [f"c{i}" for i in range(8)]
    clock = by_name(**{name: noise(100, 0.3, i) for i, name in enumerate(names)})
    _, device, _ = timed(clock, names, seed=5)
    assert device.order[0] == names
    rounds = [
        asked[i : i + len(names)]
        for asked in device.order[1:]
        for i in range(0, len(asked), len(names))
    ]
    assert all(sorted(turn) == names for turn in rounds)
    assert len({tuple(turn) for turn in rounds}) == len(rounds) == 15
    again = timed(by_name(**dict.fromkeys(names, 1.0)), names, seed=5)[1]
    assert again.order[1] == device.order[1]
    other = timed(by_name(**dict.fromkeys(names, 1.0)), names, seed=6)[1]
    assert other.order[1] != device.order[1]


def test_where_the_clock_adds_by_a_pattern_a_config_has_the_whole_of_it_in_a_row() -> None:
    """The first of a turn does not count, and so the medians are those of whole patterns.

    The clock adds 1 us to every second launch, whichever it is: by single turns of three configs
    one would have it in all of its launches or in none.
    """
    number = itertools.count()

    def clock(name: str, _: int) -> tuple[float, bool]:
        return {"a": 4.0, "b": 5.0, "far": 50.0}[name] + next(number) % 2, False

    found, device, watch = timed(clock, ["a", "b", "far"], turn=16)
    assert [(timing.median_us, timing.repeats) for timing in found.values()] == [
        (4.5, 64),
        (5.5, 64),
        (50.5, 32),
    ]
    launched = [list(group) for asked in device.order[1:] for _, group in itertools.groupby(asked)]
    assert {len(group) % 17 for group in launched} == {0}
    assert watch.samples == 64 + 64 + 32


def test_outliers_of_a_turn_count_for_nothing() -> None:
    """Two of sixteen may be off on either side, and one of four."""
    short = [10.0] * 12 + [90.0, 70.0, 1.0, 2.0]
    mid = [110.0, 110.0, 900.0, 101.0]
    times = {"short": iter([10.0, *[10.0, *short] * 4]), "mid": iter([110.0, *[110.0, *mid] * 16])}
    found, _, _ = timed(by_name(**times), ["short", "mid"], turn=16)
    assert found["short"].median_us == 10.0
    assert found["mid"].median_us == 110.0


def test_of_what_is_longer_than_the_pattern_matters_turns_are_short() -> None:
    """Four of a row from 100 us on, judged after eight; one by one from 20 ms on."""
    clock = by_name(mid=noise(150, 0.3), tight=150.0, long=20_100.0)
    found, device, _ = timed(clock, ["mid", "tight"], turn=16)
    assert [timing.repeats for timing in found.values()] == [64, 8]
    assert device.count("tight") == 1 + 2 * 5
    found, device, _ = timed(clock, ["long"], turn=16)
    assert found["long"].repeats == 3
    assert device.count("long") == 1 + 3


@pytest.mark.parametrize("repeat", [1, 7, 20])
def test_turns_are_cut_where_fewer_repeats_are_asked_for(repeat: int) -> None:
    """No config gets more than that."""
    found, _, watch = timed(by_name(a=noise(10, 0.5)), ["a"], turn=16, repeat=repeat)
    assert found["a"].repeats == watch.samples == repeat


def test_a_late_launch_is_replaced() -> None:
    """What the host was late for does not count, and another is launched in its place."""

    def clock(name: str, number: int) -> tuple[float, bool]:
        late = name == "a" and number in {2, 3, 6}
        return (500.0 if late else 10.0), late

    found, device, watch = timed(clock, ["a", "b"])
    assert found["a"] == Timing(median_us=10.0, spread=0.0, repeats=5, method="a fake")
    assert found["b"].repeats == 5
    assert device.count("a") == 1 + 5 + 3
    assert watch.late == 3


def test_a_slow_first_launch_does_not_make_a_config_a_long_one() -> None:
    """What is long is seen by the shortest launch, the warm-up's among them."""
    times = itertools.chain([80_000.0], noise(10_000, 0.3))
    assert timed(by_name(a=times), ["a"])[0]["a"].repeats == 15


def test_where_all_launches_are_late_there_is_a_timing_still() -> None:
    """A kernel that waits for the device itself is always late: that is taken in the end."""
    clock: Clock = lambda name, _: (20.0 if name == "late" else 10.0, name == "late")  # noqa: E731
    found, device, watch = timed(clock, ["late", "good"], repeat=15)
    assert found["late"].median_us == 20.0
    assert found["good"].median_us == 10.0
    assert device.count("late") <= 1 + 3 * 5 + 15
    assert watch.late == found["late"].repeats


def test_a_median_of_zero_is_a_nanosecond() -> None:
    """A clock may tell nothing; nobody divides by it afterwards."""
    found, _, _ = timed(by_name(zero=0.0, some=5.0), ["zero", "some"])
    assert found["zero"].median_us == 1e-3
    assert found["zero"].spread == 0.0
    assert found["some"].median_us == 5.0


def test_inputs_are_restored_ahead_of_each_launch() -> None:
    """The warm-up's as well, where configs change them."""
    calls: list[int] = []
    _, device, _ = timed(by_name(a=1.0, b=2.0), ["a", "b"], restore=lambda: calls.append(1))
    assert len(calls) == device.befores == sum(map(len, device.order))


def test_each_round_is_announced_with_the_time_that_it_should_take() -> None:
    """The first by how long trying took, the others by the times seen last."""
    announced: list[float] = []
    clock = by_name(a=1_000_000.0, b=2_000_000.0)
    timed(clock, ["a", "b"], warmup=2, tried_s=77.0, began=announced.append)
    assert announced == [77.0, pytest.approx(3.0), pytest.approx(9.0)]


@pytest.mark.parametrize("warmup", [0, 1, 4])
def test_the_warm_up_is_launched_and_not_counted(warmup: int) -> None:
    """At least one round: its times say how long a launch is."""
    found, device, watch = timed(by_name(a=5.0), ["a"], warmup=warmup)
    assert device.order[: max(1, warmup)] == [["a"]] * max(1, warmup)
    assert found["a"].repeats == watch.samples == 5


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_it_always_ends_and_no_config_goes_without(data: st.DataObject) -> None:
    """Whatever the times, zeros and constants too, and whichever are late."""
    names = [f"c{i}" for i in range(data.draw(st.integers(1, 6)))]
    repeat = data.draw(st.integers(1, 20))
    turn = data.draw(st.sampled_from([1, 2, 16]))
    seed = data.draw(st.integers(0, 2**32 - 1))
    lateness = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    values = data.draw(
        st.lists(
            st.one_of(st.just(0.0), st.floats(0, 1e6), st.floats(1, 1.01)), min_size=1, max_size=9
        )
    )
    rng = random.Random(seed)  # noqa: S311

    def clock(_: str, __: int) -> tuple[float, bool]:
        return rng.choice(values), rng.random() < lateness

    found, device, watch = timed(clock, names, seed=seed, repeat=repeat, turn=turn)
    assert list(found) == names
    most_late = 4 * max(6, 2 * turn) + repeat
    for name, timing in found.items():
        assert 1 <= timing.repeats <= most_late
        assert timing.median_us >= 1e-3
        assert timing.spread >= 0
        assert min(repeat, 3) <= device.count(name) - 1 <= 2 * (repeat + most_late)
    if turn == 1:
        assert watch.samples == sum(map(len, device.order)) - len(names)
