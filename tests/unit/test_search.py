"""The search: what it asks for, that it asks for the same again, and that nothing is lost."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
import yaml
from tuning import CPU, FICKLE, copy_of, records_in, request, results_in

from codegen.config import Config
from tuner import measuring
from tuner.crew import Replay, replay
from tuner.crew.base import Event, Outcome
from tuner.devices.names import DeviceName
from tuner.ledger import Ledger
from tuner.measured import Measured
from tuner.outcome import TuneOutcome
from tuner.progress import Quiet
from tuner.records import Failure, Shape, Timing
from tuner.search import Search, Searcher, searcher_of
from tuner.search.encoding import encoded
from tuner.search.optuna_proposer import OptunaProposer
from tuner.search.searcher import BATCH
from tuner.tune import CaseRequest, _measured, tune_case

SHAPES = ((16, 1024, 4096), (128, 4096, 4096), (200, 700, 3000), (512, 512, 512))
CONFIGS = synthetic.some(40)  # 135 of them.
SAMPLERS = ("surrogate", "tpe", "evolution", "random")
Row = tuple[Shape, str, str]


@pytest.fixture
def replayed(tmp_path: Path) -> Replayed:
    """Return what searches a small synthetic table."""
    return Replayed(tmp_path)


class Replayed:
    """Searches of one case, each in a directory of its own."""

    def __init__(self, place: Path, failing: tuple[tuple[Shape, str], ...] = ()) -> None:
        self.place = place
        self.case = synthetic.case(place / "case", CONFIGS)
        self.table = synthetic.table(place / "table.json", CONFIGS, SHAPES, failing)

    def tune(self, name: str, **options: Any) -> TuneOutcome:
        """Search and fit, all that is written in the directory `name`."""
        return tune_case(self.request(name, **options), Quiet())

    def measure(self, name: str, **options: Any) -> Measured:
        """Search alone, which is quicker."""
        return _measured(self.request(name, **options), Quiet())

    def request(self, name: str, search: Search | None = None, **options: Any) -> CaseRequest:
        """Return the request."""
        device = DeviceName("replay", table=self.table)
        search = search or Search(trials=20)
        place = self.place / name
        return request(self.case, place, devices=(device,), search=search, **options)

    def rows(self, name: str) -> set[Row]:
        """Return what is known there, without when it came to be."""
        found = records_in(self.place / name / "kb.sqlite")
        rows = {(record.shape, record.config.id, _text(record.result)) for record in found}
        assert len(rows) == len(found)
        return rows


def _text(result: Timing | Failure) -> str:
    return result.kind if isinstance(result, Failure) else f"{result.median_us}"


def asked_on(rows: set[Row]) -> Counter[Shape]:
    """Return how many configs are known on each shape."""
    return Counter(shape for shape, _, _ in rows)


class Fixed:
    """Proposes what is free, in order."""

    def propose(self, shape: Shape, times: Any, free: Any, count: int) -> list[int]:  # noqa: ARG002
        """Return the first."""
        found: list[int] = free[:count].tolist()
        return found


def searched(
    searcher: Searcher, us: Mapping[Shape, Mapping[str, float | None]]
) -> list[tuple[Shape, tuple[str, ...]]]:
    """Run a search to its end, and return what it asked for."""
    found = []
    while asks := searcher.next(us):
        for ask in asks:
            names = tuple(config.id for config in ask.configs)
            found.append((ask.shape, names))
            searcher.tell(ask, {name: us[ask.shape][name] for name in names}, ())
    return found


def tables(shapes: tuple[Shape, ...], configs: tuple[Config, ...]) -> dict[Shape, dict[str, float]]:
    """Return the synthetic latencies."""
    return {s: {c.id: synthetic.latency_us(s, c) for c in configs} for s in shapes}


# ---- What is asked for ---------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("trials", [1, 7, 30])
def test_trials_are_respected_and_nothing_is_asked_twice(sampler: Any, trials: int) -> None:
    """On no shape more than so many, each once, in batches; with one config known on all."""
    us = tables(SHAPES, CONFIGS)
    found = searched(searcher_of(Search(trials=trials, sampler=sampler), CONFIGS, us), us)
    names = {s: [n for shape, some in found if shape == s for n in some] for s in SHAPES}
    assert all(len(set(names[s])) == len(names[s]) <= trials for s in SHAPES)
    # What is kept back for common winners need not be used up.
    assert all(len(names[s]) >= trials - trials // 4 for s in SHAPES)
    assert max(len(some) for _, some in found) <= BATCH + 2
    assert set.intersection(*map(set, names.values()))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_small_space_is_measured_as_a_whole(sampler: Any) -> None:
    """More trials than configs are no trouble."""
    us = tables(SHAPES[:2], CONFIGS[:20])
    found = searched(searcher_of(Search(trials=50, sampler=sampler), CONFIGS[:20], us), us)
    assert sum(len(names) for _, names in found) == 40


def test_only_what_is_allowed_on_a_shape_is_asked_for_there() -> None:
    """A config that another shape does not allow is not lent to it."""
    us = tables(SHAPES, CONFIGS)
    allowed = {s: [c.id for c in CONFIGS[i::4]] for i, s in enumerate(SHAPES)}
    found = searched(searcher_of(Search(trials=16), CONFIGS, allowed), us)
    assert found
    assert all(set(names) <= set(allowed[shape]) for shape, names in found)


def test_the_winners_of_the_nearest_shapes_come_first() -> None:
    """Ahead of them only what is known on all: the winner of the first shape here."""
    shapes = ((16,), (10_000,), (17,), (9_000,))
    configs = CONFIGS[:40]
    # On small shapes config 3 is the fastest, on large ones config 5; 0 is good on all.
    us: dict[Shape, dict[str, float | None]] = {
        s: {c.id: 10.0 + i for i, c in enumerate(configs)} for s in shapes
    }
    for s in shapes:
        us[s][configs[3 if s[0] < 100 else 5].id] = 1.0
    found = searched(Searcher(configs, us, Fixed(), trials=10), us)
    first = dict(reversed(found))
    order = [shape for shape, _ in found][:4]
    assert order[:2] == [(16,), (10_000,)]
    assert first[(10_000,)][0] == configs[3].id
    assert configs[5].id in first[(9_000,)][:2]
    assert configs[3].id in first[(17,)][:2]


def test_in_the_end_common_winners_are_asked_for_everywhere() -> None:
    """What is near the best on some shape is known on all, though nobody proposed it there."""
    shapes = ((16,), (10_000,), (100_000_000,))
    configs = CONFIGS[:100]
    us: dict[Shape, dict[str, float | None]] = {
        s: {c.id: 10.0 + i for i, c in enumerate(configs)} for s in shapes
    }
    for i, s in enumerate(shapes):
        us[s][configs[8 + i].id] = 1.0
    found = searched(Searcher(configs, us, Fixed(), trials=40), us)
    for i in range(3):
        assert {s for s, names in found if configs[8 + i].id in names} == set(shapes)


def test_failures_are_known_and_bad() -> None:
    """What fails is not asked for again, nor lent; where the anchor fails another is found."""
    us: dict[Shape, dict[str, float | None]] = {**tables(SHAPES, CONFIGS)}  # type: ignore[dict-item]
    best = min(CONFIGS, key=lambda c: us[SHAPES[0]][c.id] or 0).id
    for shape in SHAPES:
        us[shape] = {
            n: None if int.from_bytes(n.encode(), "big") % 3 else t for n, t in us[shape].items()
        }
        us[shape][best] = None
    found = searched(searcher_of(Search(trials=24), CONFIGS, us), us)
    asked = {s: [n for shape, some in found if shape == s for n in some] for s in SHAPES}
    assert all(len(set(names)) == len(names) <= 24 for names in asked.values())
    timed = [{n for n in asked[s] if us[s][n] is not None} for s in SHAPES]
    assert set.intersection(*timed)


def test_what_is_out_is_asked_for_nowhere_any_more() -> None:
    """A config that was wrong on one shape is not tried on another."""
    us = tables(SHAPES, CONFIGS)
    searcher = searcher_of(Search(trials=16), CONFIGS, us)
    out, after = set[str](), []
    while asks := searcher.next(SHAPES):
        for ask in asks:
            names = [config.id for config in ask.configs]
            after += [name for name in names if name in out]
            new = set(names[:1]) if len(out) < 5 else set()
            times = {n: us[ask.shape][n] for n in names if n not in new}
            searcher.tell(ask, times, new)
            out |= new
    assert len(out) == 5
    assert after == []


def test_a_shape_that_is_lost_is_left_alone() -> None:
    """The others go on."""
    us = tables(SHAPES, CONFIGS)
    searcher = searcher_of(Search(trials=16), CONFIGS, us)
    (ask,) = searcher.next(SHAPES)
    searcher.tell(ask, {}, ())
    left = [shape for shape in SHAPES if shape != ask.shape]
    found = searched(searcher, {shape: us[shape] for shape in left})
    assert {shape for shape, _ in found} == set(left)


def _many_params(n: int) -> tuple[Config, ...]:
    every = list(itertools.product((1, 2), repeat=n))[::7]
    return tuple(
        Config(params=tuple((f"P{i}", v) for i, v in enumerate(values))) for values in every
    )


@pytest.mark.parametrize(("n", "evolves"), [(10, False), (11, True)])
def test_more_than_ten_params_are_left_to_evolution(n: int, *, evolves: bool) -> None:
    """Unless another sampler is named; the configs that are not in the space are not asked for."""
    configs = _many_params(n)
    us = {(1,): {c.id: float(sum(v for _, v in c.params)) for c in configs}}  # type: ignore[misc]
    searcher = searcher_of(Search(trials=40), configs, us)
    assert isinstance(searcher._proposer, OptunaProposer) == evolves
    found = searched(searcher, us)
    assert len({name for _, names in found for name in names}) == 40
    assert not isinstance(
        searcher_of(Search(sampler="surrogate"), configs, us)._proposer, OptunaProposer
    )


@pytest.mark.parametrize("sampler", ["tpe", "evolution"])
def test_a_draw_that_is_not_in_the_space_becomes_the_nearest_that_is(sampler: Any) -> None:
    """Of 16 combinations one is left: whatever is drawn, that is what is asked for."""
    configs = tuple(
        Config(params=(("A", a), ("B", b), ("C", c)))
        for a, b, c in itertools.product((1, 2, 4, 8), (16, 32, 64), ("x", "y"))
    )
    proposer = OptunaProposer(encoded(configs), 0, sampler)
    free = np.array([11, 17])
    assert set(proposer.propose((1,), {(1,): {}}, free, 5)) == {11, 17}
    ranks = encoded(configs).ranks
    assert proposer._nearest(ranks[11].tolist(), np.array([0, 10])) == 10


def test_the_surrogate_beats_chance() -> None:
    """With 30 of 135 configs a shape the best that it finds is better than what chance does."""
    us = tables(SHAPES, CONFIGS)

    def excess(name: Any) -> float:
        found = searched(searcher_of(Search(trials=30, sampler=name), CONFIGS, us), us)
        least = {s: min(us[s][n] for at, some in found if at == s for n in some) for s in SHAPES}
        return float(np.mean([least[s] / min(us[s].values()) for s in SHAPES]))

    assert excess("surrogate") < excess("random")


# ---- In a run ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_same_seed_finds_the_same_and_a_second_run_nothing_new(
    replayed: Replayed, sampler: Any
) -> None:
    """Records are equal; where chance decides, another seed asks for others."""
    search = Search(trials=20, sampler=sampler)
    first, _ = replayed.measure("a", search=search), replayed.measure("b", search=search)
    assert replayed.rows("a") == replayed.rows("b")
    again = replayed.measure("a", search=search)
    assert (again.added, again.resumed, again.unfinished) == (0, first.added, 0)
    replayed.measure("c", search=Search(trials=20, seed=1, sampler=sampler))
    assert (replayed.rows("c") != replayed.rows("a")) == (sampler != "surrogate")


def test_the_files_of_two_searches_are_equal(replayed: Replayed) -> None:
    """To the byte; and once more nothing changes."""
    replayed.tune("a")
    replayed.tune("b")
    for path in ("latencies.json", "manifest.json"):
        there = [replayed.place / name / "out" / path for name in "ab"]
        assert there[0].read_bytes() == there[1].read_bytes()
    again = replayed.tune("a")
    assert (again.fitted.changed, again.table_changed) == (False, False)


class KilledError(Exception):
    """As abrupt as a kill: what was not committed is lost."""


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("ending", [KeyboardInterrupt, KilledError])
def test_a_search_that_is_cut_short_ends_as_one_that_was_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampler: Any, ending: type[BaseException]
) -> None:
    """Wherever it is cut, in a batch or between two, again and again: no record more, none less."""
    failing = tuple((s, c.id) for i, s in enumerate(SHAPES) for c in CONFIGS[i::5])
    replayed, search = Replayed(tmp_path, failing), Search(trials=24, sampler=sampler)
    replayed.measure("whole", search=search)
    whole, run, commit = replayed.rows("whole"), Replay.run, Ledger.commit
    timed: Counter[tuple[Shape, str]] = Counter()
    left, dead = [0], [False]

    def cut(self: Replay, *arguments: Any, **options: Any) -> Iterator[Event]:
        for event in run(self, *arguments, **options):
            if isinstance(event, Outcome) and event.result is not None:
                left[0] -= 1
                if left[0] == 0:
                    dead[0] = ending is KilledError
                    raise ending
                timed[event.shape, event.config] += 1
            yield event

    monkeypatch.setattr(Replay, "run", cut)
    monkeypatch.setattr(Ledger, "commit", lambda self: None if dead[0] else commit(self))
    partial = False
    for n in (3, 8, 5, 21, 12, 2):
        left[0] = n
        with pytest.raises(ending):
            replayed.measure("cut", search=search)
        dead[0] = False
        assert replayed.rows("cut") < whole
        partial |= any(count % BATCH for count in asked_on(replayed.rows("cut")).values())
    assert partial
    left[0] = -1
    replayed.measure("cut", search=search)
    assert replayed.rows("cut") == whole
    if ending is KeyboardInterrupt:
        assert set(timed.values()) == {1}


def test_what_is_known_already_is_not_measured_and_changes_nothing(replayed: Replayed) -> None:
    """After another search the same is asked for, and what the other measured is only looked up."""
    replayed.measure("a", search=Search(trials=16))
    replayed.measure("b", search=Search(trials=24, seed=3, sampler="random"))
    before = replayed.rows("b")
    measured = replayed.measure("b", search=Search(trials=16))
    assert replayed.rows("b") == before | replayed.rows("a")
    assert measured.added == len(replayed.rows("a") - before)


def test_a_budget_ends_a_search_with_a_manifest_and_it_goes_on(
    replayed: Replayed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Early as it ends, one config is known on all shapes begun; in the end all is as without."""
    replayed.measure("whole")
    clock = itertools.count()
    for module in (measuring, replay):
        monkeypatch.setattr(module, "monotonic", lambda: float(next(clock)))
    outcome = replayed.tune("cut", budget_s=60.0)
    begun, every = replayed.rows("cut"), replayed.rows("whole")
    assert begun < every
    assert outcome.measured.unfinished > 0
    assert any("unfinished" in line for line in outcome.lines())
    assert replayed.measure("cut").unfinished == 0
    assert replayed.rows("cut") == every


