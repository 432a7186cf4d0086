"""Fitting: thresholds, noise, holes, determinism, and figures that are honest."""

from __future__ import annotations

from dataclasses import replace
from difflib import unified_diff
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.decision import Choose, Decision, Split, count_leaves, depth_of
from codegen.features import AxisTerm, Mod
from codegen.json_text import dump_json
from codegen.manifest import Manifest, dump_manifest, parse_manifest, policy_of
from tuner.errors import FitError
from tuner.fit import KINDS, Fit, KindName, fit_table
from tuner.fit.previous import GONE, mismatch, previous_decision
from tuner.fit.problem import problem_of
from tuner.fit.regret import DEFAULT_BAND, log_regret, noise_floor, tie_band
from tuner.fit.surroundings import surroundings
from tuner.fit.thresholds import candidates
from tuner.fit.to_manifest import configs_used, manifest_of
from tuner.table import LatencyTable, parse_table, read_table

DATA = Path(__file__).parents[1] / "data"
KIND_NAMES: tuple[KindName, ...] = tuple(KINDS)


def table_of(shapes: Any, latency_us: Any, **more: Any) -> LatencyTable:
    """Return a table of `shapes` and `latency_us` (None for a hole)."""
    n_configs = len(latency_us[0])
    raw = {
        "format": "latency-table/1",
        "kernel": "kernel",
        "axis_names": ["M", "N", "K"][: len(shapes[0])],
        "device": "device",
        "configs": [{"params": {"BLOCK": 16 + i}, "num_warps": 4} for i in range(n_configs)],
        "shapes": [[int(size) for size in shape] for shape in shapes],
        "latency_us": [
            [None if cell is None else float(cell) for cell in row] for row in latency_us
        ],
        **more,
    }
    return parse_table(raw, name="table.json", file="table.json", digest="0" * 64)


def manifest_for(table: LatencyTable, **options: Any) -> Manifest:
    """Return the manifest that is fitted to `table`."""
    return manifest_of(table, fit_table(table, **options))


@cache
def recorded(kernel: str) -> Fit:
    """Return the fit to the recorded table of `kernel`."""
    return fit_table(read_table(DATA / f"h200_{kernel}.json"))


def first_of(table: LatencyTable, n: int) -> LatencyTable:
    """Return the first `n` shapes of `table`."""
    return replace(
        table,
        shapes=table.shapes[:n],
        latency_us=table.latency_us[:n],
        repeat_latency_us=table.repeat_latency_us[:n],
        weights=table.weights[:n],
    )


def root_of(fit: Fit) -> Decision:
    """Return the decision that `fit` came to."""
    return fit.selector.lower()


def without(table: LatencyTable, cells: Any, *, untried: bool) -> LatencyTable:
    """Return `table` with holes: cells that failed, or that nobody tried."""
    return replace(
        table,
        latency_us=np.where(cells, np.nan, table.latency_us),
        repeat_latency_us=table.repeat_latency_us[:0],
        untried=cells if untried else table.untried,
    )


# ---- Holes ----------------------------------------------------------------------------------


def test_what_nobody_tried_may_be_chosen_and_what_failed_may_not() -> None:
    """One config is best on all large shapes, and was measured on every other of them."""
    table = first_of(read_table(DATA / "h200_conv2d.json"), 48)
    volume = table.shapes.prod(axis=1)
    large = volume > np.median(volume)
    first = table.kept[0]
    latency = np.where(large[:, None], table.latency_us, 9.0)
    latency[large, first] = np.nanmin(latency[large], axis=1) / 2
    table = replace(table, latency_us=latency)
    cells = np.zeros(latency.shape, dtype=np.bool_)
    cells[np.flatnonzero(large)[::2], first] = True
    for untried in (True, False):
        fit = fit_table(without(table, cells, untried=untried))
        names = table.axis_names
        chosen = [
            fit.selector.choose(dict(zip(names, shape, strict=True)))
            for shape in table.shapes[cells[:, first]].tolist()
        ]
        if untried:
            assert chosen.count(0) == len(chosen)
        else:
            assert 0 not in chosen


