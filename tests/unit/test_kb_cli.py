"""The commands `tuner kb`: what they print and write, and what they refuse without a trace."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import click
import pytest
from test_kb import AT, LARGE, LATER, REFUSED, TARGET, keep, kept, record, tampered, timing

from codegen.command import Command, exit_status
from codegen.source_hash import source_sha256_of
from tuner.kb.policy import POLICIES
from tuner.kb_cli import kb
from tuner.records import Failure, Scope
from tuner.table import read_table

COPY = Scope(source_sha256="cd" * 32, kernel="copy", target=TARGET, axis_names=("M", "N"))
KB = Path("kb.sqlite")


@pytest.fixture
def tuner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `tuner kb` in this process and an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUNED_DISPATCH_HOME", str(tmp_path / "home"))
    cli = Command.Group("tuner", commands={"kb": kb})

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["tuner", "kb", *map(str, arguments)])
        status = exit_status(cli, "tuner")
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def some(tuner: Any) -> None:
    """Make a knowledge base of two scopes."""
    del tuner
    keep(KB, record(1, 2), record(10, 2, config=LARGE, result=REFUSED), used="2026-12-02")
    keep(KB, record(3, 4, result=timing(0.5), at=LATER), scope=COPY)


@pytest.mark.usefixtures("some")
def test_list_prints_a_line_a_scope(tuner: Any) -> None:
    """What was measured, on what, how much of it, and when."""
    status, out, err = tuner("list", "--kb", KB)
    assert (status, err) == (0, "")
    headings, *lines = [re.split("  +", line) for line in out.splitlines()]
    assert headings == [
        *("kernel", "source", "device", "arch", "toolchain", "shapes x configs"),
        *("measured", "failed", "last measured", "last used"),
    ]
    target = ("NVIDIA H200", "sm_90", "torch 2.11.0, triton 3.6.0")
    assert lines == [
        ["copy", "cdcdcdcdcdcd", *target, "1 x 1", "1", "0", "2026-12-01", "-"],
        ["matmul", "abababababab", *target, "2 x 2", "1", "1", "2026-11-30", "2026-12-02"],
    ]
    assert len({line.index("NVIDIA") for line in out.splitlines()[1:]}) == 1


def test_the_default_is_the_users_knowledge_base(tuner: Any) -> None:
    """Without --kb, it is the one in the tuner's home; if there is none, its place is said."""
    home = Path("home").resolve() / "kb.sqlite"
    status, out, err = tuner("list")
    assert (status, out) == (2, "")
    assert err == (
        f"tuner: {home}: there is no such file; name a knowledge base that exists; a tuning run "
        "makes one\n"
    )
    assert not home.parent.exists()
    keep(home)
    assert tuner("list") == (0, f"{home}: holds no rows\n", "")
    keep(home, record(1, 2))
    assert "matmul" in tuner("list")[1]
    for command in (["show"], ["export", "-"], ["prune", "--unused-for", "90d"]):
        assert tuner(*command)[0] == 0


@pytest.mark.usefixtures("some")
def test_show_prints_what_each_config_did(tuner: Any) -> None:
    """A line names what rows share, and each row has shape, config and result."""
    status, out, err = tuner("show", "--kb", KB)
    assert (status, err) == (0, "")
    on = "on NVIDIA H200 sm_90, torch 2.11.0, triton 3.6.0: (M, N), float16"
    small, large = "BLOCK_M=32,BLOCK_N=64;num_warps=4", LARGE.id
    assert [re.split("   *", line) for line in out.splitlines()] == [
        [f"copy cdcdcdcdcdcd {on}"],
        ["", "3, 4", small, "0.500 us, spread 1.0% of 9 repeats"],
        [f"matmul abababababab {on}"],
        ["", "1, 2", small, "12.250 us, spread 1.0% of 9 repeats"],
        ["", "10, 2", large, "resources: out of resource: shared memory"],
    ]