def test_constraints_and_subspaces_hold_in_a_search(tmp_path: Path) -> None:
    """Nothing is measured that the space does not allow on the shape."""
    replayed = Replayed(tmp_path)
    parameters = {name: list(values) for name, values in synthetic.PARAMETERS.items()}
    space = {
        "parameters": parameters,
        "constraints": [*synthetic.CONSTRAINTS, "BLOCK_M <= 2 * M"],
        "subspaces": [{"when": {"M": [512, None]}, "parameters": {"SPLIT_K": [1]}}],
    }
    (replayed.case / "tune.yaml").write_text(yaml.safe_dump(space))
    replayed.table = synthetic.table(tmp_path / "table.json", synthetic.some(1), SHAPES)
    found = replayed.measure("a", search=Search(trials=16)).records
    assert len(found) >= 4 * 12
    assert all(r.config.param("BLOCK_M") <= 2 * r.shape[0] for r in found)
    assert all(r.config.param("SPLIT_K") == 1 for r in found if r.shape[0] >= 512)
    assert all(isinstance(r.result, Timing) for r in found)


def test_a_sparse_table_is_fitted_and_the_default_is_known_on_all_shapes(
    replayed: Replayed,
) -> None:
    """The table has the configs measured alone, and the report says how many that are."""
    outcome = replayed.tune("a")
    known = {r.config.id: set[Shape]() for r in outcome.measured.records}
    for record in outcome.measured.records:
        known[record.config.id].add(record.shape)
    assert known[outcome.manifest.default] == set(SHAPES)
    assert len(outcome.fates) == len(known) < len(CONFIGS)
    assert {c.id for c in outcome.manifest.candidates} == set(known)
    assert all(c.status == "kept" for c in outcome.manifest.candidates)
    lines = list(outcome.lines())
    asked = len(outcome.measured.records) / 4
    told = f"search    {len(known)} of 135 configs measured, {asked:.0f} a shape on 4 shapes"
    assert told in lines
    assert not any("not measured" in line for line in lines)
    assert any(note.startswith("searched: ") for note in outcome.manifest.tune_meta.notes)


