"""The gate without a device: a compiler that crashes, hangs or babbles costs one config alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_toolchain import NO_BINARY, SINGLE
from tuning import FICKLE, copy_of, set_modes

from codegen.cli import cli as codegen_cli
from codegen.command import exit_status
from codegen.config import Config
from codegen.json_text import dump_json
from codegen.manifest import Candidate, dump_manifest, parse_manifest
from codegen.source_hash import source_sha256_of
from tuner import gate as gate_module
from tuner.cases import load_case
from tuner.cli import cli
from tuner.errors import ToolchainError
from tuner.gate import Gated, GateRequest, gate_case
from tuner.kb import KnowledgeBase
from tuner.overflow import Overflow
from tuner.progress import Quiet
from tuner.records import Failure
from tuner.toolchains.answers import parse_answer
from tuner.toolchains.compiler_text import read_ascend, read_gpu
from tuner.toolchains.environment import MARKER, Marker, Toolchain
from tuner.toolchains.recipes import RECIPES
from tuner.toolchains.targets import TARGETS, parse_targets, target_of_device
from tuner.toolchains.verdict import KEPT, Verdict, worst

FAKE = Path(__file__).parents[1] / "fake_toolchain.py"
ASCEND, HOPPER = TARGETS["ascend910b3"], TARGETS["sm_90"]


@pytest.fixture
def starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Put a fake in the place of each toolchain; return how often it was started so far."""
    file = tmp_path / "starts"
    file.touch()
    monkeypatch.setenv("FAKE_STARTS", str(file))

    def found(name: str) -> Toolchain:
        command = (sys.executable, str(FAKE))
        return Toolchain(name=name, command=command, place="here", versions=(("fake", "1"),))

    monkeypatch.setattr(gate_module, "find_toolchain", found)
    return lambda: len(file.read_text().splitlines())


def gated(tmp_path: Path, *modes: str, **more: object) -> Gated:
    """Gate the fickle case with these candidates for `target`."""
    case = tmp_path / "case"
    if case.exists():
        set_modes(case, modes)
    else:
        copy_of(FICKLE, case, modes)
    options = {"target": ASCEND, "kb": tmp_path / "kb.sqlite", "services": 2, "timeout_s": 20.0}
    request = GateRequest(case=load_case(case), **(options | more))
    return gate_case(request, Quiet())


def said(found: Gated) -> dict[str, str]:
    """Return what is said of each mode: kept, a note, or the failures' kinds and messages."""
    words = {}
    for config in found.configs:
        verdicts = found.of(config).values()
        texts = {v.failure.kind if v.failure else v.note or "kept" for v in verdicts}
        words[str(dict(config.params)["MODE"])] = ", ".join(sorted(texts))
    return words


@pytest.mark.usefixtures("starts")
def test_each_config_gets_its_verdict_whatever_the_others_do(tmp_path: Path) -> None:
    """Memory, refusal, crash, nonsense and an exception are told apart; the rest is kept."""
    modes = ("good", "over", "single", "odd", "abort", "raises", "garbled", "none", "each")
    found = gated(tmp_path, *modes)
    assert said(found) == {
        "good": "kept",
        "over": "resources",
        "single": SINGLE.removeprefix("[NOTE] "),
        "odd": "compile",
        "abort": "crash",
        "raises": "launch",
        "garbled": "crash",
        "none": "compile",
        "each": "kept",
    }
    assert (found.kept, found.known) == (3, 0)
    by_mode = {str(dict(c.params)["MODE"]): c for c in found.configs}
    failures = {m: next(iter(found.of(c).values())).failure for m, c in by_mode.items()}
    overflow = Overflow.of(failures["over"])
    assert overflow == Overflow(memory="ub", needed=4194304, available=1572864, unit="bits")
    assert failures["abort"]
    assert "killed by signal 6: the compiler's last words" in failures["abort"].message
    assert said(found.strictly())["single"] == "compile"


@pytest.mark.usefixtures("starts")
def test_a_compiler_that_hangs_is_ended(tmp_path: Path) -> None:
    """Its config is recorded with the limit, and the others go on."""
    found = gated(tmp_path, "hang", "good", timeout_s=1.0, services=1)
    assert said(found) == {"hang": "hang", "good": "kept"}


