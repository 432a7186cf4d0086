"""The commands `tuner tune` and `tuner run`: what they print, how they end, what they refuse."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import synthetic
from tuning import (
    CONVERTED,
    FICKLE,
    HOSTILE,
    MATMUL_TABLE,
    ORIGINAL,
    copy_of,
    ended,
    request,
    results_in,
    workers_of,
)

from codegen.command import exit_status
from codegen.manifest import load_manifest
from tuner.cli import cli
from tuner.tune_cli import _kept

Tuner = Callable[..., tuple[int, str, str]]


@pytest.fixture
def tuner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Tuner:
    """Return a function that runs `tuner` in this process, in an empty directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUNED_DISPATCH_HOME", str(tmp_path / "home"))

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["tuner", *map(str, arguments)])
        capsys.readouterr()
        status = exit_status(cli, "tuner")
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """Return a case with two right candidates and three shapes."""
    return copy_of(FICKLE, tmp_path / "case", ["good", "better"])


def error_line(err: str) -> str:
    """Return the one line of an error; progress may come before it."""
    lines = [line for line in err.splitlines() if line.startswith("tuner: ")]
    assert len(lines) == 1, err
    assert err.endswith(f"{lines[0]}\n")
    assert "Traceback" not in err
    return lines[0]


# ---- What it prints --------------------------------------------------------------------------


def test_tune_writes_manifest_and_table_and_says_what_to_do_next(tuner: Tuner, case: Path) -> None:
    """The report goes to standard output, progress to standard error."""
    status, out, err = tuner("tune", case)
    assert status == 0
    lines = out.splitlines()
    assert lines[0].startswith("device    ")
    assert lines[2] == "results   6 new, 0 known before"
    assert sum('MODE="' in line and ("won" in line or "lost" in line) for line in lines) == 2
    assert lines[-3:] == [
        f"{case / 'latencies.json'}: written",
        f"{case / 'manifest.json'}: written",
        f"next: codegen emit {case / 'manifest.json'}",
    ]
    assert "gate: " in err
    assert "measure: 3 to do" in err
    assert load_manifest(case / "manifest.json").kernel.name == "fickle"
    assert Path("home/kb.sqlite").exists()


def test_the_second_time_nothing_is_new_and_nothing_changes(tuner: Tuner, case: Path) -> None:
    """It says how much was known, and that the files are unchanged."""
    tuner("tune", case)
    status, out, err = tuner("tune", case)
    assert status == 0
    assert "results   0 new, 6 known before" in out
    assert "gate" not in err
    assert f"{case / 'manifest.json'}: unchanged" in out
    assert f"{case / 'latencies.json'}: unchanged" in out


@pytest.mark.parametrize("command", ["tune", "run"])
def test_a_search_measures_as_many_as_it_may(tuner: Tuner, tmp_path: Path, command: str) -> None:
    """It says how many that were of how many; the same command again measures nothing."""
    case = copy_of(FICKLE, tmp_path / "case", ["good", "better"])
    options = ("--search", "--trials", "1", "--seed", "3")
    status, out, err = tuner(command, case, *options)
    assert status == 0
    assert "search: 3 to do" in err
    assert "gate: " not in err
    assert len(results_in(Path("home/kb.sqlite"))) == 3
    if command == "tune":
        assert "search    1 of 2 configs measured, 1 a shape on 3 shapes" in out
        assert "results   0 new, 3 known before" in tuner("tune", case, *options)[1]


def test_of_a_large_space_a_search_is_recommended_and_not_to_who_searches(
    tuner: Tuner, tmp_path: Path
) -> None:
    """The note names the option; with it there is none."""
    configs = synthetic.some(15)
    case = synthetic.case(tmp_path / "case", configs)
    shapes = synthetic.SHAPES[:2]
    table = synthetic.table(tmp_path / "table.json", configs, shapes)
    told = f"{len(configs)} configs are more than 300: trying them takes long; --search measures"
    assert told in tuner("tune", case, "--device", f"replay:{table}", "-o", "all")[2]
    options = ("--search", "--trials", "8", "--sampler", "random")
    status, out, err = tuner("tune", case, "--device", f"replay:{table}", "-o", "some", *options)
    assert status == 0
    assert "trying them takes long" not in err
    assert "of 359 configs measured" in out


