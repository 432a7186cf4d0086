"""The command `tuner fit`: what it writes and prints, and what it refuses without a trace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from codegen.command import exit_status
from codegen.manifest import load_manifest
from codegen.source_hash import source_sha256_of
from tuner.cli import cli

KERNEL = "def forward(x):\n    return x\n"
TABLE: dict[str, Any] = {
    "format": "latency-table/1",
    "kernel": "copy",
    "axis_names": ["M"],
    "device": "NVIDIA H200",
    "configs": [{"params": {"BLOCK": 64}}, {"params": {"BLOCK": 128}}],
    "shapes": [[1], [64], [1000], [4096]],
    "latency_us": [[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [4.0, 2.0]],
}


@pytest.fixture
def tuner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `tuner` in this process and an empty directory."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["tuner", *map(str, arguments)])
        status = exit_status(cli, "tuner")
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def table_file(**changes: Any) -> Path:
    """Write the good table with `changes` as `table.json`, and return its path."""
    path = Path("table.json")
    path.write_text(json.dumps(TABLE | changes))
    return path


def test_fit_writes_a_manifest_and_says_what_to_do_next(tuner: Any) -> None:
    """The summary gives shapes, configs, selector, default, regret and the next command."""
    status, out, err = tuner("fit", table_file(), "-o", "out.json")
    assert (status, err) == (0, "")
    manifest = load_manifest(Path("out.json"))
    assert manifest.kernel.name == "copy"
    assert manifest.outside == "default"
    assert out.splitlines() == [
        "shapes    4",
        "configs   2 kept, 0 rejected",
        "selector  tree: 2 leaves, depth 1, 2 configs used",
        "default   BLOCK=64",
        "ties      below 1.00%, for want of a second run",
        *out.splitlines()[5:8],
        "out.json: written",
        "next: codegen emit out.json",
    ]
    assert out.splitlines()[5].startswith("regret    geomean ")
    assert out.splitlines()[7] == "          on 4 shapes left out in turn; 1 is the oracle"


def test_the_same_table_gives_the_same_bytes(tuner: Any) -> None:
    """A second run changes nothing, and says so."""
    tuner("fit", table_file(), "-o", "out.json")
    before = Path("out.json").read_bytes()
    status, out, _ = tuner("fit", table_file(), "-o", "out.json")
    assert status == 0
    assert "out.json: unchanged" in out
    assert Path("out.json").read_bytes() == before


def test_the_source_is_hashed_and_named_from_the_manifest(tuner: Any) -> None:
    """By default the manifest goes beside the source; its name and hash stand in it."""
    Path("kernels").mkdir()
    source = Path("kernels/impl.py")
    source.write_text(KERNEL)
    assert tuner("fit", table_file(), "--source", source)[0] == 0
    written = load_manifest(Path("kernels/manifest.json")).kernel.source
    assert written is not None
    assert (written.file, written.sha256) == ("impl.py", source_sha256_of(source))
    assert tuner("fit", table_file(), "--source", source, "-o", "above.json")[0] == 0
    above = load_manifest(Path("above.json")).kernel.source
    assert above is not None
    assert above.file == "kernels/impl.py"


def test_a_table_of_another_source_is_refused_unless_it_still_holds(tuner: Any) -> None:
    """A table that names its source is fitted to no other, unless the user vouches for it."""
    Path("impl.py").write_text(KERNEL)
    table = table_file(source_sha256=source_sha256_of(Path("impl.py")))
    assert tuner("fit", table, "--source", "impl.py")[0] == 0
    Path("impl.py").write_text(KERNEL.replace("return x", "return x + 0"))
    before = Path("manifest.json").read_bytes()
    status, _, err = tuner("fit", table, "--source", "impl.py")
    assert status == 2
    assert "impl.py: is not the source that table.json was recorded of (recorded as " in err
    assert Path("manifest.json").read_bytes() == before
    assert tuner("fit", table, "--source", "impl.py", "--accept-source")[0] == 0
    written = load_manifest(Path("manifest.json")).kernel.source
    assert written is not None
    assert written.sha256 == source_sha256_of(Path("impl.py"))


def test_a_source_elsewhere_is_refused_with_the_remedy(tuner: Any) -> None:
    """A manifest names its source by a path beside or below it, so it has to be written there."""
    Path("a").mkdir()
    Path("b").mkdir()
    Path("a/impl.py").write_text(KERNEL)
    status, _, err = tuner("fit", table_file(), "--source", "a/impl.py", "-o", "b/manifest.json")
    assert status == 2
    assert "-o a/manifest.json" in err
    assert not Path("b/manifest.json").exists()


@pytest.mark.parametrize("selector", ["tree", "bucket", "constant"])
@pytest.mark.parametrize("outside", ["default", "nearest", "raise"])
def test_options_reach_the_manifest(tuner: Any, selector: str, outside: str) -> None:
    """Selector, outside and the kernel's name are those asked for."""
    options = ("--selector", selector, "--outside", outside, "--kernel", "other")
    status, _, _ = tuner("fit", table_file(), "-o", "out.json", *options)
    manifest = load_manifest(Path("out.json"))
    assert status == 0
    assert (manifest.selector.kind, manifest.outside) == (selector, outside)
    assert manifest.kernel.name == "other"