@pytest.mark.usefixtures("some")
@pytest.mark.parametrize(
    ("options", "shapes"),
    [
        (["--kernel", "matmul"], ["1, 2", "10, 2"]),
        (["--kernel", "mat"], []),
        (["--source", "cdcd"], ["3, 4"]),
        (["--device", "h200"], ["3, 4", "1, 2", "10, 2"]),
        (["--device", "910B"], []),
        (["--toolchain", "triton 3.6"], ["3, 4", "1, 2", "10, 2"]),
        (["--toolchain", "triton 3.7"], []),
        (["--shape", "10, 2"], ["10, 2"]),
        (["--shape", "10"], []),
        (["--dtype", "float16", "--inputs", ""], ["3, 4", "1, 2", "10, 2"]),
        (["--inputs", "scale=2"], []),
        (["--failed"], ["10, 2"]),
        (["--failed", "--kernel", "copy"], []),
    ],
)
def test_rows_are_chosen_by_what_they_are(
    tuner: Any, options: list[str], shapes: list[str]
) -> None:
    """Options narrow, each one further; nothing left is said."""
    status, out, err = tuner("show", "--kb", KB, *options)
    assert (status, err) == (0, "")
    rows = [line[2:].split("  ")[0] for line in out.splitlines() if line.startswith("  ")]
    assert rows == shapes
    assert shapes or out == "no row fits; `tuner kb list` prints what is there\n"


def test_rows_are_chosen_by_a_file_as_it_is_now(tuner: Any) -> None:
    """A kernel's file stands for its hash."""
    Path("impl.py").write_text("def forward(x):\n    return x\n")
    sha256 = source_sha256_of(Path("impl.py"))
    keep(KB, record(1, 2))
    keep(
        KB,
        record(3, 4),
        scope=Scope(source_sha256=sha256, kernel="own", target=TARGET, axis_names=("M", "N")),
    )
    out = tuner("show", "--kb", KB, "--source", "impl.py")[1]
    assert out.startswith(f"own {sha256[:12]} on ")
    Path("impl.py").write_text("def forward(x):\n    return x + 1\n")
    assert tuner("show", "--kb", KB, "--source", "impl.py")[1].startswith("no row fits")


def test_show_says_how_many_rows_it_left_out(tuner: Any) -> None:
    """Fifty rows are printed, or as many as are asked for."""
    keep(KB, *[record(i, 2) for i in range(60)])
    lines = tuner("show", "--kb", KB)[1].splitlines()
    assert len(lines) == 52
    assert lines[-1] == "10 more rows; print them with --limit 60"
    assert tuner("show", "--kb", KB, "--limit", 59)[1].splitlines()[-1].startswith("1 more row;")
    assert len(tuner("show", "--kb", KB, "--limit", 60)[1].splitlines()) == 61


def test_hostile_text_is_printed_escaped_and_cut(tuner: Any) -> None:
    """No terminal is taken over, and no line is endless."""
    evil = "\x1b[2J\r\n\u202e" + "x" * 3_000
    scope = Scope(source_sha256="cd" * 32, kernel=evil[:499], target=TARGET, axis_names=("M", "N"))
    keep(KB, record(1, 2, result=Failure(kind="crash", message=evil), inputs=evil), scope=scope)
    keep(Path("b.sqlite"), record(1, 2, inputs=evil), scope=scope)
    for command in (
        ["list", "--kb", KB],
        ["show", "--kb", KB],
        ["import", "b.sqlite", "--kb", KB, "--on-conflict", "fastest"],
        ["export", "-", "--kb", KB],
    ):
        status, out, err = tuner(*command)
        assert (status, err) == (0, "")
        assert not {"\x1b", "\r", "\u202e"} & set(out)
        assert command[0] == "export" or max(map(len, out.splitlines())) < 400


@pytest.mark.usefixtures("some")
def test_an_export_is_the_same_bytes_each_time_and_can_be_taken_in(tuner: Any) -> None:
    """Rows go out as lines, and come back as they were, into a file that is made."""
    status, out, err = tuner("export", "all.jsonl", "--kb", KB)
    assert (status, out, err) == (0, "all.jsonl: written, 3 rows\n", "")
    assert tuner("export", "all.jsonl", "--kb", KB)[1] == "all.jsonl: unchanged, 3 rows\n"
    text = Path("all.jsonl").read_text()
    assert tuner("export", "-", "--kb", KB)[1] == text
    header, *lines = map(json.loads, text.splitlines())
    assert header == {"format": "tuned-dispatch-kb/1", "records": 3}
    assert lines[2] == {
        "scope": {
            "kernel": "matmul",
            "source_sha256": "ab" * 32,
            "axis_names": ["M", "N"],
            "device": "NVIDIA H200",
            "arch": "sm_90",
            "toolchain": {"torch": "2.11.0", "triton": "3.6.0"},
        },
        "config": {"params": {"BLOCK_N": 128, "BLOCK_M": 128}, "num_warps": 8, "num_stages": 3},
        "shape": [10, 2],
        "dtype": "float16",
        "inputs": "",
        "failure": {"kind": "resources", "message": "out of resource: shared memory"},
        "at": AT,
        "used_at": "2026-12-02",
    }
    new = Path("new/copy.sqlite")
    status, out, err = tuner("import", "all.jsonl", "--kb", new)
    assert (status, err) == (0, "")
    assert out == (
        "all.jsonl: 3 rows: 3 new, 0 known already, 0 replaced, 0 kept; 0 results dropped\n"
    )
    assert tuner("export", "-", "--kb", new)[1] == text
    assert kept(new) == kept(KB)


