"""Inputs, outputs and models, whether of torch or of numpy, without importing either.

Values may stand in lists, tuples and dicts, one in the other.
"""

from __future__ import annotations

import os
import random
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tuner.printable import printable

__all__ = [
    "dtype_name",
    "dtype_of",
    "frozen",
    "in_words",
    "is_array",
    "is_tensor",
    "leaves",
    "mapped",
    "place_of",
    "reason",
    "seed",
    "share_weights",
]

_LONGEST_MESSAGE = 4000
_LONGEST_WORDS = 200


def is_tensor(value: Any) -> bool:
    """Say whether `value` is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    """Say whether `value` is an array of numpy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _is_module(model: Any) -> bool:
    """Say whether `model` is a torch module."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Return `value` with `function` applied to what stands in its lists, tuples and dicts."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(function, item) for item in value))
    if type(value) in {list, tuple}:
        return type(value)(mapped(function, item) for item in value)
    if type(value) is dict:
        return {key: mapped(function, item) for key, item in value.items()}
    return function(value)


def leaves(value: Any) -> Iterator[Any]:
    """Yield what stands in the lists, tuples and dicts of `value`, in order."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))
    else:
        yield value


def frozen(model: Any) -> Any:
    """Return `model`, ready to be run for its output alone."""
    return model.eval().requires_grad_(False) if _is_module(model) else model


def share_weights(reference: Any, model: Any) -> None:
    """Give `model` the weights of `reference`, where both have the same by name and size."""
    if not (_is_module(reference) and _is_module(model)):
        return
    theirs, ours = reference.state_dict(), model.state_dict()
    if theirs and _sizes(theirs) == _sizes(ours):
        model.load_state_dict(theirs)


def _sizes(state: dict[str, Any]) -> dict[str, Any]:
    return {name: getattr(value, "shape", None) for name, value in state.items()}


def seed(shape: tuple[int, ...]) -> None:
    """Make the random numbers that follow depend on `shape` alone."""
    number = zlib.crc32(repr(shape).encode())
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


def dtype_name(value: Any) -> str:
    """Return the dtype of a tensor or an array as both libraries call it, such as `float16`."""
    return str(value.dtype.name) if is_array(value) else str(value.dtype).removeprefix("torch.")


def dtype_of(inputs: list[Any]) -> str:
    """Return the dtype of the first input with a fraction, else of the first with a dtype."""
    named = [dtype_name(value) for value in leaves(inputs) if _has_dtype(value)]
    fractional = [name for name in named if "float" in name]
    return (fractional or named or ["none"])[0]


def in_words(values: list[Any]) -> str:
    """Return what of `values` a kernel's time may depend on: `float16[8,64] 3 None`."""
    text = " ".join(_words(value) for value in values)
    if len(text) > _LONGEST_WORDS:
        text = f"{text[:_LONGEST_WORDS]}… {zlib.crc32(text.encode()):08x}"
    return text


def _words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"({' '.join(_words(item) for item in value)})"
    if isinstance(value, dict):
        return f"{{{' '.join(f'{_words(key)}:{_words(item)}' for key, item in value.items())}}}"
    if not _has_dtype(value):
        return ascii(value) if isinstance(value, bool | int | float | str | None) else "object"
    sizes = ",".join(str(size) for size in value.shape)
    return f"{dtype_name(value)}[{sizes}]{_layout(value)}"


def _layout(value: Any) -> str:
    """Return the strides in words if they are not those of a plain contiguous array."""
    if is_tensor(value):
        if str(value.layout) != "torch.strided":
            return f"/{str(value.layout).removeprefix('torch.')}"
        strides = tuple(value.stride())
        return "" if value.is_contiguous() else f"/{','.join(map(str, strides))}"
    if not value.flags["C_CONTIGUOUS"]:
        return f"/{','.join(str(stride // value.itemsize) for stride in value.strides)}"
    return ""


def _has_dtype(value: Any) -> bool:
    return is_tensor(value) or is_array(value)


def reason(error: BaseException) -> str:
    """Return the exception in one line, its type first; safe to print and to store."""
    try:
        text = printable(str(error), limit=_LONGEST_MESSAGE)
    except BaseException:  # noqa: BLE001 (an exception of a user's may fail at being printed)
        text = ""
    name = type(error).__name__
    return printable(f"{name}: {text}" if text else name, limit=_LONGEST_MESSAGE)


def place_of(error: BaseException, path: Path) -> str:
    """Return file:line of where in `path` it went wrong, or `path` alone."""
    if isinstance(error, SyntaxError) and error.lineno and _is(error.filename, path):
        return f"{path}:{error.lineno}"
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.lineno and _is(frame.filename, path)
    ]
    return f"{path}:{lines[-1]}" if lines else str(path)


def _is(filename: str | None, path: Path) -> bool:
    # Python knows a file by its absolute path, whatever it was loaded by.
    return filename is not None and os.path.abspath(filename) == os.path.abspath(path)  # noqa: PTH100
