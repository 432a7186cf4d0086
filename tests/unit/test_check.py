"""`codegen check`: is each module what its manifest gives, and its source what was tuned?"""

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
from support import category, integer, manifest_of

from codegen.manifest import dump_manifest, parse_manifest
from codegen.source_hash import source_sha256_of

if TYPE_CHECKING:
    from conftest import Command, Ran

SOURCE = '''"""A kernel."""


def kernel(x):
    """Return twice `x`."""
    return 2 * x  # as fast as it gets
'''


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _raw(**fields: Any) -> dict[str, Any]:
    manifest = manifest_of(
        axes=[integer("M", 1, 64), category("dtype", "float16", "float32")],
        selector={"kind": "constant", "payload": {"config": 1}},
    )
    return manifest.model_dump(exclude_defaults=True) | fields


def _write(path: Path, **fields: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump_manifest(parse_manifest(_raw(**fields), name="test")))
    return path


def _kernel(directory: Path) -> Path:
    """Make `directory` the place of a tuned kernel: impl.py and its manifest; return the latter."""
    directory.mkdir(parents=True, exist_ok=True)
    source = directory / "impl.py"
    source.write_text(SOURCE)
    about = {"file": "impl.py", "sha256": source_sha256_of(source)}
    return _write(directory / "manifest.json", kernel={"name": "kernel", "source": about})


def _mend(ran: Ran, command: Command) -> Ran:
    """Run the command that the message names, word for word."""
    found = re.search(r"run: codegen (.+)$", ran.err, re.MULTILINE)
    assert found, ran.err
    return command(*shlex.split(found[1]))


def test_a_fresh_module_is_good(place: Path, command: Command) -> None:
    """A module that was just emitted, its source as it was tuned, is good."""
    command("emit", _kernel(place / "generated" / "matmul"))
    ran = command("check")
    assert ran.status == 0
    assert ran.out == "generated/matmul/impl_dispatch.py: ok\n1 checked, 0 failed\n"
    assert ran.err == ""


def test_the_golden_modules_are_good(command: Command) -> None:
    """The modules among the golden files pass the check as they stand."""
    ran = command("check", Path(__file__).parents[1] / "golden" / "cases")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith("11 checked, 0 failed\n")


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_an_edited_module_has_drifted(place: Path, command: Command) -> None:
    """A module in which a number was edited has drifted, and the command that is named mends it."""
    command("emit", _kernel(place / "k"))
    _edit(place / "k/impl_dispatch.py", "<= M <= 64", "<= M <= 65")
    ran = command("check", "k")
    assert ran.status == 1
    assert ran.err == (
        "k/impl_dispatch.py: drifted: it is not what its manifest gives; "
        "run: codegen emit k/manifest.json\n"
    )
    assert ran.out == "1 checked, 1 failed\n"
    assert _mend(ran, command).status == 0
    assert command("check", "k").status == 0


def test_a_manifest_that_changed_has_drifted(place: Path, command: Command) -> None:
    """A module whose manifest was changed has drifted, and the command that is named mends it."""
    manifest = _kernel(place / "k")
    command("emit", manifest)
    _edit(manifest, '"outside": "default"', '"outside": "raise"')
    ran = command("check", "k/impl_dispatch.py")
    assert ran.status == 1
    assert "drifted" in ran.err
    assert _mend(ran, command).status == 0
    assert command("check", "k/impl_dispatch.py").status == 0


@pytest.mark.parametrize(
    ("manifest", "output"),
    [
        ("m.json", "m_dispatch.py"),
        ("m.json", "other.py"),
        ("a b/m.json", "a b/other.py"),
        ("a b/it's $HOME.json", "c d/x (1).py"),
        ("é/漢.json", "ü/ö.py"),
        ("-m.json", "-x.py"),
        ("deep/er/m.json", "up.py"),
        ("m.json", "deep/er/x.py"),
        ("soft\xadhyphen \u202e.json", "x.py"),
        (" m .json", " x .py"),
        ("#.json", "'x'.py"),
    ],
)
def test_the_command_that_is_named_mends_any_place(
    manifest: str, output: str, place: Path, command: Command
) -> None:
    """A module is found through its header, and mended by the named command, wherever both lie."""
    _write(place / manifest)
    (place / output).parent.mkdir(parents=True, exist_ok=True)
    assert command("emit", "-o", f"./{output}", f"./{manifest}").status == 0
    assert command("check", f"./{output}").status == 0
    with (place / output).open("a") as file:
        file.write("# edited\n")
    ran = command("check", f"./{output}")
    assert ran.status == 1
    assert "drifted" in ran.err
    assert _mend(ran, command).status == 0
    assert command("check", f"./{output}").status == 0


