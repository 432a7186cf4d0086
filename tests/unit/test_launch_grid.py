"""The launch grid: read from tune.yaml, kept by table and manifest, respected by what chooses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import integer, leaf, load_module, manifest_of, split, tree
from tuning import request

from codegen.emit import module_text
from codegen.errors import ManifestError
from codegen.explain import explain
from codegen.grid import GridDim
from codegen.manifest import Manifest, dump_manifest, parse_manifest, policy_of
from codegen.policy import TooManyProgramsError
from tuner.cases import load_case
from tuner.cases.launch_grid import grid_dims
from tuner.devices.names import parse_devices
from tuner.errors import CaseError
from tuner.fit_file import Request, fit_file
from tuner.progress import Quiet
from tuner.tune import tune_case

CASES = Path(__file__).parents[1] / "cases"
GRID = {"dims": [{"axes": ["M"], "block": "BLOCK_M"}], "limit": 100}


def raw_of(**changes: Any) -> dict[str, Any]:
    """Return a manifest whose configs have BLOCK_M 16, 32, 64 and 128, the default 32."""
    plain = manifest_of(
        axes=[integer("M", 1, 100_000), integer("N", 1, 100_000)],
        selector=tree(split("M", 1600, leaf(0), leaf(2))),
    )
    raw = json.loads(dump_manifest(plain))
    renamed = {}
    for i, entry in enumerate(raw["candidates"]):
        old = entry["id"]
        entry |= {"params": {"BLOCK_M": 16 << i}, "id": f"BLOCK_M={16 << i}"}
        for name in ("num_warps", "num_stages", "num_ctas", "maxnreg", "options"):
            entry.pop(name, None)
        renamed[old] = entry["id"]
    raw["selector"]["config_ids"] = [renamed[old] for old in raw["selector"]["config_ids"]]
    raw |= {"default": "BLOCK_M=32", "launch_grid": GRID}
    return raw | changes


def manifest(**changes: Any) -> Manifest:
    """Return the manifest of `raw_of`."""
    return parse_manifest(raw_of(**changes), name="test")


def emitted(found: Manifest) -> str:
    """Return the module's text."""
    return module_text(found, Path("manifest.json"), Path("k_dispatch.py"))


@pytest.mark.parametrize(
    ("size", "block"),
    [
        (1600, 16),  # A hundred programs, and no more.
        (1601, 64),
        (6400, 64),
        (6401, 128),  # 101 of the chosen; the default's blocks are smaller still.
        (12_800, 128),
    ],
)
def test_a_config_is_chosen_where_its_grid_stays_within_the_limit(size: int, block: int) -> None:
    """Else the default, and after it the config of the largest blocks; the module does the same."""
    found = manifest()
    assert policy_of(found).evaluate((size, 1)).param("BLOCK_M") == block
    module = load_module(emitted(found))
    assert module._select_config((size, 1)).param("BLOCK_M") == block


def test_where_no_config_is_left_an_error_says_so() -> None:
    """In the module as in the reference, and `codegen show` lists what was tried."""
    found = manifest()
    policy = policy_of(found)
    with pytest.raises(TooManyProgramsError, match="more than 100 programs"):
        policy.evaluate((12_801, 1))
    with pytest.raises(ValueError, match="needs a grid of more than 100 programs with any tuned"):
        load_module(emitted(found))._select_config((12_801, 1))
    explanation = explain(policy, (12_801, 1))
    assert explanation.config is None
    assert explanation.path[1:] == (
        "grid: BLOCK_M=64 launches 201 programs, more than 100",
        "grid: BLOCK_M=32 launches 401 programs, more than 100",
        "grid: BLOCK_M=128 launches 101 programs, more than 100",
    )


def test_a_leaf_that_cannot_exceed_it_asks_nothing() -> None:
    """Only the leaf of large M counts programs, and what lies outside the envelope does."""
    text = emitted(manifest()).partition("def _select_config")[2]
    assert "    if M <= 1600:\n        return M16\n" in text
    assert text.count("(M + 63) // 64") == 1
    assert "# grid       cdiv(M, BLOCK_M) <= 100" in emitted(manifest())


