"""Manifests of schema version 1, as AKG's Dynamic Tune writes them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from codegen.errors import ManifestError
from codegen.manifest import dump_manifest, load_manifest, parse_manifest, policy_of
from codegen.upgrade import upgraded

PATH = Path(__file__).parents[1] / "data" / "manifest_v1.json"
OLD: dict[str, Any] = json.loads(PATH.read_bytes())
FIRST = "BLOCK_K=256,BLOCK_M=16,BLOCK_N=64;num_ctas=1,num_stages=2,num_warps=4"
SECOND = "BLOCK_K=256,BLOCK_M=128,BLOCK_N=128;maxnreg=128,num_ctas=1,num_stages=3,num_warps=8"


def _old() -> dict[str, Any]:
    return copy.deepcopy(OLD)


def _leaf(index: int) -> dict[str, Any]:
    return {"config_index": index}


def _split(left: Any, right: Any, threshold: int = 1) -> dict[str, Any]:
    return {"split_axis": "M", "threshold": threshold, "left": left, "right": right}


def test_a_version_1_becomes_a_version_2() -> None:
    """All that a version 1 says is kept; what it does not know is called unknown or left open."""
    manifest = load_manifest(PATH)
    assert manifest.schema_version == 2
    assert manifest.kernel.name == manifest.target.device == "unknown"
    assert [axis.model_dump(exclude_none=True) for axis in manifest.axes] == [
        {"name": name, "kind": "integer"} for name in "MNK"
    ]
    assert [candidate.id for candidate in manifest.candidates][:2] == [FIRST, SECOND]
    assert manifest.candidates[2].status == "rejected"
    assert manifest.candidates[2].reason == OLD["candidates"][2]["reject_reason"]
    assert manifest.selector.config_ids == [FIRST, SECOND]
    assert manifest.selector.runtime_deps == ["numpy"]
    assert (manifest.tune_meta.path_used, manifest.tune_meta.warmup) == ("a", 1)
    assert manifest.tune_meta.notes == [
        *OLD["tune_meta"]["notes"],
        "upgraded from schema_version 1; the default is the config of most leaves",
    ]
    assert manifest.extras == {"k": "v"}
    assert manifest.outside == "nearest"


def test_the_upgraded_tree_chooses_as_the_old_one() -> None:
    """The tree of a version 1 chooses by `split_axis <= threshold`, as it always has."""
    policy = policy_of(load_manifest(PATH))
    assert [policy.evaluate((m, 7, 7)).id for m in (-5, 0, 1, 2, 2**70)] == [
        *([FIRST] * 3),
        *([SECOND] * 2),
    ]


def test_an_upgraded_manifest_is_a_version_2_on_disk() -> None:
    """What is written after an upgrade is version 2, and reads back as the same manifest."""
    manifest = load_manifest(PATH)
    raw = json.loads(dump_manifest(manifest))
    assert raw["schema_version"] == 2
    assert parse_manifest(raw, name="test") == manifest


def test_upgrading_leaves_its_argument_alone() -> None:
    """The value that is upgraded is not changed, and a version 2 is returned as it is."""
    old = _old()
    new = upgraded(old)
    assert old == OLD
    assert upgraded(new) is new


@pytest.mark.parametrize(
    ("root", "default"),
    [
        (_leaf(1), SECOND),
        (_split(_leaf(1), _leaf(0)), FIRST),
        (_split(_leaf(1), _split(_leaf(0), _leaf(1), 2)), SECOND),
        (_split(_leaf(0), _split(_leaf(1), _split(_leaf(1), _leaf(0), 3), 2)), FIRST),
    ],
)
def test_the_default_is_the_config_of_most_leaves(root: dict[str, Any], default: str) -> None:
    """The default is what most leaves name, the first of `config_ids` where two are equal."""
    old = _old()
    old["selector"]["payload"]["root"] = root
    assert parse_manifest(old, name="test").default == default


def test_an_old_id_that_two_configs_share_is_refused() -> None:
    """An old id that names configs that differ cannot be resolved, and is refused."""
    old = _old()
    twin = copy.deepcopy(old["candidates"][0])
    twin["runtime_meta"]["num_warps"] = 8
    old["candidates"].append(twin)
    where = r"^test: selector\.config_ids\[0\]: '.*' is the id of different configs, candidates \[0"
    with pytest.raises(ManifestError, match=where):
        parse_manifest(old, name="test")


def _without(key: str) -> dict[str, Any]:
    old = _old()
    del old[key]
    return old


def _with(path: str, value: Any) -> dict[str, Any]:
    old = _old()
    *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
    place: Any = old
    for part in parents:
        place = place[part]
    place[last] = value
    return old


@pytest.mark.parametrize(
    ("old", "said"),
    [
        (_without("axis_names"), r"axis_names: missing field; add it"),
        (_without("selector"), r"selector: missing field; add it"),
        (_with("kernel", {"name": "k"}), r"kernel: unknown key; remove it"),
        (_with("axis_names", ["M", "M", "K"]), r"axes\[1\]\.name: axis M stands twice"),
        (
            _with("axis_names.0", "class"),
            r"axis_names\[0\]: 'class' is a Python keyword; rename it",
        ),
        (_with("selector.kind", "forest"), r"selector\.kind: 'forest' is not a known value; use"),
        (
            _with("selector.config_ids.0", "x"),
            r"selector\.config_ids\[0\]: no candidate has the id",
        ),
        (
            _with("selector.config_ids.0", OLD["candidates"][2]["config_id"]),
            r"selector\.config_ids\[0\]: config '.*…? was rejected: 'RuntimeError: ub overflow",
        ),
        (
            _with("selector.payload.root", _leaf(2)),
            r"selector\.payload: config index 2 is out of range, config_ids has 2; tune again",
        ),
        (
            _with("selector.payload.root.threshold", 1.9),
            r"selector\.payload\.root\.threshold: 1\.9 is not an integer; write it without",
        ),
        (
            _with("selector.payload.root.threshold", "1"),
            r"selector\.payload\.root\.threshold: '1' is not an integer; write it without",
        ),
        (
            _with("selector.payload.root.threshold", True),
            r"selector\.payload\.root\.threshold: true is not an integer; write it without",
        ),
        (
            _with("selector.payload.root.config_index", 0),
            r"selector\.payload\.root: is both a leaf and a split; keep either",
        ),
        (
            _with("selector.payload.root.split_axis", "Q"),
            r"selector\.payload\.root\.feature\.axis: there is no axis 'Q'; the axes are M, N, K",
        ),
        (
            _with("candidates.0.params.1.name", "BLOCK_M"),
            r"candidates\[0\]\.params: a config names BLOCK_M twice; keep one of the two",
        ),
        (
            _with("candidates.0.params.0.value", [16]),
            r"candidates\[0\]\.params\[0\]\.value: an array cannot be a param; use",
        ),
        (
            _with("candidates.0.runtime_meta.num_warps", 0),
            r"candidates\[0\]\.runtime_meta\.num_warps: 0 is out of range; use 1 or more",
        ),
        (_with("schema_version", 0), r"schema_version: 0 is no version; write 2"),
        (_with("schema_version", 1.0), r"schema_version: 1\.0 is no version; write 2"),
        ([], r"\(root\): an array is not a manifest; write"),
        (None, r"\(root\): null is not a manifest; write"),
    ],
)
def test_an_old_manifest_that_is_not_sound_is_refused(old: Any, said: str) -> None:
    """What AKG accepted silently, and what it does not write, is refused with the place."""
    with pytest.raises(ManifestError, match=f"^test: {said}"):
        parse_manifest(old, name="test")
