"""The command `tuner convert`: what it writes and prints, and what it leaves as it is."""

from __future__ import annotations

import json
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from codegen.command import exit_status
from tuner.convert import ConvertError, postprocess_case
from tuner.convert_cli import convert, harvest
from tuner.errors import CaseError

IMPL = """import torch
import triton


@triton.jit
def kernel(x_ptr, n, BLOCK: "tl.constexpr"):
    pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        BLOCK = 128
        n = x.numel()
        kernel[(triton.cdiv(n, BLOCK),)](x, n, BLOCK=BLOCK, num_warps=8)
        return x
"""
SAMPLE: dict[str, Any] = {
    "op_name": "op",
    "shape_expr": "x.numel()",
    "config_param_names": ["BLOCK"],
    "axis_names": ["N"],
    "autotune": {"configs": [{"BLOCK": 128, "num_warps": 8}, {"BLOCK": 64, "num_warps": 4}]},
}
CONVERTED = "config = _select_config((x.numel(),))"


@pytest.fixture
def tuner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `tuner` in this process, where there is a case in `case`."""
    monkeypatch.chdir(tmp_path)
    case(tmp_path / "case")
    group = click.Group(commands={"convert": convert, "harvest": harvest})

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["tuner", *map(str, arguments)])
        status = exit_status(group, "tuner")
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def case(directory: Path, impl: str = IMPL, **changes: Any) -> Path:
    """Make a case in `directory` and return the kernel's file."""
    directory.mkdir(exist_ok=True)
    (directory / "sample.json").write_text(json.dumps(SAMPLE | changes))
    (directory / "impl.py").write_text(impl)
    return directory / "impl.py"


def test_the_kernel_is_rewritten_in_place(tuner: Any) -> None:
    """What was done and what comes next is said; a second run changes nothing."""
    path = Path("case/impl.py")
    path.chmod(0o755)
    assert tuner("convert", "case") == (
        0,
        "case/impl.py: converted\nnext: tuner tune case\n",
        "",
    )
    once = path.read_bytes()
    assert CONVERTED in path.read_text()
    assert "num_warps=config.num_warps" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert tuner("convert", "case") == (0, "case/impl.py: unchanged\n", "")
    assert path.read_bytes() == once
    assert [file.name for file in sorted(Path("case").iterdir())] == ["impl.py", "sample.json"]


def test_diff_and_check_write_nothing(tuner: Any) -> None:
    """The one prints a patch, the other tells by its status whether there is one."""
    status, out, err = tuner("convert", "case", "--diff")
    assert (status, err) == (0, "")
    assert "--- case/impl.py\n+++ case/impl.py\n@@ " in out
    assert "\n-        BLOCK = 128\n" in out
    assert '\n+        BLOCK = config.param("BLOCK")\n' in out
    assert Path("case/impl.py").read_text() == IMPL
    assert tuner("convert", "case", "--check") == (1, "case/impl.py: would be converted\n", "")
    assert Path("case/impl.py").read_text() == IMPL
    tuner("convert", "case")
    assert tuner("convert", "case", "--check") == (0, "case/impl.py: unchanged\n", "")
    assert tuner("convert", "case", "--diff") == (0, "", "")


def test_the_diff_is_a_patch(tuner: Any) -> None:
    """`patch` makes of the file what the command would."""
    _, out, _ = tuner("convert", "case", "--diff")
    command = shutil.which("patch")
    if command is None:
        pytest.skip("needs the program patch")
    patched = subprocess.run(
        [command, "-p0"], input=out, capture_output=True, text=True, check=False
    )
    assert patched.returncode == 0, patched.stdout + patched.stderr
    assert tuner("convert", "case", "--check")[0] == 0


def test_another_file_takes_its_own_dispatch_and_nothing_is_overwritten(tuner: Any) -> None:
    """`-o` leaves the kernel as it is; a file that holds something else wants --force."""
    assert tuner("convert", "case", "-o", "case/tuned.py")[0] == 0
    assert Path("case/impl.py").read_text() == IMPL
    assert "from . import tuned_dispatch as dispatch" in Path("case/tuned.py").read_text()
    assert tuner("convert", "case", "-o", "case/tuned.py")[0] == 0
    Path("case/tuned.py").write_text("mine = 1\n")
    status, _, err = tuner("convert", "case", "-o", "case/tuned.py")
    assert (status, err) == (
        2,
        (
            "tuner: case/tuned.py: exists, and holds something else; name another file with -o, or "
            "overwrite it with --force\n"
        ),
    )
    assert Path("case/tuned.py").read_text() == "mine = 1\n"
    assert tuner("convert", "case", "-o", "case/tuned.py", "--force")[0] == 0
    Path("other").mkdir()
    assert tuner("convert", "case", "-o", "other")[0] == 0
    assert CONVERTED in Path("other/impl.py").read_text()