def test_a_third_of_the_measurements_does_nearly_as_well() -> None:
    """Those that are slow anyway need not be measured on each shape to be left alone."""
    table = read_table(DATA / "h200_softmax.json")
    whole = fit_table(table, max_leaves=16)
    slow = table.latency_us > 1.3 * np.nanmin(table.latency_us, axis=1, keepdims=True)
    slow[:, table.kept[whole.default]] = False
    slow[::4] = False
    assert slow.mean() > 0.35
    fit = fit_table(without(table, slow, untried=True), max_leaves=16)
    regret = log_regret(table.latency_us)

    def mean_of(one: Fit) -> float:
        shapes = [dict(zip(table.axis_names, s, strict=True)) for s in table.shapes.tolist()]
        chosen = [table.kept[one.selector.choose(shape)] for shape in shapes]
        return float(regret[np.arange(len(chosen)), chosen].mean())

    assert mean_of(fit) < mean_of(whole) + 0.01
    assert fit.score is not None
    assert whole.score is not None


# ---- Thresholds -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (16, 100, (32, 64, 16)),
        (128, 256, (192, 128)),
        (700, 719, (704,)),
        (1100, 1300, (1280,)),
        (11_999, 12_001, (12_000,)),
        (699_999, 701_000, (700_000,)),
        (0, 1, (0,)),
        (5, 6, (5,)),
        (2**60, 2**60 + 1, (2**60,)),
    ],
)
def test_thresholds_are_the_roundest_of_the_gap(
    low: int, high: int, wanted: tuple[int, ...]
) -> None:
    """Powers of two come first, then multiples of the largest power of two or ten."""
    assert candidates(low, high) == wanted


@given(st.integers(0, 2**63 - 2), st.one_of(st.integers(1, 3000), st.integers(1, 2**62)))
def test_thresholds_part_what_was_observed(low: int, step: int) -> None:
    """Any candidate parts the two sizes; the left one stands only where nothing rounder does."""
    high = min(low + step, 2**63 - 1)
    found = candidates(low, high)
    assert found
    assert all(low <= threshold < high for threshold in found)
    if found == (low,):
        assert all(_roundness(size) <= _roundness(low) for size in range(low, min(high, low + 500)))


def _roundness(size: int) -> int:
    thousands = [10**i for i in range(3, 19) if size % 10**i == 0]
    return max(size & -size, *thousands, 0) if size else 2**63


def test_a_size_between_two_tuned_ones_goes_to_the_nearer() -> None:
    """Tuned at 128 and 256, the size 129 gets what is best at 128."""
    manifest = manifest_for(table_of([[128], [256]], [[1, 2], [2, 1]]))
    policy = policy_of(manifest)
    assert policy.evaluate((129,)) == policy.evaluate((128,)) != policy.evaluate((256,))


def test_sizes_that_a_float_cannot_tell_apart_are_parted() -> None:
    """2**60 and 2**60 + 1 are two sizes."""
    policy = policy_of(manifest_for(table_of([[2**60], [2**60 + 1]], [[1, 2], [2, 1]])))
    assert policy.evaluate((2**60,)) != policy.evaluate((2**60 + 1,))


# ---- What is chosen -------------------------------------------------------------------------


def test_the_default_has_the_least_worst_slowdown() -> None:
    """A config that is never bad is preferred to one that is better on the mean."""
    shapes = [[2**i] for i in range(10)]
    latency = [[1.0, 1.5, 2.0]] * 8 + [[4.0, 1.5, 1.0]] * 2
    fit = fit_table(table_of(shapes, latency))
    assert fit.default == 1


def test_a_default_was_measured_everywhere() -> None:
    """A hole excludes a config from being the default, however good it is elsewhere."""
    fit = fit_table(table_of([[1], [2], [3]], [[1, 9], [None, 9], [1, 9]]))
    assert fit.default == 1


def test_without_a_config_that_runs_everywhere_the_error_counts() -> None:
    """The message says how many shapes the best one covers, and names it."""
    table = table_of([[1], [2], [3]], [[1, None], [None, 1], [1, None]])
    with pytest.raises(FitError, match=r"all 3 shapes.*BLOCK=16;num_warps=4 covers most, 2"):
        fit_table(table)


def test_without_any_measurement_there_is_nothing_to_fit() -> None:
    """A table of holes is an error, not a selector."""
    with pytest.raises(FitError, match="all 2 configs are rejected or without a measurement"):
        fit_table(table_of([[1]], [[None, None]]))


