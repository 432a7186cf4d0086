"""Replay: a crew that answers from a recorded table, and says so."""

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from tuning import CONVERTED, MATMUL_TABLE, ORIGINAL, fates_of, records_in, request

from codegen.config import Config
from tuner.crew import Replay
from tuner.devices.names import DeviceName
from tuner.errors import CaseError, TableError
from tuner.progress import Quiet
from tuner.records import Failure, Timing
from tuner.table import read_table
from tuner.tune import tune_case
from tuner.worker.messages import Job, Step

TABLE: dict[str, Any] = {
    "format": "latency-table/1",
    "kernel": "copy",
    "axis_names": ["N"],
    "dtype": "float16",
    "device": "some device",
    "toolchain": {"tool": "1.0"},
    "method": "by hand",
    "configs": [{"params": {"B": 1}}, {"params": {"B": 2}}, {"params": {"B": 3}}],
    "rejected": {"2": "it never ran"},
    "shapes": [[4], [8]],
    "latency_us": [[1.5, None, None], [3.0, 2.0, None]],
}


def config(number: int) -> Config:
    """Return the config with that B."""
    return Config(params=(("B", number),))


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    """Return a crew that answers from `TABLE`."""
    path = tmp_path / "table.json"
    path.write_text(json.dumps(TABLE))
    return Replay(path, ("N",))


def test_a_replay_answers_with_what_was_recorded(replay: Replay) -> None:
    """A latency where there is one; else why there is none."""
    configs = tuple(map(config, range(1, 5)))
    steps = tuple(Step(shape=(n,), configs=configs) for n in (4, 8))
    events = list(replay.run(iter([Job(steps=steps, measure=True)])))
    found = {(e.shape[0], e.config): e.result for e in events if hasattr(e, "config")}
    timed = {k: v.median_us for k, v in found.items() if isinstance(v, Timing)}
    assert timed == {(4, "B=1"): 1.5, (8, "B=1"): 3.0, (8, "B=2"): 2.0}
    reasons = {k: v.message for k, v in found.items() if isinstance(v, Failure)}
    assert reasons == {
        (4, "B=2"): "the replayed table has no measurement here",
        (4, "B=3"): "it never ran",
        (8, "B=3"): "it never ran",
        (4, "B=4"): "the replayed table does not hold this config",
        (8, "B=4"): "the replayed table does not hold this config",
    }
    assert all(isinstance(v, Timing) or v.kind == "launch" for v in found.values())


def test_what_passes_the_gate_is_not_timed(replay: Replay) -> None:
    """A job that does not measure gives no times."""
    steps = (Step(shape=(4,), configs=(config(1), config(2))),)
    events = list(replay.run(iter([Job(steps=steps, measure=False)])))
    assert fates_of(events) == [
        ("Outcome", (4,), "B=1", "passed"),
        ("Outcome", (4,), "B=2", "launch"),
        ("Done",),
    ]


def test_what_is_unwanted_or_too_late_is_not_answered(replay: Replay) -> None:
    """A replay heeds what a crew of workers heeds."""
    jobs = [Job(steps=(Step(shape=(8,), configs=(config(1), config(2))),), measure=True)]
    events = list(replay.run(iter(jobs), wanted=lambda _, name: name == "B=2"))
    assert fates_of(events) == [("Outcome", (8,), "B=2", "timed"), ("Done",)]
    assert list(replay.run(iter(jobs), until=monotonic() - 1)) == []


def test_nobody_takes_a_replay_for_measurements(replay: Replay) -> None:
    """The table's hash stands among the tools, and its name in the method."""
    target = replay.target()
    assert target.device == "some device"
    assert dict(target.toolchain) == {"tool": "1.0", "replay": replay.table.sha256[:12]}
    assert replay.method == "replayed from table.json: by hand"
    assert not replay.survey(None).verified


def test_the_shapes_of_a_replay_are_those_of_its_table(replay: Replay) -> None:
    """All of them unless some are named, and none that is not there."""
    assert [work.shape for work in replay.survey(None).works] == [(4,), (8,)]
    assert [work.shape for work in replay.survey(((8,),)).works] == [(8,)]
    with pytest.raises(CaseError, match=r"table\.json: holds no shape '\(5,\)'"):
        replay.survey(((5,),))


def test_a_table_of_another_kernel_is_refused(tmp_path: Path) -> None:
    """Its axes are not those of the case."""
    path = tmp_path / "table.json"
    path.write_text(json.dumps(TABLE))
    with pytest.raises(CaseError, match="is a table over 'N', and the case's axes are 'M', 'K'"):
        Replay(path, ("M", "K"))
    with pytest.raises(TableError, match="cannot be read: no such file"):
        Replay(tmp_path / "none.json", ("N",))


def test_a_case_tuned_on_a_replay_knows_exactly_what_the_table_holds(tmp_path: Path) -> None:
    """Each latency of the table is a record, to the bit, and the table written is the same."""
    wanted = request(
        ORIGINAL / "matmul",
        tmp_path,
        devices=(DeviceName("replay", table=MATMUL_TABLE),),
        impl=CONVERTED / "matmul" / "impl.py",
    )
    outcome = tune_case(wanted, Quiet())
    table = read_table(MATMUL_TABLE)
    recorded = {
        (tuple(shape), config.id): us
        for shape, row in zip(table.shapes.tolist(), table.latency_us.tolist(), strict=True)
        for config, us in zip(table.configs, row, strict=True)
        if us == us  # noqa: PLR0124 (NaN is what was not measured)
    }
    known = {
        (record.shape, record.config.id): record.result.median_us
        for record in records_in(wanted.kb)
        if isinstance(record.result, Timing)
    }
    assert known == recorded
    assert outcome.manifest.target.device == "NVIDIA H200"
    assert sum(fate.kind == "won" for fate in outcome.fates) > 10
