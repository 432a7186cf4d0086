"""The crew of worker processes: whatever a config does, the others get their results."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Literal

import pytest
from tuning import CPU, FICKLE, HOSTILE, copy_of, ended, fates_of, workers_for, workers_of

from codegen.config import Config
from tuner.crew import DeviceGone, Done, Outcome, ShapeLost, Workers
from tuner.crew.place import Place
from tuner.crew.process import WorkerProcess
from tuner.devices.names import DeviceName
from tuner.errors import CaseError, DeviceError
from tuner.records import Failure, Target, Timing
from tuner.worker.messages import Job, Limits, Ready, Setup, Step

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")


def config(mode: str) -> Config:
    """Return the config of that MODE."""
    return Config(params=(("MODE", mode),))


def job(*modes: str, shapes: tuple[int, ...] = (4,), measure: bool = True) -> Job:
    """Return a job: those MODEs on vectors of those lengths."""
    steps = tuple(Step(shape=(n,), configs=tuple(map(config, modes))) for n in shapes)
    return Job(steps=steps, measure=measure)


@pytest.fixture
def crew() -> Iterator[Workers]:
    """Return a crew of one for the fickle case, ready."""
    workers = workers_for(FICKLE, limits=Limits(timeout_s=1.5, repeat=5))
    workers.target()
    yield workers
    workers.close()


def results(events: list[object]) -> dict[tuple[int, str], str]:
    """Return by length and MODE the kind of failure, or timed, or passed."""
    return {
        (fate[1][0], fate[2].split('"')[1]): fate[3]
        for fate in fates_of(events)  # type: ignore[arg-type]
        if fate[0] == "Outcome"
    }


@pytest.mark.parametrize(
    ("mode", "kind"), [("late_abort", "crash"), ("late_hang", "hang"), ("late_raise", "launch")]
)
def test_a_config_that_fails_while_it_is_timed_costs_no_other_its_time(
    crew: Workers, mode: str, kind: str
) -> None:
    """The group is timed again one by one, and the one that fails is found by name."""
    events = list(crew.run(iter([job("good", mode, "better")])))
    assert results(events) == {(4, "good"): "timed", (4, mode): kind, (4, "better"): "timed"}
    assert [type(event) for event in events].count(Done) == 1


def test_every_kind_of_failure_is_told_apart_from_a_right_config() -> None:
    """Abort, segfault, exit, hang, exceptions, holes, changed inputs: each costs itself alone."""
    modes = ("good", "abort", "segfault", "exit", "loop", "wrong", "hole", "raise", "memory")
    modes += ("sys_exit", "interrupt", "in_place", "odd", "better")
    crew = workers_for(HOSTILE, limits=Limits(timeout_s=1.5, repeat=5))
    try:
        crew.target()
        found = results(list(crew.run(iter([job(*modes, shapes=(7,))]))))
    finally:
        crew.close()
    assert found == {
        (7, mode): kind
        for mode, kind in {
            **dict.fromkeys(("good", "better"), "timed"),
            **dict.fromkeys(("abort", "segfault", "exit"), "crash"),
            **dict.fromkeys(("wrong", "hole", "in_place"), "wrong"),
            **dict.fromkeys(("raise", "sys_exit", "interrupt", "odd"), "launch"),
            "loop": "hang",
            "memory": "memory",
        }.items()
    }


def test_the_reason_of_a_death_is_kept(crew: Workers) -> None:
    """How the process ended, and where in the kernel, without a directory of this machine."""
    (outcome,) = (e for e in crew.run(iter([job("late_abort")])) if isinstance(e, Outcome))
    assert isinstance(outcome.result, Failure)
    assert outcome.result.message.startswith("its process was killed by SIGABRT: Fatal Python")
    assert 'File "impl.py", line ' in outcome.result.message
    assert "/" not in outcome.result.message


@pytest.mark.parametrize("length", [1000, 2000, 4000])
def test_a_shape_whose_inputs_or_reference_kill_is_lost_alone(crew: Workers, length: int) -> None:
    """It is tried twice; the shapes before and after it are measured."""
    events = list(crew.run(iter([job("good", shapes=(4,)), job("good", shapes=(length, 16))])))
    assert [e.shape for e in events if isinstance(e, ShapeLost)] == [(length,)]
    assert results(events) == {(4, "good"): "timed", (16, "good"): "timed"}


def test_a_shape_whose_reference_raises_is_lost_with_its_reason(crew: Workers) -> None:
    """No worker dies of it."""
    events = list(crew.run(iter([job("good", shapes=(3000, 4))])))
    (lost,) = (e for e in events if isinstance(e, ShapeLost))
    assert "ValueError: length 3000 is out of the question" in lost.message
    assert results(events) == {(4, "good"): "timed"}


def test_the_survey_leaves_out_what_kills(crew: Workers) -> None:
    """Shapes are asked for one by one: the dead are told apart from the others."""
    surveyed = crew.survey(((4,), (1000,), (16,)))
    assert [work.shape for work in surveyed.works] == [(4,), (16,)]
    assert [(lost.shape, lost.message) for lost in surveyed.lost] == [
        ((1000,), "its inputs: its process ended with status 7")
    ]
    assert surveyed.verified


def test_the_survey_of_the_case_s_own_list(crew: Workers) -> None:
    """Without shapes those of `get_inputs_dyn_list` are meant."""
    assert [work.shape for work in crew.survey(None).works] == [(4,), (16,), (64,)]


def test_what_is_no_longer_wanted_is_not_tried_again(crew: Workers) -> None:
    """The answer is asked for once more where a job is taken up again after a death."""
    seen: list[tuple[tuple[int, ...], str]] = []
    unwanted: set[str] = set()

    def wanted(shape: tuple[int, ...], name: str) -> bool:
        seen.append((shape, name))
        return name not in unwanted

    events = []
    for event in crew.run(
        iter([job("abort_once", "good", shapes=(16, 64), measure=False)]), wanted=wanted
    ):
        events.append(event)
        if isinstance(event, Outcome) and isinstance(event.result, Failure):
            unwanted.add(event.config)
    assert results(events) == {
        (16, "abort_once"): "crash",
        (16, "good"): "passed",
        (64, "good"): "passed",
    }
    assert seen.count(((64,), config("abort_once").id)) == 2


def test_work_is_dropped_when_the_time_is_over(crew: Workers) -> None:
    """A run ends at `until`, even in the midst of a config, and the crew can go on afterwards."""
    assert list(crew.run(iter([job("late_hang", "slow")]), until=monotonic() + 0.3)) == []
    assert results(list(crew.run(iter([job("good")])))) == {(4, "good"): "timed"}


def test_jobs_go_to_whoever_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers on one device share the shapes; one that is held up leaves the rest to other."""
    monkeypatch.setenv("CALLS_FILE", str(tmp_path / "calls"))
    crew = workers_for(FICKLE, devices=(CPU, CPU))
    try:
        crew.target()
        jobs = [job("slow", shapes=tuple(range(1, 9)), measure=False)]
        jobs += [job("marked", shapes=(n,), measure=False) for n in range(100, 120)]
        events = list(crew.run(iter(jobs)))
    finally:
        crew.close()
    assert len(results(events)) == 28
    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    assert sorted(int(length) for _, length in calls) == list(range(100, 120))
    # The other one was at `slow` for 1.6 s, in which a thousand of these could be done.
    assert len({process for process, _ in calls}) == 1


