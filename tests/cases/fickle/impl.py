"""Twice a vector, by kernels that are right when they are tried, and fail when they are timed."""

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

try:
    from .impl_dispatch import _select_config
except ImportError:
    from impl_dispatch import _select_config

# How often each kernel was called on each length, by this process.
CALLS: Counter[tuple[str, int]] = Counter()


def good(x: np.ndarray) -> np.ndarray:
    """Right, always."""
    return 2 * x


def better(x: np.ndarray) -> np.ndarray:
    """Right, and otherwise."""
    return x + x


def late_abort(x: np.ndarray) -> np.ndarray:
    """Right at the first call, then the end of the process."""
    if CALLS["late_abort", len(x)] > 1:
        os.abort()
    return 2 * x


def late_hang(x: np.ndarray) -> np.ndarray:
    """Right at the first call, then never back."""
    if CALLS["late_hang", len(x)] > 1:
        time.sleep(1000)
    return 2 * x


def late_raise(x: np.ndarray) -> np.ndarray:
    """Right at the first call, then an exception."""
    if CALLS["late_raise", len(x)] > 1:
        raise ValueError("not twice")
    return 2 * x


def abort_once(x: np.ndarray) -> np.ndarray:
    """Right, but for one length, at which it ends the process."""
    if len(x) == 16:
        os.abort()
    return 2 * x


def marked(x: np.ndarray) -> np.ndarray:
    """Right, and each call leaves a line in the file that CALLS_FILE names."""
    with Path(os.environ["CALLS_FILE"]).open("a", encoding="ascii") as file:
        file.write(f"{os.getpid()} {len(x)}\n")
    return 2 * x


def slow(x: np.ndarray) -> np.ndarray:
    """Right, after a while."""
    time.sleep(0.2)
    return 2 * x


def loud(x: np.ndarray) -> np.ndarray:
    """Right, and talkative: 64 KiB a call."""
    print("x" * 2**16)
    return 2 * x


def odd_only(x: np.ndarray) -> np.ndarray:
    """Right for odd lengths; others are refused."""
    if len(x) % 2 == 0:
        raise ValueError(f"length {len(x)} is even")
    return 2 * x


def even_only(x: np.ndarray) -> np.ndarray:
    """Right for even lengths; others are refused."""
    if len(x) % 2:
        raise ValueError(f"length {len(x)} is odd")
    return 2 * x


def wrong_at_32(x: np.ndarray) -> np.ndarray:
    """Right, but for one length."""
    return (3 if len(x) == 32 else 2) * x


KERNELS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    kernel.__name__: kernel
    for kernel in (
        good,
        better,
        late_abort,
        late_hang,
        late_raise,
        abort_once,
        marked,
        slow,
        loud,
        odd_only,
        even_only,
        wrong_at_32,
    )
}


class ModelNew:
    """`2 * x`, by the kernel that the config's MODE names."""

    def forward(self, x: np.ndarray, config: Any = None) -> np.ndarray:
        """Twice the vector; the dispatch chooses the config unless one is given."""
        if config is None:
            config = _select_config(x.shape)
        mode = config.param("MODE")
        CALLS[mode, len(x)] += 1
        return KERNELS[mode](x)
