"""The command line: what each command prints, writes and returns."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support import category, integer, load_module, manifest_of

from codegen._version import __version__
from codegen.errors import InternalError
from codegen.manifest import Manifest, dump_manifest, parse_manifest
from codegen.source_hash import source_sha256_of

if TYPE_CHECKING:
    from conftest import Command

GOLDEN = Path(__file__).parents[1] / "golden" / "cases"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(path: Path, *, outside: str = "default", **fields: Any) -> Path:
    """Write a manifest: M halved at 16 within 1 to 64, a dtype, one exact shape."""
    root = {
        "feature": {"product": [{"axis": "M"}, {"axis": "N"}]},
        "threshold": 1000,
        "left": {"config": 0},
        "right": {
            "category": "dtype",
            "values": ["float16"],
            "left": {"config": 1},
            "right": {"config": 2},
        },
    }
    manifest = manifest_of(
        axes=[integer("M", 1, 64), integer("N"), category("dtype", "float16", "float32", 8)],
        selector={
            "kind": "table",
            "payload": {
                "entries": [{"shape": [7, 7, "float32"], "config": 1}],
                "otherwise": {"kind": "tree", "payload": {"root": root}},
            },
        },
        outside=outside,
        default=3,
    )
    raw = manifest.model_dump(exclude_defaults=True) | fields
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump_manifest(parse_manifest(raw, name="test")))
    return path


def _kernel(directory: Path, stem: str = "impl", sha256: str | None = None) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    source = directory / f"{stem}.py"
    source.write_text("def kernel(x):\n    return 2 * x\n")
    about = {"file": source.name, "sha256": sha256 or source_sha256_of(source)}
    return _write(directory / "manifest.json", kernel={"name": "kernel", "source": about})


def _files(place: Path) -> list[str]:
    found = [path for path in place.rglob("*") if path.is_file()]
    return sorted(path.relative_to(place).as_posix() for path in found)


# emit


def test_emit_writes_beside_the_source(place: Path, command: Command) -> None:
    """`emit` writes <stem>_dispatch.py beside the source, and says whether that changed it."""
    _kernel(place / "k", stem="matmul")
    ran = command("emit", "k/manifest.json")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == "k/matmul_dispatch.py: written\n"
    again = command("emit", "k/manifest.json")
    assert (again.status, again.out) == (0, "k/matmul_dispatch.py: unchanged\n")


def test_emit_without_a_source_writes_beside_the_manifest(place: Path, command: Command) -> None:
    """A manifest without a source gives a module named after the manifest, beside it."""
    _write(place / "a" / "tuned.json")
    assert command("emit", "a/tuned.json").out == "a/tuned_dispatch.py: written\n"
    assert _files(place) == ["a/tuned.json", "a/tuned_dispatch.py"]


@pytest.mark.parametrize("output", ["out", "out/", "out/impl_dispatch.py", "out/x.py"])
def test_emit_writes_where_it_is_told(output: str, place: Path, command: Command) -> None:
    """`-o` is the module's file, or a directory that takes the module under its usual name."""
    _kernel(place)
    (place / "out").mkdir()
    wanted = output if output.endswith(".py") else "out/impl_dispatch.py"
    assert command("emit", "manifest.json", "-o", output).out == f"{wanted}: written\n"
    assert _files(place / "out") == [Path(wanted).name]


def test_a_directory_that_does_not_exist_is_no_name_for_a_file(
    place: Path, command: Command
) -> None:
    """With a slash at its end a directory is meant, and is not made by the way."""
    _write(place / "manifest.json")
    ran = command("emit", "manifest.json", "-o", "made/")
    assert ran.status == 2
    assert "made/ is not a directory; make it, or name a file" in ran.err
    assert not (place / "made").exists()
    (place / "made").mkdir()
    assert command("emit", "manifest.json", "-o", "made/").status == 0
    assert (place / "made" / "manifest_dispatch.py").exists()


def test_emit_warns_of_a_stale_source(place: Path, command: Command) -> None:
    """`emit` writes for a source that changed since it was tuned, and warns of it."""
    _kernel(place, sha256="0" * 64)
    ran = command("emit", "manifest.json")
    assert (ran.status, ran.out) == (0, "impl_dispatch.py: written\n")
    assert ran.err.startswith("warning: stale: impl.py has changed since it was tuned (tuned as 0")
    assert ran.err.count("\n") == 1