def test_quiet_prints_nothing(tuner: Tuner, case: Path) -> None:
    """Neither report nor progress, of both commands."""
    assert tuner("tune", case, "-q") == (0, "", "")
    assert tuner("run", case, "-q") == (0, "", "")


def test_files_go_where_they_are_told_to(tuner: Tuner, case: Path) -> None:
    """`-o` takes a copy of the kernel too; `--kb` the measurements."""
    before = sorted(path.name for path in case.iterdir())
    assert tuner("tune", case, "-o", "new/out", "--kb", "other/kb.sqlite", "-q")[0] == 0
    names = sorted(path.name for path in Path("new/out").iterdir())
    assert names == ["impl.py", "latencies.json", "manifest.json"]
    assert Path("new/out/impl.py").read_bytes() == (case / "impl.py").read_bytes()
    assert len(results_in(Path("other/kb.sqlite"))) == 6
    assert not Path("home").exists()
    assert sorted(p.name for p in case.iterdir() if p.name != "__pycache__") == before


def test_options_reach_the_manifest(tuner: Tuner, case: Path) -> None:
    """Selector and what is outside are those asked for, and so is how it was timed."""
    options = ("--selector", "constant", "--outside", "raise", "--repeat", "6", "--warmup", "2")
    assert tuner("tune", case, *options)[0] == 0
    manifest = load_manifest(case / "manifest.json")
    assert (manifest.selector.kind, manifest.outside) == ("constant", "raise")
    meta = manifest.tune_meta
    assert (meta.path_used, meta.warmup, meta.repeat) == ("tuner tune", 2, 6)
    assert "outputs were verified against the reference" in meta.notes


def test_a_budget_says_what_is_unfinished(tuner: Tuner, case: Path) -> None:
    """What is there makes a manifest; the budget's end is no error."""
    tuner("tune", case, "--shapes", "4")
    status, out, _ = tuner("tune", case, "--shapes", "4;5;6", "--budget", "0.001s")
    assert status == 0
    assert "budget    2 shapes left unfinished; run again to go on" in out


def test_a_budget_that_measures_nothing_fails_in_one_line(tuner: Tuner, case: Path) -> None:
    """There is nothing to deploy, and it says why."""
    status, out, err = tuner("tune", case, "--budget", "0.001s")
    assert (status, out) == (2, "")
    line = "tuner: fickle: the budget of 0.001 s was spent before a shape was measured; "
    assert error_line(err).startswith(line)


def test_rejected_candidates_are_listed_each_on_its_line(tuner: Tuner, tmp_path: Path) -> None:
    """One error line, and one a candidate before it."""
    case = copy_of(HOSTILE, tmp_path / "hostile", ["wrong", "raise", "abort"])
    status, out, err = tuner("tune", case)
    assert (status, out) == (2, "")
    assert error_line(err).startswith("tuner: hostile: all 3 candidates are rejected; ")
    details = [line for line in err.splitlines() if line.startswith("  ")]
    assert [line.split(": ")[0] for line in details] == [
        '  MODE="wrong"',
        '  MODE="raise"',
        '  MODE="abort"',
    ]
    assert not (case / "manifest.json").exists()


def test_a_replay_needs_no_device(tuner: Tuner, tmp_path: Path) -> None:
    """A recorded table gives its own device's manifest, in a process without torch."""
    status, out, _ = tuner(
        *("tune", ORIGINAL / "matmul", "--impl", CONVERTED / "matmul" / "impl.py"),
        *("--device", f"replay:{MATMUL_TABLE}", "-o", tmp_path / "out"),
    )
    assert status == 0
    assert out.startswith("device    NVIDIA H200 (replay ")
    assert load_manifest(tmp_path / "out" / "manifest.json").target.device == "NVIDIA H200"


def test_run_reports_what_the_dispatch_is_worth(tuner: Tuner, case: Path) -> None:
    """All outputs right: status 0, a table a shape, and five files."""
    status, out, _ = tuner("run", case)
    assert status == 0
    assert out.startswith("# fickle\n")
    assert "Outputs right on " in out
    names = ("manifest.json", "latencies.json", "impl_dispatch.py", "summary.json", "report.md")
    assert [line for line in out.splitlines() if line.endswith(": written")] == [
        f"{case / name}: written" for name in names
    ]
    assert json.loads((case / "summary.json").read_text())["right"] is True