def test_devices_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is best on one is not on the other."""
    names = iter(["A", "B"])

    def await_ready(place: Place) -> None:
        target = Target(device=next(names), arch=None, toolchain=())
        place.is_ready(Ready(target=target, method="none"))

    monkeypatch.setattr(Place, "await_ready", await_ready)
    crew = workers_for(FICKLE, devices=(CPU, CPU))
    try:
        with pytest.raises(DeviceError, match="cpu is B and cpu is A, or their tools differ"):
            crew.target()
    finally:
        crew.close()


def test_a_device_that_is_gone_leaves_its_share_to_the_others(tmp_path: Path) -> None:
    """The kernel cannot be loaded a second time: one worker dies for good, the other goes on."""
    case = copy_of(FICKLE, tmp_path / "case")
    impl = case / "impl.py"
    crew = workers_for(case, devices=(CPU, CPU))
    try:
        crew.target()
        impl.write_text("import os\nos.abort()\n")
        # The other one is busy while three processes die.
        lengths = tuple(range(100, 120))
        jobs = [
            job("abort_once", "good", shapes=(16,)),
            job("slow", shapes=lengths, measure=False),
        ]
        events = list(crew.run(iter(jobs)))
    finally:
        crew.close()
    assert [type(event) for event in events].count(DeviceGone) == 1
    assert results(events) == {
        (16, "abort_once"): "crash",
        (16, "good"): "timed",
        **{(n, "slow"): "passed" for n in lengths},
    }


def test_the_last_device_is_not_given_up_in_silence(tmp_path: Path) -> None:
    """With nobody left the run ends in an error that says how the process died."""
    case = copy_of(FICKLE, tmp_path / "case")
    crew = workers_for(case)
    try:
        crew.target()
        (case / "impl.py").write_text("import os\nos.abort()\n")
        with pytest.raises(DeviceError, match=r"cpu: the worker .* as it started; .*SIGABRT"):
            list(crew.run(iter([job("abort_once", "good", shapes=(16,))])))
    finally:
        crew.close()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("import no_such_module\n", r"impl\.py:1: fails: ModuleNotFoundError"),
        ("raise SystemExit(0)\n", r"impl\.py:1: fails: SystemExit"),
    ],
)
def test_a_kernel_that_cannot_be_loaded_is_the_case_s_fault(
    tmp_path: Path, text: str, match: str
) -> None:
    """The line at which it fails is named."""
    case = copy_of(FICKLE, tmp_path / "case")
    crew = workers_for(case)
    crew.close()
    (case / "impl.py").write_text(text)
    crew = Workers(crew._kernel, (CPU,), Limits())
    try:
        with pytest.raises(CaseError, match=match):
            crew.target()
    finally:
        crew.close()


def test_a_kernel_that_kills_python_as_it_is_loaded(tmp_path: Path) -> None:
    """It is tried three times, then said."""
    case = copy_of(FICKLE, tmp_path / "case")
    crew = workers_for(case)
    crew.close()
    (case / "impl.py").write_text("import os\nos._exit(9)\n")
    crew = Workers(crew._kernel, (CPU,), Limits())
    try:
        with pytest.raises(DeviceError, match=r"died as it started; .* ended with status 9"):
            crew.target()
    finally:
        crew.close()


def test_no_process_is_left_when_a_crew_is_closed() -> None:
    """Not even one that is in an endless loop, nor the helpers."""
    crew = workers_for(HOSTILE, devices=(CPU, CPU), limits=Limits(timeout_s=60.0))
    crew.target()
    with crew.enlarged(1):
        # The third has been started, and is known by its name a moment later.
        until = monotonic() + 10
        while len(processes := workers_of(os.getpid())) < 3:
            assert monotonic() < until
        crew._hand_out(iter([job("loop"), job("good")]), None)
    assert len(workers_of(os.getpid())) == 2
    crew.close()
    assert ended(processes)
    crew.close()


def test_what_is_printed_does_not_pile_up(crew: Workers) -> None:
    """After a job no more than a mebibyte is kept of what a kernel printed."""
    (place,) = crew._places
    assert results(list(crew.run(iter([job("loud")] * 3)))) == {(4, "loud"): "timed"}
    assert os.fstat(place._process._log.fileno()).st_size <= 2**20


def test_what_is_no_message_is_taken_for_a_death(crew: Workers) -> None:
    """A kernel that writes into the pipe brings down its worker, not the tuner."""
    setup = Setup(kernel=crew._kernel, device=CPU, limits=Limits())
    process = WorkerProcess(setup)
    try:
        assert isinstance(process.receive(), Ready)
        process.pipe, theirs = os_pipe(b"no pickle")
        assert process.receive() is None
        theirs.close()
    finally:
        process.kill()


def os_pipe(data: bytes) -> tuple[object, object]:
    """Return both ends of a pipe in which `data` waits."""
    from multiprocessing.connection import Pipe

    ours, theirs = Pipe()
    theirs.send_bytes(data)
    return ours, theirs


@pytest.mark.parametrize("where", ["current", "PYTHONPATH"])
def test_what_is_called_like_the_tuner_does_not_hide_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """A worker runs this process's tuner where the user has a `tuner.py` of another kind."""
    for name in ("tuner.py", "codegen.py"):
        (tmp_path / name).write_text("raise RuntimeError('the wrong one')\n")
    if where == "current":
        monkeypatch.chdir(tmp_path)
    else:
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    crew = workers_for(FICKLE)
    try:
        assert dict(crew.target().toolchain)["python"]
    finally:
        crew.close()