@pytest.mark.parametrize("kind", ["tree", "bucket"])
def test_a_planted_border_is_found(kind: KindName) -> None:
    """Where two configs change places at M = 100 and N = 1000, so does the selector.

    Where between two measured sizes they do nobody knows: a tree may approach that in steps.
    """
    shapes = list(product([1, 7, 30, 90, 130, 300, 2000], [5, 100, 700, 1500, 9000]))
    latency = [_planted(M, N) for M, N in shapes]
    fit = fit_table(table_of(shapes, latency), selector=kind)
    policy = policy_of(manifest_of(table_of(shapes, latency), fit))
    for shape, row in zip(shapes, latency, strict=True):
        chosen = policy.evaluate(shape).param("BLOCK")
        assert isinstance(chosen, int)
        assert row[chosen - 16] == min(row)
    assert 3 <= count_leaves(root_of(fit)) <= 8


def _planted(M: int, N: int) -> list[float]:
    if M <= 100:
        return [1.0, 2.0, 3.0]
    return [2.0, 1.0, 3.0] if N <= 1000 else [2.0, 3.0, 1.0]


def test_a_tree_asks_whether_sizes_are_aligned() -> None:
    """A config that is best where 16 divides N is chosen there, and the split stays at a refit."""
    shapes = [(m, n) for m in (3, 40, 500, 2000) for n in (15, 16, 37, 64, 111, 112, 450, 480)]
    table = table_of(shapes, [[1.0, 3.0] if n % 16 else [3.0, 1.0] for _, n in shapes])
    fit = fit_table(table)
    split = Split(Mod("N", 16), 0, Choose(1), Choose(0))
    assert root_of(fit) == split
    assert root_of(fit_table(table, previous=split)) == split
    assert policy_of(manifest_of(table, fit)).evaluate((1000, 96)).param("BLOCK") == 17


def test_the_noise_floor_is_what_the_best_of_one_run_loses_in_a_second() -> None:
    """Where the runs agree it is 1; a hole in either is no choice; it takes a second run."""
    first = np.array([[1.0, 2.0, 3.0], [2.0, np.nan, 1.0], [5.0, 5.0, 5.0]])
    assert noise_floor(first, np.empty((0, 3))) is None
    assert noise_floor(first, first[:2]) == 1.0
    second = np.array([[2.0, 1.0, 3.0], [1.0, 0.5, np.nan]])
    assert noise_floor(first, second) == pytest.approx(2**0.5)
    assert noise_floor(first, np.full((1, 3), np.nan)) is None


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_noise_makes_no_leaf(kind: KindName) -> None:
    """Ten configs that are the same but for 1% of noise are one leaf, the default."""
    noise = np.random.default_rng(1)
    shapes = np.unique(np.exp(noise.uniform(0, 9, (120, 2))).astype(int), axis=0)
    shapes = shapes[noise.permutation(len(shapes))]
    latency = 10 * np.exp(0.01 * noise.standard_normal((len(shapes), 10)))
    fit = fit_table(table_of(shapes, latency.tolist()), selector=kind)
    assert root_of(fit) == Choose(fit.default)


def test_of_tied_configs_few_are_used() -> None:
    """Configs that are equal within the band are not told apart: the default stands for all."""
    shapes = [[2**i] for i in range(12)]
    latency = [[1.0 + 0.002 * ((i + j) % 3) for j in range(3)] for i in range(12)]
    assert len(configs_used(fit_table(table_of(shapes, latency)))) == 1


def test_the_band_comes_from_a_second_run() -> None:
    """It is the median of |log(first / second)|, and 1% when there was no second run."""
    first = np.array([[100.0, 100.0], [100.0, np.nan], [1.0, 1.0]])
    second = 100 * np.exp([[0.02, -0.04], [0.03, 0.5]])
    assert tie_band(first, second) == pytest.approx(0.03)
    assert tie_band(first, second[:0]) == DEFAULT_BAND


@pytest.mark.parametrize("kind", ["tree", "bucket"])
def test_limits_are_kept(kind: KindName) -> None:
    """A selector has no more leaves and no more depth than was asked for."""
    table = first_of(read_table(DATA / "h200_softmax.json"), 60)
    fit = fit_table(table, selector=kind, max_leaves=5, max_depth=3)
    assert count_leaves(root_of(fit)) <= 5
    assert depth_of(root_of(fit)) <= 3