def test_the_header_tells_how_the_module_is_made_again(place: Path, command: Command) -> None:
    """The line `regenerate` of a module, run where the module stands, makes it again."""
    _write(place / "a b.json")
    command("emit", "a b.json", "-o", "c d.py")
    text = (place / "c d.py").read_text()
    found = re.search(r"^# regenerate codegen (.+)$", text, re.MULTILINE)
    assert found
    (place / "c d.py").unlink()
    assert command(*shlex.split(found[1])).status == 0
    assert (place / "c d.py").read_text() == text


@pytest.mark.parametrize("part", range(24))
def test_no_byte_of_a_module_can_be_changed_unseen(
    part: int, place: Path, command: Command
) -> None:
    """A module in which any one byte was changed fails the check, in a line a fault."""
    module = place / "k" / "impl_dispatch.py"
    command("emit", _kernel(place / "k"))
    data = module.read_bytes()
    at = len(data) * part // 24 + part % 7
    for byte in (b"\x00", b"Z" if data[at : at + 1] != b"Z" else b"Y"):
        module.write_bytes(data[:at] + byte + data[at + 1 :])
        ran = command("check", "k")
        assert ran.status == 1, ran.err
        assert ran.err.startswith("k/impl_dispatch.py: ")
        assert ran.err.count("k/impl_dispatch.py: ") == ran.err.count("\n") == 1
        assert ran.out == "1 checked, 1 failed\n"


def test_other_line_ends_are_drift(place: Path, command: Command) -> None:
    """A module whose line ends became CRLF has drifted."""
    module = place / "k" / "impl_dispatch.py"
    command("emit", _kernel(place / "k"))
    module.write_bytes(module.read_bytes().replace(b"\n", b"\r\n"))
    ran = command("check", "k")
    assert ran.status == 1
    assert _mend(ran, command).status == 0
    assert command("check", "k").status == 0


def test_a_module_that_lost_its_first_line_is_told_how_to_return(
    place: Path, command: Command
) -> None:
    """A module whose first line was edited fails, and the command that is named mends it."""
    command("emit", _kernel(place / "k"))
    _edit(place / "k/impl_dispatch.py", "# Generated by", "# generated by")
    ran = command("check", "k")
    assert ran.status == 1
    assert "k/impl_dispatch.py: is not a module that codegen emitted; " in ran.err
    assert _mend(ran, command).status == 0
    assert command("check", "k").status == 0


def test_code_that_changed_is_stale(place: Path, command: Command) -> None:
    """A source whose code changed is stale: both hashes are told, and what to do."""
    command("emit", _kernel(place / "k"))
    tuned = source_sha256_of(place / "k/impl.py")
    _edit(place / "k/impl.py", "return 2 * x", "return x + x")
    now = source_sha256_of(place / "k/impl.py")
    ran = command("check", "k")
    assert ran.status == 1
    assert ran.err == (
        f"k/impl_dispatch.py: stale: k/impl.py has changed since it was tuned (tuned as "
        f"{tuned[:12]}, now {now[:12]}); undo the change, or tune again and emit\n"
    )
    _edit(place / "k/impl.py", "return x + x", "return 2 * x")
    assert command("check", "k").status == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("as fast as it gets", "faster than it looks"),
        ("  # as fast as it gets", ""),
        ("return 2 * x", "return (2   *   x)"),
        ("\n\n\ndef", "\n\nfrom .impl_dispatch import _select_config\n\n\ndef"),
        ('"""A kernel."""\n', '"""A kernel."""\nfrom __future__ import annotations\n'),
    ],
)
def test_what_is_not_code_is_not_stale(old: str, new: str, place: Path, command: Command) -> None:
    """A change of comments, layout or the dispatch import alone leaves a source as tuned."""
    command("emit", _kernel(place / "k"))
    _edit(place / "k/impl.py", old, new)
    ran = command("check", "k")
    assert (ran.status, ran.err) == (0, "")


def test_a_module_can_be_drifted_and_stale(place: Path, command: Command) -> None:
    """A module with both faults is told of both, and so is one whose source is gone."""
    command("emit", _kernel(place / "k"))
    _edit(place / "k/impl_dispatch.py", "<= M <= 64", "<= M <= 65")
    _edit(place / "k/impl.py", "return 2 * x", "return x + x")
    ran = command("check", "k")
    assert re.findall(r": (\w+): ", ran.err) == ["drifted", "stale"]
    (place / "k/impl.py").unlink()
    ran = command("check", "k")
    assert ran.status == 1
    assert (
        "drifted: it is not what its manifest gives; run: codegen emit k/manifest.json" in ran.err
    )
    assert "k/impl.py: cannot read the kernel's source: no such file or directory; " in (
        ran.err.lower()
    )


