"""What each kind of selector chooses, worked out by hand, and the policy around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from support import category, configs, integer, manifest_of

from codegen.axes import AxisValue
from codegen.config import Config
from codegen.decision import Among, Choose, Decision
from codegen.errors import ManifestError
from codegen.manifest import policy_of
from codegen.policy import OutsideEnvelopeError, Policy
from codegen.selectors.tree import goes_left

M_N = (integer("M", 1, 100), integer("N"))
M_DTYPE = (integer("M", 1, 100), category("dtype", "float16", "float32", 8))


def _policy(
    kind: str,
    payload: Mapping[str, Any],
    *,
    axes: Sequence[Mapping[str, Any]] = M_N,
    outside: str = "default",
    default: int = 3,
) -> Policy:
    selector = {"kind": kind, "payload": dict(payload)}
    return policy_of(
        manifest_of(axes=axes, selector=selector, outside=outside, default=default, n_configs=8)
    )


def _index(policy: Policy, *shape: AxisValue) -> int:
    """Return which of the configs `shape` gets."""
    return configs(8).index(policy.evaluate(shape))


def _split(feature: Any, threshold: int, denominator: int | None = None) -> dict[str, Any]:
    """Return a payload that chooses 1 where `feature` is at most `threshold`, else 2."""
    return {
        "root": {
            "feature": feature,
            "threshold": threshold,
            **({} if denominator is None else {"denominator": denominator}),
            "left": {"config": 1},
            "right": {"config": 2},
        }
    }


M, N = {"axis": "M"}, {"axis": "N"}
BLOCKS = {"cdiv": "M", "by": 16}
REST = {"mod": "N", "by": 8}


@pytest.mark.parametrize(
    ("feature", "threshold", "denominator", "left", "right"),
    [
        (M, 32, None, [(32, 0), (1, 0)], [(33, 0), (100, 0)]),
        (N, -5, None, [(1, -5), (1, -(2**80))], [(1, -4), (1, 0)]),
        (BLOCKS, 2, None, [(32, 0), (17, 0), (1, 0)], [(33, 0), (49, 0)]),
        (REST, 0, None, [(1, 0), (1, 8), (1, -8)], [(1, 1), (1, -1), (1, 15)]),
        (REST, 6, None, [(1, 6), (1, -2)], [(1, 7), (1, -1)]),
        ({"product": [M, N]}, 100, None, [(10, 10), (1, 100), (2, -9)], [(10, 11), (2, 51)]),
        ({"product": [BLOCKS, REST, M]}, 20, None, [(10, 2), (17, 0)], [(10, 3), (17, 1)]),
        ({"product": [N, N]}, 9, None, [(1, 3), (1, -3)], [(1, 4), (1, -4)]),
        ({"ratio": M, "over": N}, 3, 2, [(3, 2), (6, 4), (1, 5)], [(4, 2), (1, 0), (1, -1)]),
        ({"ratio": M, "over": N}, -1, None, [(5, -5), (5, -9)], [(5, -4), (5, 5)]),
        ({"ratio": N, "over": M}, 0, None, [(1, 0), (1, -1)], [(1, 1)]),
        ({"ratio": {"product": [M, N]}, "over": BLOCKS}, 30, None, [(10, 3)], [(10, 4)]),
    ],
)
def test_a_split_asks_about_integers(
    feature: Any,
    threshold: int,
    denominator: int | None,
    left: list[tuple[int, int]],
    right: list[tuple[int, int]],
) -> None:
    """A split leads left where its feature is at most the threshold, exactly, at any size."""
    policy = _policy("tree", _split(feature, threshold, denominator))
    assert [_index(policy, *shape) for shape in left] == [1] * len(left)
    assert [_index(policy, *shape) for shape in right] == [2] * len(right)


def test_a_threshold_is_exact_where_a_float_is_not() -> None:
    """2^60 and 2^60 + 1 lie on the two sides of 2^60."""
    policy = _policy("tree", _split(N, 2**60))
    assert (_index(policy, 1, 2**60), _index(policy, 1, 2**60 + 1)) == (1, 2)


def test_a_category_is_split_by_its_values() -> None:
    """A category split leads left for the values it lists."""
    root = {
        "category": "dtype",
        "values": ["float32", 8],
        "left": {"config": 1},
        "right": {"config": 2},
    }
    policy = _policy("tree", {"root": root}, axes=M_DTYPE)
    assert [_index(policy, 1, v) for v in ("float16", "float32", 8)] == [2, 1, 1]
    assert [_index(policy, 1, v) for v in ("8", 9, "float64", "")] == [3] * 4


def test_an_edge_belongs_to_the_range_below_it() -> None:
    """A bucket's value at an edge lies in the range that the edge ends."""
    dims = [{"axis": "M", "edges": [16, 64]}, {"axis": "N", "edges": [0]}]
    policy = _policy("bucket", {"dims": dims, "cells": [0, 1, 2, 3, 4, 5]})
    assert [_index(policy, m, 0) for m in (1, 16, 17, 64, 65)] == [0, 0, 2, 2, 4]
    assert [_index(policy, m, 1) for m in (1, 16, 17, 64, 65)] == [1, 1, 3, 3, 5]