def test_leaves_beat_the_default_and_siblings_differ() -> None:
    """No leaf loses to the default beyond the band, and no split leads to the same twice."""
    table = read_table(DATA / "h200_softmax.json")
    fit, problem = recorded("softmax"), problem_of(table)
    leaves: dict[tuple[str, ...], list[float]] = {}
    for shape, regret in zip(problem.shapes.tolist(), problem.regret, strict=True):
        path, config = _walk(root_of(fit), dict(zip(table.axis_names, shape, strict=True)))
        leaves.setdefault(path, []).append(regret[config] - regret[fit.default])
    assert max(np.mean(lost) for lost in leaves.values()) <= fit.band + 1e-6
    assert all(left != right for left, right in _sides(root_of(fit)))


def _walk(node: Decision, sizes: dict[str, int]) -> tuple[tuple[str, ...], int]:
    path: tuple[str, ...] = ()
    while isinstance(node, Split):
        terms = [node.feature] if isinstance(node.feature, AxisTerm) else node.feature.terms
        value = int(np.prod([sizes[term.axis] for term in terms]))
        path += ("left" if value <= node.threshold else "right",)
        node = node.left if value <= node.threshold else node.right
    assert isinstance(node, Choose)
    return path, node.config


def _sides(node: Decision) -> list[tuple[Decision, Decision]]:
    if not isinstance(node, Split):
        return []
    return [(node.left, node.right), *_sides(node.left), *_sides(node.right)]


def test_a_shape_without_a_measurement_is_left_out() -> None:
    """It is not in the envelope, and a note says so."""
    manifest = manifest_for(table_of([[1], [5], [9]], [[1, 2], [2, 1], [None, None]]))
    assert (manifest.axes[0].min, manifest.axes[0].max) == (1, 5)
    assert manifest.tune_meta.shapes == 2
    assert "1 of 3 shapes have no measurement" in manifest.tune_meta.notes


# ---- Surroundings ---------------------------------------------------------------------------


@given(
    st.integers(1, 3).flatmap(
        lambda n: st.lists(
            st.tuples(*[st.integers(0, 2**63 - 1)] * n), min_size=1, max_size=8, unique=True
        )
    )
)
def test_surroundings_stay_within_the_range(shapes: list[tuple[int, ...]]) -> None:
    """No shape is made up outside what was measured, up to the largest integers."""
    sizes = np.array(shapes, dtype=np.int64)
    points, near = surroundings(sizes)
    assert (len(points), points.shape[2]) == sizes.shape
    assert 0 < near <= points.shape[1]
    assert (points >= sizes.min(axis=0)).all()
    assert (points <= sizes.max(axis=0)).all()


# ---- Holes and determinism ------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> LatencyTable:
    """Return a small table with holes, in which the first config was measured everywhere."""
    axes, n_configs = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    sizes = st.sampled_from([0, 1, 3, 16, 128, 129, 4096, 2**40, 2**63 - 1])
    shape = st.lists(sizes, min_size=axes, max_size=axes).map(tuple)
    shapes = draw(st.lists(shape, min_size=1, max_size=14, unique=True))
    cell = st.one_of(st.none(), st.sampled_from([1.0, 1.001, 1.5, 7.0, 1e-6, 1e12]))
    row = st.tuples(st.sampled_from([1.0, 2.0]), *[cell] * (n_configs - 1)).map(list)
    latency = draw(st.lists(row, min_size=len(shapes), max_size=len(shapes)))
    return table_of(shapes, latency)


@settings(max_examples=40)
@given(tables(), st.sampled_from(KIND_NAMES))
def test_no_shape_gets_a_config_that_was_not_measured_on_it(
    table: LatencyTable, kind: KindName
) -> None:
    """The manifest loads, is the same bytes each time, and chooses nothing unmeasured."""
    text = dump_manifest(manifest_for(table, selector=kind))
    assert dump_manifest(manifest_for(table, selector=kind)) == text
    manifest = parse_manifest(_json(text), name="test")
    assert dump_manifest(manifest) == text
    policy = policy_of(manifest)
    for shape, row in zip(table.shapes.tolist(), table.latency_us, strict=True):
        chosen = policy.evaluate(shape)
        assert not np.isnan(row[table.configs.index(chosen)])


def _json(text: str) -> Any:
    import json

    return json.loads(text)


def test_the_order_of_the_configs_does_not_matter_to_the_choice() -> None:
    """A table with its columns turned round gives the same config for every shape."""
    table = read_table(DATA / "h200_conv2d.json")
    raw = _json((DATA / "h200_conv2d.json").read_text())
    for key in ("configs",):
        raw[key] = raw[key][::-1]
    for key in ("latency_us", "repeat_latency_us"):
        raw[key] = [row[::-1] for row in raw[key]]
    turned = parse_table(raw, name="", file=table.file, digest=table.sha256)
    one, other = policy_of(manifest_for(table)), policy_of(manifest_for(turned))
    assert [one.evaluate(s) for s in table.shapes.tolist()] == [
        other.evaluate(s) for s in table.shapes.tolist()
    ]


