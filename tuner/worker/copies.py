"""Copies of inputs, with the layout of the original; inputs compared to the bit, and restored.

Of a tensor the whole memory that it spans is copied, compared and restored, the gaps between its
rows too: a kernel may write there.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any

from tuner.worker.values import is_array, is_tensor, mapped

__all__ = ["clone", "restored", "same_bits"]

_IMMUTABLE = (bool, int, float, complex, str, bytes, type(None))


def clone(value: Any) -> Any:
    """Return a copy of `value` that shares no memory with it, with the same strides."""
    return mapped(_clone, value)


def restored(value: Any, original: Any) -> Any:
    """Return `value`, made what `original` is; a copy of that where it cannot be done in place."""
    if is_tensor(value) and _alike(value, original) and _is_strided(value):
        _memory(value).copy_(_memory(original))
        return value
    if is_array(value) and _alike(value, original):
        value[...] = original
        return value
    if isinstance(value, list) and _of_one_length(value, original):
        value[:] = [restored(*pair) for pair in zip(value, original, strict=True)]
        return value
    if isinstance(value, dict) and isinstance(original, dict):
        known = {key: restored(value.get(key), item) for key, item in original.items()}
        value.clear()
        value.update(known)
        return value
    if isinstance(value, tuple) and _of_one_length(value, original):
        parts = [restored(*pair) for pair in zip(value, original, strict=True)]
        same = all(part is item for part, item in zip(parts, value, strict=True))
        return value if same else clone(original)
    if isinstance(original, list | tuple | dict) or is_tensor(original) or is_array(original):
        return clone(original)
    return original if isinstance(original, _IMMUTABLE) else value


def same_bits(value: Any, other: Any) -> bool:
    """Say whether two values hold the same tensors and arrays, to the bit; anything else does."""
    if is_tensor(other) or is_array(other):
        return _alike(value, other) and _same_memory(value, other)
    if isinstance(other, list | tuple):
        return _of_one_length(value, other) and all(map(same_bits, value, other))
    if isinstance(other, dict):
        known = isinstance(value, dict) and value.keys() == other.keys()
        return known and all(same_bits(value[key], item) for key, item in other.items())
    return True


def _clone(value: Any) -> Any:
    if is_tensor(value):
        plain = _plain(value)
        copied = plain.clone()
        if not _is_strided(plain) or copied.stride() == plain.stride():
            return copied
        return _memory(plain).clone().as_strided(plain.size(), plain.stride())
    if is_array(value):
        return _clone_array(value)
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 (some objects cannot be copied; these are shared)
        return value


def _clone_array(array: Any) -> Any:
    numpy = sys.modules["numpy"]
    copied = array.copy(order="K")
    if copied.strides == array.strides or type(array) is not numpy.ndarray or array.dtype.hasobject:
        return copied
    reach = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    below = -sum(step for step in reach if step < 0)
    above = sum(step for step in reach if step > 0)
    memory = numpy.zeros(below + above + array.itemsize, dtype=numpy.uint8)
    strided = numpy.ndarray(array.shape, array.dtype, memory, below, array.strides)
    strided[...] = array
    return strided


def _alike(value: Any, other: Any) -> bool:
    """Say whether two tensors or arrays lie in memory alike, so that one can take the other's."""
    same_kind = is_tensor(value) == is_tensor(other) and is_array(value) == is_array(other)
    if not same_kind or value.shape != other.shape or value.dtype != other.dtype:
        return False
    if is_array(value):
        return True
    strided = _is_strided(value) and _is_strided(other)
    alike = value.stride() == other.stride() if strided else value.layout == other.layout
    return bool(alike and value.device == other.device)


def _same_memory(value: Any, other: Any) -> bool:
    if is_array(value):
        return bool(value.tobytes() == other.tobytes())
    torch = sys.modules["torch"]
    return bool(torch.equal(_bits(_memory(value)), _bits(_memory(other))))


def _bits(tensor: Any) -> Any:
    """Return a tensor as integers of its width, as NaN is not equal to itself."""
    torch = sys.modules["torch"]
    plain = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    widths = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return plain.view(widths[plain.element_size()])


def _memory(tensor: Any) -> Any:
    """Return all memory that `tensor` spans as one dimension; of a sparse one, it made dense."""
    plain = _plain(tensor)
    if not _is_strided(plain):
        return plain.to_dense()
    steps = zip(plain.size(), plain.stride(), strict=True)
    length = 1 + sum((size - 1) * stride for size, stride in steps) if plain.numel() else 0
    return plain.as_strided((length,), (1,))


def _plain(tensor: Any) -> Any:
    """Return the tensor without its history; one that is to be conjugated when read, conjugated."""
    return tensor.detach().resolve_conj().resolve_neg()


def _is_strided(tensor: Any) -> bool:
    torch = sys.modules["torch"]
    return tensor.layout is torch.strided and not tensor.is_quantized


def _of_one_length(value: Any, other: Any) -> bool:
    return type(value) is type(other) and isinstance(value, Sequence) and len(value) == len(other)