def test_what_is_refused_leaves_everything_as_it_is(tuner: Any) -> None:
    """The line says where, what and what to do; the status is that of bad input."""
    text = IMPL.replace("BLOCK = 128", "BLOCK = min(128, x.numel())")
    case(Path("case"), text)
    status, out, err = tuner("convert", "case")
    assert (status, out) == (2, "")
    assert err == (
        "tuner: case/impl.py:12: BLOCK is computed, as min(128, x.numel()): it is no free "
        "parameter; take it out of config_param_names, or set it to a constant\n"
    )
    assert Path("case/impl.py").read_text() == text


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (IMPL.encode("utf-8-sig"), "utf-8-sig"),
        (f"# -*- coding: latin-1 -*-\n# Grüße\n{IMPL}".encode("latin-1"), "latin-1"),
        (IMPL.replace("\n", "\r\n").encode(), "utf-8"),
        (IMPL.rstrip("\n").encode(), "utf-8"),
        (f"# 日本\n{IMPL}".encode(), "utf-8"),
    ],
)
def test_bytes_that_are_not_changed_stay(tuner: Any, data: bytes, encoding: str) -> None:
    """Encoding, byte order mark, line ends and a missing last one are those of the file."""
    path = Path("case/impl.py")
    path.write_bytes(data)
    assert tuner("convert", "case")[0] == 0
    result = path.read_bytes()
    assert CONVERTED in result.decode(encoding)
    assert result[:20] == data[:20]
    assert result[-14:] == data[-14:]
    assert (result.count(b"\r\n") == result.count(b"\n")) == (b"\r\n" in data)
    assert tuner("convert", "case")[1] == "case/impl.py: unchanged\n"


@pytest.mark.parametrize(
    ("arguments", "err"),
    [
        (("nowhere",), "nowhere: does not exist; name the directory with impl.py and sample.json"),
        (("case/impl.py",), "case/impl.py: is not a directory; name the directory with impl.py"),
        (("case", "--impl", "none.py"), "none.py: cannot be read: no such file or directory"),
        (
            ("case", "-o", "no/such/impl.py"),
            "impl.py: cannot be written: no such file or directory",
        ),
        (("case", "-o", "case/my-op.py"), "'my-op' is not the name of a module; rename the file"),
        (("case", "--engine", "no-such-program"), "--engine: 'no-such-program' cannot be run: no"),
        (("case", "--engine", "'"), '--engine: "\'" is no command: no closing quotation'),
        (("case", "--engine", " "), "--engine: is empty; name a command"),
        (("case", "--engine", "false"), "--engine: 'false' ended with status 1; see what it"),
        (("case", "--engine", "true", "-o", "x.py"), "-o: is x.py; name an impl.py with -o"),
    ],
)
def test_bad_input_is_one_line(tuner: Any, arguments: tuple[str, ...], err: str) -> None:
    """With the status of bad input, and nothing changed."""
    status, out, said = tuner("convert", *arguments)
    assert (status, out) == (2, "")
    assert err in said
    assert said.count("\n") == 1
    assert Path("case/impl.py").read_text() == IMPL


@pytest.mark.parametrize(
    ("changes", "err"),
    [
        ({"shape_expr": "y.numel()"}, "shape_expr names 'y', which ModelNew.forward does not take"),
        ({"shape_expr": "x"}, "case/sample.json: shape_expr: 'x' may be one size or several"),
        ({"shape_expr": "f(x)"}, "case/sample.json: shape_expr: f(x) "),
        ({"config_param_names": ["BLOCK", "TILE"]}, "has no 'TILE', which config_param_names"),
        ({"config_param_names": 3}, "case/sample.json: config_param_names: 3 is not an array"),
        ({"autotune": {}}, "case/sample.json: lists no candidates"),
    ],
)
def test_a_sample_that_does_not_fit_is_said_to(tuner: Any, changes: Any, err: str) -> None:
    """What is wrong is found in the file where it stands."""
    case(Path("case"), **changes)
    status, _, said = tuner("convert", "case")
    assert status == 2
    assert err in said
    assert said.count("\n") == 1


