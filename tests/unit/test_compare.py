"""Outputs against the reference's: what passes for right, and how the rest is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tuner.worker import compare
from tuner.worker.compare import TOLERANCES, difference
from tuner.worker.scale import scale_of

RNG = np.random.default_rng(0)
NORMAL = RNG.standard_normal((40, 50))
FLOATS = ("float16", "float32", "float64")
TORCH_FLOATS = (*FLOATS, "bfloat16")


def off(output: Any, expected: Any, **options: Any) -> str:
    """Return the difference, which there must be."""
    text = difference(output, expected, **options)
    assert text is not None
    assert "\n" not in text
    return text


# ---- Arrays of numpy ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_error_within_the_tolerance_of_the_dtype_passes_and_a_greater_one_does_not(
    dtype: str,
) -> None:
    """Each element may be off by the tolerance times itself plus the scale of all."""
    expected = NORMAL.astype(dtype)
    tolerance = TOLERANCES[dtype]
    allowed = (expected + 0.9 * tolerance * abs(expected)).astype(dtype)
    assert difference(allowed, expected) is None
    assert "2000 of 2000" in off(
        (expected + 9 * tolerance * (1 + abs(NORMAL))).astype(dtype), expected
    )


@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "int8", "int64", "uint16", "bool"])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "reversed"])
def test_one_wrong_element_anywhere_is_found_and_named(dtype: str, layout: str) -> None:
    """Whatever dtype and strides, the message has the place, both values and how many are wrong."""
    expected = (NORMAL * 50).astype(dtype)
    whole = {
        "C": expected,
        "F": np.asfortranarray(expected),
        "strided": np.repeat(expected, 2, axis=1)[:, ::2],
        "reversed": np.ascontiguousarray(expected[::-1, ::-1])[::-1, ::-1],
    }[layout]
    for i, j in ((0, 0), (39, 49), (17, 3)):
        output = whole.copy(order="K")
        output[i, j] = (
            not output[i, j]
            if dtype == "bool"
            else output[i, j] // 2 + 60
            if (np.dtype(dtype).kind in "iu")
            else output[i, j] + 60
        )
        text = off(output, whole)
        assert "differs from the reference in 1 of 2000 elements" in text
        assert f"[{i}, {j}] is " in text
        assert difference(whole.copy(), whole) is None


def test_a_large_array_is_compared_in_pieces_and_counted_as_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pieces run along the longest dimension; places and counts are those of the whole."""
    monkeypatch.setattr(compare, "_PIECE", 64)
    for shape in ((1000,), (3, 500), (500, 3), (1, 1, 999), (7, 11, 13), (2, 700)):
        expected = RNG.standard_normal(shape).astype(np.float32)
        whole = [expected[at].size for at in compare._pieces(expected)]
        assert sum(whole) == expected.size
        assert max(whole) <= max(64, expected.size // max(shape))
        output = expected.copy()
        wrong = tuple(size - 1 for size in shape), tuple(size // 2 for size in shape)
        for place in wrong:
            output[place] += 1
        text = off(output, expected)
        assert f"in 2 of {expected.size} elements" in text
        assert f"[{', '.join(map(str, min(wrong)))}] is " in text
        assert difference(expected.copy(), expected) is None


def test_an_element_may_be_as_wrong_as_its_size_and_the_scale_of_all_allow() -> None:
    """Beside large elements one near 0 need not be exact to itself; of a lone one, it must."""
    expected = np.ones(1000, np.float32)
    expected[5] = 1e-6
    output = expected.copy()
    output[5] = -2e-5
    assert difference(output, expected) is None
    assert off(output[5:6], expected[5:6])


@pytest.mark.parametrize("mask", [-1e9, -1e4, float(np.finfo(np.float32).min), float("-inf")])
def test_what_a_mask_is_filled_with_excuses_nothing(mask: float) -> None:
    """The scale is that of the elements which do not stand far above the rest."""
    expected = np.where(np.tri(200) > 0, RNG.standard_normal((200, 200)), mask).astype(np.float32)
    output = expected.copy()
    output[199, 0] += 0.1
    assert "in 1 of 40000 elements" in off(output, expected)
    assert difference(expected * np.float32(1 - 5e-5), expected) is None


def test_one_huge_element_excuses_nothing() -> None:
    """An outlier does not raise the scale of a thousand others."""
    expected = RNG.standard_normal(1000).astype(np.float32)
    expected[0] = 1e7
    output = expected.copy()
    output[1:] += 0.1
    assert "in 999 of 1000 elements" in off(output, expected)


def test_where_the_reference_is_zero_throughout_only_zero_is_right() -> None:
    """There is no scale to allow anything by; the sign of a zero does not count."""
    zeros = np.zeros(8, np.float32)
    assert difference(-zeros, zeros) is None
    assert "in 8 of 8 elements" in off(zeros + np.float32(1e-30), zeros)


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_infinities_and_nan_are_right_exactly_where_the_reference_has_them(odd: float) -> None:
    """Neither passes for a number, nor a number for it; the rest is compared as ever."""
    expected = np.array([1.0, odd, 2.0], np.float32)
    assert difference(expected.copy(), expected) is None
    assert "[1] is 3 instead of" in off(np.array([1, 3, 2], np.float32), expected)
    assert "[0] is " in off(np.array([odd, odd, 2], np.float32), expected)
    assert "[2] is 2.5 instead of 2" in off(np.array([1, odd, 2.5], np.float32), expected)
    if np.isinf(odd):
        assert f"is {-odd} instead of {odd}" in off(np.array([1, -odd, 2], np.float32), expected)


def test_values_at_the_end_of_the_range_do_not_pass_by_overflow() -> None:
    """What is computed of them may overflow, and still nothing wrong is right."""
    for dtype, top in ((np.float32, 3e38), (np.float64, 1.7e308), (np.float16, 6e4)):
        expected = np.full(10, top, dtype)
        assert difference(expected.copy(), expected) is None
        for wrong in (-expected, expected / 2, np.zeros_like(expected)):
            assert "in 10 of 10 elements" in off(wrong, expected)
        tiny = np.full(10, np.finfo(dtype).tiny, dtype)
        assert difference(tiny.copy(), tiny) is None
        assert "in 10 of 10 elements" in off(tiny * 2, tiny)


def test_numpy_says_nothing_of_all_this(recwarn: pytest.WarningsRecorder) -> None:
    """No warning of a division by zero or of an infinity comes out, even where it would raise."""
    with np.errstate(all="raise"):
        assert difference(np.zeros(3), np.zeros(3)) is None
        assert off(np.array([0, np.inf, np.nan]), np.array([np.inf, np.nan, 0]))
    assert not recwarn.list


def test_a_given_tolerance_takes_the_place_of_the_dtypes_own() -> None:
    """0 asks for equality; a large one lets a large error pass."""
    expected = np.ones(4, np.float32)
    assert "where 0 is allowed" in off(expected + np.float32(1e-6), expected, tolerance=0.0)
    assert difference(expected, expected.copy(), tolerance=0.0) is None
    assert difference(expected * 2, expected, tolerance=0.9) is None
    assert "2.0 instead of 1.0" not in off(2.0, 1.0, tolerance=0.0)
    assert off(2.0, 1.0, tolerance=0.0) == "the output is 2 instead of 1"


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_arrays_without_elements_or_dimensions_are_arrays(dtype: str) -> None:
    """Empty ones are equal where their shapes are, one of no dimension is its value."""
    empty = np.zeros((0, 3), dtype)
    assert difference(empty, empty.copy()) is None
    assert "shape (0, 4) instead of (0, 3)" in off(np.zeros((0, 4), dtype), empty)
    one, zero = np.ones((), dtype), np.zeros((), dtype)
    assert difference(one, one.copy()) is None
    assert "in 1 of 1 elements" in off(zero, one)
    assert difference(one[()], one) is None  # A number of numpy's is what it is to numpy.
    assert "in 1 of 1 elements" in off(zero[()], one[()])


@pytest.mark.parametrize(
    ("output", "expected", "words"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2)), "has shape (2, 3) instead of (3, 2)"),
        (np.zeros(3, np.float32), np.zeros(3), "is of float32 instead of float64"),
        (np.zeros(3, np.int32), np.zeros(3, np.int64), "is of int32 instead of int64"),
        (np.zeros(3, bool), np.zeros(3, np.int8), "is of bool instead of int8"),
        ([0.0, 0.0], np.zeros(2), "is a list instead of a ndarray"),
        (None, np.zeros(2), "is None instead of a ndarray"),
        (np.zeros(2), None, "is a ndarray instead of None"),
        (0.0, np.zeros(()), "is a float instead of a ndarray"),
        (np.zeros(2), [0.0, 0.0], "is a ndarray instead of a sequence of 2"),
        ((np.zeros(1),), (np.zeros(1), np.zeros(1)), "is a sequence of 1 instead of 2"),
        ("ab", ("a", "b"), "is a str instead of a sequence of 2"),
        ([np.ones(2), np.ones(2)], (np.ones(2), np.zeros(2)), "the output[1] differs from"),
        ({"a": np.ones(2)}, {"b": np.ones(2)}, "has other keys than the reference's"),
        ({"a": [np.ones(2)]}, {"a": [np.zeros(2)]}, "the output['a'][0] differs from"),
        ([1], {"a": 1}, "is a list instead of a dict"),
        (True, 1, "is a bool instead of an int"),
        (1, True, "is an int instead of a bool"),
        (1.0, 1, "is a float instead of an int"),
        (2, 1, "is 2 instead of 1"),
        (1.0 + 1e-6, 1.0, "is 1 instead of 1"),
        (float("inf"), 1.0, "is inf instead of 1"),
        (5.0, float("inf"), "is 5 instead of inf"),
        (5.0, float("nan"), "is 5 instead of nan"),
        (1j, 1 + 1j, "is 1j instead of (1+1j)"),
        ("a\x1b[31m", "b", "is 'a\\x1b[31m' instead of 'b'"),
        (object(), 1, "is an object instead of an int"),
    ],
)
def test_what_is_of_another_kind_is_named(output: Any, expected: Any, words: str) -> None:
    """Shape, dtype, type, key and place stand in the message."""
    assert words in off(output, expected)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (None, None),
        ((1, 2.0, None, "a"), [1, 2.0, None, "a"]),
        ({"b": np.ones(2), "a": 1}, {"a": 1, "b": np.ones(2)}),
        (1, 1.0),
        (1.0 + 1e-12, 1.0),
        (float("nan"), float("nan")),
        (float("-inf"), float("-inf")),
        (1 + 1j, 1 + 1j),
        (True, True),
        ([], ()),
        (np.array(["a"]), np.array(["a"])),
        (np.float16(1), np.float16(1.001)),
    ],
)
def test_what_is_equal_but_for_its_container_passes(output: Any, expected: Any) -> None:
    """A list passes for a tuple, and the order of keys does not count."""
    assert difference(output, expected) is None


