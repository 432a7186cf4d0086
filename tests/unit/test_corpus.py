"""Kernels as people write them: each is converted rightly, or refused with the reason."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
from corpus.loading import ENTRIES, Entry, entries

from codegen.command import exit_status
from codegen.config import LAUNCH_OPTIONS
from tuner.cases.sample import read_sample
from tuner.contract import breaches

INTERPRETED = Path(__file__).parents[1] / "corpus" / "interpreted.py"
WRITTEN_OUT = entries("module", "function")
AUTOTUNED = entries("autotuned")
REFUSED = entries("refused")
BATCHES = tuple(WRITTEN_OUT[i::4] for i in range(4))
# How many configs the decorator of each lists.
LISTED = {
    "autotuned_add": 3,
    "autotuned_function": 2,
    "autotuned_heuristics": 2,
    "autotuned_matmul": 6,
    "autotuned_pruned": 3,
    "autotuned_rms_norm": 3,
    "autotuned_softmax": 8,
}

needs_triton = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("triton", "torch"))),
    reason="needs Triton and torch, whose interpreter runs kernels on the CPU",
)


def each(found: tuple[Entry, ...]) -> Any:
    """Return the mark that runs a test for each entry of `found`."""
    return pytest.mark.parametrize("entry", found, ids=lambda entry: entry.name)


@cache
def converted(name: str, *, times: int = 1) -> str:
    """Return the text of the entry `name`, converted by what its sample.json says."""
    from tuner.convert import convert_source

    (entry,) = (entry for entry in ENTRIES if entry.name == name)
    told = entry.sample
    options = [name for name in LAUNCH_OPTIONS if any(name in each for each in entry.candidates)]
    return convert_source(
        entry.text if times == 1 else converted(name, times=times - 1),
        name="impl.py",
        shape_expr=told["shape_expr"],
        config_param_names=told["config_param_names"],
        launch_options=options,
    )


def interpreted(*arguments: str) -> list[dict[str, Any]]:
    """Return what `interpreted.py` says of each run."""
    command = [sys.executable, str(INTERPRETED), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def wrong(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the runs that computed something else, or failed."""
    return [run for run in runs if run["wrong"] is not None]


