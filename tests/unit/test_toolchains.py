"""Environments of compilers: found where they are whole, made anew where they are not."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from codegen.json_text import dump_json
from tuner.errors import ToolchainError
from tuner.toolchains import environment, install
from tuner.toolchains.environment import MARKER, Marker, find_toolchain, interpreter_of, read_marker
from tuner.toolchains.install import install_toolchain, python_for
from tuner.toolchains.recipes import RECIPES, Recipe

ASCEND = RECIPES["ascend"]
HERE = (sys.version_info[0], sys.version_info[1])


def made(parent: Path, marker: Marker) -> None:
    """Write down an environment that is only its marker and an interpreter's name."""
    directory = parent / marker.name
    interpreter_of(directory).parent.mkdir(parents=True)
    interpreter_of(directory).touch()
    (directory / MARKER).write_text(dump_json(marker.model_dump()))


def test_an_environment_is_known_by_its_marker(tmp_path: Path) -> None:
    """Its compiler's versions are part of the target."""
    made(tmp_path, Marker.of(ASCEND, {"triton-ascend": "3.2.0", "ascendnpu-ir": "1.2.0"}))
    found = find_toolchain("ascend", tmp_path)
    assert found.versions == (("ascendnpu-ir", "1.2.0"), ("triton-ascend", "3.2.0"))
    assert found.command == (str(tmp_path / "ascend" / "bin" / "python"),)


def test_what_is_not_whole_is_no_environment(tmp_path: Path) -> None:
    """Nothing there, a killed install, another recipe's: each says so, and what to type."""
    remedy = f"make it: tuner toolchain install ascend --to {tmp_path}"
    with pytest.raises(ToolchainError, match="there is no such environment") as none:
        find_toolchain("ascend", tmp_path)
    assert none.value.remedy == remedy
    (tmp_path / "ascend").mkdir()
    with pytest.raises(ToolchainError, match="holds an install that was not finished"):
        find_toolchain("ascend", tmp_path)
    (tmp_path / "ascend" / MARKER).write_text("{")
    assert read_marker(tmp_path / "ascend") is None
    (tmp_path / "ascend").rename(tmp_path / "old")
    made(tmp_path, Marker.of(replace(ASCEND, steps=(("install", "torch==1.0.0"),)), {}))
    with pytest.raises(ToolchainError, match="is of other versions than this tuner is made for"):
        find_toolchain("ascend", tmp_path)


def test_an_interpreter_must_be_one_that_the_wheels_are_for(tmp_path: Path) -> None:
    """By name or found; the error says which version is wanted."""
    fitting = replace(ASCEND, pythons=(HERE,))
    assert python_for(fitting, sys.executable) == sys.executable
    assert python_for(fitting) == sys.executable
    other = replace(ASCEND, pythons=((3, 2),))
    with pytest.raises(ToolchainError, match=r"is CPython \d\.\d+, and ascend needs CPython 3\.2"):
        python_for(other, sys.executable)
    with pytest.raises(ToolchainError, match=r"needs CPython 3\.2, and there is none in PATH"):
        python_for(other)
    with pytest.raises(ToolchainError, match="is no Python, and ascend needs"):
        python_for(fitting, str(tmp_path / "none"))


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """Let the recipe of `cuda` be one whose package no index has."""
    step = ("install", "--no-index", "no-such-package-of-ours==1.0")
    found = replace(RECIPES["cuda"], steps=(step,), pythons=(HERE,))
    for module in (environment, install):
        monkeypatch.setattr(module, "RECIPES", {**RECIPES, "cuda": found})
    monkeypatch.setattr(environment, "own_toolchain", lambda: None)
    return found


@pytest.mark.usefixtures("recipe")
def test_a_failed_install_says_what_failed_and_is_begun_anew(tmp_path: Path) -> None:
    """What it left is no environment, and the next attempt removes it."""
    lines: list[str] = []
    for _ in range(2):
        with pytest.raises(ToolchainError, match=r"pip install failed: .*no-such-package-of-ours"):
            install_toolchain("cuda", lines.append, parent=tmp_path)
    assert read_marker(tmp_path / "cuda") is None
    assert any("holds an install that was not finished or is old; removed" in x for x in lines)


@pytest.mark.usefixtures("recipe")
def test_no_directory_of_others_is_removed(tmp_path: Path) -> None:
    """What lies there and is no environment stays."""
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda" / "thesis.tex").touch()
    with pytest.raises(ToolchainError, match="exists, and is not an environment of Python"):
        install_toolchain("cuda", lambda _: None, parent=tmp_path)
    assert (tmp_path / "cuda" / "thesis.tex").exists()