# ---- What is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((), "Missing argument 'CASE'; see `tuner tune --help`"),
        (("none",), "none: does not exist; name the directory with base.py"),
        (("case/impl.py",), "case/impl.py: is not a directory"),
        (("case", "--impl", "none.py"), "none.py"),
        (("case", "--space", "none.yaml"), "none.yaml"),
        (("case", "--selector", "forest"), "'forest' is not one of 'tree', 'bucket', 'constant'"),
        (("case", "--shapes", "4,"), "'4,' is not a shape; write sizes between commas"),
        (("case", "--shapes", "4;x"), "'x' is not a shape"),
        (("case", "--shapes", ";"), "names no shape"),
        (("case", "--shapes", "4;4,5"), "--shapes: shape 4,5 has 2 sizes for 1 axes; give N"),
        (("case", "--device", "tpu"), "--device: 'tpu' is not a device; write cpu, cuda:0"),
        (("case", "--device", ""), "--device: '' is not a device"),
        (("case", "--device", "cpu,cpu"), "--device: cpu stands twice; name it once"),
        (("case", "--device", "cpu,cuda:0"), "mixes kinds of devices"),
        (("case", "--device", "npu:0"), "npu: torch_npu cannot be imported: No module named"),
        (("case", "--device", "replay:"), "replay: names no table"),
        (("case", "--device", "replay:none.json"), "none.json: cannot be read: no such file"),
        (("case", "--device", f"replay:{MATMUL_TABLE}"), "and the case's axes are 'N'"),
        (("case", "--budget", "10"), "'10' is not a duration such as 90s, 10m or 2h"),
        (("case", "--timeout", "0s"), "'0s' is not a duration"),
        (("case", "--repeat", "0"), "0 is not in the range"),
        (("case", "--tolerance", "0"), "0.0 is not in the range"),
        (("case", "--search", "--trials", "0"), "0 is not in the range"),
        (("case", "--search", "--seed", "-1"), "-1 is not in the range"),
        (("case", "--search", "--sampler", "luck"), "'luck' is not one of"),
        (("case", "--trials", "8"), "--trials is of no use without --search; add it"),
        (("case", "--adaptive", "--trials", "8"), "--trials is of no use without --search; add it"),
        (("case", "--adaptive", "--search"), "--search and --adaptive are two ways to measure"),
        (("case", "--seed", "8"), "--seed is of no use without --search; add it"),
        (("case", "--sampler", "tpe"), "--sampler is of no use without --search; add it"),
        (("case", "--kb", "."), "is a directory; name a file"),
        (("case", "--kb", "case/impl.py"), "case/impl.py: is not a SQLite database"),
        (("case", "--kb", "/proc/kb.sqlite"), "/proc"),
        (("case", "-o", "case/impl.py"), "case/impl.py: is not a directory; name another"),
        (("case", "-o", "case/impl.py/below"), "case/impl.py: is not a directory; name another"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(
    tuner: Tuner, case: Path, arguments: tuple[str, ...], match: str
) -> None:
    """Found before anything is measured, and nothing is written."""
    assert case.name == "case"
    status, out, err = tuner("tune", *arguments)
    assert (status, out) == (2, "")
    assert match in error_line(err)
    assert "to do" not in err
    assert not (case / "manifest.json").exists()


@pytest.mark.parametrize(
    ("name", "old", "new", "match"),
    [
        ("impl.py", ", config: Any = None", "", "ModelNew.forward has no param config"),
        ("impl.py", "class ModelNew", "class Model", "ModelNew"),
        ("impl.py", "import os\n", "import os\nimport no_such\n", r"impl.py:4: fails: Mod"),
        ("base.py", "class Model:", "class Other:", "Model"),
        ("base.py", "import os\n", "import os\n1 / 0\n", "base.py:4: fails: ZeroDivisionError"),
        ("base.py", "return [rng", "raise OSError('x')\n    return [rng", "OSError: x"),
        ("base.py", "shape).astype", "(3, *shape)).astype", "gives"),
        ("sample.json", "x.shape", "x.shape[1]", "shape"),
        ("sample.json", "x.shape", "y.shape", "y is not an input of ModelNew.forward"),
        ("sample.json", "x.shape", "(x.shape[0], 1)", "axes"),
        ("sample.json", "{", '{"axis_names": ["N", "N"],', "axis_names: lists 'N' twice"),
        ("sample.json", '{"MODE": "good"}', '{"MOOD": "good"}', "has no 'MODE'"),
        ("sample.json", "{", "", "sample.json"),
    ],
)
def test_a_case_whose_parts_do_not_fit_is_one_line_and_status_2(
    tuner: Tuner, case: Path, name: str, old: str, new: str, match: str
) -> None:
    """What is wrong, and in which file, before anything is measured."""
    text = (case / name).read_text()
    assert old in text
    (case / name).write_text(text.replace(old, new, 1))
    status, out, err = tuner("tune", case, "--shapes", "4;16")
    assert (status, out) == (2, "")
    assert match in error_line(err)
    assert "to do" not in err
    assert not (case / "manifest.json").exists()


@pytest.mark.parametrize("name", ["base.py", "impl.py", "sample.json"])
def test_a_missing_file_of_the_case_is_named(tuner: Tuner, case: Path, name: str) -> None:
    """Each of the three is needed."""
    (case / name).unlink()
    status, _, err = tuner("tune", case)
    assert status == 2
    assert f"{case / name}: " in error_line(err)


def test_a_shape_without_inputs_is_refused(tuner: Tuner, case: Path) -> None:
    """Where the case cannot make inputs for any shape, it must list them."""
    base = case / "base.py"
    base.write_text(base.read_text().replace("get_inputs_for_shape", "make"))
    status, _, err = tuner("tune", case, "--shapes", "4;5")
    assert status == 2
    assert "base.py: no inputs for shape (5,); list them in get_inputs_dyn_list()" in error_line(
        err
    )


def test_cuda_without_a_device_is_one_clear_line(
    tuner: Tuner, case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether torch is missing or sees nothing."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    status, _, err = tuner("tune", case, "--device", "cuda:0")
    assert status == 2
    assert error_line(err).startswith("tuner: cuda: ")
    assert error_line(err).count("; ") >= 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", '{"mine": 1}'),
        ("latencies.json", "[1, 2]"),
        ("impl.py", "x = 1\n"),
    ],
)
def test_what_is_not_ours_is_not_overwritten(
    tuner: Tuner, case: Path, name: str, content: str
) -> None:
    """A file of another kind in the output's place is refused before anything is measured."""
    Path("out").mkdir()
    place = Path("out", name)
    place.write_text(content)
    status, _, err = tuner("tune", case, "-o", "out")
    assert status == 2
    assert f"out/{name}: " in error_line(err)
    assert "--force" in error_line(err)
    assert "to do" not in err
    assert place.read_text() == content
    assert tuner("tune", case, "-o", "out", "--force")[0] == 0
    assert place.read_text() != content