@pytest.fixture
def harvest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Return a function that runs `tuner harvest` in this process."""
    from tuner.convert_cli import harvest as command

    group = click.Group(commands={"harvest": command})

    def run(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["tuner", "harvest", *map(str, arguments)])
        status = exit_status(group, "tuner")
        return status, capsys.readouterr().err

    return run


def test_the_corpus_is_what_it_says() -> None:
    """There are at least 40 kernels, a dozen to be refused; each has its files, and no others."""
    assert len(ENTRIES) >= 40
    assert len(REFUSED) >= 12
    assert {entry.name for entry in AUTOTUNED} == {*LISTED}
    for entry in ENTRIES:
        files = {path.name for path in entry.directory.iterdir()} - {"__pycache__"}
        assert files == {
            "impl.py",
            "sample.json",
            "inputs.py" if entry.refusal is None else "refused.json",
        }
        # What names no candidates is harvested; the others are read as a case's file is.
        sample = read_sample(entry.directory / "sample.json")
        assert sample.candidates or "@triton.autotune" in entry.text


@each(WRITTEN_OUT)
def test_a_kernel_as_people_write_it_breaks_the_contract(entry: Entry) -> None:
    """Before conversion it takes no config, and is said to take none."""
    found = breaches(entry.impl, case=entry.directory)
    assert any("has no param config" in breach.fact for breach in found)


@each(WRITTEN_OUT)
def test_what_is_converted_keeps_the_contract(entry: Entry, tmp_path: Path) -> None:
    """It takes its config from the dispatch, and asks for the shape that is tuned."""
    (tmp_path / "impl.py").write_text(converted(entry.name))
    assert breaches(tmp_path / "impl.py", case=entry.directory) == ()
    assert breaches(tmp_path / "impl.py") == ()


@each(WRITTEN_OUT)
def test_a_second_conversion_changes_nothing(entry: Entry) -> None:
    """What is converted is left as it is, byte for byte."""
    once = converted(entry.name)
    assert once != entry.text
    assert converted(entry.name, times=2) == once


@each(WRITTEN_OUT)
def test_the_kernel_itself_stays_as_it_is(entry: Entry) -> None:
    """No line that computes anything on the device is touched."""
    before = [line for line in entry.text.splitlines() if "tl." in line]
    after = [line for line in converted(entry.name).splitlines() if "tl." in line]
    # The default of a constexpr param is where a constant may stand.
    assert [line for line in before if " = 256)" not in line] == [
        line for line in after if " = 256)" not in line
    ]


@each(tuple(entry for entry in REFUSED if entry.refusal and entry.refusal.by == "convert"))
def test_what_cannot_be_converted_for_sure_is_refused(entry: Entry) -> None:
    """The message names the line and the reason."""
    from tuner.convert import ConvertError

    assert entry.refusal is not None
    with pytest.raises(ConvertError, match=r"^impl\.py") as caught:
        converted(entry.name)
    line = entry.refusal.line
    assert caught.value.where == (f"impl.py:{line}" if line else "impl.py")
    assert entry.refusal.reason in str(caught.value)


@each(tuple(entry for entry in REFUSED if entry.refusal and entry.refusal.by == "harvest"))
def test_what_cannot_be_harvested_is_refused(harvest: Any, entry: Entry, tmp_path: Path) -> None:
    """The message names the line and the reason, and nothing is written."""
    assert entry.refusal is not None
    status, err = harvest(entry.impl, "-o", tmp_path / "case")
    assert status == 2
    assert err.startswith(f"tuner: {entry.impl}:{entry.refusal.line}: ")
    assert entry.refusal.reason in err
    assert not (tmp_path / "case").exists()


@each(AUTOTUNED)
def test_an_autotuned_kernel_becomes_a_case(harvest: Any, entry: Entry, tmp_path: Path) -> None:
    """Its configs are the candidates, its key the axes, and its launch takes the config."""
    case = tmp_path / "case"
    status, err = harvest(entry.impl, "-o", case)
    assert (status, err) == (0, "")
    sample = read_sample(case / "sample.json")
    told = entry.sample
    assert [*sample.names.params] == told["config_param_names"]
    assert sample.candidates is not None
    assert len(sample.candidates) == LISTED[entry.name]
    assert sample.key == tuple(told["autotune"]["key"])
    assert breaches(case / "impl.py", case=case) == ()
    assert "@triton.autotune" not in (case / "impl.py").read_text()
    assert (case / "base.py").exists()


@needs_triton
@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: f"{batch[0].name}…")
def test_what_is_converted_computes_the_same(batch: tuple[Entry, ...], tmp_path: Path) -> None:
    """As it is a kernel agrees with its reference; converted it does so with each config.

    With the constants that it had not a bit differs.
    """
    for entry in batch:
        (tmp_path / entry.name).mkdir()
        (tmp_path / entry.name / "impl.py").write_text(converted(entry.name))
    runs = interpreted(*(f"{entry.name}={tmp_path / entry.name / 'impl.py'}" for entry in batch))
    assert wrong(runs) == []
    for entry in batch:
        told = [run["what"] for run in runs if run["entry"] == entry.name]
        assert len({*told} - {"raw", "selected", "asked"}) == len(entry.candidates)


@needs_triton
def test_what_is_harvested_computes_the_same(harvest: Any, tmp_path: Path) -> None:
    """With the first config that was listed not a bit differs, with each other it is right."""
    for entry in AUTOTUNED:
        assert harvest(entry.impl, "-o", tmp_path / entry.name) == (0, "")
    runs = interpreted(
        *(f"{entry.name}={tmp_path / entry.name / 'impl.py'}" for entry in AUTOTUNED)
    )
    assert wrong(runs) == []