def test_a_category_has_a_bin_a_value() -> None:
    """A bucket's category has one bin for each value, in the order of the axis."""
    dims = [{"axis": "dtype"}, {"axis": "M", "edges": [50]}]
    policy = _policy("bucket", {"dims": dims, "cells": [0, 1, 2, 4, 5, 6]}, axes=M_DTYPE)
    assert [_index(policy, 50, v) for v in ("float16", "float32", 8)] == [0, 2, 5]
    assert [_index(policy, 51, v) for v in ("float16", "float32", 8)] == [1, 4, 6]


def test_an_axis_without_a_dimension_does_not_count() -> None:
    """A bucket with an axis that has no edges, and one that has no dimension, ignores both."""
    policy = _policy("bucket", {"dims": [{"axis": "N", "edges": []}], "cells": [5]})
    assert {_index(policy, m, n) for m in (1, 100) for n in (-7, 7)} == {5}


def _table(outside: str) -> Policy:
    entries = [{"shape": [7, 7], "config": 5}, {"shape": [1000, -1], "config": 6}]
    otherwise = {"kind": "tree", "payload": _split(M, 50)}
    return _policy("table", {"entries": entries, "otherwise": otherwise}, outside=outside)


@pytest.mark.parametrize("outside", ["default", "nearest", "raise"])
def test_a_pinned_shape_gets_its_config_wherever_it_lies(outside: str) -> None:
    """A table's exact shapes come before the envelope; all others go to the other selector."""
    policy = _table(outside)
    assert _index(policy, 7, 7) == 5
    assert _index(policy, 1000, -1) == 6
    assert (_index(policy, 7, 8), _index(policy, 99, 7)) == (1, 2)


def test_a_shape_beyond_the_envelope_takes_the_default() -> None:
    """Under the rule `default` a shape outside the envelope gets the default config."""
    policy = _table("default")
    assert [_index(policy, m, 0) for m in (0, 1, 100, 101)] == [3, 1, 2, 3]


def test_a_shape_beyond_the_envelope_is_taken_as_the_nearest() -> None:
    """Under the rule `nearest` a size is moved to the end of its range, before any feature."""
    policy = _policy("tree", _split({"product": [M, N]}, 100), outside="nearest")
    assert _index(policy, 10**9, 1) == 1
    assert _index(policy, 10**9, 2) == 2
    assert _index(policy, -5, 100) == 1


def test_a_strange_category_has_no_nearest() -> None:
    """A category value that was not tuned gets the default under `nearest`, and raises else."""
    root = {"category": "dtype", "values": [8], "left": {"config": 1}, "right": {"config": 2}}
    near = _policy("tree", {"root": root}, axes=M_DTYPE, outside="nearest")
    assert [_index(near, m, "int8") for m in (-1, 1, 101)] == [3, 3, 3]
    assert [_index(near, m, 8) for m in (-1, 1, 101)] == [1, 1, 1]
    strict = _policy("tree", {"root": root}, axes=M_DTYPE, outside="raise")
    with pytest.raises(OutsideEnvelopeError, match=r"^dtype lies outside the tuned envelope$"):
        strict.evaluate((1, "int8"))


def test_a_shape_beyond_the_envelope_raises() -> None:
    """Under the rule `raise` a shape outside the envelope is an error that names the axis."""
    policy = _table("raise")
    assert (_index(policy, 1, 0), _index(policy, 100, 0)) == (1, 2)
    for size in (0, 101):
        with pytest.raises(OutsideEnvelopeError, match=r"^M lies outside the tuned envelope$"):
            policy.evaluate((size, 0))


