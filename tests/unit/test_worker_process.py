"""A real worker process: what it answers, and that whatever a kernel does costs one config."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cases.loading import CONVERTED, HOSTILE, ORIGINAL, candidates, config_of

from codegen.config import Config
from tuner.crew.process import WorkerProcess
from tuner.devices import DeviceName
from tuner.worker.messages import (
    Began,
    CaseKernel,
    Describe,
    Described,
    Failed,
    Finished,
    Job,
    Limits,
    Lost,
    Message,
    Passed,
    Ready,
    Refused,
    Setup,
    Step,
    Timed,
)

CPU = DeviceName("cpu")
PATIENCE_S = 60
HOSTILE_CASE = CaseKernel(
    base=HOSTILE / "base.py", impl=HOSTILE / "impl.py", shape_expr="x.shape", axis_names=("N",)
)
NEAREST = CaseKernel(
    base=ORIGINAL / "nearest" / "base.py",
    impl=CONVERTED / "nearest" / "impl.py",
    shape_expr="(x.shape[0], c.shape[0], x.shape[1])",
    axis_names=("M", "N", "K"),
)
BASE = """\
import numpy as np


class Model:
    def forward(self, x):
        return 2 * x


def get_init_inputs():
    return []


def get_inputs_for_shape(shape):
    return [np.ones(shape, np.float32)]


def get_inputs_dyn_list():
    return [get_inputs_for_shape((4,))]
"""
IMPL = """\
class ModelNew:
    def forward(self, x, config=None):
        return 2 * x
"""

Start = Callable[..., "Conversation"]


class Conversation:
    """A worker process, spoken to as the crew does."""

    def __init__(self, kernel: CaseKernel, **limits: Any) -> None:
        self.process = WorkerProcess(Setup(kernel=kernel, device=CPU, limits=Limits(**limits)))

    def hear(self) -> Message | None:
        """Return the next message, None if the process is gone; fails if nothing comes."""
        assert self.process.pipe.poll(PATIENCE_S), "the worker says nothing"
        return self.process.receive()

    def ask(self, request: Describe) -> Message | None:
        """Return the answer to a question."""
        self.process.send(request)
        return self.hear()

    def do(self, shape: tuple[int, ...], *configs: Any, measure: bool = True) -> list[Any]:
        """Return all that is said of a job, to its end or the worker's."""
        self.process.send(Job(steps=(Step(shape=shape, configs=configs),), measure=measure))
        said: list[Any] = []
        while not said or not isinstance(said[-1], Finished | None):
            said.append(self.hear())
        return said


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts a worker; all are ended afterwards."""
    started: list[Conversation] = []

    def begin(kernel: CaseKernel, **limits: Any) -> Conversation:
        started.append(Conversation(kernel, **limits))
        return started[-1]

    yield begin
    for one in started:
        one.process.kill()


def mode(name: str) -> Config:
    """Return the hostile kernel's config that does `name`."""
    return Config(params=(("MODE", name),))


def case(directory: Path, base: str = BASE, impl: str = IMPL) -> CaseKernel:
    """Write a case of one input."""
    (directory / "base.py").write_text(base)
    (directory / "impl.py").write_text(impl)
    return CaseKernel(
        base=directory / "base.py",
        impl=directory / "impl.py",
        shape_expr="x.shape",
        axis_names=("N",),
    )


def test_every_fault_that_leaves_the_process_alive_costs_one_config(start: Start) -> None:
    """The right ones are timed, the others fail each in its own words."""
    worker = start(HOSTILE_CASE)
    ready = worker.hear()
    assert isinstance(ready, Ready)
    assert ready.method.startswith("perf_counter")
    described = worker.ask(Describe(shapes=None))
    assert isinstance(described, Described)
    assert described.verified
    assert [work.shape for work in described.works] == [(4,), (7,), (16,), (33,), (64,), (101,)]
    assert {work.dtype for work in described.works} == {"float32"}
    modes = "good raise memory sys_exit interrupt wrong hole in_place odd better".split()  # noqa: SIM905
    said = worker.do((7,), *map(mode, modes), "reference", "dispatch")
    failed = {m.config: (m.failure.kind, m.failure.message) for m in said if isinstance(m, Failed)}
    assert {name[6:-1]: kind for name, (kind, _) in failed.items() if "MODE" in name} == {
        "raise": "launch",
        "memory": "memory",
        "sys_exit": "launch",
        "interrupt": "launch",
        "wrong": "wrong",
        "hole": "wrong",
        "in_place": "wrong",
        "odd": "launch",
    }
    assert failed['MODE="in_place"'][1] == "it changes its inputs"
    assert "[6] is nan instead of" in failed['MODE="hole"'][1]
    assert "no config was given for shape (7,)" in failed["dispatch"][1]
    assert [m.config for m in said if isinstance(m, Timed)] == [
        'MODE="good"',
        'MODE="better"',
        "reference",
    ]


