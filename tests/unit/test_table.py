"""Reading a latency table: what is kept of it, and what is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tuner.errors import TableError
from tuner.table import LatencyTable, parse_table, read_table

DATA = Path(__file__).parents[1] / "data"

GOOD: dict[str, Any] = {
    "format": "latency-table/1",
    "kernel": "matmul",
    "axis_names": ["M", "N"],
    "dtype": "float16",
    "device": "NVIDIA H200",
    "arch": "sm_90",
    "toolchain": {"triton": "3.6.0"},
    "method": "median of 7",
    "configs": [
        {"params": {"BLOCK": 64}, "num_warps": 4},
        {"params": {"BLOCK": 128, "evict": "first"}, "options": {"multibuffer": True}},
    ],
    "rejected": {},
    "shapes": [[1, 8], [0, 2**63 - 1], [7, 7]],
    "latency_us": [[1.5, 2], [None, 3.25], [4.0, None]],
    "repeat_latency_us": [[1.25, None]],
}


def parsed(**changes: Any) -> LatencyTable:
    """Return the good table with `changes`; a field that becomes `...` is taken away."""
    raw = {key: value for key, value in {**GOOD, **changes}.items() if value is not ...}
    return parse_table(raw, name="table.json", file="table.json", digest="0" * 64)


def test_arrays_have_a_row_a_shape_and_nan_for_a_hole() -> None:
    """Latencies are float64 (n_shapes, n_configs) in microseconds, null is NaN."""
    table = parsed()
    np.testing.assert_array_equal(table.latency_us, [[1.5, 2.0], [np.nan, 3.25], [4.0, np.nan]])
    np.testing.assert_array_equal(table.repeat_latency_us, [[1.25, np.nan]])
    assert table.latency_us.dtype == np.float64


def test_sizes_stay_exact_up_to_64_bits() -> None:
    """A size is an int64 and never a float, in which neighbours near 2**60 would merge."""
    sizes = [[2**60, 1], [2**60 + 1, 1], [2**63 - 1, 0]]
    assert parsed(shapes=sizes).shapes.tolist() == sizes


def test_optional_fields_may_be_absent() -> None:
    """Only format, kernel, axes, device, configs, shapes and latencies are required."""
    optional = ("dtype", "arch", "toolchain", "method", "rejected", "repeat_latency_us")
    table = parsed(**dict.fromkeys(optional, ...))
    assert (table.dtype, table.toolchain, table.method) == (None, (), None)
    assert table.repeat_latency_us.shape == (0, 2)


def test_a_rejected_config_has_a_reason_and_no_latencies() -> None:
    """What is rejected is kept as a record, and its measurements are not used."""
    table = parsed(rejected={"1": "wrong result"})
    assert table.reasons == (None, "wrong result")
    assert table.kept == (0,)
    assert np.isnan(table.latency_us[:, 1]).all()


def test_a_config_that_was_never_measured_is_rejected() -> None:
    """A column of holes is a rejection, with that as its reason."""
    table = parsed(latency_us=[[1.0, None], [2.0, None], [3.0, None]])
    assert table.reasons == (None, "no measurement on any shape")


def test_a_hole_failed_unless_it_is_untried() -> None:
    """Both are without a latency; what nobody tried is told apart."""
    table = parsed(latency_us=[[1.0, 2.0], [2.0, None], [None, None]], untried={"2": [0, 1]})
    assert table.untried.tolist() == [[False, False], [False, False], [True, True]]
    assert np.isnan(table.latency_us).tolist() == [[False, False], [False, True], [True, True]]


@pytest.mark.parametrize("kernel", ["matmul", "softmax", "conv2d"])
def test_the_recorded_tables_are_read(kernel: str) -> None:
    """The tables measured on an H200 are of the format; the file's name and hash are kept."""
    table = read_table(DATA / f"h200_{kernel}.json")
    assert table.kernel == kernel
    assert table.file == f"h200_{kernel}.json"
    assert len(table.sha256) == 64
    assert table.latency_us.shape == (len(table.shapes), len(table.configs))


CONFIGS = GOOD["configs"]