@pytest.mark.parametrize("name", ["summary.json", "report.md", "impl_dispatch.py"])
def test_run_does_not_overwrite_what_is_not_its_own(tuner: Tuner, case: Path, name: str) -> None:
    """A report somebody wrote, or a module, stays."""
    (case / name).write_text("# my own\n")
    status, _, err = tuner("run", case)
    assert status == 2
    assert f"{case / name}: exists, and is not " in error_line(err)
    assert (case / name).read_text() == "# my own\n"
    assert tuner("run", case, "--force", "-q")[0] == 0
    assert tuner("run", case, "-q")[0] == 0


def test_the_table_that_is_replayed_is_not_written_over(tuner: Tuner, tmp_path: Path) -> None:
    """Fewer shapes, or candidates, would be left in it."""
    table = tmp_path / "out" / "latencies.json"
    table.parent.mkdir()
    table.write_bytes(MATMUL_TABLE.read_bytes())
    status, _, err = tuner(
        *("tune", ORIGINAL / "matmul", "--impl", CONVERTED / "matmul" / "impl.py"),
        *("--device", f"replay:{table}", "-o", "out"),
    )
    assert status == 2
    assert "latencies.json: is the table that is replayed" in error_line(err)
    assert table.read_bytes() == MATMUL_TABLE.read_bytes()