def test_longer_floats_are_not_taken_for_coarse_ones() -> None:
    """What numpy has beyond float64 is held to float64's tolerance."""
    one = np.ones(3, np.longdouble)
    assert off(one * (1 + 1e-6), one)


def test_the_scale_is_that_of_most_elements() -> None:
    """Of normal values it is about their deviation, of none and of zeros it is 0."""
    assert scale_of([NORMAL]) == pytest.approx(1, rel=0.15)
    assert scale_of([NORMAL * 1e-300]) == pytest.approx(1e-300, rel=0.15)
    assert scale_of([NORMAL[:20], NORMAL[20:]]) == scale_of([NORMAL])
    assert scale_of([np.zeros(5)]) == 0.0
    assert scale_of([np.array([np.nan, np.inf])]) == 0.0
    assert scale_of([]) == 0.0
    half_zeros = np.where(NORMAL > 0, NORMAL, 0)
    assert scale_of([half_zeros]) == pytest.approx(0.5**0.5, rel=0.15)


# ---- Tensors of torch -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TORCH_FLOATS)
def test_a_tensor_may_be_off_by_the_tolerance_of_its_dtype(dtype: str) -> None:
    """In each dtype a small error passes and one of ten tolerances does not."""
    torch = pytest.importorskip("torch")
    expected = torch.from_numpy(NORMAL).to(getattr(torch, dtype))
    tolerance = TOLERANCES[dtype]
    wide = expected.double()
    small = (wide + 0.4 * tolerance).to(expected.dtype)
    assert difference(small, expected) is None
    wrong = expected.clone()
    wrong[39, 49] = wide[39, 49] + 10 * tolerance * (1 + wide[39, 49].abs())
    assert "in 1 of 2000 elements" in off(wrong, expected)