def test_emit_warns_of_a_source_that_is_no_python(place: Path, command: Command) -> None:
    """`emit` of a kernel whose source cannot be parsed is a warning or a refusal, in one line."""
    _kernel(place)
    (place / "impl.py").write_text("def kernel(:\n")
    ran = command("emit", "manifest.json")
    assert re.match(r"(warning|codegen): .*impl\.py:1: .+\n$", ran.err)
    assert ran.status == (0 if ran.err.startswith("warning") else 2)


def test_emit_takes_several_manifests(place: Path, command: Command) -> None:
    """Several manifests are emitted in the order given, each to its place."""
    ran = command("emit", _kernel(place / "b"), _kernel(place / "a"))
    assert ran.status == 0
    assert re.findall(r"(\w)/impl_dispatch\.py: written", ran.out) == ["b", "a"]


def test_emit_takes_several_manifests_into_a_directory(place: Path, command: Command) -> None:
    """Several manifests go to one directory, and to nothing else."""
    (place / "out").mkdir()
    first, second = _kernel(place / "a", stem="one"), _kernel(place / "b", stem="two")
    assert command("emit", first, second, "-o", "out").status == 0
    assert _files(place / "out") == ["one_dispatch.py", "two_dispatch.py"]
    ran = command("emit", first, second, "-o", "x.py")
    assert ran.status == 2
    assert "with several manifests -o has to be a directory" in ran.err


def test_two_manifests_never_share_a_module(place: Path, command: Command) -> None:
    """Two manifests that would be written to the same file are refused, and nothing is written."""
    (place / "out").mkdir()
    first, second = _kernel(place / "a"), _kernel(place / "b")
    ran = command("emit", first, second, "-o", "out")
    assert ran.status == 2
    assert re.fullmatch(r"codegen: out/impl_dispatch\.py: .+; .+\n", ran.err)
    assert _files(place / "out") == []


def test_emit_changes_nothing_unless_all_is_good(place: Path, command: Command) -> None:
    """When one of several manifests is broken, or one output is not ours, none is written."""
    good, bad = _kernel(place / "a"), _write(place / "b" / "manifest.json")
    bad.write_text("{")
    before = _files(place)
    assert command("emit", good, bad).status == 2
    assert _files(place) == before
    _kernel(place / "b")
    (place / "b" / "impl_dispatch.py").write_text("mine\n")
    assert command("emit", good, bad).status == 2
    assert _files(place) == [*before[:2], "b/impl.py", "b/impl_dispatch.py", "b/manifest.json"]


def test_emit_check_writes_nothing(place: Path, command: Command) -> None:
    """`emit --check` returns 1 while a module would change, 0 once it would not."""
    _kernel(place)
    ran = command("emit", "manifest.json", "--check")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == "impl_dispatch.py: would change; run: codegen emit manifest.json\n"
    assert not (place / "impl_dispatch.py").exists()
    command("emit", "manifest.json")
    ran = command("emit", "manifest.json", "--check")
    assert (ran.status, ran.out, ran.err) == (0, "", "")


@pytest.mark.parametrize("output", ["x.py", "out", "a b/it's.py"])
def test_the_command_that_emit_check_names_mends(
    output: str, place: Path, command: Command
) -> None:
    """The command that `emit --check` names, word for word, makes it pass, with -o or without."""
    _write(place / "my manifest.json")
    (place / "out").mkdir()
    (place / "a b").mkdir()
    ran = command("emit", "my manifest.json", "-o", output, "--check")
    assert ran.status == 1
    found = re.search(r"run: codegen (.+)$", ran.err)
    assert found
    assert command(*shlex.split(found[1])).status == 0
    assert command("emit", "my manifest.json", "-o", output, "--check").status == 0


def test_emit_diff_prints_what_would_change(place: Path, command: Command) -> None:
    """`emit --diff` prints a unified diff, writes nothing, and prints nothing when all is equal."""
    manifest = _write(place / "manifest.json")
    command("emit", "manifest.json")
    assert command("emit", "manifest.json", "--diff").out == ""
    _write(manifest, outside="raise")
    before = (place / "manifest_dispatch.py").read_text()
    ran = command("emit", "manifest.json", "--diff")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[:2] == ["--- a/manifest_dispatch.py", "+++ b/manifest_dispatch.py"]
    assert "-# outside    the default config" in lines
    assert "+# outside    a ValueError" in lines
    assert (place / "manifest_dispatch.py").read_text() == before


