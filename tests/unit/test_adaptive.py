"""Adaptive measuring: all configs on some shapes, few on the others, and the same after a cut."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tuning import CONVERTED, ORIGINAL, records_in, request

from codegen.config import Config
from tuner.crew import Replay
from tuner.crew.base import Event, Outcome
from tuner.devices.names import DeviceName
from tuner.progress import Quiet
from tuner.records import Shape
from tuner.search import Search
from tuner.search.adaptive import AdaptiveSearcher
from tuner.table import read_table
from tuner.tune import CaseRequest, tune_case

DATA = Path(__file__).parents[1] / "data"
Us = Mapping[Shape, Mapping[str, float | None]]


def recorded(kernel: str, shapes: int, every: int = 1) -> tuple[tuple[Config, ...], Us]:
    """Return some configs of a recorded table, and their times on some of its shapes."""
    table = read_table(DATA / f"h200_{kernel}.json")
    columns = table.kept[::every]
    configs = tuple(table.configs[i] for i in columns)
    step = max(1, len(table.shapes) // shapes)
    rows = zip(table.shapes.tolist()[::step], table.latency_us.tolist()[::step], strict=True)
    return configs, {
        tuple(shape): {
            c.id: None if us[i] != us[i] else us[i] for c, i in zip(configs, columns, strict=True)
        }
        for shape, us in list(rows)[:shapes]
    }


def asked(
    searcher: AdaptiveSearcher, us: Us, out: frozenset[str] = frozenset()
) -> dict[Shape, list[str]]:
    """Run to the end, and return what was asked for; each config once a shape."""
    found: dict[Shape, list[str]] = {}
    while asks := searcher.next(us):
        for ask in asks:
            names = [config.id for config in ask.configs]
            assert not {*names} & {*found.get(ask.shape, ())}
            found.setdefault(ask.shape, []).extend(names)
            times = {name: None if name in out else us[ask.shape][name] for name in names}
            searcher.tell(ask, times, [name for name in names if name in out])
    assert searcher.left(us) == 0
    return found


def test_some_shapes_get_all_configs_and_the_others_the_contenders() -> None:
    """Less than half of the measurements, and the best config is among them nearly always."""
    configs, us = recorded("softmax", 84)
    found = asked(AdaptiveSearcher(configs, {shape: [*times] for shape, times in us.items()}), us)
    assert sum(len(names) == len(configs) for names in found.values()) == 12
    assert all(len(names) in {5, 6, len(configs)} for names in found.values())
    assert sum(map(len, found.values())) < 0.45 * len(us) * len(configs)
    lost = []
    for shape, names in found.items():
        best = min(value for value in us[shape].values() if value is not None)
        lost.append(min(us[shape][name] or 1e9 for name in names) / best)
    assert sum(ratio < 1.02 for ratio in lost) > 0.9 * len(lost)


def test_one_config_is_known_on_every_shape() -> None:
    """It is the default; if it fails somewhere, another is measured where it is missing."""
    configs, us = recorded("matmul", 60, every=2)
    allowed = {shape: [*times] for shape, times in us.items()}
    found = asked(AdaptiveSearcher(configs, allowed), us)
    everywhere = set.intersection(*({*names} for names in found.values()))
    assert everywhere
    anchor = min(everywhere)
    *_, late = found
    broken = {s: {**t, **({anchor: None} if s == late else {})} for s, t in us.items()}
    again = asked(AdaptiveSearcher(configs, allowed), broken)
    right = [{n for n in names if broken[s][n] is not None} for s, names in again.items()]
    assert set.intersection(*right)


def test_it_asks_only_for_what_is_allowed_and_not_out() -> None:
    """What is wrong anywhere is asked for on no shape that comes later."""
    configs, us = recorded("conv2d", 30)
    allowed = {s: [c.id for c in configs[i % 3 :]] for i, s in enumerate(us)}
    wrong = configs[5].id
    searcher = AdaptiveSearcher(configs, allowed)
    found = asked(searcher, us, out=frozenset({wrong}))
    for shape, names in found.items():
        assert {*names} <= {*allowed[shape]}
    first = [shape for shape, names in found.items() if wrong in names]
    assert len(first) <= 12


def test_where_the_teacher_is_sure_it_ends() -> None:
    """If one config is the fastest by far on all shapes there is nothing more to learn."""
    configs, us = recorded("softmax", 60)
    flat = {s: {c.id: 1.0 + 9.0 * (i > 0) for i, c in enumerate(configs)} for s in us}
    found = asked(AdaptiveSearcher(configs, {s: [*t] for s, t in flat.items()}), flat)
    assert len(found) == 12


@pytest.mark.parametrize("shapes", [1, 2, 5])
def test_few_shapes_are_measured_whole(shapes: int) -> None:
    """There is nothing to save."""
    configs, us = recorded("softmax", shapes)
    found = asked(AdaptiveSearcher(configs, {shape: [*times] for shape, times in us.items()}), us)
    assert {len(names) for names in found.values()} == {len(configs)}
    assert len(found) == shapes


# ---- In a run -------------------------------------------------------------------------------


def adaptive(place: Path, table: Path) -> CaseRequest:
    """Return the request that tunes softmax from `table`."""
    return request(
        ORIGINAL / "softmax",
        place,
        impl=CONVERTED / "softmax" / "impl.py",
        devices=(DeviceName("replay", table=table),),
        search=Search(adaptive=True),
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return every third shape of softmax's table."""
    raw: dict[str, Any] = json.loads((DATA / "h200_softmax.json").read_text())
    for key in ("shapes", "latency_us"):
        raw[key] = raw[key][::3]
    raw |= {"repeat_latency_us": [], "weights": []}
    path = tmp_path / "table.json"
    path.write_text(json.dumps(raw))
    return path


def rows(place: Path) -> Counter[tuple[Shape, str]]:
    """Return what is known there."""
    return Counter((r.shape, r.config.id) for r in records_in(place / "kb.sqlite"))


def test_a_run_that_is_cut_short_ends_as_one_that_was_not(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is measured twice, and table and manifest are the same to the byte."""
    whole = tune_case(adaptive(tmp_path / "whole", table), Quiet())
    assert whole.measured.unfinished == 0
    known, run = rows(tmp_path / "whole"), Replay.run
    raw = json.loads(table.read_text())
    assert len(known) < 0.7 * len(raw["shapes"]) * len(raw["configs"])
    left = [0]

    def cut(self: Replay, *arguments: Any, **options: Any) -> Iterator[Event]:
        for event in run(self, *arguments, **options):
            if isinstance(event, Outcome) and event.result is not None:
                left[0] -= 1
                if left[0] == 0:
                    raise KeyboardInterrupt
            yield event

    monkeypatch.setattr(Replay, "run", cut)
    for n in (40, 290):
        left[0] = n
        with pytest.raises(KeyboardInterrupt):
            tune_case(adaptive(tmp_path / "cut", table), Quiet())
        assert not rows(tmp_path / "cut") - known
    left[0] = -1
    again = tune_case(adaptive(tmp_path / "cut", table), Quiet())
    assert rows(tmp_path / "cut") == known
    for one, other in (
        (whole.table_path, again.table_path),
        (whole.manifest_path, again.manifest_path),
    ):
        assert one.read_bytes() == other.read_bytes()
    assert "untried" in json.loads(whole.table_path.read_text())