@pytest.mark.usefixtures("some")
def test_an_export_may_be_a_part(tuner: Any) -> None:
    """The options of `show` choose what is exported."""
    out = tuner("export", "-", "--kb", KB, "--kernel", "copy")[1]
    assert [json.loads(line)["shape"] for line in out.splitlines()[1:]] == [[3, 4]]
    assert tuner("export", "none.jsonl", "--kb", KB, "--kernel", "x")[1].endswith(", 0 rows\n")
    assert tuner("import", "none.jsonl", "--kb", KB)[1].startswith("none.jsonl: 0 rows: 0 new")


@pytest.mark.usefixtures("some")
def test_a_table_is_exported_for_the_fit(tuner: Any) -> None:
    """One scope makes one table; several are listed, and nothing is written."""
    status, out, err = tuner("export", "t.json", "--kb", KB, "--table", "--kernel", "matmul")
    assert (status, out, err) == (0, "t.json: written, 2 rows\n", "")
    table = read_table(Path("t.json"))
    assert (table.kernel, table.source_sha256) == ("matmul", "ab" * 32)
    assert table.reasons == (
        "resources on shape (10, 2): out of resource: shared memory",
        None,
    )
    status, out, err = tuner("export", "u.json", "--kb", KB, "--table")
    assert (status, out) == (2, "")
    assert err == (
        "tuner: --table: the rows make 2 tables: "
        "copy cdcdcdcdcdcd on NVIDIA H200, torch 2.11.0, triton 3.6.0, float16; "
        "matmul abababababab on NVIDIA H200, torch 2.11.0, triton 3.6.0, float16; "
        "choose one with --kernel, --source, --device, --toolchain or --dtype\n"
    )
    assert not Path("u.json").exists()
    assert "no row fits" in tuner("export", "-", "--kb", KB, "--table", "--kernel", "x")[2]


@pytest.mark.usefixtures("some")
def test_an_export_overwrites_nothing_but_an_export(tuner: Any) -> None:
    """Neither the knowledge base itself nor anyone's notes, nor a device."""
    Path("notes").write_text("notes")
    Path("empty").touch()
    before = KB.read_bytes()
    for place in (KB, "notes", "/dev/null", ".", "none/x.jsonl"):
        status, out, err = tuner("export", place, "--kb", KB)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"tuner: {place}: ") or str(place).startswith("none")
    assert KB.read_bytes() == before
    assert Path("notes").read_text() == "notes"
    assert tuner("export", "empty", "--kb", KB)[0] == 0
    assert tuner("export", "empty", "--kb", KB, "--table", "--kernel", "copy")[0] == 0


def conflicting() -> tuple[Path, Path]:
    """Make two knowledge bases with one key that has two results, and a row of its own each."""
    one, other = Path("one.sqlite"), Path("other.sqlite")
    keep(one, record(1, 2), record(3, 4), record(9, 9))
    keep(other, record(1, 2, result=timing(99.0), at=LATER), record(3, 4), record(5, 6))
    return one, other