def test_run_needs_a_device(tuner: Tuner, case: Path) -> None:
    """A replay runs no kernel."""
    status, _, err = tuner("run", case, "--device", f"replay:{MATMUL_TABLE}")
    assert status == 2
    assert "--device: a replay runs no kernel" in error_line(err)


@pytest.mark.parametrize("module", ["numpy", "yaml"])
def test_a_missing_package_is_named(
    tuner: Tuner, case: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    """With what to type."""
    monkeypatch.setitem(sys.modules, module, None)
    status, _, err = tuner("tune", case)
    name = {"yaml": "pyyaml"}.get(module, module)
    assert status == 2
    assert error_line(err) == (
        f"tuner: {name}: is not installed; install it: pip install {name}, or all that the tuner "
        "needs with the extra tuned-dispatch[tuner]"
    )


def test_a_search_needs_optuna(tuner: Tuner, case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing else does."""
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert tuner("tune", case, "-q")[0] == 0
    status, _, err = tuner("tune", case, "--search")
    assert status == 2
    assert error_line(err).startswith("tuner: optuna: is not installed; ")


def test_help_needs_nothing_but_click() -> None:
    """`tuner tune --help` is quick: no numpy, pydantic or rich."""
    code = (
        "import sys; sys.argv = ['tuner', 'tune', '--help']\n"
        "from tuner.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'numpy', 'optuna', 'pydantic', 'rich', 'yaml', 'torch'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "--device" in ran.stdout


# ---- A disk that is full ------------------------------------------------------------------------


def limited(case: Path, place: Path, most_bytes: int, *options: object) -> tuple[int, str]:
    """Run `tuner tune` where no file may grow beyond `most_bytes`; return status and errors."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    ran = subprocess.run(
        [sys.executable, "-m", "tuner", "tune", str(case), *map(str, options)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
        env=os.environ | {"TUNED_DISPATCH_HOME": str(place), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return ran.returncode, ran.stderr


def test_a_full_disk_for_the_knowledge_base(case: Path, tmp_path: Path) -> None:
    """One line, no traceback, and no manifest."""
    status, err = limited(case, tmp_path / "home", 1024)
    assert status == 2
    assert "kb.sqlite: cannot be " in error_line(err)
    assert not (case / "manifest.json").exists()


def test_a_full_disk_for_the_output(case: Path, tmp_path: Path) -> None:
    """What was measured is kept: where there is space, nothing is measured again."""
    with (case / "impl.py").open("a") as file:
        file.write("# much of a remark\n" * 20_000)
    options = ("--kb", tmp_path / "kb.sqlite", "-o", tmp_path / "out")
    status, err = limited(case, tmp_path, 300_000, *options)
    assert status == 2
    assert "out/impl.py: cannot be written: file too large; what was measured" in error_line(err)
    assert list((tmp_path / "out").iterdir()) == []
    command = [sys.executable, "-m", "tuner", "tune", str(case), *map(str, options)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "results   0 new, 6 known before" in ran.stdout


@pytest.mark.parametrize("name", ["latencies.json", "manifest.json"])
def test_a_disk_that_is_full_at_the_end(
    tuner: Tuner, case: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Table or manifest cannot be written: one line, and the next run goes on from there."""
    from codegen import files

    plain = files._replace

    def full(path: Path, text: str) -> None:
        if path.name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        plain(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(files, "_replace", full)
        status, _, err = tuner("tune", case)
    assert status == 2
    assert f"{name}: cannot be written: no space left on device" in error_line(err)
    status, out, _ = tuner("tune", case)
    assert status == 0
    assert "results   0 new, 6 known before" in out


# ---- Interrupted ------------------------------------------------------------------------------


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Start a run that is at a slow config, and return it with its knowledge base."""
    case = copy_of(FICKLE, tmp_path / "case", ["good", "slow"])
    kb = tmp_path / "kb.sqlite"
    shapes = ";".join(str(n) for n in range(1, 100))
    process = subprocess.Popen(
        [sys.executable, "-m", "tuner", "tune", case, "--kb", kb, "--shapes", shapes],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr
    for line in process.stderr:
        if line.startswith("measure: "):
            break
    yield process, kb
    process.kill()
    process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_says_what_is_kept(
    running: tuple[subprocess.Popen[str], Path], number: signal.Signals
) -> None:
    """One line, status 130, no worker left; a second signal while it closes changes nothing."""
    process, kb = running
    workers = workers_of(process.pid)
    assert workers
    time.sleep(3)
    os.killpg(process.pid, number)  # As a terminal does.
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    line = (
        f"tuner: interrupted; what was measured is kept in {kb}; run the same command again to go "
        "on"
    )
    assert [text for text in err.splitlines() if text.startswith("tuner: ")] == [line]
    assert "Traceback" not in err
    assert ended(workers)
    assert "timed" in results_in(kb).values()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_while_a_run_is_being_closed_is_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    """Workers are ended and rows written undisturbed; afterwards signals are what they were."""
    before = signal.getsignal(number)
    closed = []
    with _kept(request(FICKLE, tmp_path), quiet=True):
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(number)
            closed.append("all")
    assert closed == ["all"]
    assert error_line(capsys.readouterr().err).startswith("tuner: interrupted; ")
    assert signal.getsignal(number) is before


def test_after_an_interrupted_fresh_run_the_flag_is_to_be_left_out(tmp_path: Path) -> None:
    """Else all would begin anew once more."""
    case = copy_of(FICKLE, tmp_path / "case", ["slow"])
    process = subprocess.Popen(
        [sys.executable, "-m", "tuner", "tune", case, "--kb", tmp_path / "kb.sqlite", "--fresh"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    assert process.stderr.readline().startswith("gate: ")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error_line(err).endswith("run the same command again, without --fresh, to go on")


def test_a_signal_that_is_ignored_stays_so(case: Path, tmp_path: Path) -> None:
    """Under nohup the end of the terminal is not the end of the run."""
    program = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
        "os.execv(sys.executable, [sys.executable, '-m', 'tuner', 'tune', *sys.argv[1:]])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, case, "--kb", tmp_path / "kb.sqlite"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    assert process.stderr.readline().startswith("gate: ")
    process.send_signal(signal.SIGHUP)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "results   6 new" in out


def test_a_reader_that_has_gone_does_not_cost_the_manifest(case: Path, tmp_path: Path) -> None:
    """`tuner tune … | head -1` writes all files."""
    ours, theirs = socket.socketpair()
    ours.close()
    ran = subprocess.run(
        [sys.executable, "-m", "tuner", "tune", case, "--kb", tmp_path / "kb.sqlite"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    theirs.close()
    assert "Traceback" not in ran.stderr
    assert load_manifest(case / "manifest.json").kernel.name == "fickle"


def test_both_commands_have_help(tuner: Tuner) -> None:
    """Both commands have help of their own."""
    for command in ("tune", "run"):
        status, out, _ = tuner(command, "--help")
        assert status == 0
        assert out.startswith(f"Usage: tuner {command} [OPTIONS] CASE")


def test_shapes_are_drawn_from_ranges(tuner: Tuner, case: Path) -> None:
    """More points measure only what is new, and the two ends are among them."""
    base = ("tune", case, "--kb", "kb.sqlite", "--repeat", 2, "--ranges", "N=1..300")
    for points in (4, 6):
        status, _, err = tuner(*base, "--points", points)
        assert status == 0, err
        shapes = {shape for shape, _ in results_in(Path("kb.sqlite"))}
        assert len(shapes) == points
        assert {(1,), (300,)} <= shapes


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--points", "4"), "--points is for --ranges; give both, or neither"),
        (("--ranges", "N=1..9", "--shapes", "4"), "give --shapes or --ranges, not both"),
        (("--ranges", "M=1..9"), "names M, and the case's axes are N"),
        (("--ranges", "N=9..1"), "'N=9..1' holds no size"),
    ],
)
def test_ranges_that_are_none_are_refused(
    tuner: Tuner, case: Path, given: tuple[str, ...], words: str
) -> None:
    """One line, status 2, and nothing measured."""
    status, _, err = tuner("tune", case, "--kb", "kb.sqlite", *given)
    assert status == 2
    assert words in err
    assert not Path("kb.sqlite").exists()