@pytest.mark.usefixtures("starts")
def test_a_grid_that_is_too_large_is_refused_on_its_shapes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An Ascend launch has 65535 programs at most, unless each may do the work of many."""
    found = gated(tmp_path, "wide")
    kept = {shape: verdict.kept for shape, verdict in found.of(found.configs[0]).items()}
    assert kept == {(4,): True, (16,): False, (64,): False}
    monkeypatch.setenv("TRITON_ALL_BLOCKS_PARALLEL", "1")
    again = gated(tmp_path, "wide")
    assert (again.kept, again.known) == (1, 0)
    assert gated(tmp_path / "gpu", "wide", target=HOPPER).kept == 1


def test_a_second_run_starts_no_compiler(tmp_path: Path, starts: Callable[[], int]) -> None:
    """Verdicts, notes and the list of shapes are known; a new config alone is compiled."""
    first = gated(tmp_path, "good", "over", "single", services=1)
    assert starts() == 1
    second = gated(tmp_path, "good", "over", "single", services=1)
    assert starts() == 1
    assert second.known == len(second.verdicts) == 9
    assert second.verdicts == first.verdicts
    third = gated(tmp_path, "good", "over", "single", "odd", services=1)
    assert (starts(), third.known, len(third.verdicts)) == (2, 9, 12)
    assert gated(tmp_path, "good", fresh=True).known == 0


@pytest.mark.usefixtures("starts")
def test_what_is_refused_lies_in_the_knowledge_base_as_a_failure(tmp_path: Path) -> None:
    """Under the target's name, with its compiler's version."""
    gated(tmp_path, "good", "over")
    with KnowledgeBase.open(tmp_path / "kb.sqlite") as kb:
        (row, *_) = kb.rows()
    assert (row.scope.target.device, row.scope.target.toolchain) == (
        "ascend910b3",
        (("fake", "1"),),
    )
    assert isinstance(row.record.result, Failure)
    assert row.record.result.message.startswith("ub overflow, needs 4194304 bits and 1572864 are")


@pytest.mark.usefixtures("starts")
def test_the_command_prints_each_fate_and_fails_where_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With two targets both are reported before the status says that one is empty."""
    case = copy_of(FICKLE, tmp_path / "case", ["over"])
    arguments = [str(case), "--kb", str(tmp_path / "kb.sqlite"), "--quiet"]
    target = "ascend910b3,sm_90"
    monkeypatch.setattr("sys.argv", ["tuner", "gate", *arguments, "--target", target])
    assert exit_status(cli, "tuner") == 2
    printed = capsys.readouterr()
    assert "ascend910b3 (fake 1): 0 of 1 configs kept" in printed.out
    assert "rejected on all shapes: ub overflow, needs 4194304 bits" in printed.out
    assert "shared overflow, needs 300000 bytes and 232448 are available" in printed.out
    assert "no config is left for ascend910b3, sm_90; see the reasons above" in printed.err
    monkeypatch.setattr("sys.argv", ["tuner", "gate", *arguments, "--target", "sm_1"])
    assert exit_status(cli, "tuner") == 2
    assert "--target: 'sm_1' is not a target" in capsys.readouterr().err


def test_a_toolchain_that_is_not_there_says_how_to_make_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the place and the command."""
    monkeypatch.setenv("TUNED_DISPATCH_TOOLCHAINS", str(tmp_path / "none"))
    with pytest.raises(ToolchainError, match="make it: tuner toolchain install ascend"):
        gated(tmp_path, "good")


def test_a_toolchain_that_does_not_start_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a verdict nor a traceback."""
    broken = Toolchain(name="ascend", command=("/bin/false",), place="here", versions=())
    monkeypatch.setattr(gate_module, "find_toolchain", lambda _: broken)
    with pytest.raises(ToolchainError, match="here: does not start: the compiler's process ended"):
        gated(tmp_path, "good")