def test_a_directory_takes_the_default_name(tuner: Any) -> None:
    """`-o DIR` writes DIR/manifest.json."""
    Path("dir").mkdir()
    assert tuner("fit", table_file(), "-o", "dir")[0] == 0
    assert Path("dir/manifest.json").exists()


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["table.json"], "name the manifest with -o, or the kernel with --source"),
        (["-o", "out.json"], "Missing argument 'TABLE'"),
        (["table.json", "-o", "out.json", "--max-leaves", "0"], "0 is not in the range"),
        (["table.json", "-o", "out.json", "--max-depth", "65"], "65 is not in the range"),
        (["table.json", "-o", "out.json", "--selector", "forest"], "'forest' is not one of"),
        (["table.json", "-o", "out.json", "--outside", "clamp"], "'clamp' is not one of"),
        (["table.json", "-o", "out.json", "--kernel", ""], "kernel.name: is an empty string"),
        (["table.json", "-o", "out.json", "--source", "none.py"], "cannot read the kernel's"),
        (["none.json", "-o", "out.json"], "none.json: cannot be read: no such file"),
        (["table.json", "-o", "none/out.json"], "none/out.json: cannot be written"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(tuner: Any, arguments: list[str], match: str) -> None:
    """What is wrong is said without a traceback, and an output that exists stays as it was."""
    tuner("fit", table_file(), "-o", "out.json")
    before = Path("out.json").read_bytes()
    status, _, err = tuner("fit", *arguments)
    assert status == 2
    assert match in err
    assert "Traceback" not in err
    assert Path("out.json").read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"shapes": [[1], [64], [1000], [True]]}, "shapes[3][0]: true is not an integer"),
        ({"shapes": [[1], [64], [1000], [1]]}, "shapes[3]: shape [1] stands twice"),
        ({"latency_us": [[1.0, 2.0]] * 3}, "latency_us: has 3 rows for 4 shapes"),
        ({"latency_us": [[1.0, 2.0]] * 3 + [[1.0]]}, "latency_us[3]: has 1 values for 2"),
        ({"latency_us": [[1.0, 2.0]] * 3 + [[1.0, -1.0]]}, "latency_us[3][1]: "),
        ({"latency_us": [[1.0, None]] * 3 + [[None, 1.0]]}, "no config was measured on all 4"),
        ({"latency_us": [[None, None]] * 4}, "all 2 configs are rejected"),
        ({"rejected": {"5": "no"}}, "rejected: '5' is not the index of a config"),
        ({"unknown": 1}, "unknown: unknown key; remove it"),
    ],
)
def test_a_bad_table_leaves_the_output_alone(
    tuner: Any, changes: dict[str, Any], match: str
) -> None:
    """Nothing is written unless everything is sound."""
    tuner("fit", table_file(), "-o", "out.json")
    before = Path("out.json").read_bytes()
    status, _, err = tuner("fit", table_file(**changes), "-o", "out.json")
    assert status == 2
    assert match in err
    assert err.count("\n") == 1
    assert Path("out.json").read_bytes() == before


