"""Poison: what is allocated and not written reads as NaN or the greatest integer, for a while."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest

from tuner.worker import poison
from tuner.worker.poison import cannot_poison, poisoned


@pytest.mark.parametrize(
    ("dtype", "filled"),
    [
        ("float16", np.nan),
        ("float32", np.nan),
        ("float64", np.nan),
        ("complex64", np.nan),
        ("int8", 127),
        ("uint8", 255),
        ("int64", 2**63 - 1),
        ("bool", True),
    ],
)
def test_what_numpy_allocates_is_filled(dtype: str, filled: Any) -> None:
    """By shape or like another array, each dtype with what it has no better use for."""
    with poisoned():
        arrays = (
            np.empty(5, dtype),
            np.empty((2, 3), dtype=dtype, order="F"),
            np.empty_like(np.zeros(4, dtype)),
            np.empty_like([1, 2], dtype=dtype),
            np.empty((), dtype),
        )
    for array in arrays:
        assert array.dtype == dtype
        wanted = np.full(array.shape, filled)
        np.testing.assert_array_equal(array.real if dtype == "complex64" else array, wanted)


@pytest.mark.parametrize("dtype", ["object", "U3", "M8[s]", "i4,f4"])
def test_dtypes_that_nothing_can_be_told_of_are_left_alone(dtype: str) -> None:
    """They are allocated as ever."""
    with poisoned():
        assert np.empty(2, dtype).shape == (2,)


def test_numpy_is_as_before_afterwards_after_an_exception_too() -> None:
    """Whatever ends the block, the functions are numpy's own again."""
    before = np.empty, np.empty_like
    with poisoned(), poisoned():
        assert np.empty is not before[0]
    assert (np.empty, np.empty_like) == before
    for error in (ValueError, SystemExit, KeyboardInterrupt):
        with pytest.raises(error), poisoned():  # noqa: PT012
            np.empty(3)
            raise error
        assert (np.empty, np.empty_like) == before


def test_what_was_allocated_before_is_untouched() -> None:
    """Only what is new is filled."""
    array = np.zeros(3)
    with poisoned():
        assert array.tolist() == [0, 0, 0]
        assert np.zeros(2).tolist() == [0, 0]


def test_a_hole_is_found_and_a_full_output_passes() -> None:
    """The kernel that leaves its last element shows NaN there, the other none."""

    def kernel(x: Any, length: int) -> Any:
        y = np.empty_like(x)
        y[:length] = 2 * x[:length]
        return y

    x = np.ones(9, np.float32)
    with poisoned():
        assert np.isnan(kernel(x, 8)).nonzero()[0].tolist() == [8]
        assert not np.isnan(kernel(x, 9)).any()


TORCH_ALLOCATIONS: dict[str, Any] = {
    "empty": lambda torch: torch.empty(3),
    "empty_like": lambda torch: torch.empty_like(torch.ones(3)),
    "new_empty": lambda torch: torch.ones(3).new_empty(3),
    "empty_strided": lambda torch: torch.empty_strided((3, 2), (1, 3)),
    "new_empty_strided": lambda torch: torch.ones(3).new_empty_strided((3,), (1,)),
    "empty_permuted": lambda torch: torch.empty_permuted((2, 3), (1, 0)),
    "out": lambda torch: torch.empty(3, out=torch.ones(0)),
    "Tensor": lambda torch: torch.Tensor(3),
    "channels_last": lambda torch: torch.empty(1, 2, 2, 2, memory_format=torch.channels_last),
}


@pytest.mark.parametrize("name", TORCH_ALLOCATIONS)
def test_whatever_torch_allocates_is_filled(name: str) -> None:
    """Each function that gives memory as it is gives NaN."""
    torch = pytest.importorskip("torch")
    with poisoned():
        assert torch.isnan(TORCH_ALLOCATIONS[name](torch)).all()


def test_what_resize_adds_is_filled() -> None:
    """Its old elements stay."""
    torch = pytest.importorskip("torch")
    with poisoned():
        grown = torch.ones(2).resize_(4)
    assert grown[:2].tolist() == [1, 1]
    assert torch.isnan(grown[2:]).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "int8", "int64"])
def test_torch_fills_every_dtype(dtype: str) -> None:
    """NaN for floats, the greatest for integers."""
    torch = pytest.importorskip("torch")
    if not hasattr(torch, dtype):
        pytest.skip(f"torch has no {dtype}")
    kind = getattr(torch, dtype)
    with poisoned():
        filled = torch.empty(5, dtype=kind)
    if kind.is_floating_point:
        assert torch.isnan(filled.float()).all()
    else:
        assert (filled == torch.iinfo(kind).max).all()


def test_torch_is_as_before_afterwards_after_an_exception_too() -> None:
    """Its mode, the mode's strictness, the filling, and the filters of warnings."""
    torch = pytest.importorskip("torch")

    def state() -> tuple[Any, ...]:
        return (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
            list(warnings.filters),
        )

    plain = state()
    try:
        for enabled, warn_only, fill in ((False, False, True), (True, True, False)):
            torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
            torch.utils.deterministic.fill_uninitialized_memory = fill
            before = state()
            with poisoned():
                assert torch.isnan(torch.empty(2)).all()
            assert state() == before
            with pytest.raises(SystemExit), poisoned():
                raise SystemExit
            assert state() == before
    finally:
        torch.use_deterministic_algorithms(plain[0], warn_only=plain[1])
        torch.utils.deterministic.fill_uninitialized_memory = plain[2]


def test_an_operation_without_a_deterministic_form_runs_silently() -> None:
    """In that mode torch would warn of it; a kernel may use it."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings(), poisoned():
        out = torch.zeros(4).put_(torch.tensor([1]), torch.tensor([5.0]))
        assert out.tolist() == [0, 5, 0, 0]


def test_neither_library_is_needed_or_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they are not loaded, nothing happens."""
    monkeypatch.setattr(poison, "sys", type("sys", (), {"modules": {}}))
    before = np.empty
    with poisoned():
        assert np.empty is before
    assert "sys" in vars(poison)
    assert sys.modules["numpy"].empty is before


def test_a_dtype_that_torch_cannot_fill_is_told_from_a_fault_of_the_kernel() -> None:
    """Torch refuses to fill four bits; the kernel is then run without poison."""
    torch = pytest.importorskip("torch")
    assert not cannot_poison(NotImplementedError("abstract"))
    assert not cannot_poison(RuntimeError("fill_empty_deterministic_"))
    dtype = getattr(torch, "float4_e2m1fn_x2", None)
    if dtype is None:
        pytest.skip("torch has no float4_e2m1fn_x2")
    with pytest.raises(NotImplementedError, match="fill_empty") as caught, poisoned():
        torch.empty(2, dtype=dtype)
    assert cannot_poison(caught.value)