# ---- The recorded tables --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "geomean", "leaves"),
    [("matmul", 1.035, 64), ("softmax", 1.035, 64), ("conv2d", 1.02, 16)],
)
def test_trees_are_good_on_shapes_left_out(kernel: str, geomean: float, leaves: int) -> None:
    """On the recorded tables a tree is far better than the best single config."""
    table, fit = read_table(DATA / f"h200_{kernel}.json"), recorded(kernel)
    assert fit.score is not None
    assert fit.best_single is not None
    assert fit.score.shapes == len(table.shapes)
    assert fit.score.geomean < geomean < fit.best_single.geomean
    assert fit.score.worst < fit.best_single.worst
    assert count_leaves(root_of(fit)) <= leaves
    assert depth_of(root_of(fit)) <= 7


def test_the_manifest_says_how_it_came_about() -> None:
    """Target, candidates, envelope, figures and provenance are the table's."""
    table = read_table(DATA / "h200_conv2d.json")
    manifest = manifest_for(table)
    assert (manifest.kernel.name, manifest.kernel.dtype) == ("conv2d", "float16")
    assert (manifest.target.device, manifest.target.arch) == ("NVIDIA H200", "sm_90")
    assert [(axis.name, axis.min, axis.max) for axis in manifest.axes] == [
        ("N", 1, 8),
        ("H", 17, 764),
        ("W", 16, 885),
    ]
    assert len(manifest.candidates) == len(table.configs)
    regret = manifest.tune_meta.regret
    assert regret is not None
    assert (regret.basis, regret.shapes) == ("shapes left out in turn", 60)
    assert manifest.tune_meta.method == table.method
    assert f"fitted to h200_conv2d.json, SHA-256 {table.sha256}" in manifest.tune_meta.notes
    assert str(DATA) not in dump_json(manifest.model_dump())


def test_rejected_configs_are_candidates_with_a_reason() -> None:
    """The config that the H200 has no shared memory for is in the manifest, and is not used."""
    table = first_of(read_table(DATA / "h200_matmul.json"), 12)
    manifest = manifest_of(table, fit_table(table, selector="constant"))
    rejected = [c for c in manifest.candidates if c.status == "rejected"]
    assert len(rejected) == 1
    assert "out of resource" in (rejected[0].reason or "")


def test_ranges_of_a_bucket_ascend() -> None:
    """Edges ascend, and neighbouring ranges differ."""
    fit = fit_table(read_table(DATA / "h200_conv2d.json"), selector="bucket")
    for dim in fit.selector.dims:  # type: ignore[attr-defined]
        assert all(low < high for low, high in pairwise(dim.edges))


def test_a_shape_counts_as_much_as_its_weight() -> None:
    """Where no split can tell two shapes apart, the heavier one decides."""
    shapes = [(m,) for m in range(1, 41)]
    latency_us = [[1.0, 1.5] if m % 2 else [1.5, 1.0] for (m,) in shapes]
    for heavy in (0, 1):
        weights = [20.0 if m % 2 != heavy else 1.0 for (m,) in shapes]
        fit = fit_table(table_of(shapes, latency_us, weights=weights), selector="constant")
        assert fit.selector.choose({"M": 7}) == heavy
        assert fit.score is not None
        assert fit.score.geomean < 1.05


def test_equal_weights_change_nothing() -> None:
    """Weights matter only relative to each other."""
    shapes = [(2**i,) for i in range(12)]
    latency_us = [[1.0, 2.0] if i < 5 else [2.0, 1.0] for i in range(12)]
    plain, weighted = table_of(shapes, latency_us), table_of(shapes, latency_us, weights=[7.5] * 12)
    assert dump_manifest(manifest_for(plain)) == dump_manifest(manifest_for(weighted))


# ---- Few configs, and a manifest to go by ---------------------------------------------------


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_configs_are_used_than_was_asked_for(most: int) -> None:
    """The default is one of them; with one alone there is nothing to choose."""
    fit = fit_table(read_table(DATA / "h200_conv2d.json"), max_configs=most)
    assert len(configs_used(fit)) <= most
    assert most > 1 or root_of(fit) == Choose(fit.default)