BAD: list[tuple[dict[str, Any], str]] = [
    ({"format": "latency-table/2"}, "format: 'latency-table/2' is not a known value"),
    ({"kernel": ...}, r"kernel: missing field; add it"),
    ({"kernel": ""}, "kernel: is an empty string"),
    ({"latencies": []}, "latencies: unknown key; remove it$"),
    ({"axis_names": ["M", "M"]}, r"axis_names\[1\]: axis 'M' stands twice"),
    ({"axis_names": ["M", "in"]}, r"axis_names\[1\]: 'in' is a Python keyword"),
    ({"axis_names": ["M"]}, r"shapes\[0\]: has 2 values for 1 axes"),
    ({"shapes": [[1, 8], [1, 8], [7, 7]]}, r"shapes\[1\]: shape \[1, 8\] stands twice"),
    ({"shapes": [[1, 8], [1], [7, 7]]}, r"shapes\[1\]: has 1 values for 2 axes"),
    ({"shapes": [[1, 8], [1, -1], [7, 7]]}, r"shapes\[1\]\[1\]: -1 is out of range"),
    ({"shapes": [[1, 8], [1, True], [7, 7]]}, r"shapes\[1\]\[1\]: true is not an integer"),
    ({"shapes": [[1, 8], [1, 2.0], [7, 7]]}, r"shapes\[1\]\[1\]: 2.0 is not an integer"),
    ({"shapes": [[1, 8], [1, 2**63], [7, 7]]}, r"shapes\[1\]\[1\]: 9223372036854775808 is out"),
    ({"shapes": [[1, 8]]}, "latency_us: has 3 rows for 1 shapes"),
    ({"latency_us": [[1.0, 1.0]]}, "latency_us: has 1 rows for 3 shapes"),
    ({"latency_us": [[1, 1], [1], [1, 1]]}, r"latency_us\[1\]: has 1 values for 2 configs"),
    ({"latency_us": [[1, 1], [1, 0], [1, 1]]}, r"latency_us\[1\]\[1\]: 0 is out of range;"),
    ({"latency_us": [[1, 1], [1, -2.5], [1, 1]]}, r"latency_us\[1\]\[1\]: -2.5 is out of range;"),
    ({"latency_us": [[1, 1], [1, True], [1, 1]]}, r"latency_us\[1\]\[1\]: true is not a number"),
    ({"latency_us": [[1, 1], [1, "1"], [1, 1]]}, r"latency_us\[1\]\[1\]: '1' is not a number"),
    ({"latency_us": [[1, 1], [1, 10**390], [1, 1]]}, "an integer of 1296 bits is not a number"),
    ({"repeat_latency_us": [[1, 1]] * 4}, "repeat_latency_us: has 4 rows for 3 shapes"),
    ({"repeat_latency_us": [[1]]}, r"repeat_latency_us\[0\]: has 1 values for 2 configs"),
    ({"configs": [CONFIGS[0], CONFIGS[0]]}, r"configs\[1\]: config .*BLOCK=64.* stands twice"),
    ({"configs": [CONFIGS[0], {"params": {"num_warps": 4}}]}, r"configs\[1\]: .* num_warps twice"),
    ({"configs": [CONFIGS[0], {"params": {"B": []}}]}, "an array cannot be a param"),
    ({"configs": [CONFIGS[0], {"params": {}, "num_warps": 0}]}, "num_warps: 0 is out of range"),
    ({"untried": {"3": [0]}}, 'untried: \'3\' is not the index of a shape; use "0" to "2"'),
    ({"untried": {"0": [2]}}, r"untried\.0: '2' is not the index of a config"),
    ({"untried": {"0": [-1]}}, r"untried\.'0'\[0\]: -1 is out of range"),
    ({"untried": {"0": [1, 1]}}, r"untried\.0\[1\]: config 1 stands twice"),
    ({"untried": {"0": [1]}}, r"untried\.0: config 1 is measured there, in latency_us\[0\]\[1\]"),
    ({"rejected": {"2": "no"}}, 'rejected: \'2\' is not the index of a config; use "0" to "1"'),
    ({"rejected": {"01": "no"}}, "rejected: '01' is not the index of a config"),
    ({"rejected": {"9" * 5000: "no"}}, "is not the index of a config"),
    ({"rejected": {"1": ""}}, "rejected.'1': is an empty string"),
]


@pytest.mark.parametrize(("changes", "match"), BAD, ids=[match[:40] for _, match in BAD])
def test_what_contradicts_is_refused(changes: dict[str, Any], match: str) -> None:
    """Each fault is one line: the file, the dotted path, the fact with the value, the remedy."""
    with pytest.raises(TableError, match=match) as caught:
        parsed(**changes)
    assert str(caught.value).startswith("table.json: ")
    assert "\n" not in str(caught.value)
    assert "manifest" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "is empty; write the table again"),
        (b"{", "is not JSON"),
        (b"\xff", "byte 0 is not UTF-8"),
        (b"[]", "an array is not an object"),
        (b'{"kernel": 1, "kernel": 2}', "key 'kernel' stands twice"),
        (b'{"latency_us": [[NaN]]}', "NaN is not a JSON number"),
        (b'{"latency_us": [[1e999]]}', "'1e999' is beyond a float's range"),
    ],
)
def test_what_is_not_json_is_refused(data: bytes, match: str, tmp_path: Path) -> None:
    """Python's reader would let some of this pass."""
    path = tmp_path / "table.json"
    path.write_bytes(data)
    with pytest.raises(TableError, match=match):
        read_table(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The error says which file, and why it cannot be read."""
    with pytest.raises(TableError, match=r"none\.json: cannot be read: no such file"):
        read_table(tmp_path / "none.json")


def test_a_table_survives_being_written_as_json(tmp_path: Path) -> None:
    """What `json` writes of the example in the format's description is read again."""
    path = tmp_path / "table.json"
    path.write_text(json.dumps(GOOD))
    assert read_table(path).configs == parsed().configs


def test_shapes_count_alike_unless_weights_say_otherwise() -> None:
    """Without `weights` each shape counts once."""
    np.testing.assert_array_equal(parsed().weights, [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(parsed(weights=[1, 2.5, 1]).weights, [1.0, 2.5, 1.0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"weights: has 2 values for 3 shapes; give one a shape"),
        ([1.0, 0.0, 1.0], r"weights\[1\]: 0.0 is out of range; use more than 0"),
        ([1.0, "2", 1.0], r"weights\[1\]: '2' is not a number"),
    ],
)
def test_weights_are_positive_and_one_a_shape(weights: Any, message: str) -> None:
    """What cannot be a weight is refused by its place."""
    with pytest.raises(TableError, match=message):
        parsed(weights=weights)