def test_a_source_that_is_no_python_is_told(place: Path, command: Command) -> None:
    """A source that cannot be parsed any more is a fault of that module, with its line."""
    command("emit", _kernel(place / "k"))
    (place / "k/impl.py").write_text("def kernel(:\n")
    ran = command("check", "k")
    assert ran.status == 1
    assert re.match(r"k/impl_dispatch\.py: k/impl\.py:1: .+; .+\n$", ran.err)


@pytest.mark.parametrize("target", ["k", "k/manifest.json"])
def test_a_missing_module_is_told(target: str, place: Path, command: Command) -> None:
    """A manifest without its module fails, and the command that is named mends it."""
    _kernel(place / "k")
    ran = command("check", target)
    assert ran.status == 1
    assert ran.err == ("k/impl_dispatch.py: was never emitted; run: codegen emit k/manifest.json\n")
    assert _mend(ran, command).status == 0
    assert command("check", target).status == 0


def test_a_missing_module_of_a_manifest_with_another_name_is_told(
    place: Path, command: Command
) -> None:
    """The manifest of a missing module is named also when it is not called manifest.json."""
    _write(place / "tuned.json")
    ran = command("check", "tuned.json")
    assert ran.status == 1
    assert _mend(ran, command).status == 0
    assert command("check", "tuned.json").status == 0


def test_a_module_whose_manifest_is_gone_is_told(place: Path, command: Command) -> None:
    """A module whose manifest is missing fails with the manifest's path."""
    manifest = _kernel(place / "k")
    command("emit", manifest)
    manifest.unlink()
    ran = command("check", "k")
    assert ran.status == 1
    assert ran.err == (
        "k/impl_dispatch.py: k/manifest.json: cannot be read: no such file or directory; "
        "name a readable JSON file\n"
    )


def test_a_broken_manifest_is_the_fault_of_its_module(place: Path, command: Command) -> None:
    """One broken manifest does not keep the other modules from being checked."""
    command("emit", _kernel(place / "a"), _kernel(place / "b"))
    (place / "a/manifest.json").write_text("{")
    ran = command("check", ".")
    assert ran.status == 1
    assert ran.out == "b/impl_dispatch.py: ok\n2 checked, 1 failed\n"
    assert ran.err.startswith("a/impl_dispatch.py: a/manifest.json:1: is not JSON: ")


def test_a_broken_manifest_without_a_module_does_not_end_the_check(
    place: Path, command: Command
) -> None:
    """A manifest that is broken before it was ever emitted is told beside the other verdicts."""
    command("emit", _kernel(place / "b"))
    _kernel(place / "a").write_text("{")
    ran = command("check", ".")
    assert ran.status in {1, 2}
    assert "a/manifest.json:1: is not JSON: " in ran.err
    assert "b/impl_dispatch.py: ok\n" in ran.out


@pytest.mark.parametrize("target", ["k", "k/impl_dispatch.py", "."])
def test_what_is_not_text_has_drifted(target: str, place: Path, command: Command) -> None:
    """A module that is no UTF-8 any more fails like any other drift, and is mended as told."""
    command("emit", _kernel(place / "k"))
    with (place / "k/impl_dispatch.py").open("ab") as file:
        file.write(b"\xff")
    ran = command("check", target)
    assert ran.status == 1
    assert ran.out == "1 checked, 1 failed\n"
    assert ran.err.startswith("k/impl_dispatch.py: drifted: ")
    assert _mend(ran, command).status == 0
    assert command("check", target).status == 0


def test_nothing_to_check_is_a_fault_of_the_caller(place: Path, command: Command) -> None:
    """A directory without modules, and a path that is not there, are refused in one line."""
    (place / "empty").mkdir()
    (place / "empty" / "x.py").write_text("x = 1\n")
    ran = command("check", "empty")
    assert ran.status == 2
    assert ran.err == (
        "codegen: empty: holds no emitted module and no manifest.json; "
        "name a module, or emit one: codegen emit MANIFEST\n"
    )
    ran = command("check", "nowhere")
    assert ran.status == 2
    assert ran.err == (
        "codegen: nowhere: no such file or directory; name a module or a directory\n"
    )
    assert command("check").status == 2


def test_a_file_that_is_not_ours_fails(place: Path, command: Command) -> None:
    """A Python file that codegen did not emit is no good module."""
    (place / "x.py").write_text("x = 1\n")
    ran = command("check", "x.py")
    assert ran.status == 1
    assert ran.err.startswith("x.py: is not a module that codegen emitted; ")