def test_the_options_are_those_of_tune_yaml_where_there_is_one(tuner: Any) -> None:
    """Its candidates take the place of those of sample.json, in tuning as here."""
    Path("case/tune.yaml").write_text(
        "parameters: {BLOCK: [64, 128], num_stages: [2, 3]}\n"
        "configs: [{BLOCK: 32, num_stages: 1, num_warps: 2}]\n"
    )
    assert tuner("convert", "case")[0] == 0
    # num_warps is set by one candidate alone: it comes with all others, or not at all.
    launch = "kernel[(triton.cdiv(n, BLOCK),)](x, n, **config.all_kwargs())"
    assert launch in Path("case/impl.py").read_text()


def rewriter(text: str) -> str:
    """Return a command that puts `text` into impl.py, and looks at what else there is."""
    code = (
        "import os, pathlib\n"
        "assert sorted(os.listdir()) == ['base.py', 'impl.py', 'sample.json'], os.listdir()\n"
        f"pathlib.Path('impl.py').write_text({text!r})\n"
        "pathlib.Path('base.py').write_text('spoilt')\n"
    )
    return shlex.join([sys.executable, "-c", code])


@pytest.fixture
def good() -> str:
    """Return a file that keeps the contract, and is not what a conversion gives."""
    return (
        IMPL.replace("(self, x)", "(self, x, config=None)")
        .replace("class ModelNew", "from impl_dispatch import _select_config\n\n\nclass ModelNew")
        .replace(
            "        BLOCK = 128\n", "        if config is None:\n            " + CONVERTED + "\n"
        )
        .replace("BLOCK=BLOCK, num_warps=8", "**config.all_kwargs()")
        .replace("cdiv(n, BLOCK)", 'cdiv(n, config.param("BLOCK"))')
    )


def test_an_engine_that_keeps_the_contract_is_taken(tuner: Any, good: str) -> None:
    """It works on copies: what else it does there is its own business."""
    Path("case/base.py").write_text("class Model: pass\n")
    status, out, err = tuner("convert", "case", "--engine", rewriter(good))
    assert (status, out.splitlines()[0], err) == (0, "case/impl.py: converted", "")
    assert Path("case/impl.py").read_text() == good
    assert Path("case/base.py").read_text() == "class Model: pass\n"


def test_an_engine_that_breaks_the_contract_changes_nothing(tuner: Any, good: str) -> None:
    """Each breach is a line with the file's own name, and the check has failed."""
    Path("case/base.py").touch()
    bad = good.replace("if config is None", "if not config").replace('param("BLOCK")', 'param("B")')
    status, out, err = tuner("convert", "case", "--engine", rewriter(bad))
    assert status == 1
    lines = out.splitlines()
    assert len(lines) >= 2
    assert all(line.startswith("case/impl.py:") for line in lines)
    assert err == "case/impl.py: left as it is: what the engine wrote breaks the contract\n"
    assert Path("case/impl.py").read_text() == IMPL
    with pytest.raises(ConvertError, match=r"^case/impl\.py:\d+: "):
        postprocess_case(Path("case"), engine=rewriter(bad))


def test_an_engine_that_writes_no_python_changes_nothing(tuner: Any) -> None:
    """What it left is read as any file is."""
    Path("case/base.py").touch()
    status, _, err = tuner("convert", "case", "--engine", rewriter("def f(:"))
    assert status == 2
    assert "is not Python" in err
    assert Path("case/impl.py").read_text() == IMPL


def test_the_same_from_python(tmp_path: Path) -> None:
    """The file that was written is returned."""
    path = case(tmp_path / "case")
    assert postprocess_case(path.parent, output=tmp_path) == tmp_path / "impl.py"
    assert path.read_text() == IMPL
    assert postprocess_case(path.parent) == path
    assert path.read_text() == (tmp_path / "impl.py").read_text()
    with pytest.raises(CaseError, match=r"none: does not exist; name the directory"):
        postprocess_case(tmp_path / "none")


def test_help_does_not_wait_for_libcst() -> None:
    """Neither the commands nor the package import what only a conversion needs."""
    code = (
        "import sys, tuner.convert, tuner.convert_cli\n"
        "late = {'libcst', 'numpy', 'pydantic', 'torch', 'triton'} & {*sys.modules}\n"
        "assert not late, late\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_libcst_is_said_by_name(tuner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is part of the tuner's extra, and may not be there."""
    monkeypatch.setattr("tuner.needs.find_spec", lambda _: None)
    status, _, err = tuner("convert", "case")
    assert status == 2
    assert err.startswith("tuner: libcst: is not installed; install it: pip install libcst")
