"""From candidates to a manifest: nothing is lost, nothing is measured twice, and every end is told.

What a crew does with configs that crash, hang or raise is in `test_workers.py`.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tuning import (
    CPU,
    FICKLE,
    HOSTILE,
    ORIGINAL,
    copy_of,
    records_in,
    request,
    results_in,
    set_modes,
)

from tuner import plan
from tuner.crew import Workers
from tuner.errors import CaseError, FitError, KbError, TuneError
from tuner.kb import KnowledgeBase
from tuner.outcome import TuneOutcome
from tuner.plan import gate_shapes
from tuner.progress import Quiet
from tuner.records import Failure, Shape, Timing
from tuner.tune import tune_case
from tuner.worker.messages import Limits

QUICK = Limits(timeout_s=1.5, repeat=5)


class Notes(Quiet):
    """Keeps what a user is told."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int]] = []
        self.advances = 0
        self.failures: list[tuple[Shape, str, str]] = []
        self.notes: list[str] = []

    def stage(self, name: str, total: int) -> None:
        """Note a stage; the steps of the last one have all been told."""
        assert self.advances == (self.stages[-1][1] if self.stages else 0)
        self.stages.append((name, total))
        self.advances = 0

    def advance(self, *_: object) -> None:
        """Count a step."""
        self.advances += 1

    def failure(self, shape: Shape, config: str, failure: Failure) -> None:
        """Note a failure."""
        self.failures.append((shape, config, failure.kind))

    def note(self, text: str) -> None:
        """Note a note."""
        self.notes.append(text)


def tuned(case: Path, place: Path, **options: Any) -> TuneOutcome:
    """Tune `case`, all files below `place`."""
    return tune_case(request(case, place, **options), Quiet())


def files(outcome: TuneOutcome) -> tuple[bytes, bytes]:
    """Return the bytes of table and manifest."""
    return outcome.table_path.read_bytes(), outcome.manifest_path.read_bytes()


def fickle(place: Path, modes: Sequence[str]) -> Path:
    """Copy the fickle case with these candidates."""
    return copy_of(FICKLE, place / "case", modes)


def test_every_hostile_config_costs_itself_alone(tmp_path: Path) -> None:
    """All right configs are measured on all shapes, and each failure is kept with its reason."""
    shows = Notes()
    outcome = tune_case(request(HOSTILE, tmp_path, limits=QUICK), shows)
    lengths = [4, 7, 16, 33, 64, 101]
    found = results_in(tmp_path / "kb.sqlite")
    for mode in ("good", "better"):
        assert {n for (n,), name in found if name == mode} == set(lengths)
        assert {found[(n,), mode] for n in lengths} == {"timed"}
    assert {n: found[(n,), "odd"] for n in lengths} == {
        n: "launch" if n % 2 else "timed" for n in lengths
    }
    kinds = {"abort": "crash", "segfault": "crash", "exit": "crash", "loop": "hang"}
    for mode, kind in kinds.items():
        assert [k for (_, name), k in found.items() if name == mode] == [kind] * 2, mode
    kinds = {"wrong": "wrong", "hole": "wrong", "in_place": "wrong", "memory": "memory"}
    kinds |= dict.fromkeys(("raise", "sys_exit", "interrupt"), "launch")
    for mode, kind in kinds.items():
        assert {k for (_, name), k in found.items() if name == mode} == {kind}, mode
    fates = {str(fate.config.param("MODE")): fate for fate in outcome.fates}
    rejected = {mode for mode, fate in fates.items() if fate.kind == "rejected"}
    assert rejected == set(fates) - {"good", "better", "odd"}
    assert all(fates[mode].reason for mode in rejected)
    candidates = {c.params["MODE"]: c for c in outcome.manifest.candidates}
    assert {m for m, c in candidates.items() if c.status == "rejected"} == rejected
    assert shows.advances == shows.stages[-1][1]