def test_what_tf32_makes_of_a_float32_product_passes_on_an_accelerator() -> None:
    """Factors rounded to ten bits give a product that is right there, and not on a CPU."""
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(128, 512, generator=generator) for _ in range(2))

    def tf32(x: Any) -> Any:
        return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)

    exact, rounded = a @ b.T, tf32(a) @ tf32(b).T
    assert not torch.equal(exact, rounded)
    allowed = compare._tolerance(torch.empty(1, device="meta"))
    assert difference(rounded, exact, tolerance=allowed) is None
    assert off(rounded, exact)
    assert off(rounded.double(), exact.double())
    # Eight of 512 products left out.
    assert difference(a[:, :-8] @ b[:, :-8].T, exact, tolerance=allowed) is not None


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "channels_last", "strided"])
@pytest.mark.parametrize("piece", [64, 2**25])
def test_one_wrong_element_of_a_tensor_is_found_whatever_its_layout(
    layout: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference's layout need not be the output's; the place is that of the shape."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(compare, "_PIECE", piece)
    plain = torch.randn(4, 6, 10, 12, generator=torch.Generator().manual_seed(0))
    output = {
        "contiguous": plain.clone(),
        "transposed": plain.transpose(1, 3).contiguous().transpose(1, 3),
        "channels_last": plain.contiguous(memory_format=torch.channels_last),
        "strided": plain.repeat_interleave(2, dim=3)[..., ::2],
    }[layout]
    assert difference(output, plain) is None
    assert difference(plain, output) is None
    output = output.clone()
    output[3, 5, 9, 11] += 1
    output[2, 1, 8, 0] += 1
    text = off(output, plain)
    assert "in 2 of 2880 elements" in text
    assert "[2, 1, 8, 0] is " in text or "[3, 5, 9, 11] is " in text


@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"],
)
def test_integers_of_torch_must_be_equal(dtype: str) -> None:
    """One off by one is wrong, whatever the tolerance."""
    torch = pytest.importorskip("torch")
    expected = torch.ones(5, dtype=torch.int32).to(getattr(torch, dtype))
    output = torch.tensor([1, 1, 0, 1, 1]).to(expected.dtype)
    assert difference(expected.clone(), expected, tolerance=0.5) is None
    assert "[2] is " in off(output, expected, tolerance=0.5)