@pytest.mark.parametrize(
    ("policy", "stays", "dropped"),
    [
        ("newest", timing(99.0), "12.250 us of 2026-11-30T21:04:32Z; there is 99.000 us of 2026"),
        ("fastest", timing(12.25), "99.000 us of 2026-12-01T00:00:00Z; there is 12.250 us of 2"),
    ],
)
def test_merge_says_what_it_dropped(tuner: Any, policy: str, stays: Any, dropped: str) -> None:
    """The policy decides, the counts are said, and the report holds what was dropped, whole."""
    one, other = conflicting()
    options = ["--into", "all.sqlite", "--policy", policy, "--report", "dropped.jsonl"]
    status, out, err = tuner("merge", one, other, *options)
    assert (status, err) == (0, "")
    replaced, stayed = (1, 0) if policy == "newest" else (0, 1)
    assert out.splitlines()[0] == (
        f"all.sqlite: 6 rows: 4 new, 1 known already, {replaced} replaced, {stayed} kept; "
        "1 result dropped"
    )
    label = "dropped  matmul abababababab (1, 2) BLOCK_M=32,BLOCK_N=64;num_warps=4: "
    assert out.splitlines()[1].startswith(label + dropped)
    assert len(out.splitlines()) == 2
    assert [r.shape for r in kept(Path("all.sqlite"))] == [(1, 2), (3, 4), (5, 6), (9, 9)]
    assert kept(Path("all.sqlite"))[0].result == stays
    report = Path("dropped.jsonl").read_text().splitlines()
    lost = json.loads(report[1])["timing"]["median_us"]
    assert (len(report), {lost, stays.median_us}) == (2, {12.25, 99.0})
    assert tuner("import", "dropped.jsonl", "--kb", "lost.sqlite")[0] == 0


def test_merge_lists_the_first_few_it_dropped(tuner: Any) -> None:
    """Of many, five are printed; the report has them all."""
    keep(KB, *[record(i, 2) for i in range(8)])
    keep(Path("b"), *[record(i, 2, result=timing(1.0), at=LATER) for i in range(8)])
    out = tuner("merge", "b", "--into", KB, "--report", "r.jsonl")[1].splitlines()
    assert len(out) == 7
    assert out[-1] == "dropped  3 more"
    assert len(Path("r.jsonl").read_text().splitlines()) == 9


def test_a_merge_that_fails_changes_nothing(tuner: Any) -> None:
    """A conflict, a bad source or a report that cannot be written: all or nothing."""
    one, other = conflicting()
    before = kept(one)
    Path("notes").write_text("notes")
    bad = Path("bad.sqlite")
    keep(bad, record(7, 7), record(8, 8))
    tampered(bad, "UPDATE record SET shape = '[' WHERE id = 2")
    for arguments, match in (
        ([other, "--policy", "error"], "one.sqlite: 1 row would have two different results, the"),
        ([other, "none"], "none: there is no such file; "),
        ([other, "notes"], "notes:1: is not JSON"),
        ([other, bad], "bad.sqlite: record 2: shape: is not JSON"),
        ([other, one], "one.sqlite: is the knowledge base itself; name another one to take"),
        ([other, "."], ".: is a directory; name a file"),
        ([other, "--report", "notes"], "notes: exists, and is neither an export nor a table"),
        ([other, "--report", one], "one.sqlite: exists, and is neither an export nor a table"),
        ([other, "--report", "none/r"], "none/r: cannot be written: no such file or directory"),
    ):
        status, out, err = tuner("merge", *arguments, "--into", one)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert match in err
        assert kept(one) == before


@pytest.mark.parametrize("policy", POLICIES)
def test_import_takes_the_policies_of_merge(tuner: Any, policy: str) -> None:
    """A conflict is settled, or refused with nothing changed."""
    one, other = conflicting()
    assert tuner("export", "other.jsonl", "--kb", other)[0] == 0
    status, out, err = tuner("import", "other.jsonl", "--kb", one, "--on-conflict", policy)
    if policy == "error":
        assert (status, len(kept(one))) == (2, 3)
        assert "nothing was changed; choose newest or fastest to keep one of the two" in err
    else:
        assert (status, len(kept(one))) == (0, 4)
        assert "1 result dropped" in out


def test_an_import_with_one_bad_line_takes_in_none(tuner: Any) -> None:
    """The line is named, and the rows before it stay out."""
    keep(KB, record(1, 2), record(3, 4))
    assert tuner("export", "a.jsonl", "--kb", KB)[0] == 0
    path = Path("a.jsonl")
    path.write_text(path.read_text().replace("[3, 4]", '[3, "4"]'))
    status, out, err = tuner("import", "a.jsonl", "--kb", "new.sqlite")
    assert (status, out) == (2, "")
    assert err == (
        "tuner: a.jsonl:3: shape[1]: '4' is not an integer; write it without quotes or decimal "
        "point\n"
    )
    assert not Path("new.sqlite").exists()