def test_what_a_device_must_compile_is_compiled_ahead_by_all_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shape of each pattern that the gate leaves is tried; again, that is known."""
    monkeypatch.setattr(plan, "_MOST_GATE_SHAPES", 1)
    monkeypatch.setattr(Workers, "compiles", property(lambda _: True))
    shows = Notes()
    outcome = tune_case(request(fickle(tmp_path, ("good", "better")), tmp_path), shows)
    # Of 4, 16 and 64 the gate has the first; 64 is of the pattern of 16.
    assert [name for name, _ in shows.stages] == ["gate", "compile", "measure"]
    assert dict(shows.stages) == {"gate": 2, "compile": 2, "measure": 3}
    assert len(outcome.measured.records) == 6
    assert tuned(tmp_path / "case", tmp_path).measured.added == 0


def test_what_fails_to_compile_ahead_has_failed_there_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shapes of the gate decide who is out."""
    monkeypatch.setattr(plan, "_MOST_GATE_SHAPES", 1)
    monkeypatch.setattr(Workers, "compiles", property(lambda _: True))
    case = copy_of(HOSTILE, tmp_path / "case", ("good", "odd"))
    tuned(case, tmp_path, shapes=((4,), (16,), (7,), (33,)))
    found = results_in(tmp_path / "kb.sqlite")
    odd = {n: kind for ((n,), name), kind in found.items() if name == "odd"}
    assert odd == {4: "timed", 16: "timed", 7: "launch", 33: "launch"}


def test_what_a_budget_leaves_untried_is_told_from_what_failed(tmp_path: Path) -> None:
    """What was measured on some shapes is not taken for broken on the others."""
    case = fickle(tmp_path, ("good", "better"))
    outcome = tuned(case, tmp_path)
    assert "untried" not in json.loads(outcome.table_path.read_text())
    with sqlite3.connect(tmp_path / "kb.sqlite") as connection:
        connection.execute(
            "DELETE FROM record WHERE shape = '[64]' AND config_id IN "
            "(SELECT id FROM config WHERE name LIKE '%better%')"
        )
    connection.close()
    outcome = tuned(case, tmp_path, budget_s=1e-9)
    assert json.loads(outcome.table_path.read_text())["untried"] == {"2": [1]}


def test_configs_that_fail_while_they_are_timed(tmp_path: Path) -> None:
    """They pass the gate, fail by name, and after two deaths are not tried again."""
    modes = ("good", "late_abort", "late_hang", "late_raise", "abort_once")
    outcome = tuned(fickle(tmp_path, modes), tmp_path, limits=QUICK)
    found = results_in(tmp_path / "kb.sqlite")
    by_mode = {m: sorted(k for (_, name), k in found.items() if name == m) for m in modes}
    assert by_mode == {
        "good": ["timed"] * 3,
        "late_abort": ["crash"] * 2,
        "late_hang": ["hang"] * 2,
        "late_raise": ["launch"] * 3,
        "abort_once": ["crash", "timed", "timed"],
    }
    assert outcome.manifest.default == 'MODE="good"'


def test_shapes_that_kill_are_left_out_and_the_rest_goes_on(tmp_path: Path) -> None:
    """Inputs that kill, a reference that kills, raises or hangs: that shape is lost, and told."""
    shows = Notes()
    shapes = ((4,), (1000,), (16,), (2000,), (3000,), (4000,), (64,))
    wanted = request(fickle(tmp_path, ["good", "better"]), tmp_path, limits=QUICK, shapes=shapes)
    outcome = tune_case(wanted, shows)
    assert set(outcome.measured.lost) == {(1000,), (2000,), (3000,), (4000,)}
    assert len(results_in(wanted.kb)) == 6
    assert sorted(note.split(")")[0] for note in shows.notes) == [
        f"shape ({n}" for n in (1000, 2000, 3000, 4000)
    ]
    assert "left out, since nothing runs on them: 4 shapes" in outcome.manifest.tune_meta.notes
    assert any("left out  shape (1000): its inputs: " in line for line in outcome.lines())


def test_a_gate_shape_that_is_lost_is_replaced(tmp_path: Path) -> None:
    """A config is judged by several shapes even where the first choice of them is lost."""
    shapes = ((5,), (6,), (7,), (3000,))
    assert (6,) not in gate_shapes(shapes)
    outcome = tuned(fickle(tmp_path, ["good", "even_only"]), tmp_path, shapes=shapes)
    assert outcome.measured.rejected == {}
    assert results_in(tmp_path / "kb.sqlite")[(6,), "even_only"] == "timed"


def test_a_config_that_is_found_wrong_later_loses_what_it_had_won(tmp_path: Path) -> None:
    """Its times stay in the knowledge base; in table and manifest it is rejected."""
    case = fickle(tmp_path, ["good", "wrong_at_32"])
    assert tuned(case, tmp_path, shapes=((4,), (64,))).measured.rejected == {}
    outcome = tuned(case, tmp_path, shapes=((4,), (32,), (64,)))
    assert set(outcome.measured.rejected) == {'MODE="wrong_at_32"'}
    assert results_in(tmp_path / "kb.sqlite")[(64,), "wrong_at_32"] == "timed"
    table = json.loads(outcome.table_path.read_text())
    assert [row[1] for row in table["latency_us"]] == [None] * 3
    assert [c.status for c in outcome.manifest.candidates] == ["kept", "rejected"]