def test_large_integers_are_not_rounded_to_floats() -> None:
    """2**62 and 2**62 + 1 are one float64, and two integers."""
    torch = pytest.importorskip("torch")
    big = torch.tensor([2**62])
    assert "4611686018427387905 instead of 4611686018427387904" in off(big + 1, big)
    assert off(np.array([2**62 + 1]), np.array([2**62]))


def test_complex_tensors_are_compared_by_their_absolute_value() -> None:
    """Both parts count, in both precisions."""
    torch = pytest.importorskip("torch")
    for dtype in (torch.complex64, torch.complex128):
        expected = torch.randn(100, dtype=dtype, generator=torch.Generator().manual_seed(0))
        assert difference(expected * (1 + 1e-10), expected) is None
        assert off(expected.conj(), expected)
        assert difference(expected.conj().conj(), expected) is None


def test_eight_bits_may_be_off_by_one_step_of_rounding() -> None:
    """A value beside the right one passes in float8, one three steps off does not."""
    torch = pytest.importorskip("torch")
    for name in ("float8_e4m3fn", "float8_e5m2"):
        dtype = getattr(torch, name, None)
        if dtype is None:
            pytest.skip(f"torch has no {name}")
        expected = torch.randn(500, generator=torch.Generator().manual_seed(0)).to(dtype)
        beside = (expected.view(torch.uint8) + 1).view(dtype)
        far = (expected.view(torch.uint8) + 6).view(dtype)
        assert difference(beside, expected) is None
        assert off(far, expected)


def test_tensors_of_another_kind_are_named() -> None:
    """An array is no tensor, a meta tensor is on another device, a parameter is a tensor."""
    torch = pytest.importorskip("torch")
    x = torch.ones(3)
    assert "is a ndarray instead of a Tensor" in off(x.numpy(), x)
    assert "is a Tensor instead of a ndarray" in off(x, x.numpy())
    assert "is None instead of a Tensor" in off(None, x)
    assert "is a Tensor instead of None" in off(x, None)
    assert "is a Tensor instead of a float" in off(x[0], 1.0)
    assert "is on meta instead of cpu" in off(x.to("meta"), x)
    assert "is of float16 instead of float32" in off(x.half(), x)
    assert "has shape (1, 3) instead of (3,)" in off(x[None], x)
    assert difference(torch.nn.Parameter(x), x) is None
    assert difference(x.clone().requires_grad_(), x) is None


def test_empty_scalar_and_sparse_tensors_are_compared() -> None:
    """None of the rarer forms of a tensor ends in an exception."""
    torch = pytest.importorskip("torch")
    assert difference(torch.empty(0, 3), torch.empty(0, 3)) is None
    assert "[0] is 1 instead of 2" in off(torch.tensor(1.0), torch.tensor(2.0))
    assert difference(torch.eye(3).to_sparse(), torch.eye(3).to_sparse()) is None
    assert off(2 * torch.eye(3).to_sparse(), torch.eye(3).to_sparse())


def test_infinities_of_tensors_and_a_hole_are_found() -> None:
    """NaN where the reference has a number is what poisoned memory reads as."""
    torch = pytest.importorskip("torch")
    expected = torch.tensor([1.0, float("inf"), float("nan"), -float("inf")], dtype=torch.float16)
    assert difference(expected.clone(), expected) is None
    for i in range(4):
        output = expected.clone()
        output[i] = 3
        assert f"[{i}] is 3 instead of" in off(output, expected)
    assert "[0] is nan instead of 1" in off(torch.tensor([float("nan")]), torch.ones(1))