def test_emit_diff_and_check_go_together(place: Path, command: Command) -> None:
    """`emit --diff --check` prints the diff and returns 1."""
    _write(place / "manifest.json")
    ran = command("emit", "manifest.json", "--diff", "--check")
    assert ran.status == 1
    assert ran.out.startswith("--- a/manifest_dispatch.py\n+++ b/manifest_dispatch.py\n@@ -0,0 ")
    assert _files(place) == ["manifest.json"]


def test_a_version_1_is_emitted(place: Path, command: Command) -> None:
    """A manifest of version 1 is emitted, and its file stays as it is."""
    data = (GOLDEN / "version_1" / "manifest.json").read_bytes()
    (place / "manifest.json").write_bytes(data)
    assert command("emit", "manifest.json").status == 0
    assert (place / "manifest.json").read_bytes() == data
    module = load_module((place / "manifest_dispatch.py").read_text())
    assert module._select_config((1, 1, 1)).param("BLOCK_M") == 16


# show


def _shown(text: str) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for line in text.splitlines():
        label, _, rest = line.partition(" ")
        rows.setdefault(label, []).append(rest.strip())
    return rows


INSIDE = ["inside the tuned envelope"]
PRODUCT = "M * N <= 1000"


@pytest.mark.parametrize(
    ("outside", "shape", "place_", "path", "config"),
    [
        ("default", "8,8,float16", INSIDE, [f"{PRODUCT}: yes"], 0),
        ("default", " 8 , -8 , 8 ", INSIDE, [f"{PRODUCT}: yes"], 0),
        (
            "default",
            "64,64,float32",
            INSIDE,
            [f"{PRODUCT}: no", 'dtype in ("float16"): no'],
            2,
        ),
        ("default", "7,7,float32", INSIDE, ["an exact shape of the table"], 1),
        (
            "default",
            "65,1,float16",
            ["outside the tuned envelope (M = 65)"],
            ["outside: default"],
            3,
        ),
        (
            "default",
            "0,1,int8",
            ["outside the tuned envelope (M = 0, dtype = int8)"],
            ["outside: default"],
            3,
        ),
        (
            "nearest",
            "1000,100,float16",
            ["outside the tuned envelope (M = 1000)"],
            [
                "outside: nearest",
                "taken as M = 64, N = 100, dtype = float16",
                f"{PRODUCT}: no",
                'dtype in ("float16"): yes',
            ],
            1,
        ),
        (
            "nearest",
            "8,8,int8",
            ["outside the tuned envelope (dtype = int8)"],
            ["outside: nearest"],
            3,
        ),
        (
            "raise",
            "0,1,float16",
            ["outside the tuned envelope (M = 0)"],
            ["outside: raise"],
            None,
        ),
        ("raise", "8,8,float16", INSIDE, [f"{PRODUCT}: yes"], 0),
    ],
)
def test_show_explains_a_shape(
    outside: str,
    shape: str,
    place_: list[str],
    path: list[str],
    config: int | None,
    place: Path,
    command: Command,
) -> None:
    """`show` tells where a shape lies, the questions on its way, and the config it gets."""
    manifest = _write(place / "manifest.json", outside=outside)
    command("emit", "manifest.json")
    ids = json.loads(manifest.read_text())["selector"]["config_ids"]
    for target in ("manifest.json", "manifest_dispatch.py"):
        ran = command("show", target, "--shape", shape)
        assert (ran.status, ran.err) == (0, "")
        rows = _shown(ran.out)
        assert list(rows) == ["shape", "place", "path", "config"]
        assert rows["place"] == place_
        assert rows["path"] == path
        assert rows["config"] == ["none, ValueError" if config is None else ids[config]]


def test_show_repeats_the_shape(place: Path, command: Command) -> None:
    """`show` names each value by its axis, a category by the value of the axis."""
    _write(place / "manifest.json")
    ran = command("show", "manifest.json", "--shape", "8,-8,8")
    assert ran.out.startswith("shape   M = 8, N = -8, dtype = 8\n")