# ---- Resuming ------------------------------------------------------------------------------------


def test_nothing_is_measured_twice(tmp_path: Path) -> None:
    """A second run adds nothing and writes the same bytes, failures and deaths included."""
    case = fickle(tmp_path, ["good", "late_abort", "late_raise", "abort_once"])
    first = tuned(case, tmp_path, limits=QUICK)
    before, records = files(first), records_in(tmp_path / "kb.sqlite")
    second = tuned(case, tmp_path, limits=QUICK)
    assert (second.measured.added, second.measured.resumed) == (0, first.measured.added)
    assert files(second) == before
    assert records_in(tmp_path / "kb.sqlite") == records
    assert [changed for _, changed in second.files()] == [False, False]
    assert second.measured.gate.wall_s == second.measured.timing.wall_s == 0


def test_a_new_config_is_measured_alone(tmp_path: Path) -> None:
    """Adding a candidate measures that candidate on every shape, and nothing else."""
    case = fickle(tmp_path, ["good"])
    tuned(case, tmp_path)
    old = records_in(tmp_path / "kb.sqlite")
    set_modes(case, ["good", "better"])
    measured = tuned(case, tmp_path).measured
    assert (measured.added, measured.resumed) == (3, 3)
    assert set(old) < set(records_in(tmp_path / "kb.sqlite"))


def test_a_new_shape_is_measured_alone(tmp_path: Path) -> None:
    """Adding a shape measures all candidates there, and nothing else."""
    case = fickle(tmp_path, ["good", "better"])
    tuned(case, tmp_path, shapes=((4,), (16,)))
    old = records_in(tmp_path / "kb.sqlite")
    measured = tuned(case, tmp_path, shapes=((4,), (16,), (32,))).measured
    assert (measured.added, measured.resumed) == (2, 4)
    assert set(old) < set(records_in(tmp_path / "kb.sqlite"))


def test_fewer_shapes_or_configs_need_no_measurement(tmp_path: Path) -> None:
    """What is not asked for stays in the knowledge base, and out of the table."""
    case = fickle(tmp_path, ["good", "better"])
    tuned(case, tmp_path)
    set_modes(case, ["good"])
    outcome = tuned(case, tmp_path, shapes=((4,),))
    assert outcome.measured.added == 0
    table = json.loads(outcome.table_path.read_text())
    assert table["shapes"] == [[4]]
    assert len(table["configs"]) == 1
    assert len(records_in(tmp_path / "kb.sqlite")) == 6


def test_fresh_measures_all_again_and_keeps_the_old_in_the_archive(tmp_path: Path) -> None:
    """As many rows as before, all of them new."""
    case = fickle(tmp_path, ["good", "abort_once"])
    tuned(case, tmp_path)
    old = records_in(tmp_path / "kb.sqlite")
    measured = tuned(case, tmp_path, fresh=True).measured
    assert (measured.added, measured.resumed) == (len(old), 0)
    assert len(records_in(tmp_path / "kb.sqlite")) == len(old)
    (archive,) = (p for p in tmp_path.glob("*archive*") if p.suffix == ".sqlite")
    assert records_in(archive) == old


