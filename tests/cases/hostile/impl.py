"""Twice a vector, and every way in which a config can go wrong, each on demand."""

# ruff: noqa: ARG001 (all take the vector; what ends the process has no use for it)

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

try:
    from .impl_dispatch import _select_config
except ImportError:
    from impl_dispatch import _select_config


def good(x: np.ndarray) -> np.ndarray:
    """Right, and slow: element by element."""
    return np.array([2 * value for value in x], dtype=x.dtype)


def better(x: np.ndarray) -> np.ndarray:
    """Right, and fast."""
    return x + x


def abort(x: np.ndarray) -> NoReturn:
    """Kill the process with SIGABRT."""
    os.abort()


def segfault(x: np.ndarray) -> bytes:
    """Kill the process with SIGSEGV."""
    return ctypes.string_at(0)


def loop(x: np.ndarray) -> NoReturn:
    """Never return."""
    while True:
        pass


def wrong(x: np.ndarray) -> np.ndarray:
    """Return other values."""
    return 3 * x


def hole(x: np.ndarray) -> np.ndarray:
    """Leave the last element as the memory happens to be."""
    y = np.empty_like(x)
    y[:-1] = 2 * x[:-1]
    return y


def refuse(x: np.ndarray) -> NoReturn:
    """Raise an ordinary exception, its message on two lines."""
    raise ValueError("no such tile\nfor this shape")


def memory(x: np.ndarray) -> np.ndarray:
    """Ask for more memory than there can be."""
    return np.empty(2**60, dtype=np.uint8)


def leave(x: np.ndarray) -> NoReturn:
    """End the process at once, with status 3."""
    os._exit(3)


def sys_exit(x: np.ndarray) -> NoReturn:
    """Ask the interpreter to end, as if all were well."""
    sys.exit(0)


def interrupt(x: np.ndarray) -> NoReturn:
    """Raise what Ctrl-C raises."""
    raise KeyboardInterrupt


def in_place(x: np.ndarray) -> np.ndarray:
    """Right, but the input is changed as well."""
    y = 2 * x
    x += 1
    return y


def odd(x: np.ndarray) -> np.ndarray:
    """Right for vectors of even length, and only for these."""
    if len(x) % 2:
        raise ValueError(f"length {len(x)} is odd")
    return 2 * x


KERNELS: dict[str, Callable[[np.ndarray], Any]] = {
    "good": good,
    "better": better,
    "abort": abort,
    "segfault": segfault,
    "loop": loop,
    "wrong": wrong,
    "hole": hole,
    "raise": refuse,
    "memory": memory,
    "exit": leave,
    "sys_exit": sys_exit,
    "interrupt": interrupt,
    "in_place": in_place,
    "odd": odd,
}


class ModelNew:
    """`2 * x`, or what the config's MODE makes of it."""

    def forward(self, x: np.ndarray, config: Any = None) -> Any:
        """Twice the vector; the dispatch chooses the config unless one is given."""
        if config is None:
            config = _select_config(x.shape)
        return KERNELS[config.param("MODE")](x)