def test_few_configs_serve_better_than_the_default_alone() -> None:
    """Of the configs that may be used, those are kept that serve the shapes best."""
    table = table_of([[2**i] for i in range(12)], [[3.0, 1.0, 2.5]] * 6 + [[3.0, 4.0, 1.0]] * 6)
    used = configs_used(fit_table(table, max_configs=2))
    assert used == (1, 2)


def second_run(table: LatencyTable, spread: float) -> LatencyTable:
    """Return `table` measured anew: every latency is off by about `spread`."""
    noise = np.random.default_rng(3).standard_normal(table.latency_us.shape)
    return replace(table, latency_us=table.latency_us * np.exp(spread * noise))


def test_a_second_run_changes_no_more_than_noise_warrants() -> None:
    """With the first selector to go by, the second is the same but for a few leaves."""
    table, first = read_table(DATA / "h200_softmax.json"), root_of(recorded("softmax"))
    second = root_of(fit_table(second_run(table, 0.003), previous=first))
    ones, others = _choices(first), _choices(second)
    marks = [line[0] for line in unified_diff(ones, others, lineterm="", n=0)][2:]
    assert len(ones) > 50
    assert sum(mark in "+-" for mark in marks) <= 0.1 * len(ones)


def _choices(node: Decision) -> list[str]:
    """Return the questions and choices of a tree, one a line."""
    if isinstance(node, Choose):
        return [f"choose {node.config}"]
    assert isinstance(node, Split)
    question = f"{node.feature} <= {node.threshold}"
    return [question, *_choices(node.left), *_choices(node.right)]


def test_a_previous_selector_that_is_worse_is_not_kept() -> None:
    """Loyalty ends where noise cannot explain the loss."""
    table = read_table(DATA / "h200_conv2d.json")
    assert root_of(fit_table(table, previous=Choose(0))) == root_of(recorded("conv2d"))


@pytest.mark.parametrize("limit", [{"max_leaves": 3}, {"max_depth": 2}])
def test_a_previous_selector_beyond_the_limits_is_not_kept(limit: dict[str, int]) -> None:
    """What is kept is as small as was asked for."""
    table = read_table(DATA / "h200_conv2d.json")
    fit = fit_table(table, previous=root_of(recorded("conv2d")), **limit)  # type: ignore[arg-type]
    assert count_leaves(root_of(fit)) <= limit.get("max_leaves", 64)
    assert depth_of(root_of(fit)) <= limit.get("max_depth", 7)


def test_a_leaf_of_a_config_that_is_gone_gets_another() -> None:
    """The tree stays, and the leaf is filled with what is best there now."""
    table = table_of([[2**i] for i in range(12)], [[3.0, 1.0, 2.5]] * 6 + [[3.0, 4.0, 1.0]] * 6)
    before = Split(AxisTerm("M"), 48, Choose(GONE), Choose(2))
    after = root_of(fit_table(table, previous=before))
    assert after == Split(AxisTerm("M"), 48, Choose(1), Choose(2))


def test_a_previous_tree_is_read_from_its_manifest() -> None:
    """Configs are known by their ids, wherever they stand in the new table."""
    table = table_of([[2**i] for i in range(12)], [[1.0, 3.0]] * 6 + [[4.0, 2.0]] * 6)
    manifest = manifest_for(table)
    turned = replace(table, configs=table.configs[::-1], latency_us=table.latency_us[:, ::-1])
    decision = previous_decision(manifest, turned)
    assert isinstance(decision, Split)
    assert (decision.left, decision.right) == (Choose(1), Choose(0))
    lost = replace(table, configs=(table.configs[0],), latency_us=table.latency_us[:, :1])
    decision = previous_decision(manifest, replace(lost, reasons=(None,)))
    assert isinstance(decision, Split)
    assert (decision.left, decision.right) == (Choose(0), Choose(GONE))


def test_a_manifest_of_another_kernel_is_no_predecessor() -> None:
    """Name and axes have to be the same, and the axes integers."""
    table = table_of([[1], [2]], [[1.0, 2.0], [2.0, 1.0]])
    manifest = manifest_for(table)
    assert mismatch(manifest, table) is None
    assert mismatch(manifest, table, "gemm") == "is of kernel kernel, not of gemm"
    wide = table_of([[1, 1], [2, 2]], [[1.0, 2.0], [2.0, 1.0]])
    assert mismatch(manifest, wide) == "has the axes M, not M, N"