def test_retry_failed_tries_what_failed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What failed for want of a file is measured when the file is there; the others stay."""
    case = fickle(tmp_path, ["good", "marked"])
    monkeypatch.setenv("CALLS_FILE", str(tmp_path / "missing" / "calls"))
    first = tuned(case, tmp_path)
    assert set(first.measured.rejected) == {'MODE="marked"'}
    (tmp_path / "missing").mkdir()
    assert tuned(case, tmp_path).measured.added == 0
    again = tuned(case, tmp_path, retry_failed=True)
    assert (again.measured.added, again.measured.resumed) == (3, 3)
    assert again.measured.rejected == {}
    assert set(results_in(tmp_path / "kb.sqlite").values()) == {"timed"}


def test_changed_code_is_another_kernel_and_a_comment_is_not(tmp_path: Path) -> None:
    """What counts is the hash that `codegen hash` prints."""
    case = fickle(tmp_path, ["good"])
    impl = case / "impl.py"
    assert tuned(case, tmp_path).measured.added == 3
    impl.write_text(impl.read_text() + "\n# a remark\n")
    assert tuned(case, tmp_path).measured.added == 0
    impl.write_text(impl.read_text().replace("return 2 * x", "return x + x", 1))
    wanted = request(case, tmp_path)
    wanted = replace(wanted, delivery=replace(wanted.delivery, directory=tmp_path / "other"))
    assert tune_case(wanted, Quiet()).measured.added == 3
    assert len(records_in(tmp_path / "kb.sqlite")) == 6


def test_the_same_records_give_the_same_bytes_anywhere(tmp_path: Path) -> None:
    """No time, no directory and no order of events is in table or manifest."""
    case = fickle(tmp_path, ["good", "late_raise", "abort_once"])
    first = tuned(case, tmp_path, limits=QUICK)
    elsewhere = tmp_path / "else" / "where"
    elsewhere.mkdir(parents=True)
    with KnowledgeBase.open(tmp_path / "kb.sqlite") as kb:
        rows = kb.rows()
    with KnowledgeBase.open(elsewhere / "kb.sqlite") as kb:
        for row in reversed(rows):
            kb.record(row.scope, [row.record])
    copy_of(case, elsewhere / "case")
    second = tuned(elsewhere / "case", elsewhere, limits=QUICK)
    assert second.measured.added == 0
    assert files(second) == files(first)
    for data in files(first):
        assert str(tmp_path).encode() not in data
        assert not re.search(rb"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d", data)


# ---- Budgets -------------------------------------------------------------------------------------


def test_a_budget_ends_with_a_manifest_of_what_there_is(tmp_path: Path) -> None:
    """Some shapes are measured, the others told of; the next run does the rest."""
    case = fickle(tmp_path, ["good", "slow"])
    shapes = tuple((n,) for n in range(1, 41))
    tuned(case, tmp_path, shapes=shapes[:1])  # However slow this machine, one is measured.
    outcome = tuned(case, tmp_path, shapes=shapes, budget_s=3.0)
    measured = outcome.measured
    assert 0 < measured.unfinished < len(shapes)
    assert any("left unfinished; run again to go on" in line for line in outcome.lines())
    notes = outcome.manifest.tune_meta.notes
    assert f"not measured with all configs: {measured.unfinished} shapes" in notes
    known = Counter(tuple(shape) for shape, _ in results_in(tmp_path / "kb.sqlite"))
    # The one that was dropped halfway, on a slow machine, is none of them.
    whole = tuple(sorted(shape for shape, configs in known.items() if configs == 2))
    again = tuned(case, tmp_path, shapes=whole)
    assert (again.measured.added, again.measured.unfinished) == (0, 0)


def test_a_budget_that_measures_nothing_is_an_error(tmp_path: Path) -> None:
    """Even where the gate itself hangs for longer; failures that were found are kept."""
    case = copy_of(HOSTILE, tmp_path / "case", ["good", "raise", "loop"])
    with pytest.raises(TuneError, match=r"hostile: the budget of 2 s was spent before a shape"):
        tuned(case, tmp_path, budget_s=2.0, limits=Limits(timeout_s=60.0))
    assert set(results_in(tmp_path / "kb.sqlite").values()) <= {"launch"}


# ---- Several at once -----------------------------------------------------------------------------


def test_two_workers_share_the_shapes(tmp_path: Path) -> None:
    """Every shape is measured once, whoever does it."""
    case = fickle(tmp_path, ["good", "slow"])
    shapes = tuple((n,) for n in range(1, 9))
    outcome = tuned(case, tmp_path, devices=(CPU, CPU), shapes=shapes)
    assert outcome.measured.devices == 2
    assert len(results_in(tmp_path / "kb.sqlite")) == 16


def test_two_runs_at_once_on_one_knowledge_base(tmp_path: Path) -> None:
    """Both end well, each row is there once, and both go by the same results."""
    case = fickle(tmp_path, ["good", "better", "abort_once"])
    outcomes: list[TuneOutcome] = []
    requests = []
    for name in ("a", "b"):
        wanted = request(case, tmp_path)
        delivery = replace(wanted.delivery, directory=tmp_path / name)
        requests.append(replace(wanted, delivery=delivery))
    threads = [
        threading.Thread(target=lambda one=one: outcomes.append(tune_case(one, Quiet())))
        for one in requests
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert len(outcomes) == 2
    assert len(results_in(tmp_path / "kb.sqlite")) == 9
    again = tuned(case, tmp_path)
    assert again.measured.added == 0
    assert {files(outcome)[0] for outcome in outcomes} == {files(again)[0]}


# ---- When there is nothing to deploy -------------------------------------------------------------


def test_when_every_candidate_is_rejected_each_reason_is_told(tmp_path: Path) -> None:
    """One line for the fact, and one a candidate."""
    modes = ["wrong", "raise", "abort"]
    with pytest.raises(TuneError, match="hostile: all 3 candidates are rejected; ") as caught:
        tuned(copy_of(HOSTILE, tmp_path / "case", modes), tmp_path)
    assert [line.split(": ")[0] for line in caught.value.details] == [f'MODE="{m}"' for m in modes]
    assert "wrong on (4): the output differs" in caught.value.details[0]


def test_candidates_that_all_fail_later_are_rejected_as_well(tmp_path: Path) -> None:
    """Passing the gate is not enough."""
    with pytest.raises(TuneError, match="all 2 candidates are rejected"):
        tuned(fickle(tmp_path, ["late_abort", "late_raise"]), tmp_path, limits=QUICK)


def test_the_only_candidate_is_rejected(tmp_path: Path) -> None:
    """Its reason stands in the one line."""
    with pytest.raises(TuneError, match=r'is rejected: MODE="raise": launch on \(4\): ValueError'):
        tuned(copy_of(HOSTILE, tmp_path / "case", ["raise"]), tmp_path)


def test_no_config_runs_everywhere(tmp_path: Path) -> None:
    """The error says which covers most, and by how much; what was measured is kept."""
    shapes = ((4,), (5,), (6,), (7,), (8,))
    match = r'no config was measured on all 5 shapes.*MODE="even_only" covers most, 3'
    with pytest.raises(FitError, match=match):
        tuned(fickle(tmp_path, ["odd_only", "even_only"]), tmp_path, shapes=shapes)
    assert len(results_in(tmp_path / "kb.sqlite")) == 10


def test_no_shape_is_left(tmp_path: Path) -> None:
    """Each shape is told of with its reason."""
    with pytest.raises(TuneError, match=r"no shape can be measured; \(3000\): the reference fails"):
        tuned(fickle(tmp_path, ["good"]), tmp_path, shapes=((3000,),))
    with pytest.raises(TuneError, match="no shape can be measured; ") as caught:
        tuned(tmp_path / "case", tmp_path, shapes=((1000,), (2000,)), limits=QUICK)
    assert [line.split(":")[0] for line in caught.value.details] == ["(1000)", "(2000)"]


def test_inputs_of_two_dtypes_are_refused_before_anything_is_measured(tmp_path: Path) -> None:
    """A table is of one dtype."""
    case = fickle(tmp_path, ["good"])
    base = case / "base.py"
    base.write_text(
        base.read_text().replace(
            ".astype(np.float32)", ".astype(np.float32 if shape == (4,) else np.float64)"
        )
    )
    match = r"fickle: the inputs are of different dtypes: float32 on \(4\), float64 on \(16\)"
    with pytest.raises(CaseError, match=match):
        tuned(case, tmp_path)
    assert records_in(tmp_path / "kb.sqlite") == ()


def test_what_was_measured_outlives_a_failure_at_the_end(tmp_path: Path) -> None:
    """A manifest's place that is taken meanwhile costs no measurement."""
    case = fickle(tmp_path, ["good"])

    class Vandal(Quiet):
        """Puts a file where the directory was to be, when all is measured."""

        def advance(self, *_: object) -> None:
            (tmp_path / "out").write_text("in the way")

    with pytest.raises(Exception, match="out: cannot be made a directory: file exists"):
        tune_case(request(case, tmp_path), Vandal())
    assert len(results_in(tmp_path / "kb.sqlite")) == 3
    (tmp_path / "out").unlink()
    assert tuned(case, tmp_path).measured.added == 0


def test_a_knowledge_base_that_cannot_be_opened_is_found_at_once(tmp_path: Path) -> None:
    """Before a worker could measure anything."""
    (tmp_path / "kb.sqlite").mkdir()
    with pytest.raises(KbError, match=r"kb\.sqlite: is a directory"):
        tuned(fickle(tmp_path, ["good"]), tmp_path)


def test_a_case_of_numpy_from_end_to_end(tmp_path: Path) -> None:
    """Every candidate on every shape named, positive times, and one row each."""
    impl = ORIGINAL.parent / "converted" / "nearest" / "impl.py"
    shapes = ((1, 64, 16), (100, 100, 32))
    outcome = tuned(ORIGINAL / "nearest", tmp_path, impl=impl, shapes=shapes)
    records = outcome.measured.records
    assert len(records) == 16
    assert all(isinstance(r.result, Timing) and r.result.median_us > 0 for r in records)
    assert outcome.measured.verified
    assert (tmp_path / "out" / "impl.py").read_bytes() == impl.read_bytes()