@pytest.mark.parametrize("name", ["abort", "segfault", "exit"])
def test_a_config_that_ends_the_process_was_named_before(start: Start, name: str) -> None:
    """The last that is said is what it was at."""
    worker = start(HOSTILE_CASE)
    assert isinstance(worker.hear(), Ready)
    said = worker.do((4,), mode("good"), mode(name))
    assert said[-1] is None
    assert isinstance(said[-2], Began)
    assert (said[-2].phase, said[-2].config) == ("try", f'MODE="{name}"')


def test_a_real_kernel_is_tried_and_timed(start: Start) -> None:
    """Every config of the case is right on a shape that it was not written for."""
    worker = start(NEAREST, repeat=2)
    assert isinstance(worker.hear(), Ready)
    described = worker.ask(Describe(shapes=((37, 19, 5),)))
    assert isinstance(described, Described)
    assert described.works[0].inputs == "float32[37,5] float32[19,5]"
    configs = tuple(config_of(candidate) for candidate in candidates(ORIGINAL / "nearest"))
    said = worker.do((37, 19, 5), *configs)
    assert [m.config for m in said if isinstance(m, Passed)] == [config.id for config in configs]
    timed = [m for m in said if isinstance(m, Timed)]
    assert len(timed) == len(configs)
    assert all(m.timing.median_us > 0 and m.timing.repeats == 2 for m in timed)


@pytest.mark.parametrize(
    ("base", "impl", "words"),
    [
        (BASE, IMPL + "\nimport sys\nsys.exit(0)\n", "impl.py:6: fails: SystemExit: 0; mend it"),
        (BASE, "raise KeyboardInterrupt\n", "impl.py:1: fails: KeyboardInterrupt; mend it"),
        (BASE + "\n1 / 0\n", IMPL, "fails: ZeroDivisionError: division by zero; mend it"),
        (BASE, "x = (\n", "impl.py:1: fails: SyntaxError"),
    ],
)
def test_a_case_that_cannot_be_loaded_is_refused(
    start: Start, tmp_path: Path, base: str, impl: str, words: str
) -> None:
    """In the parts of an error, and the process ends by itself."""
    worker = start(case(tmp_path, base, impl))
    refused = worker.hear()
    assert isinstance(refused, Refused)
    assert not refused.device
    assert words in f"{refused.where}: {refused.fact}; {refused.remedy}"
    assert worker.hear() is None


def test_inputs_that_cannot_be_made_refuse_the_question_and_lose_the_shape(
    start: Start, tmp_path: Path
) -> None:
    """The worker goes on: another shape may be well."""
    base = BASE.replace(
        "    return [np.ones", "    if shape == (5,):\n        exit(1)\n    return [np.ones"
    )
    worker = start(case(tmp_path, base))
    assert isinstance(worker.hear(), Ready)
    refused = worker.ask(Describe(shapes=((4,), (5,))))
    assert isinstance(refused, Refused)
    assert refused.fact == "fails: SystemExit: 1"
    lost = worker.do((5,), mode("x"))
    assert isinstance(lost[1], Lost)
    assert "fails: SystemExit: 1" in lost[1].message
    assert isinstance(worker.do((4,), mode("x"))[-2], Timed)


def test_what_a_kernel_prints_goes_nowhere_near_the_answers(start: Start, tmp_path: Path) -> None:
    """Be it at every call, through Python or past it."""
    noisy = "import os\nos.write(1, b'x' * 100_000)\nos.write(2, b'x' * 100_000)\n"
    impl = noisy + IMPL.replace("        return", "        print('y' * 10_000)\n        return")
    worker = start(case(tmp_path, impl=impl))
    assert isinstance(worker.hear(), Ready)
    assert isinstance(worker.do((4,), mode("x"))[-2], Timed)


def test_a_child_that_a_kernel_leaves_behind_does_not_hide_its_death(
    start: Start, tmp_path: Path
) -> None:
    """It does not hold the pipe."""
    fork = "        import os, time\n        time.sleep(600) if os.fork() == 0 else os._exit(4)\n"
    worker = start(case(tmp_path, impl=IMPL.replace("        return", fork + "        return")))
    assert isinstance(worker.hear(), Ready)
    assert worker.do((4,), mode("x"))[-1] is None


def test_a_worker_ends_with_its_crew(start: Start) -> None:
    """Where the pipe is closed nobody listens any more."""
    worker = start(HOSTILE_CASE)
    assert isinstance(worker.hear(), Ready)
    worker.process.pipe.close()
    assert worker.process._process.wait(timeout=PATIENCE_S) == 0