def test_a_timing_says_how_it_was_taken(crew: Workers) -> None:
    """Median, spread, repeats and method, all positive."""
    (outcome,) = (e for e in crew.run(iter([job("good")])) if isinstance(e, Outcome))
    assert isinstance(outcome.result, Timing)
    assert outcome.result.median_us > 0
    assert outcome.result.repeats == 5
    assert outcome.result.method == crew.method


@pytest.mark.parametrize(
    ("told", "index", "seen"),
    [(None, 1, "1"), ("4,5", 1, "5"), ("GPU-a,GPU-b", 0, "GPU-a"), ("", 0, ""), ("3", 1, "")],
)
@pytest.mark.parametrize(
    ("kind", "variable"),
    [("cuda", "CUDA_VISIBLE_DEVICES"), ("npu", "ASCEND_RT_VISIBLE_DEVICES")],
)
def test_a_worker_sees_one_of_the_devices_that_are_visible(
    monkeypatch: pytest.MonkeyPatch,
    kind: Literal["cuda", "npu"],
    variable: str,
    told: str | None,
    index: int,
    seen: str,
) -> None:
    """`cuda:1` counts what CUDA_VISIBLE_DEVICES leaves visible; hidden ones stay hidden."""
    from tuner.crew.process import _environment

    monkeypatch.delenv(variable, raising=False)
    if told is not None:
        monkeypatch.setenv(variable, told)
    assert _environment(DeviceName(kind, index))[variable] == seen


def test_only_who_has_a_device_to_itself_times(crew: Workers) -> None:
    """Helpers take what is to be tried; beside another, both would time wrong."""
    with crew.enlarged(2):
        helpers = [place for place in crew._places if place.helper]
        assert len(helpers) == 2
        jobs = [job("good", shapes=(n,)) for n in (4, 7, 16, 33, 64)]
        taken: list[bool] = []
        begin = Place.begin

        def noted(place: Place, work: Job) -> None:
            taken.append(place.helper)
            begin(place, work)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Place, "begin", noted)
            found = results(list(crew.run(iter(jobs))))
        assert set(found.values()) == {"timed"}
        assert len(found) == len(taken) == 5
        assert not any(taken)
        for place in helpers:
            place.await_ready()
        tried = [job("good", shapes=(n,), measure=False) for n in (4, 7, 16, 33, 64)]
        with pytest.MonkeyPatch.context() as patch:
            taken.clear()
            patch.setattr(Place, "begin", noted)
            list(crew.run(iter(tried)))
        assert any(taken)