@pytest.mark.parametrize("text", ["notes", "[]", '{"a": 1}', '{"schema_version": 1, '])
def test_what_is_not_a_manifest_is_not_overwritten(tuner: Any, text: str) -> None:
    """A file that no tool of ours wrote stays, unless --force is given."""
    Path("out.json").write_text(text)
    status, _, err = tuner("fit", table_file(), "-o", "out.json")
    assert status == 2
    assert "out.json: exists, and is not a manifest; " in err
    assert Path("out.json").read_text() == text
    assert tuner("fit", table_file(), "-o", "out.json", "--force")[0] == 0
    assert load_manifest(Path("out.json")).kernel.name == "copy"


def test_the_table_itself_is_not_overwritten(tuner: Any) -> None:
    """`-o` naming the table is a slip."""
    path = table_file()
    before = path.read_bytes()
    assert tuner("fit", path, "-o", path)[0] == 2
    assert path.read_bytes() == before


def test_without_numpy_the_error_says_what_to_install(
    tuner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tuner's extra is named in full."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    status, _, err = tuner("fit", table_file(), "-o", "out.json")
    assert status == 2
    assert err == (
        "tuner: numpy: is not installed; install it: pip install numpy, or all that the tuner "
        "needs with the extra tuned-dispatch[tuner]\n"
    )


@pytest.mark.parametrize("code", ["import tuner", "import tuner.cli", "from tuner import Config"])
def test_numpy_is_not_imported_before_it_is_needed(code: str) -> None:
    """The import of the package and of its command is cheap, and so is `tuner --help`."""
    check = f"import sys; {code}; sys.exit('numpy' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_the_public_names_can_be_imported() -> None:
    """`__all__` holds what can be had, and an unknown name is an AttributeError."""
    import tuner

    assert all(getattr(tuner, name) for name in tuner.__all__)
    assert sorted(tuner.__all__) == tuner.__all__
    assert set(tuner.__all__) <= set(dir(tuner))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tuner.nothing  # noqa: B018


def test_the_command_knows_every_kind_and_its_limits() -> None:
    """What the command line offers, without numpy, is what the fit has."""
    from tuner.fit import KINDS, MAX_DEPTH, MAX_LEAVES

    options = {option.name: option for option in cli.commands["fit"].params}
    kinds = options["selector"].type
    assert isinstance(kinds, click.Choice)
    assert list(kinds.choices) == list(KINDS)
    assert options["max_leaves"].default == MAX_LEAVES
    assert options["max_depth"].default == MAX_DEPTH


@pytest.mark.parametrize("output", ["table.json", "impl.py"])
def test_force_does_not_destroy_what_the_manifest_is_made_from(output: str, tuner: Any) -> None:
    """Neither the table nor the source is overwritten by their manifest, not even by force."""
    Path("impl.py").write_text(KERNEL)
    table_file()
    before = Path(output).read_bytes()
    status, _, err = tuner("fit", "table.json", "--source", "impl.py", "-o", output, "--force")
    assert status == 2
    assert err.startswith(f"tuner: {output}: is what the manifest is made from; ")
    assert Path(output).read_bytes() == before


def test_a_device_is_no_manifest(tuner: Any) -> None:
    """A device is refused as output, also behind a link and by force."""
    Path("null.json").symlink_to("/dev/null")
    status, _, err = tuner("fit", table_file(), "-o", "null.json", "--force")
    assert (status, err.count("\n")) == (2, 1)
    assert "is not a regular file; " in err
    assert Path("/dev/null").is_char_device()