def test_a_shape_has_one_value_an_axis() -> None:
    """A shape of another length than the axes is an error."""
    policy = _policy("constant", {"config": 0})
    for shape in ((), (1,), (1, 2, 3)):
        with pytest.raises(ValueError, match=f"^shape has {len(shape)} values for 2 axes$"):
            policy.evaluate(shape)


def _walk(node: Decision, sizes: Mapping[str, Any]) -> int:
    while not isinstance(node, Choose):
        node = node.left if goes_left(node, sizes) else node.right
    return node.config


@pytest.mark.parametrize("edges", [[], [5], [2, 5, 9], [-3, 0, 3, 6]])
def test_a_lowered_bucket_chooses_as_the_grid_does(edges: list[int]) -> None:
    """A bucket lowered to questions chooses what its grid does, in every cell."""
    dims = [{"axis": "M", "edges": edges}, {"axis": "dtype"}]
    cells = [i * i % 8 for i in range(3 * (len(edges) + 1))]
    policy = _policy("bucket", {"dims": dims, "cells": cells}, axes=M_DTYPE)
    lowered = policy.selector.lower()
    for size in range(-5, 12):
        for value in ("float16", "float32", 8):
            sizes = {"M": size, "dtype": value}
            assert _walk(lowered, sizes) == policy.selector.choose(sizes)


def test_a_grid_of_one_config_asks_nothing() -> None:
    """A bucket whose cells are all alike is lowered to a leaf."""
    dims = [{"axis": "M", "edges": [1, 2, 3]}, {"axis": "N", "edges": [1]}]
    assert _policy("bucket", {"dims": dims, "cells": [4] * 8}).selector.lower() == Choose(4)


def test_a_grid_asks_about_a_category_once() -> None:
    """A bucket over a category alone asks which of its values it is."""
    policy = _policy("bucket", {"dims": [{"axis": "dtype"}], "cells": [0, 1, 1]}, axes=M_DTYPE)
    assert policy.selector.lower() == Among("dtype", ("float16",), Choose(0), Choose(1))


def test_a_default_is_any_kept_config() -> None:
    """The default is the manifest's, whether the selector names it or not."""
    policy = _policy("constant", {"config": 1}, default=7)
    assert isinstance(policy.default, Config)
    assert (_index(policy, 0, 0), _index(policy, 1, 0)) == (7, 1)


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        ("constant", {"config": 8}, r"payload\.config: config index 8 is out of range, config_ids"),
        ("tree", {"root": {"config": -1}}, r"payload\.root\.config: config index -1 is out of ran"),
        ("tree", _split({"axis": "K"}, 1), r"root\.feature\.axis: there is no axis 'K'; the axes "),
        (
            "tree",
            _split({"product": [M, {"mod": "K", "by": 2}]}, 1),
            r"payload\.root\.feature\.product\[1\]\.mod: there is no axis 'K'; the axes are M, N",
        ),
        (
            "tree",
            _split({"ratio": M, "over": {"cdiv": "K", "by": 2}}, 1),
            r"payload\.root\.feature\.over\.cdiv: there is no axis 'K'; the axes are M, N",
        ),
        (
            "tree",
            _split({"product": [{"product": [M, N]}, M]}, 1),
            r"payload\.root\.feature\.product\[0\]: .*axis, cdiv or mod",
        ),
        (
            "bucket",
            {"dims": [{"axis": "M", "edges": [1]}], "cells": [0, 8]},
            r"payload\.cells\[1\]: config index 8 is out of range, config_ids has 8; use 0 to 7",
        ),
        (
            "bucket",
            {"dims": [{"axis": "M", "edges": list(range(10_001))}], "cells": [0, 1] * 5001},
            r"payload\.cells: the grid needs 10002 leaves, at most 10000 can be emitted; fit it",
        ),
        (
            "table",
            {
                "entries": [{"shape": [1, "2"], "config": 0}],
                "otherwise": {"kind": "constant", "payload": {"config": 0}},
            },
            r"payload\.entries\[0\]\.shape\[1\]: '2' is not a value of axis N; write a value",
        ),
    ],
)
def test_a_payload_that_contradicts_the_manifest_is_refused(
    kind: str, payload: dict[str, Any], said: str
) -> None:
    """A payload that names what there is not, or needs more than can be emitted, is refused."""
    with pytest.raises(ManifestError, match=rf"^test: selector\.(payload\.)?{said}"):
        _policy(kind, payload)