def test_show_agrees_with_the_module(command: Command) -> None:
    """`show` names the config that the module returns, at the edges of a golden tree."""
    manifest = GOLDEN / "tree_default" / "manifest.json"
    module = load_module((GOLDEN / "tree_default" / "tree_default_dispatch.py").read_text())
    for m, n, k in ((1, 16, 16), (32, 2048, 1024), (33, 64, 4097), (512, 4097, 65), (0, 16, 16)):
        ran = command("show", manifest, "--shape", f"{m},{n},{k}")
        params = dict(module._select_config((m, n, k)).kwargs)
        shown = _shown(ran.out)["config"][0]
        assert {f"{name}={value}" for name, value in params.items()} == {
            *shown.partition(";")[0].split(",")
        }


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ("8", "--shape: '8' has 1 values for 3 axes; give M,N,dtype"),
        ("1,2,float16,4", "--shape: '1,2,float16,4' has 4 values for 3 axes; give M,N,dtype"),
        ("x,2,float16", "--shape: 'x' is not an integer, as axis M wants; write whole numbers"),
        ("1.5,2,float16", "--shape: '1.5' is not an integer, as axis M wants; write whole "),
        (",2,float16", "--shape: '' is not an integer, as axis M wants; write whole numbers"),
        ("", "--shape: '' has 1 values for 3 axes; give M,N,dtype"),
        (f"{'9' * 5000},2,float16", "is not an integer, as axis M wants; "),
        ("1\n2,2,float16", "--shape: '1\\n2' is not an integer, as axis M wants; "),
    ],
)
def test_show_refuses_what_is_no_shape(
    shape: str, said: str, place: Path, command: Command
) -> None:
    """A shape of another length or with no integer where one belongs is refused in one line."""
    _write(place / "manifest.json")
    ran = command("show", "manifest.json", "--shape", shape)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_show_keeps_a_line_a_line(place: Path, command: Command) -> None:
    """A value that holds a line end does not break a line of what `show` prints."""
    _write(place / "manifest.json")
    ran = command("show", "manifest.json", "--shape", "8,8,a\nconfig  none")
    assert ran.status == 0
    assert [line.split()[0] for line in ran.out.splitlines()] == [
        "shape",
        "place",
        "path",
        "config",
    ]


def test_show_prints_what_the_terminal_cannot(place: Path) -> None:
    """A value that stdout cannot encode is shown escaped; it is no fault of ours."""
    _write(place / "manifest.json")
    ran = subprocess.run(
        [sys.executable, "-m", "codegen", "show", "manifest.json", "--shape", b"8,8,\xff"],
        env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    assert b"path    outside: default\n" in ran.stdout


def test_show_refuses_a_drifted_module(place: Path, command: Command) -> None:
    """`show` explains no module that is not what its manifest gives, and says how to mend it."""
    _write(place / "manifest.json")
    command("emit", "manifest.json", "-o", "x y.py")
    with (place / "x y.py").open("a") as file:
        file.write("# edited\n")
    ran = command("show", "x y.py", "--shape", "8,8,8")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == (
        "codegen: x y.py: drifted: it is not what its manifest gives; "
        "run: codegen emit manifest.json -o 'x y.py'\n"
    )
    assert command(*shlex.split(ran.err.partition("run: codegen ")[2])).status == 0
    assert command("show", "x y.py", "--shape", "8,8,8").status == 0


def test_show_refuses_what_is_not_ours(place: Path, command: Command) -> None:
    """`show` of another Python file, or of a file that is not there, is refused in one line."""
    (place / "x.py").write_text("x = 1\n")
    ran = command("show", "x.py", "--shape", "1")
    assert (ran.status, ran.err) == (
        2,
        "codegen: x.py: is not a module that codegen emitted; name a manifest\n",
    )
    for name, fact in (
        ("nowhere.py", "no such file"),
        ("nowhere.json", "cannot be read: no such file or directory"),
    ):
        ran = command("show", name, "--shape", "1")
        assert ran.status == 2
        assert ran.err.startswith(f"codegen: {name}: {fact}; ")


def test_a_source_that_cannot_be_parsed_is_a_warning(place: Path, command: Command) -> None:
    """A broken source is told when its module is emitted, and keeps no other from being."""
    first, second = _kernel(place / "a"), _kernel(place / "b")
    (place / "a" / "impl.py").write_text("def f(:\n")
    ran = command("emit", first, second)
    assert ran.status == 0
    assert ran.err.startswith("warning: ")
    assert ran.err.count("\n") == 1
    assert (place / "b" / "impl_dispatch.py").exists()


def test_all_is_written_though_the_reader_has_gone(place: Path) -> None:
    """`codegen emit … | head -0` writes every module."""
    manifests = [_kernel(place / name) for name in "abc"]
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "codegen", "emit", *map(str, manifests)]
    ran = subprocess.run(command, stdout=writer, check=False)
    os.close(writer)
    assert ran.returncode == 0
    assert all((place / name / "impl_dispatch.py").exists() for name in "abc")


# schema, hash, and the command itself


