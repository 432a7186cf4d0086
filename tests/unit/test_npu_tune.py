"""`tuner tune --device npu:0`, from the command to the manifest, on a machine that is made up.

The packages that the worker process imports are stand-ins; all else is as on an NPU: a process of
its own, the profiler's files, the knowledge base.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tuning import records_in

from codegen.manifest import load_manifest, policy_of
from tuner.records import Timing

ROOT = Path(__file__).parents[2]
STANDIN = ROOT / "tests" / "npu_standin"
BLOCKS = (16, 64, 256)
SIZES = (8, 10, 12, 16, 40, 48, 56, 64, 200, 220, 240, 256)  # Four that each block is best for.

BASE = f"""
import numpy as np

class Model:
    def forward(self, x):
        return 2 * x

def get_init_inputs():
    return []

def get_inputs_dyn_list():
    return [[np.arange(n, dtype=np.float32)] for n in {SIZES}]
"""
IMPL = """
from npu_machine import MACHINE

try:
    from .impl_dispatch import _select_config
except ImportError:
    from impl_dispatch import _select_config


def us(n, block):
    return -(-n // block) * (2.0 + block / 16)


class ModelNew:
    def forward(self, x, config=None):
        if config is None:
            config = _select_config((x.shape[0],))
        block = config.param("BLOCK")
        if block == 1:
            raise RuntimeError("ub overflow, requires 3145984 bits while 1572864 bits available!")
        MACHINE.launch("double_kernel", us(x.shape[0], block))
        return 2 * x
"""


def us(n: int, block: int) -> float:
    """Return what the kernel takes the device, in microseconds."""
    return -(-n // block) * (2.0 + block / 16)


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """Return a case with a block size that is best for each range of sizes, and one that fails."""
    place = tmp_path / "case"
    place.mkdir()
    (place / "base.py").write_text(BASE)
    (place / "impl.py").write_text(IMPL)
    sample = {
        "op_name": "double",
        "shape_expr": "(x.shape[0],)",
        "config_param_names": ["BLOCK"],
        "autotune": {"key": ["N"], "configs": [{"BLOCK": block} for block in (*BLOCKS, 1)]},
    }
    (place / "sample.json").write_text(json.dumps(sample))
    return place


def tune(case: Path, device: str = "npu:0", **faults: object) -> subprocess.CompletedProcess[str]:
    """Run the command on the machine with these faults."""
    path = os.pathsep.join(map(str, (ROOT, STANDIN, ROOT / "tests")))
    environment = {
        **{key: value for key, value in os.environ.items() if key != "ASCEND_RT_VISIBLE_DEVICES"},
        "PYTHONPATH": path,
        "ASCEND_HOME_PATH": str(case.parent / "cann"),
        "NPU_MACHINE": ",".join(f"{name}={value}" for name, value in faults.items()),
        "TUNED_DISPATCH_HOME": str(case.parent / "home"),
    }
    command = [sys.executable, "-m", "tuner", "tune", str(case), "--device", device]
    command += ["--kb", str(case.parent / "kb.sqlite"), "--repeat", "5"]
    if device == "cpu":
        command += ["-o", str(case.parent / "cpu")]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=120
    )


@pytest.mark.parametrize("device", ["npu:0", "npu:0,npu:1"])
def test_a_case_is_tuned_on_an_npu(case: Path, device: str) -> None:
    """Each record is what the device took, to the nanosecond; the manifest chooses the best."""
    (case.parent / "cann").mkdir()
    (case.parent / "cann" / "version.cfg").write_text("toolkit_running_version=[7.8:8.5.0]\n")
    ran = tune(case, device)
    assert ran.returncode == 0, ran.stderr
    manifest = load_manifest(case / "manifest.json")
    assert (manifest.target.device, manifest.target.arch) == ("Ascend910B3", "ascend910b3")
    assert manifest.target.toolchain["cann"] == "8.5.0"
    assert manifest.target.toolchain["torch_npu"] == "2.13.0.post1"
    method = "torch_npu profiler, database export, 192 MiB L2 clear a step, union of kernels, inter"
    assert manifest.tune_meta is not None
    assert str(manifest.tune_meta.method).startswith(method)
    assert f"method    {method}" in ran.stdout
    records = records_in(case.parent / "kb.sqlite")
    timed = [record for record in records if isinstance(record.result, Timing)]
    assert len(timed) == len(SIZES) * len(BLOCKS)
    for record in timed:
        assert isinstance(record.result, Timing)
        block = record.config.param("BLOCK")
        assert isinstance(block, int)
        assert record.result.median_us == pytest.approx(us(record.shape[0], block), abs=1e-3)
        assert record.result.method.startswith(method)
    rejected = [one.reason for one in manifest.candidates if one.status == "rejected"]
    assert len(rejected) == 1
    assert "resources on shape" in str(rejected[0])
    assert "ub overflow, needs 3145984 bits and 1572864 are available" in str(rejected[0])
    policy = policy_of(manifest)
    for size in SIZES:
        block = policy.evaluate((size,)).param("BLOCK")
        assert isinstance(block, int)
        assert us(size, block) == min(us(size, one) for one in BLOCKS)


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"most_steps": 8}, "captures of at most 7 launches: the profiler: the profiler left no"),
        ({"layout": "none"}, "npu events, 192 MiB L2 clear outside the timed region, interleaved"),
    ],
)
def test_a_fall_back_is_in_the_report_the_records_and_the_manifest(
    case: Path, faults: dict[str, object], words: str
) -> None:
    """How it was timed is never silent, and the times are right all the same."""
    ran = tune(case, **faults)
    assert ran.returncode == 0, ran.stderr
    assert words in ran.stdout
    manifest = load_manifest(case / "manifest.json")
    assert manifest.tune_meta is not None
    assert words in str(manifest.tune_meta.method)
    records = records_in(case.parent / "kb.sqlite")
    found = Counter(type(record.result) for record in records)
    assert found[Timing] == len(SIZES) * len(BLOCKS)
    for record in records:
        if isinstance(record.result, Timing):
            block = record.config.param("BLOCK")
            assert isinstance(block, int)
            assert record.result.median_us == pytest.approx(us(record.shape[0], block), abs=0.01)
            assert words in record.result.method


def test_an_npu_that_is_not_there_is_one_line(case: Path) -> None:
    """With where to look; nothing is written."""
    ran = tune(case, device="npu:7")
    assert ran.returncode == 2
    assert ran.stderr.startswith("tuner: npu: torch_npu sees no such device; see npu-smi info")
    assert not (case / "manifest.json").exists()


def with_options(case: Path, *options: dict[str, object]) -> None:
    """Let the candidates be each block with each of these options."""
    path = case / "sample.json"
    sample = json.loads(path.read_text())
    sample["autotune"]["configs"] = [{"BLOCK": b, **more} for b in BLOCKS for more in options]
    path.write_text(json.dumps(sample))


WARPS = ({"num_warps": 4}, {"num_warps": 8}, {"num_warps": 4, "num_stages": 3})


def test_candidates_that_an_npu_cannot_tell_apart_are_measured_once(case: Path) -> None:
    """The first of the space is; the others are set aside, and are chosen nowhere."""
    with_options(case, *WARPS)
    ran = tune(case)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("note: ") == 1
    assert (
        "note: 6 of 9 configs differ from others in num_stages or num_warps alone, which an NPU "
        "ignores: one of each is measured\n"
    ) in ran.stderr
    measured = {f"BLOCK={block};num_warps=4" for block in BLOCKS}
    records = records_in(case.parent / "kb.sqlite")
    assert len(records) == len(SIZES) * len(BLOCKS)
    assert {record.config.id for record in records} == measured
    manifest = load_manifest(case / "manifest.json")
    reasons = {one.id: one.reason for one in manifest.candidates}
    assert {name for name, reason in reasons.items() if reason is None} == measured
    assert reasons["BLOCK=16;num_warps=8"] == (
        "set aside: an NPU ignores num_warps, all that sets it apart from BLOCK=16;num_warps=4"
    )
    assert len(reasons) == 9
    assert {*manifest.selector.config_ids} <= measured
    assert ran.stdout.count("set aside: an NPU ignores") == 6
    assert "3 of 3 candidates are the fastest somewhere, 6 set aside\n" in ran.stdout


def test_what_was_measured_before_it_was_set_aside_is_not_fitted(case: Path) -> None:
    """The first of the space is measured, what it stands for not; then nothing is left to do."""
    with_options(case, {"num_warps": 8})
    assert tune(case).returncode == 0
    with_options(case, {"num_warps": 4}, {"num_warps": 8})
    ran = tune(case)
    assert ran.returncode == 0, ran.stderr
    assert f"results   {len(SIZES) * len(BLOCKS)} new, 0 known before" in ran.stdout
    ids = load_manifest(case / "manifest.json").selector.config_ids
    assert {name.partition(";")[2] for name in ids} == {"num_warps=4"}
    table = json.loads((case / "latencies.json").read_text())
    assert [*table["rejected"]] == ["1", "3", "5"]
    assert all([us is None for us in row] == 3 * [False, True] for row in table["latency_us"])
    written = (case / "manifest.json").read_bytes(), (case / "latencies.json").read_bytes()
    again = tune(case)
    assert f"results   0 new, {len(SIZES) * len(BLOCKS)} known before" in again.stdout
    assert written == (
        (case / "manifest.json").read_bytes(),
        (case / "latencies.json").read_bytes(),
    )


@pytest.mark.parametrize(
    ("options", "code"),
    [
        # The mode in which they count; and a kernel that reads one.
        (
            ({"num_warps": 4, "force_simt_only": True}, {"num_warps": 8, "force_simt_only": True}),
            "",
        ),
        (WARPS[:2], "\n\ndef programs(config):\n    return 64 // config.num_warps\n"),
    ],
)
def test_options_that_count_are_measured_apart(
    case: Path, options: tuple[dict[str, object], ...], code: str
) -> None:
    """All candidates are, and where the kernel is the reason that is said."""
    with_options(case, *options)
    with (case / "impl.py").open("a") as file:
        file.write(code)
    ran = tune(case)
    assert ran.returncode == 0, ran.stderr
    assert len({record.config for record in records_in(case.parent / "kb.sqlite")}) == 6
    assert "set aside" not in ran.stdout
    words = "note: configs that differ in num_warps are all measured: by what impl.py says it may"
    assert (words in ran.stderr) == bool(code)


def test_an_option_that_the_backend_does_not_know_is_said_once(case: Path) -> None:
    """Configs that differ in it are measured: it may be an argument of the kernel."""
    with_options(case, {"multibufer": True}, {"multibufer": False}, {"multibuffer": False})
    ran = tune(case, device="npu:0,npu:1")
    assert ran.returncode == 0, ran.stderr
    words = "note: Ascend910B3 knows no option multibufer, and drops or refuses it\n"
    assert ran.stderr.count(words) == 1
    assert "knows no option multibuffer" not in ran.stderr
    assert len({record.config for record in records_in(case.parent / "kb.sqlite")}) == 9


def test_elsewhere_all_are_measured(case: Path) -> None:
    """On a CPU nothing is set aside."""
    with_options(case, *WARPS)
    ran = tune(case, device="cpu")
    assert ran.returncode == 0, ran.stderr
    assert "ignores" not in ran.stderr + ran.stdout
    assert len({record.config for record in records_in(case.parent / "kb.sqlite")}) == 9


def test_where_all_that_is_left_fails_the_error_names_no_other(case: Path) -> None:
    """Those that are set aside are no candidates that were rejected."""
    sample = json.loads((case / "sample.json").read_text())
    sample["autotune"]["configs"] = [{"BLOCK": 1, **more} for more in WARPS]
    (case / "sample.json").write_text(json.dumps(sample))
    ran = tune(case)
    assert ran.returncode == 2
    assert "the only candidate is rejected: BLOCK=1;num_warps=4: resources on (8): ub" in ran.stderr
