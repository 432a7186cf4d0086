"""Is this output right? Element by element against the reference, by a tolerance of its dtype.

An element may be off by the tolerance times its own size plus the scale of all (`scale`): what is
near 0 among large elements is a difference of such, and as exact as these. Where the reference is
0 throughout there is no scale, and only 0 is right. An infinity or NaN must be where the reference
has it, and nowhere else. Integers and booleans must be equal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from codegen.errors import shown
from tuner.worker.scale import scale_of
from tuner.worker.values import dtype_name, is_array, is_tensor

__all__ = ["TOLERANCES", "difference"]

# Twice to four times what a sum of thousands of rounded products differs by.
TOLERANCES: Mapping[str, float] = {
    "float64": 1e-9,
    "complex128": 1e-9,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float16": 1e-2,
    "bfloat16": 4e-2,
}
# What has eight bits or fewer, by the bits of its fraction: one step of rounding off is right.
_COARSE = {"float8_e5m2": 3e-1, "float8_e5m2fnuz": 3e-1}
_COARSE_OTHERS = 2e-1
# On an accelerator: matrix units compute float32 in tf32 unless told otherwise.
_TF32 = 5e-3
_OTHERS = 1e-9  # Longer floats, as numpy has.
# At most so many elements at once: the comparison takes some ten times their memory.
_PIECE = 2**25


def difference(output: Any, expected: Any, *, tolerance: float | None = None) -> str | None:
    """Return in words how `output` differs from `expected`, None if it does not.

    Args:
        output: a tensor, an array, a number, or a sequence or mapping of such.
        expected: the same from the reference.
        tolerance: relative; None takes that of `expected`'s dtype in `TOLERANCES`.
    """
    return _difference(output, expected, tolerance, "the output")


def _difference(output: Any, expected: Any, tolerance: float | None, what: str) -> str | None:
    output, expected = _as_array(output), _as_array(expected)
    if is_tensor(expected) or is_array(expected):
        return _array_difference(output, expected, tolerance, what)
    if isinstance(expected, Mapping):
        return _mapping_difference(output, expected, tolerance, what)
    if isinstance(expected, Sequence) and not isinstance(expected, str | bytes):
        return _sequence_difference(output, expected, tolerance, what)
    if is_tensor(output) or is_array(output) or not _are_of_a_kind(output, expected):
        return f"{what} is {_a(output)} instead of {_a(expected)}"
    if isinstance(expected, float | complex):
        bound = TOLERANCES["float64"] if tolerance is None else tolerance
        return None if _is_close(output, expected, bound) else _instead(what, output, expected)
    return None if output == expected else _instead(what, output, expected)


def _as_array(value: Any) -> Any:
    """Return a number of numpy's as an array without dimensions: what it is to numpy itself."""
    numpy = sys.modules.get("numpy")
    scalar = numpy is not None and isinstance(value, numpy.generic)
    return numpy.asarray(value) if numpy is not None and scalar else value


def _mapping_difference(
    output: Any, expected: Mapping[Any, Any], tolerance: float | None, what: str
) -> str | None:
    if not isinstance(output, Mapping):
        return f"{what} is {_a(output)} instead of {_a(expected)}"
    if set(output) != set(expected):
        return f"{what} has other keys than the reference's"
    for key in expected:
        if text := _difference(output[key], expected[key], tolerance, f"{what}[{shown(key)}]"):
            return text
    return None


def _sequence_difference(
    output: Any, expected: Sequence[Any], tolerance: float | None, what: str
) -> str | None:
    if not isinstance(output, Sequence) or isinstance(output, str | bytes):
        return f"{what} is {_a(output)} instead of a sequence of {len(expected)}"
    if len(output) != len(expected):
        return f"{what} is a sequence of {len(output)} instead of {len(expected)}"
    for i, (mine, theirs) in enumerate(zip(output, expected, strict=True)):
        if text := _difference(mine, theirs, tolerance, f"{what}[{i}]"):
            return text
    return None


def _are_of_a_kind(output: Any, expected: Any) -> bool:
    """Say whether two objects can be equal: of one type, an integer in a float's place as well."""
    for kind in (bool, int, float, complex):  # A bool is an int, and must not pass for one.
        if isinstance(expected, kind):
            narrower = {bool: bool, int: int, float: float | int, complex: complex | float | int}
            return isinstance(output, narrower[kind]) and (
                isinstance(output, bool) == isinstance(expected, bool)
            )
    return isinstance(output, type(expected)) or isinstance(expected, type(output))


def _is_close(output: complex, expected: complex, tolerance: float) -> bool:
    if output == expected or (output != output and expected != expected):  # noqa: PLR0124 (NaN)
        return True
    size, off = abs(expected), abs(output - expected)
    return off <= tolerance * size < float("inf")


def _array_difference(output: Any, expected: Any, tolerance: float | None, what: str) -> str | None:
    if is_tensor(output) != is_tensor(expected) or is_array(output) != is_array(expected):
        return f"{what} is {_a(output)} instead of {_a(expected)}"
    if tuple(output.shape) != tuple(expected.shape):
        return f"{what} has shape {tuple(output.shape)} instead of {tuple(expected.shape)}"
    if output.dtype != expected.dtype:
        return f"{what} is of {dtype_name(output)} instead of {dtype_name(expected)}"
    if is_tensor(expected):
        if output.device != expected.device:
            return f"{what} is on {output.device} instead of {expected.device}"
        output, expected = _plain(output), _plain(expected)
    return _worst(output, expected, tolerance, what) if _count(expected) else None