@pytest.mark.parametrize("hidden", [".git", ".venv/lib", "k/.cache"])
def test_hidden_directories_are_not_looked_into(hidden: str, place: Path, command: Command) -> None:
    """Neither modules nor manifests below a directory with a dot are checked."""
    command("emit", _kernel(place / "k"))
    command("emit", _kernel(place / hidden))
    (place / hidden / "impl_dispatch.py").write_text("# Generated by tuned-dispatch 0\n")
    (place / hidden / "more").mkdir()
    (place / hidden / "more" / "manifest.json").write_text('{"name": "an extension"}')
    ran = command("check", ".")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == "k/impl_dispatch.py: ok\n1 checked, 0 failed\n"


def test_modules_are_checked_in_order(place: Path, command: Command) -> None:
    """All that lies below a directory is checked in the order of the paths, each once."""
    names = ["c", "a/b", "a", "d"]
    command("emit", *(_kernel(place / name) for name in names))
    ran = command("check", ".")
    modules = ["a/b/impl_dispatch.py", "a/impl_dispatch.py", "c/impl_dispatch.py"]
    assert ran.out.splitlines() == [
        *(f"{module}: ok" for module in [*modules, "d/impl_dispatch.py"]),
        "4 checked, 0 failed",
    ]


def test_two_modules_may_share_a_manifest(place: Path, command: Command) -> None:
    """A manifest that was emitted elsewhere, too, has two modules, each checked by itself."""
    manifest = _write(place / "manifest.json")
    command("emit", manifest)
    command("emit", manifest, "-o", place / "x.py")
    assert command("check", ".").out.endswith("2 checked, 0 failed\n")
    _edit(place / "x.py", "<= M <= 64", "<= M <= 65")
    ran = command("check", ".")
    assert ran.status == 1
    assert ran.err.startswith("x.py: drifted: ")
    assert _mend(ran, command).status == 0
    assert command("check", ".").status == 0


def test_a_header_that_names_nothing_readable_is_no_fault_of_ours(
    place: Path, command: Command
) -> None:
    """A module whose header names a path that cannot exist fails like any other."""
    command("emit", _kernel(place / "k"))
    _edit(place / "k/impl_dispatch.py", "manifest   manifest.json", "manifest   m\x00.json")
    ran = command("check", "k/impl_dispatch.py")
    assert ran.status == 1
    assert ran.err.startswith("k/impl_dispatch.py: ")
    assert ran.err.count("\n") == 1


def test_an_old_manifest_can_be_checked(place: Path, command: Command) -> None:
    """A module emitted from a manifest of version 1 is checked like any other."""
    data = (Path(__file__).parents[1] / "data" / "manifest_v1.json").read_bytes()
    (place / "manifest.json").write_bytes(data)
    command("emit", "manifest.json")
    assert command("check", ".").status == 0
    raw = json.loads(data)
    raw["selector"]["payload"]["root"]["threshold"] = 2
    (place / "manifest.json").write_text(json.dumps(raw))
    assert command("check", ".").status == 1


def test_a_directory_that_cannot_be_read_fails(
    place: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be looked into is not passed over: it is not known to be good."""
    command("emit", _kernel(place / "k"))
    walk = os.walk

    def denied(top: Path, onerror: Any = None) -> Any:
        onerror(PermissionError(13, "Permission denied", "k/closed"))
        return walk(top)

    monkeypatch.setattr("os.walk", denied)
    ran = command("check", "k")
    assert ran.status == 1
    assert ran.err == "k/closed: cannot be read: permission denied; make it readable\n"
    assert ran.out == "k/impl_dispatch.py: ok\n2 checked, 1 failed\n"


def test_a_pipe_in_a_directory_is_not_waited_for(place: Path, process: Command) -> None:
    """A named pipe called like a module, a manifest or the source does not hold up the check."""
    process("emit", _kernel(place / "k"))
    os.mkfifo(place / "k" / "x.py")
    (place / "more").mkdir()
    os.mkfifo(place / "more" / "manifest.json")
    assert process("check", ".", timeout=20).out == "k/impl_dispatch.py: ok\n1 checked, 0 failed\n"
    (place / "k" / "impl.py").unlink()
    os.mkfifo(place / "k" / "impl.py")
    ran = process("check", "k", timeout=20)
    assert ran.status == 1
    assert "cannot read the kernel's source: is not a regular file; " in ran.err


def test_a_reader_that_has_gone_does_not_hide_a_failure(place: Path) -> None:
    """`codegen check | head -0` still ends with 1 when a module failed."""
    _kernel(place / "k")
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(
        [sys.executable, "-m", "codegen", "check", "k"], stdout=writer, stderr=writer, check=False
    )
    os.close(writer)
    assert ran.returncode == 1