def test_after_an_interrupt_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says where the verdicts are, and that --fresh would begin anew."""
    case = copy_of(FICKLE, tmp_path / "case", ["good"])

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(gate_module, "gate_case", interrupted)
    arguments = [str(case), "--kb", str(tmp_path / "kb.sqlite"), "--target", "sm_90", "--fresh"]
    monkeypatch.setattr("sys.argv", ["tuner", "gate", *arguments])
    assert exit_status(cli, "tuner") == 130
    said = capsys.readouterr().err
    assert f"kept in {tmp_path / 'kb.sqlite'}; run the same command again, without --fresh" in said


def manifest_in(case: Path, *, above: str, source: str = "impl.py") -> Path:
    """Write a manifest that chooses `good` up to N = 10, and `above` from there on."""
    modes = {mode: Config(params=(("MODE", mode),)) for mode in dict.fromkeys(("good", above))}
    names = [config.id for config in modes.values()]
    root = {
        "feature": {"axis": "N"},
        "threshold": 10,
        "left": {"config": 0},
        "right": {"config": len(names) - 1},
    }
    raw = {
        "schema_version": 2,
        "kernel": {
            "name": "fickle",
            "source": {"file": source, "sha256": source_sha256_of(case / source)},
        },
        "target": {"device": "device"},
        "axes": [{"name": "N", "kind": "integer"}],
        "candidates": [Candidate.of(c).model_dump(exclude_defaults=True) for c in modes.values()],
        "default": names[0],
        "outside": "default",
        "selector": {"kind": "tree", "payload": {"root": root}, "config_ids": names},
    }
    path = case / "manifest.json"
    path.write_text(dump_manifest(parse_manifest(raw, name="test")))
    return path


@pytest.mark.usefixtures("starts")
def test_a_manifest_is_proven_leaf_by_leaf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only what it chooses is compiled, for shapes that it is chosen for; the default for all."""
    case = copy_of(FICKLE, tmp_path / "case", ["good", "over", "odd"])

    def run(*more: str) -> int:
        arguments = [str(case), "--manifest", str(case / "manifest.json"), "--quiet"]
        arguments += ["--kb", str(tmp_path / "kb.sqlite"), "--target", "ascend910b3", *more]
        monkeypatch.setattr("sys.argv", ["tuner", "gate", *arguments])
        return exit_status(cli, "tuner")

    manifest_in(case, above="good")
    assert run() == 0
    assert "1 of 1 configs kept" in capsys.readouterr().out
    manifest_in(case, above="over")
    assert run() == 1
    printed = capsys.readouterr()
    assert "1 of 2 configs kept" in printed.out
    assert 'MODE="over"  rejected on all shapes: ub overflow' in printed.out
    assert printed.err.endswith("manifest.json: chooses what does not fit ascend910b3\n")
    # A leaf that none of the shapes leads to is judged on one that does.
    assert run("--shapes", "2;4") == 1
    assert 'MODE="over"  rejected on all shapes: ub overflow' in capsys.readouterr().out
    manifest_in(case, above="single")
    assert (run(), run("--strict")) == (0, 1)
    capsys.readouterr()
    with (case / "impl.py").open("a") as file:
        file.write("CHANGED = True\n")
    assert run() == 2
    assert "is other code than" in capsys.readouterr().err