def test_without_a_limit_nothing_is_asked() -> None:
    """The module is the one that there was before limits were known."""
    raw = raw_of()
    del raw["launch_grid"]
    assert "//" not in emitted(parse_manifest(raw, name="test"))


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        (
            {"dims": [{"axes": ["Q"]}], "limit": 5},
            "launch_grid.dims[0].axes[0]: Q is no integer axis; name one of M, N",
        ),
        (
            {"dims": [{"axes": ["M"], "block": "B"}], "limit": 5},
            "launch_grid.dims[0].block: B is no param in config 'BLOCK_M=16', and not an integer",
        ),
        ({"dims": [{"axes": ["M"], "block": 0}], "limit": 5}, "launch_grid.dims[0].block: "),
        ({"dims": [{"axes": ["M"], "block": "a b"}], "limit": 5}, "launch_grid.dims[0].block: "),
        ({"dims": [{"axes": ["M"], "block": True}], "limit": 5}, "launch_grid.dims[0].block: "),
        ({"dims": [{"axes": ["M"], "times": 0}], "limit": 5}, "launch_grid.dims[0].times: "),
        ({"dims": [], "limit": 5}, "launch_grid.dims: "),
        ({"dims": [{"axes": ["M"]}], "limit": 0}, "launch_grid.limit: "),
        ({"dims": [{"axes": ["M"]}]}, "launch_grid.limit: "),
        ({"dims": [{"axes": ["M"], "by": 2}], "limit": 5}, "launch_grid.dims[0].by: "),
    ],
)
def test_a_grid_that_cannot_be_counted_is_refused(grid: dict[str, Any], said: str) -> None:
    """With the dotted path of what is wrong."""
    with pytest.raises(ManifestError) as caught:
        manifest(launch_grid=grid)
    assert f"test: {said}" in str(caught.value)


def test_an_exact_shape_with_too_many_programs_is_refused() -> None:
    """It is known when the manifest is read, and nothing chooses another for it in silence."""
    entries = [{"shape": [1601, 1], "config": 0}]
    constant = {"kind": "constant", "payload": {"config": 3}}
    raw = raw_of()
    raw["selector"] |= {"kind": "table", "payload": {"entries": entries, "otherwise": constant}}
    with pytest.raises(ManifestError) as caught:
        parse_manifest(raw, name="test")
    assert "selector.payload: on the exact shape (1601, 1) config 'BLOCK_M=16' launches 101" in str(
        caught.value
    )


def test_nearest_counts_what_is_launched_and_not_what_is_tuned() -> None:
    """A shape beyond the envelope is chosen for at its end, and launched as large as it is."""
    found = manifest(outside="nearest", axes=[integer("M", 1, 800), integer("N", 1, 8)])
    module = load_module(emitted(found))
    for size, block in ((800, 16), (1600, 16), (1601, 32), (3201, 128)):
        assert policy_of(found).evaluate((size, 9)).param("BLOCK_M") == block
        assert module._select_config((size, 9)).param("BLOCK_M") == block


@pytest.mark.parametrize(
    ("text", "dims"),
    [
        ("cdiv(M, B)", (GridDim(("M",), "B"),)),
        ("cdiv(M * N, B) * N", (GridDim(("M", "N"), "B"), GridDim(("N",)))),
        ("2 * cdiv(64, 16)", (GridDim((), 1, 2), GridDim((), 16, 64))),
        ("cdiv(3 * M * 2, B)", (GridDim(("M",), "B", 6),)),
    ],
)
def test_a_grid_is_written_as_a_product(text: str, dims: tuple[GridDim, ...]) -> None:
    """Of axes, numbers and quotients rounded up."""
    assert grid_dims(text, axes=("M", "N"), params=["B"], where="here") == dims


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("M + 1", "'M + 1' is no axis, no number and no cdiv"),
        ("cdiv(M, C)", "'C' is no block size"),
        ("cdiv(M, 0)", "'0' is no block size"),
        ("cdiv(M, B, 2)", "is no axis, no number and no cdiv"),
        ("Q", "'Q' is not an axis; the axes are 'M', 'N'"),
        ("__import__('os').getcwd()", "is no axis, no number and no cdiv"),
        ("M **", "is not an expression"),
        ("M * " * 8 + "M", "has 9 factors, more than 8"),
        (f"M * {2**62} * {2**62}", ""),
        (f"cdiv({2**62} * 4, B)", "does not fit in 64 bits"),
        (f"{2**64} * M", "is no axis, no number"),
    ],
)
def test_what_is_no_such_product_is_refused(text: str, said: str) -> None:
    """In a line, with where it stands; nothing of it is run."""
    if not said:
        assert len(grid_dims(text, axes=("M", "N"), params=["B"], where="here")) == 3
        return
    with pytest.raises(CaseError) as caught:
        grid_dims(text, axes=("M", "N"), params=["B"], where="here")
    assert str(caught.value).startswith("here: ")
    assert said in str(caught.value)