def test_schema_prints_the_schema(command: Command) -> None:
    """`schema` prints the JSON Schema of a manifest."""
    ran = command("schema")
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out) == Manifest.model_json_schema()


def test_schema_into_a_closed_pipe_is_silent() -> None:
    """A reader that has gone away, as in `codegen schema | head -1`, is no error."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "codegen", "schema"]
    ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_help_into_a_closed_pipe_is_silent() -> None:
    """The reader of the help may go away as well."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "codegen", "emit", "--help"]
    ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_hash_prints_what_a_manifest_holds(place: Path, command: Command) -> None:
    """`hash` prints a line a source: the hash that a manifest holds, and the path."""
    _kernel(place)
    (place / "x.py").write_text("# nothing\n")
    ran = command("hash", "impl.py", "x.py")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"{source_sha256_of(place / name)}  {name}" for name in ("impl.py", "x.py")
    ]
    held = json.loads((place / "manifest.json").read_text())["kernel"]["source"]["sha256"]
    assert ran.out.startswith(f"{held}  impl.py\n")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere.py", "nowhere.py: cannot read the kernel's source: no such file or directory; "),
        (".", ".: cannot read the kernel's source: is not a regular file; "),
        ("bad.py", "bad.py:2: Python 3."),
    ],
)
def test_hash_refuses_what_is_no_source(
    name: str, said: str, place: Path, command: Command
) -> None:
    """A source that is missing, a directory or no Python is refused in one line."""
    (place / "bad.py").write_text("x = 1\ny = (\n")
    ran = command("hash", name)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.lower().startswith(f"codegen: {said}".lower())
    assert ran.err.count("\n") == 1


def test_the_version_is_that_of_the_package(command: Command) -> None:
    """`--version` prints the name and the version."""
    assert command("--version").out == f"codegen {__version__}\n"


def test_help_lists_the_commands_in_the_order_of_use(command: Command) -> None:
    """`--help`, and `-h`, list the commands as they are used, and the exit statuses."""
    ran = command("--help")
    assert ran.status == 0
    assert re.findall(r"^  (\w+)  ", ran.out, re.MULTILINE) == [
        "emit",
        "check",
        "show",
        "schema",
        "hash",
    ]
    assert "Exit status: 0 good, 1 a check failed, 2 bad input or usage, 70 a fault" in ran.out
    assert command("-h").out == ran.out


@pytest.mark.parametrize("arguments", [("emit",), ("emit", "--nope"), ("nope",), ("show", "x")])
def test_a_wrong_usage_is_status_2(arguments: tuple[str, ...], command: Command) -> None:
    """A wrong usage is one line that says what is wrong and where to read on, and returns 2."""
    ran = command(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert re.fullmatch(r"codegen: .+; see `codegen.* --help`\n", ran.err)


@pytest.mark.parametrize(
    "fault",
    [InternalError("the module holds a While"), ValueError("no"), AssertionError(), KeyError("x")],
)
def test_a_fault_of_ours_is_status_70(
    fault: Exception, place: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the program's own is told as such, with its trace, and returns 70."""

    def fail(_: str) -> str:
        raise fault

    _write(place / "manifest.json")
    monkeypatch.setattr("codegen.emit.finished", fail)
    ran = command("emit", "manifest.json")
    assert ran.status == 70
    assert ran.err.startswith("Traceback (most recent call last):\n")
    assert type(fault).__name__ in ran.err
    assert ran.err.splitlines()[-1] == (
        "codegen: internal error: this is a fault of codegen, not of your input; please report it "
        "with the lines above and the manifest"
    )
    assert _files(place) == ["manifest.json"]


def test_an_interruption_is_status_130(
    place: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends the command with one word and status 130, nothing written."""

    def interrupt(_: str) -> str:
        raise KeyboardInterrupt

    _write(place / "manifest.json")
    monkeypatch.setattr("codegen.emit.finished", interrupt)
    ran = command("emit", "manifest.json")
    assert (ran.status, ran.err.strip()) == (130, "codegen: interrupted")
    assert _files(place) == ["manifest.json"]


def test_a_real_process_returns_the_same_statuses(place: Path, process: Command) -> None:
    """The installed command returns 0, 1 and 2 to the shell."""
    _write(place / "manifest.json")
    assert process("emit", "manifest.json", "--check").status == 1
    assert process("emit", "manifest.json").status == 0
    assert process("check", ".").status == 0
    assert process("emit", "nowhere.json").status == 2
