"""`tuner fit` over a manifest that is there already: what it keeps, and what it goes by."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codegen.command import exit_status
from codegen.manifest import load_manifest
from tuner.cli import cli

SHAPES = [[2**i] for i in range(12)]
TABLE: dict[str, Any] = {
    "format": "latency-table/1",
    "kernel": "copy",
    "axis_names": ["M"],
    "device": "NVIDIA H200",
    "configs": [{"params": {"BLOCK": 64}}, {"params": {"BLOCK": 128}}],
    "shapes": SHAPES,
    "latency_us": [[1.0, 2.0]] * 6 + [[4.0, 2.0]] * 6,
}


@pytest.fixture
def tuner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `tuner` in this process and an empty directory."""
    monkeypatch.chdir(tmp_path)
    Path("table.json").write_text(json.dumps(TABLE))

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["tuner", *map(str, arguments)])
        status = exit_status(cli, "tuner")
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def move_threshold(path: str, by: int) -> None:
    """Change the manifest's one threshold, within the gap between two measured sizes."""
    raw = json.loads(Path(path).read_text())
    raw["selector"]["payload"]["root"]["threshold"] += by
    Path(path).write_text(json.dumps(raw))


def threshold(path: str) -> int:
    """Return the manifest's one threshold."""
    root = load_manifest(Path(path)).selector.payload.model_dump()["root"]
    assert isinstance(root["threshold"], int)
    return root["threshold"]


def test_a_fit_over_its_own_manifest_changes_nothing(tuner: Any) -> None:
    """The second run says unchanged, and the file has the same bytes."""
    assert tuner("fit", "table.json", "-o", "m.json")[0] == 0
    before = Path("m.json").read_bytes()
    status, out, _ = tuner("fit", "table.json", "-o", "m.json")
    assert status == 0
    assert "m.json: unchanged" in out
    assert Path("m.json").read_bytes() == before


def test_a_threshold_that_is_as_good_is_kept_unless_told_otherwise(tuner: Any) -> None:
    """What was chosen before stays; `--afresh` chooses anew."""
    assert tuner("fit", "table.json", "-o", "m.json")[0] == 0
    fresh = threshold("m.json")
    move_threshold("m.json", 1)
    assert tuner("fit", "table.json", "-o", "m.json")[0] == 0
    assert threshold("m.json") == fresh + 1
    assert tuner("fit", "table.json", "-o", "m.json", "--afresh")[0] == 0
    assert threshold("m.json") == fresh


def test_a_previous_manifest_can_lie_elsewhere(tuner: Any) -> None:
    """`--previous` names what to go by when the output is new."""
    assert tuner("fit", "table.json", "-o", "old.json")[0] == 0
    move_threshold("old.json", 1)
    assert tuner("fit", "table.json", "-o", "new.json", "--previous", "old.json")[0] == 0
    assert threshold("new.json") == threshold("old.json")


def test_a_manifest_of_another_kernel_is_not_gone_by(tuner: Any) -> None:
    """Where the output goes it is passed over; named, it is an error that says why."""
    assert tuner("fit", "table.json", "-o", "m.json", "--kernel", "scale")[0] == 0
    move_threshold("m.json", 1)
    old = threshold("m.json")
    status, out, err = tuner("fit", "table.json", "-o", "n.json", "--previous", "m.json")
    assert (status, out) == (2, "")
    assert "m.json: is of kernel scale, not of copy" in err
    assert "leave out --previous" in err
    assert err.count("\n") == 1
    assert not Path("n.json").exists()
    assert tuner("fit", "table.json", "-o", "m.json")[0] == 0
    assert threshold("m.json") == old - 1


@pytest.mark.parametrize("text", ["{", "[]", '{"schema_version": 2}', '{"schema_version": 99}'])
def test_a_broken_previous_manifest_is_one_line(text: str, tuner: Any) -> None:
    """Named, it is an error; where the output goes it is replaced as before."""
    Path("bad.json").write_text(text)
    status, out, err = tuner("fit", "table.json", "-o", "m.json", "--previous", "bad.json")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "bad.json" in err
    assert tuner("fit", "table.json", "-o", "bad.json", "--force")[0] == 0
    assert load_manifest(Path("bad.json")).kernel.name == "copy"


def test_a_previous_manifest_that_is_missing_is_one_line(tuner: Any) -> None:
    """The path stands in the message, and nothing is written."""
    status, _, err = tuner("fit", "table.json", "-o", "m.json", "--previous", "none.json")
    assert (status, err.count("\n")) == (2, 1)
    assert "none.json" in err
    assert not Path("m.json").exists()


def test_most_configs_are_limited_from_the_command_line(tuner: Any) -> None:
    """With `--max-configs 1` the default serves all; none is a usage error."""
    assert tuner("fit", "table.json", "-o", "m.json", "--max-configs", "1")[0] == 0
    manifest = load_manifest(Path("m.json"))
    assert manifest.selector.config_ids == [manifest.default]
    status, _, err = tuner("fit", "table.json", "-o", "m.json", "--max-configs", "0")
    assert status == 2
    assert "--max-configs" in err