def _worst(output: Any, expected: Any, tolerance: float | None, what: str) -> str | None:
    """Compare all elements, a piece at a time; say how many are wrong, and show the first."""
    exact = not _has_fraction(expected)
    bound = 0.0 if exact else _tolerance(expected) if tolerance is None else tolerance
    if not expected.shape:
        output, expected = output.reshape(1), expected.reshape(1)
    wrong, worst, first = 0, 0.0, ""
    with _quiet(expected):
        scale = 0.0 if exact else scale_of(_size(expected[at]) for at in _pieces(expected))
        for at in _pieces(expected):
            mine, theirs = output[at], expected[at]
            bad, off = _bad(mine, theirs, exact=exact, bound=bound, scale=scale)
            found = int(bad.sum())
            if found and not wrong:
                first = _first(bad, at, mine, theirs)
            if found and off is not None:
                told = off[bad & ~_is_nan(off)]
                worst = max(worst, float(told.max()) if _count(told) else 0.0)
            wrong += found
    if not wrong:
        return None
    text = f"{what} differs from the reference in {wrong} of {_count(expected)} elements"
    far = f", by up to {worst:.2g} where {bound:g} is allowed" if worst else ""
    return f"{text}{far}: {first}"


def _bad(mine: Any, theirs: Any, *, exact: bool, bound: float, scale: float) -> tuple[Any, Any]:
    """Return where two arrays differ, and by how much, None where they have to be equal."""
    if exact:
        return mine != theirs, None
    a, b = _wide(mine), _wide(theirs)
    # Equal takes in infinities and zeros, whose quotients are NaN; NaN is right where both are.
    right = (a == b) | (_is_nan(a) & _is_nan(b))
    off = abs(a - b) / 2 / (abs(b) / 2 + scale / 2)  # The sum of two halves is no infinity.
    return ~(right | (off <= bound)), off


def _first(bad: Any, at: tuple[slice, ...], mine: Any, theirs: Any) -> str:
    """Return in words where the first wrong element is, and what it is."""
    flat = bad.reshape(-1)
    rest = int((flat.byte() if is_tensor(flat) else flat).argmax())
    index: list[int] = []
    for size in reversed(bad.shape):
        rest, i = divmod(rest, size)
        index.insert(0, i)
    place = ", ".join(str(i + (part.start or 0)) for i, part in zip(index, at, strict=True))
    got, should = (_number(part[tuple(index)].item()) for part in (mine, theirs))
    return f"[{place}] is {got} instead of {should}"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else shown(value)


def _pieces(values: Any) -> Iterator[tuple[slice, ...]]:
    """Yield indices of parts along the longest dimension, none too large for the memory."""
    whole = tuple(slice(None) for _ in values.shape)
    longest = max(range(len(values.shape)), key=values.shape.__getitem__, default=None)
    if longest is None or _count(values) <= _PIECE:
        yield whole
        return
    length = values.shape[longest]
    step = max(1, length * _PIECE // _count(values))
    for start in range(0, length, step):
        yield *whole[:longest], slice(start, start + step), *whole[longest + 1 :]


def _size(values: Any) -> Any:
    return abs(_wide(values))


def _wide(values: Any) -> Any:
    """Return the values in the float that holds them all, and that can be counted with."""
    if is_array(values):
        numpy = sys.modules["numpy"]
        return values.astype(numpy.complex128 if values.dtype.kind == "c" else numpy.float64)
    torch = sys.modules["torch"]
    if values.is_complex():
        return values.to(torch.complex128)
    return values.to(torch.float64 if values.dtype == torch.float64 else torch.float32)


def _plain(tensor: Any) -> Any:
    """Return what a tensor holds, sparse or not, without its history."""
    torch = sys.modules["torch"]
    plain = tensor.detach()
    return plain if plain.layout is torch.strided else plain.to_dense()


def _quiet(values: Any) -> AbstractContextManager[Any]:
    """Return a context in which numpy says nothing of infinities and NaN."""
    return sys.modules["numpy"].errstate(all="ignore") if is_array(values) else nullcontext()


def _tolerance(values: Any) -> float:
    name = dtype_name(values)
    if name in {"float32", "complex64"} and is_tensor(values) and values.device.type != "cpu":
        return _TF32
    coarse = _COARSE.get(name, _COARSE_OTHERS) if values.dtype.itemsize == 1 else _OTHERS
    return TOLERANCES.get(name, coarse)


def _is_nan(values: Any) -> Any:
    return sys.modules["torch" if is_tensor(values) else "numpy"].isnan(values)


def _has_fraction(values: Any) -> bool:
    return any(kind in dtype_name(values) for kind in ("float", "complex"))


def _count(values: Any) -> int:
    return int(values.numel() if is_tensor(values) else values.size)


def _instead(what: str, output: Any, expected: Any) -> str:
    return f"{what} is {_number(output)} instead of {_number(expected)}"


def _a(value: Any) -> str:
    """Return what `value` is, in words."""
    name = type(value).__name__
    article = "an" if name[:1].lower() in set("aeiou") else "a"
    return "None" if value is None else f"{article} {name}"
