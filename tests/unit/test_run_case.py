"""A case from end to end: what the report says is what there is, and a wrong dispatch is found."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tuning import CONVERTED, FICKLE, ORIGINAL, copy_of

from codegen.command import exit_status
from tuner.cases import run_case
from tuner.cases.others import shapes_between
from tuner.cases.run import Report
from tuner.cli import cli
from tuner.errors import DeviceError

SHAPES = ((4,), (16,), (64,))


def fickle(tmp_path: Path, modes: list[str]) -> Path:
    """Copy the fickle case with these candidates."""
    return copy_of(FICKLE, tmp_path / "case", modes)


def ran(case: Path, tmp_path: Path, **options: Any) -> Report:
    """Run the case, all files below `tmp_path`."""
    return run_case(case, output=tmp_path / "out", kb=tmp_path / "kb.sqlite", **options)


def module_at(path: Path) -> ModuleType:
    """Return the module in that file."""
    spec = importlib.util.spec_from_file_location("emitted", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_agree_with_each_other(tmp_path: Path) -> None:
    """Summary, report, manifest and module tell the same; every tuned shape has its four times."""
    report = ran(fickle(tmp_path, ["good", "better"]), tmp_path)
    assert report.right
    names = [path.name for path in report.written]
    assert names == [
        "impl.py",
        "manifest.json",
        "latencies.json",
        "impl_dispatch.py",
        "summary.json",
        "report.md",
    ]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(names)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary == report.summary
    assert (summary["kernel"], summary["right"], summary["axis_names"]) == ("fickle", True, ["N"])
    tuned = [row for row in summary["shapes"] if row["tuned"]]
    assert [tuple(row["shape"]) for row in tuned] == list(SHAPES)
    dispatch = module_at(tmp_path / "out" / "impl_dispatch.py")
    for row in summary["shapes"]:
        chosen = dispatch._select_config(tuple(row["shape"]))
        assert row["config"] == f'MODE="{chosen.param("MODE")}"'
        assert row["right"]
        assert "failure" not in row
        assert row["dispatch_us"] > 0
        assert row["reference_us"] > 0
        assert row["default_us"] > 0
        assert (row["best_us"] is not None) == row["tuned"]
    text = (tmp_path / "out" / "report.md").read_text()
    assert text == report.text
    total = len(summary["shapes"])
    assert f"Outputs right on {total} of {total} shapes." in text
    assert len([line for line in text.splitlines() if line.startswith("| ")]) == total + 1


def test_shapes_that_were_not_tuned_are_checked_as_well(tmp_path: Path) -> None:
    """They lie between those that were."""
    report = ran(fickle(tmp_path, ["good"]), tmp_path)
    others = [tuple(row["shape"]) for row in report.summary["shapes"] if not row["tuned"]]
    assert others == list(shapes_between(SHAPES, 12))
    assert others


def test_a_config_that_is_wrong_on_a_shape_that_was_not_tuned_is_found(tmp_path: Path) -> None:
    """The geometric mean of 16 and 64, 32, was not tuned, and there the kernel is wrong."""
    report = ran(fickle(tmp_path, ["wrong_at_32"]), tmp_path)
    assert not report.right
    rows = {tuple(row["shape"]): row for row in report.summary["shapes"]}
    assert [shape for shape, row in rows.items() if not row["right"]] == [(32,)]
    assert rows[(32,)]["failure"].startswith("wrong: the output differs from the reference in 32")
    assert rows[(32,)]["dispatch_us"] is None
    assert "| 32 | no | " in report.text
    assert "WRONG" in report.text
    right = len(rows) - 1
    assert f"Outputs right on {right} of {len(rows)} shapes." in report.text


def test_a_kernel_that_asks_for_another_shape_than_the_case_means_is_found(tmp_path: Path) -> None:
    """Its outputs may be right by any config: it would be served the choice for other shapes."""
    case = fickle(tmp_path, ["good", "better"])
    text = (case / "impl.py").read_text()
    (case / "impl.py").write_text(text.replace("_select_config(x.shape)", "_select_config((7,))"))
    report = ran(case, tmp_path)
    assert not report.right
    for row in report.summary["shapes"]:
        size = row["shape"][0]
        means = f"wrong: it asks its dispatch for (7,), where shape_expr gives ({size},)"
        assert row["failure"] == means


def test_the_command_ends_with_status_1_where_the_dispatch_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files are written all the same."""
    case = fickle(tmp_path, ["wrong_at_32"])
    monkeypatch.setattr(
        "sys.argv", ["tuner", "run", str(case), "--kb", str(tmp_path / "kb.sqlite")]
    )
    assert exit_status(cli, "tuner") == 1
    printed = capsys.readouterr()
    assert "WRONG" in printed.out
    assert json.loads((case / "summary.json").read_text())["right"] is False
    assert (case / "report.md").exists()