def ago(days: int) -> str:
    """Return the time `days` ago as records have it."""
    moment = datetime.now(timezone.utc) - timedelta(days=days)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_prune_moves_what_nobody_used_to_the_archive_and_merge_brings_it_back(tuner: Any) -> None:
    """First it can be asked how many that would be; the archive is a knowledge base."""
    keep(KB, record(1, 2, at=ago(100)), record(3, 4, at=ago(10)))
    keep(KB, record(5, 6, at=ago(100)), scope=COPY, used=ago(20)[:10])
    before = kept(KB)
    arguments = ("prune", "--unused-for", "90d", "--kb", KB)
    assert tuner(*arguments, "--dry-run") == (
        0,
        "kb.sqlite: 1 row of 1 scope would be moved to kb.archive.sqlite\n",
        "",
    )
    assert kept(KB) == before
    assert not Path("kb.archive.sqlite").exists()
    assert tuner(*arguments)[1].splitlines() == [
        "kb.sqlite: 1 row of 1 scope moved to kb.archive.sqlite",
        "to undo: tuner kb merge kb.archive.sqlite --into kb.sqlite",
    ]
    assert kept(KB) == before[1:]
    assert kept(Path("kb.archive.sqlite")) == before[:1]
    assert tuner(*arguments)[1] == "kb.sqlite: no row is unused for 90d\n"
    assert tuner("merge", "kb.archive.sqlite", "--into", KB)[0] == 0
    assert kept(KB) == before
    assert tuner("prune", "--unused-for", "3w", "--kb", KB, "--archive", "a b")[1].endswith(
        "to undo: tuner kb merge 'a b' --into kb.sqlite\n"
    )
    assert "1 new, 0 known" in tuner("import", "a b", "--kb", KB)[1]
    assert kept(KB, COPY) == (record(5, 6, at=kept(KB, COPY)[0].at),)


def test_prune_refuses_the_file_itself_as_the_archive(tuner: Any) -> None:
    """Rows would be lost, or wait for themselves."""
    keep(KB, record(1, 2, at=ago(100)))
    for archive in (KB, KB.resolve()):
        status, _, err = tuner("prune", "--unused-for", "1d", "--kb", KB, "--archive", archive)
        assert (status, err.count("\n")) == (2, 1)
        assert "is the knowledge base itself; name another file as the archive" in err
    assert len(kept(KB)) == 1


@pytest.mark.usefixtures("some")
@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["show", "--shape", "1,x"], "--shape: '1,x' is not a shape; write sizes as 128,4096"),
        (["show", "--shape", "9" * 5000], "--shape: '999"),
        (["show", "--source", "xyz"], "--source: 'xyz' is neither a Python file nor the begin"),
        (["show", "--source", "none.py"], "none.py: cannot read the kernel's source"),
        (["show", "--limit", "0"], "0 is not in the range"),
        (["export"], "Missing argument 'FILE'"),
        (["import"], "Missing argument 'FILE'"),
        (["import", "none"], "none: there is no such file"),
        (["import", "a", "--on-conflict", "oldest"], "'oldest' is not one of"),
        (["merge", "a"], "Missing option '--into'"),
        (["prune"], "Missing option '--unused-for'"),
        (["prune", "--unused-for", "soon"], "--unused-for: 'soon' is not a duration; write"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(tuner: Any, arguments: list[str], match: str) -> None:
    """What is wrong is said without a traceback."""
    file = [] if arguments[0] == "merge" else ["--kb", KB]
    status, out, err = tuner(*arguments, *file)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert match in err


@pytest.mark.parametrize("command", ["list", "show", "export", "prune"])
def test_what_is_no_knowledge_base_is_one_line_for_every_command(tuner: Any, command: str) -> None:
    """Nothing is made or changed by a slip of the name."""
    Path("notes").write_text("notes")
    more = {"export": ["-"], "prune": ["--unused-for", "1d"]}.get(command, [])
    for name, match in (
        ("notes", "notes: is not a SQLite database"),
        ("none", "none: there is no such file"),
        (".", ".: is a directory"),
    ):
        status, out, err = tuner(command, *more, "--kb", name)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert match in err
    assert [p.name for p in Path().iterdir()] == ["notes"]


def test_the_commands_know_every_policy() -> None:
    """What the command line offers, without pydantic, is what there is."""
    for command, name in (("import", "policy"), ("merge", "policy")):
        options = {option.name: option for option in kb.commands[command].params}
        policies = options[name].type
        assert isinstance(policies, click.Choice)
        assert tuple(policies.choices) == POLICIES


def test_help_does_not_wait_for_sqlite() -> None:
    """The import of the commands is cheap."""
    heavy = "{'sqlite3', 'pydantic', 'numpy'}"
    check = f"import sys, tuner.kb_cli; sys.exit(bool({heavy} & {{*sys.modules}}))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
