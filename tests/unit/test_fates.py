"""The fate of every candidate, in numbers and in words; and a table as text, a line a row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codegen.config import Config
from tuner.fates import fates
from tuner.records import Failure, Record, Timing
from tuner.table_text import table_text


def config(block: int) -> Config:
    """Return a config."""
    return Config(params=(("BLOCK", block),))


def record(block: int, size: int, result: float | Failure) -> Record:
    """Return what came of a config on a shape: microseconds, or a failure."""
    if isinstance(result, int | float):
        timing = Timing(median_us=float(result), spread=0.0, repeats=5, method="m")
    return Record(
        shape=(size,),
        dtype="float32",
        inputs="",
        config=config(block),
        result=result if isinstance(result, Failure) else timing,
        at="2026-01-01T00:00:00Z",
    )


CRASH = Failure(kind="crash", message="killed by SIGSEGV")


def told(
    records: list[Record], rejected: dict[str, str] | None = None, selected: tuple[int, ...] = ()
) -> dict[int, str]:
    """Return the fates of configs 1 to 3 in words."""
    configs = [config(1), config(2), config(3)]
    found = fates(configs, records, rejected or {}, {config(block).id for block in selected})
    assert [fate.config for fate in found] == configs
    return {i: str(fate) for i, fate in enumerate(found, start=1)}


def test_the_fastest_of_a_shape_has_won_there() -> None:
    """The others say by how much they lost at best; what was not measured says so."""
    records = [record(1, 8, 10.0), record(2, 8, 20.0), record(1, 16, 10.0), record(2, 16, 12.5)]
    assert told(records, selected=(1,)) == {
        1: "won 2 of 2, selected",
        2: "lost all 2, at best 1.250 times the winner",
        3: "not measured",
    }


def test_one_that_another_stands_for_was_set_aside() -> None:
    """It is neither rejected nor merely not measured, and says why."""
    configs = [config(1), config(2)]
    found = fates(configs, [record(1, 8, 5.0)], {}, set(), {config(2).id: "the same as BLOCK=1"})
    assert [(fate.kind, str(fate)) for fate in found] == [
        ("won", "won 1 of 1"),
        ("aside", "set aside: the same as BLOCK=1"),
    ]


def test_of_equals_one_has_won() -> None:
    """Wins add up to the number of shapes."""
    found = fates([config(1), config(2)], [record(1, 8, 5.0), record(2, 8, 5.0)], {}, set())
    assert [fate.won for fate in found] == [1, 0]
    assert str(found[1]) == "lost all 1, at best 1.000 times the winner"


def test_what_is_rejected_has_no_times_and_takes_no_win() -> None:
    """Even if it was the fastest; the reason is that of the rejection."""
    records = [record(1, 8, 1.0), record(2, 8, 5.0), record(1, 16, CRASH), record(3, 8, CRASH)]
    assert told(records, {config(1).id: "crash on (16): killed"}) == {
        1: "rejected: crash on (16): killed",
        2: "won 1 of 1",
        3: "rejected: crash on (8): killed by SIGSEGV",
    }


def test_a_config_that_fails_here_and_there_says_where_first() -> None:
    """It won or lost all the same."""
    records = [record(1, 8, 1.0), record(1, 16, CRASH), record(1, 32, CRASH), record(2, 16, 3.0)]
    assert told(records)[1] == "won 1 of 1, failed on 2: crash on (16): killed by SIGSEGV"
    assert told(records)[2] == "won 1 of 1"


def test_times_of_zero_divide_nothing() -> None:
    """As an older knowledge base may hold them."""
    assert told([record(1, 8, 0.0), record(2, 8, 5.0), record(3, 8, 0.0)]) == {
        1: "won 1 of 1",
        2: "lost all 1, at best inf times the winner",
        3: "lost all 1, at best 1.000 times the winner",
    }


def test_hostile_reasons_are_escaped() -> None:
    """Whoever wrote them: they are printed."""
    line = told([], {config(1).id: "\x1b[2Jred\nnext"})[1]
    assert line == r"rejected: \x1b[2Jred next"


def test_without_records_nothing_is_measured() -> None:
    """No config, no fate."""
    assert fates([], [], {}, set()) == ()
    assert set(told([]).values()) == {"not measured"}


TABLE: dict[str, Any] = {
    "format": "latency-table/1",
    "axis_names": ["M", "N"],
    "configs": [{"params": {"BLOCK": 64}}, {"params": {"BLOCK": 128}}],
    "rejected": {"1": "größer \ud800"},
    "shapes": [[1, 2], [3, 4]],
    "latency_us": [[1.5, None], [2.0, 3.25]],
    "empty": [],
}


def test_a_table_is_a_line_a_row() -> None:
    """A diff shows the shapes that changed; it is JSON, and the same value gives the same bytes."""
    text = table_text(TABLE)
    assert json.loads(text) == TABLE
    assert table_text(json.loads(text)) == text
    assert text.isascii()
    lines = text.splitlines()
    assert "  [1.5, null]," in lines
    assert "  [3, 4]" in lines
    assert '"axis_names": ["M", "N"],' in lines
    assert text.endswith("\n}\n")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [[float("-inf")]]])
def test_a_table_holds_no_nan(value: Any) -> None:
    """JSON has none."""
    with pytest.raises(ValueError, match="Out of range float values are not JSON"):
        table_text({"latency_us": value})