def test_a_dispatch_that_kills_its_worker_is_found_and_costs_no_other_shape(tmp_path: Path) -> None:
    """It passed where it was tuned; on another shape it ends the process."""
    case = fickle(tmp_path, ["abort_once"])
    report = ran(case, tmp_path, shapes=((4,), (64,)))
    rows = {tuple(row["shape"]): row for row in report.summary["shapes"]}
    assert [shape for shape, row in rows.items() if not row["right"]] == [(16,)]
    assert rows[(16,)]["failure"].startswith("crash: its process was killed by SIGABRT")
    assert "FAILED" in report.text
    assert rows[(4,)]["dispatch_us"]


def test_shapes_whose_reference_fails_are_not_right(tmp_path: Path) -> None:
    """Of a shape between others there may be no reference: nobody knows whether it is right."""
    case = fickle(tmp_path, ["good"])
    report = ran(case, tmp_path, shapes=((1500,), (6000,)))
    rows = {tuple(row["shape"]): row for row in report.summary["shapes"]}
    assert not rows[(3000,)]["right"]
    assert "length 3000 is out of the question" in rows[(3000,)]["failure"]


def test_where_inputs_cannot_be_made_for_any_shape_only_tuned_ones_are_checked(
    tmp_path: Path,
) -> None:
    """A case may list its inputs instead."""
    case = fickle(tmp_path, ["good"])
    base = case / "base.py"
    base.write_text(base.read_text().replace("get_inputs_for_shape", "make"))
    report = ran(case, tmp_path)
    assert [row["tuned"] for row in report.summary["shapes"]] == [True] * 3


def test_every_candidate_has_its_fate_in_the_summary(tmp_path: Path) -> None:
    """In one line, whatever its message."""
    report = ran(fickle(tmp_path, ["good", "even_only", "odd_only"]), tmp_path)
    fates = {row["config"]: row["fate"] for row in report.summary["candidates"]}
    assert set(fates) == {'MODE="good"', 'MODE="even_only"', 'MODE="odd_only"'}
    assert "length 4 is even" in fates['MODE="odd_only"']
    assert not any("\n" in fate for fate in fates.values())


def test_the_dispatch_that_is_checked_is_the_one_that_was_emitted(tmp_path: Path) -> None:
    """Not an old one that lies beside the kernel."""
    case = fickle(tmp_path, ["good"])
    (case / "impl_dispatch.py").write_text("raise RuntimeError('an old one')\n")
    assert ran(case, tmp_path).right


def test_a_replay_runs_no_kernel(tmp_path: Path) -> None:
    """There is nothing to check."""
    with pytest.raises(DeviceError, match="a replay runs no kernel"):
        ran(fickle(tmp_path, ["good"]), tmp_path, device="replay:table.json")


def test_a_second_run_measures_nothing_new(tmp_path: Path) -> None:
    """Manifest, table and module keep their bytes; the check is made again."""
    case = fickle(tmp_path, ["good", "better"])
    names = ("manifest.json", "latencies.json", "impl_dispatch.py")
    ran(case, tmp_path)
    before = [(tmp_path / "out" / name).read_bytes() for name in names]
    report = ran(case, tmp_path)
    assert report.outcome.measured.added == 0
    assert [(tmp_path / "out" / name).read_bytes() for name in names] == before
    for data in before:
        assert str(tmp_path).encode() not in data


def test_a_real_case_is_right_and_faster_than_its_default(tmp_path: Path) -> None:
    """The numpy case from its files to its report."""
    impl = CONVERTED / "nearest" / "impl.py"
    shapes = ((1, 512, 16), (300, 100, 24), (512, 8, 16))
    report = ran(ORIGINAL / "nearest", tmp_path, impl=impl, shapes=shapes)
    assert report.right
    assert report.summary["slowdown_over_best"] > 0
    assert report.summary["speedup_over_default"] > 0
    assert sys.modules.get("impl") is None


@pytest.mark.parametrize("count", [1, 5, 12])
def test_of_many_shapes_few_lie_between(count: int) -> None:
    """Thousands of shapes have millions of pairs: not all are looked at."""
    many = [(n, 7 * n) for n in range(1, 5000)]
    found = shapes_between(many, count)
    assert len(found) == count
    assert not set(found) & set(many)