def test_a_space_allows_no_config_beyond_the_limit(tmp_path: Path) -> None:
    """The limit is the target's; without one, or without a grid, everything is allowed."""
    case = load_case(CASES / "original" / "relu", impl=CASES / "converted" / "relu" / "impl.py")
    space, sizes = case.space, {"N": 2**27}
    assert space.grid is None
    assert len(space.allowed(sizes)) == len(space.configs)
    blocks = [space.configs[i].param("BLOCK_SIZE") for i in space.limited(65_535).allowed(sizes)]
    assert blocks == [block for block in (4096, 8192) if block in blocks]
    assert blocks
    own = tmp_path / "tune.yaml"
    own.write_text("launch_grid: cdiv(N, BLOCK_SIZE)\nlaunch_grid_limit: 10\n")
    given = load_case(case.directory, impl=case.impl, space=own).space
    assert given.limited(65_535).grid_limit == 10


def test_a_limit_without_a_grid_is_refused(tmp_path: Path) -> None:
    """By line and name."""
    own = tmp_path / "tune.yaml"
    own.write_text("launch_grid_limit: 10\n")
    with pytest.raises(CaseError, match=r"tune.yaml:1: launch_grid_limit: limits a grid that"):
        load_case(
            CASES / "original" / "relu", impl=CASES / "converted" / "relu" / "impl.py", space=own
        )


def test_a_table_hands_its_grid_to_the_manifest(tmp_path: Path) -> None:
    """And the fit does not choose what failed for it."""
    table = {
        "format": "latency-table/1",
        "kernel": "k",
        "axis_names": ["M"],
        "device": "Ascend910B3",
        "configs": [{"params": {"BLOCK_M": 16}}, {"params": {"BLOCK_M": 64}}],
        "shapes": [[16], [160], [1600], [3200]],
        "latency_us": [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0], [None, 8.0]],
        "launch_grid": GRID,
    }
    (tmp_path / "t.json").write_text(json.dumps(table))
    fitted = fit_file(
        Request(table=tmp_path / "t.json", output=tmp_path / "manifest.json", source=None)
    )
    assert fitted.manifest.launch_grid
    assert fitted.manifest.launch_grid.limit == 100
    policy = policy_of(fitted.manifest)
    assert policy.evaluate((3200,)).param("BLOCK_M") == 64
    assert all(policy.programs(policy.evaluate((m,)), (m,)) <= 100 for m in range(16, 3200, 7))


@pytest.mark.parametrize(
    ("device", "arch", "free", "limit"),
    [
        ("Ascend910B3", "ascend910b3", "0", 65_535),
        ("Ascend910B3", "ascend910b3", "1", None),
        ("NVIDIA H200", "sm_90", "0", None),
    ],
)
def test_tuning_on_an_npu_keeps_below_its_limit(
    device: str,
    arch: str,
    free: str,
    limit: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless the environment lifts it: small blocks are not measured on large shapes."""
    monkeypatch.setenv("TRITON_ALL_BLOCKS_PARALLEL", free)
    case = CASES / "original" / "relu"
    impl = CASES / "converted" / "relu" / "impl.py"
    configs = load_case(case, impl=impl).space.configs
    table = {
        "format": "latency-table/1",
        "kernel": "relu",
        "axis_names": ["N"],
        "dtype": "float16",
        "device": device,
        "arch": arch,
        "configs": [{"params": dict(c.params), **dict(c.launch_options())} for c in configs],
        "shapes": [[1000], [2**20], [2**27]],
        "latency_us": [[float(i + 1) for i in range(len(configs))]] * 3,
    }
    (tmp_path / "t.json").write_text(json.dumps(table))
    replay = parse_devices(f"replay:{tmp_path / 't.json'}")
    outcome = tune_case(request(case, tmp_path, devices=replay, impl=impl), Quiet())
    grid = outcome.manifest.launch_grid
    assert (grid and grid.limit) == limit
    timed = {r.config.param("BLOCK_SIZE") for r in outcome.measured.records if r.shape == (2**27,)}
    assert timed == {
        c.param("BLOCK_SIZE") for c in configs if not limit or 2**27 // c.params[0][1] <= limit
    }
    policy = policy_of(outcome.manifest)
    assert not limit or policy.programs(policy.evaluate((2**27,)), (2**27,)) <= limit