def test_a_module_is_emitted_only_if_it_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`codegen emit --gate` asks the tuner as a command; what does not fit is not written."""
    case = copy_of(FICKLE, tmp_path / "case", ["good", "over"])
    monkeypatch.setenv("FAKE_STARTS", str(tmp_path / "starts"))
    monkeypatch.setenv("TUNED_DISPATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TUNED_DISPATCH_TOOLCHAINS", str(tmp_path / "toolchains"))
    interpreter = tmp_path / "toolchains" / "ascend" / "bin" / "python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    interpreter.chmod(0o755)
    marker = Marker.of(RECIPES["ascend"], {})
    (tmp_path / "toolchains" / "ascend" / MARKER).write_text(dump_json(marker.model_dump()))

    def emit(above: str) -> int:
        path = manifest_in(case, above=above)
        arguments = ["codegen", "emit", str(path), "--gate", "ascend910b3"]
        monkeypatch.setattr("sys.argv", arguments)
        return exit_status(codegen_cli, "codegen")

    assert emit("over") == 2
    assert not (case / "impl_dispatch.py").exists()
    said = capsys.readouterr().err
    assert "manifest.json: the gate was not passed: MODE=" in said
    assert "ub overflow, needs 4194304 bits" in said
    assert emit("good") == 0
    assert (case / "impl_dispatch.py").exists()


# ---- What compilers print -------------------------------------------------------------------


@pytest.mark.parametrize("word", ["ub", "cc", "cbuf"])
def test_an_overflow_is_read_by_its_memory_and_its_bits(word: str) -> None:
    """After the retries that the compiler makes by itself the last one counts."""
    line = f"error: {word} overflow, requires 2097152 bits while 1048576 bits available! (…)"
    text = f"[NOTE] Due to …\n\x1b[31m{line.replace('2097152', '4000000')}\x1b[0m\n{line}\n"
    verdict = read_ascend(text, status=1)
    assert Overflow.of(verdict.failure) == Overflow(
        memory=word, needed=2097152, available=1048576, unit="bits"
    )


def test_a_binary_that_is_wanting_is_no_refusal() -> None:
    """The memory is planned by then; what single buffers cost is noted."""
    assert read_ascend(NO_BINARY, status=1) == KEPT
    assert read_ascend("", status=0) == KEPT
    noted = read_ascend(f"{SINGLE}\n{NO_BINARY}", status=1)
    assert noted.note == SINGLE.removeprefix("[NOTE] ")
    assert not noted.strictly().kept
    assert KEPT.strictly() == KEPT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("error: failed to legalize operation 'x'\n", "failed to legalize operation 'x'"),
        ("", "the compiler ended with status 139"),
        ("External hivmc run fails", "the compiler ended with status 139"),
        ("error: ub overflow, requires many bits while 3 bits available", "ub overflow, requires"),
        ("x" * 10**6, "x"),
    ],
)
def test_any_other_end_is_a_refusal_with_its_reason(text: str, message: str) -> None:
    """Of odd and endless output there is one line."""
    failure = read_ascend(text, status=139).failure
    assert failure
    assert failure.kind == "compile"
    assert failure.message.startswith(message)
    assert len(failure.message) <= 600


def test_shared_memory_is_held_against_the_targets_limit() -> None:
    """To the byte; without a size the compiler has refused the kernel."""
    assert read_gpu(HOPPER, 232_448, "") == KEPT
    over = read_gpu(HOPPER, 232_449, "").failure
    assert Overflow.of(over) == Overflow(
        memory="shared", needed=232449, available=232448, unit="bytes"
    )
    refused = read_gpu(HOPPER, None, "out of registers").failure
    assert refused == Failure(kind="compile", message="out of registers")


def test_of_several_launches_the_worst_counts() -> None:
    """A failure before a note before nothing."""
    failed = Verdict(failure=Failure(kind="compile", message="no"))
    noted = Verdict(note="half")
    assert worst([KEPT, noted, failed]) == failed
    assert worst([KEPT, noted]) == noted
    assert worst([KEPT]) == KEPT


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b'{"id": 1}',
        b'{"id": 2, "options": []}',
        b'{"id": 1, "options": [], "shapes": []}',
        b'{"id": 1, "launches": []}',
        b'{"id": 1, "shapes": [[-1]]}',
        b'{"id": 1, "shapes": [["4"]]}',
        b'{"id": 1, "options": [], "more": 1}',
        b'{"id": 1, "options": [], "options": []}',
        b"\xff\xfe",
    ],
)
def test_an_answer_that_is_none_is_not_taken_for_one(line: bytes) -> None:
    """A service runs code of others, which may print anything."""
    assert parse_answer(line, 1) is None


def test_targets_are_named_as_devices_are() -> None:
    """In any case and between commas, and by what a tuned device says of itself."""
    assert parse_targets("Ascend910B3, sm_90,sm_90") == (ASCEND, HOPPER)
    assert target_of_device("NVIDIA H200", "sm_90") == HOPPER
    assert target_of_device("Ascend910B3", None) == ASCEND
    assert target_of_device("AMD Instinct", "gfx942:sramecc+:xnack-") == TARGETS["gfx942"]
    assert target_of_device("a toaster", None) is None
    for text in ("", ",", "sm_90;sm_80"):
        with pytest.raises(ToolchainError, match="the targets are ascend910b1"):
            parse_targets(text)