class Steps(Quiet):
    """Counts what is shown."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int]] = []
        self.steps = 0

    def stage(self, name: str, total: int) -> None:
        """Note a stage."""
        self.stages.append((name, total))

    def advance(self, *_: object) -> None:
        """Count a step."""
        self.steps += 1


def test_progress_counts_configs_to_the_end(replayed: Replayed) -> None:
    """One stage, whose steps are all told; after it there is nothing to do."""
    shows = Steps()
    _measured(replayed.request("a"), shows)
    assert (shows.stages, shows.steps) == ([("search", 80)], 80)
    shows = Steps()
    _measured(replayed.request("a"), shows)
    assert (shows.stages, shows.steps) == ([], 0)


def test_on_a_device_what_is_wrong_anywhere_is_rejected(tmp_path: Path) -> None:
    """Workers try and time each batch; failures are records, and are not repeated."""
    case = copy_of(FICKLE, tmp_path / "case", ["good", "better", "wrong_at_32", "late_raise"])
    shapes = ((4,), (32,), (3000,), (64,))
    wanted = request(case, tmp_path, devices=(CPU,), shapes=shapes, search=Search(trials=4))
    outcome = tune_case(wanted, Quiet())
    assert set(outcome.measured.lost) == {(3000,)}
    found = results_in(wanted.kb)
    assert found[(32,), "wrong_at_32"] == "wrong"
    assert {found[(n,), m] for n in (4, 32, 64) for m in ("good", "better")} == {"timed"}
    assert {kind for (_, mode), kind in found.items() if mode == "late_raise"} == {"launch"}
    assert set(outcome.measured.rejected) == {'MODE="wrong_at_32"'}
    assert tune_case(wanted, Quiet()).measured.added == 0
    assert results_in(wanted.kb) == found
