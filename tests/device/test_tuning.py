"""Tuning on a CUDA device: what is measured is right, and no config costs another its result."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import without_cuda

from tuner.cases import load_case, run_case
from tuner.devices.names import parse_devices
from tuner.outcome import Delivery, TuneOutcome
from tuner.progress import Quiet
from tuner.records import Failure, Timing
from tuner.tune import CaseRequest, tune_case
from tuner.worker.messages import Limits

HERE = Path(__file__).resolve().parent
CASES = HERE.parent / "cases"
SHAPES = {
    "relu": ((1,), (1000,), (65536,), (1_000_003,)),
    "vector_add": ((1,), (1000,), (65536,), (1_000_003,)),
    "rms_norm": ((1, 64), (7, 1000), (256, 4096)),
    "softmax": ((1, 64), (7, 1000), (256, 4096)),
    "matmul": ((1, 16, 64), (77, 135, 31), (512, 512, 512)),
    "conv2d": ((1, 9, 11), (2, 32, 32), (1, 64, 48)),
}


LACK = without_cuda()
pytestmark = [pytest.mark.device, pytest.mark.skipif(LACK is not None, reason=LACK or "")]


@pytest.mark.parametrize("kernel", sorted(SHAPES))
def test_a_case_is_right_end_to_end(kernel: str, tmp_path: Path) -> None:
    """Tuned, emitted and imported, forward without a config is right on tuned shapes and others."""
    report = run_case(
        CASES / "original" / kernel,
        device="cuda:0",
        impl=CASES / "converted" / kernel / "impl.py",
        output=tmp_path,
        kb=tmp_path / "kb.sqlite",
        shapes=SHAPES[kernel],
    )
    rows = report.summary["shapes"]
    assert [row["shape"] for row in rows if not row["right"]] == []
    assert any(not row["tuned"] for row in rows)
    assert report.right
    assert all(row["dispatch_us"] > 0 for row in rows)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> TuneOutcome:
    """Tune the case in which almost every config goes wrong."""
    directory = tmp_path_factory.mktemp("hostile")
    for file in ("base.py", "impl.py", "sample.json"):
        shutil.copy(HERE / "hostile" / file, directory)
    case = load_case(directory)
    request = CaseRequest(
        case=case,
        devices=parse_devices("cuda:0"),
        kb=directory / "kb.sqlite",
        delivery=Delivery(directory=directory, source=case.impl),
        limits=Limits(timeout_s=20.0),
    )
    return tune_case(request, Quiet())


def kinds(outcome: TuneOutcome, mode: str) -> set[str]:
    """Return the kinds of failure of a mode, `timed` where it was measured."""
    return {
        record.result.kind if isinstance(record.result, Failure) else "timed"
        for record in outcome.measured.records
        if record.config.param("MODE") == mode
    }


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("good", "timed"),
        ("better", "timed"),
        ("stray", "crash"),
        ("loop", "hang"),
        ("shared", "resources"),
        ("memory", "memory"),
        ("wrong", "wrong"),
        ("hole", "wrong"),
        ("assert", "compile"),
    ],
)
def test_each_way_to_fail_is_told_from_the_others(
    hostile: TuneOutcome, mode: str, kind: str
) -> None:
    """An illegal access, a hang, too much memory, wrong and unwritten outputs: each by its kind."""
    assert kinds(hostile, mode) == {kind}


def test_the_good_configs_are_measured_on_every_shape(hostile: TuneOutcome) -> None:
    """What the others did to the device cost these nothing."""
    timed = {
        (record.shape, record.config.param("MODE"))
        for record in hostile.measured.records
        if isinstance(record.result, Timing)
    }
    shapes = {(1,), (100,), (1024,), (5000,)}
    assert timed == {(shape, mode) for shape in shapes for mode in ("good", "better")}


def test_a_second_run_measures_nothing(tmp_path: Path) -> None:
    """All that was measured is in the knowledge base, under the same target."""
    case = load_case(CASES / "original" / "relu", impl=CASES / "converted" / "relu" / "impl.py")
    request = CaseRequest(
        case=case,
        devices=parse_devices("cuda:0"),
        kb=tmp_path / "kb.sqlite",
        delivery=Delivery(directory=tmp_path, source=case.impl),
        shapes=SHAPES["relu"],
    )
    first, second = tune_case(request, Quiet()), tune_case(request, Quiet())
    assert first.measured.added > 0
    assert second.measured.added == 0
    assert second.fitted.changed is False


def test_the_device_never_waits_for_the_host(tmp_path: Path) -> None:
    """Hardly a launch of a tiny kernel comes late: the flush before it gives the host its lead."""
    case = load_case(CASES / "original" / "relu", impl=CASES / "converted" / "relu" / "impl.py")
    request = CaseRequest(
        case=case,
        devices=parse_devices("cuda:0"),
        kb=tmp_path / "kb.sqlite",
        delivery=Delivery(directory=tmp_path, source=case.impl),
        shapes=((1,), (1000,)),
    )
    timing = tune_case(request, Quiet()).measured.timing
    assert timing.samples > 0
    assert timing.late <= 0.05 * timing.samples
