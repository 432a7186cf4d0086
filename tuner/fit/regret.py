"""Regret: what a choice costs on a shape, and how much of it is noise.

The regret of a config on a shape is log(latency / latency of the shape's best config): 0 for the
best, 0.01 for 1% slower, and the same weight for a shape of microseconds as for one of
milliseconds. What is minimised everywhere is its mean over shapes.
"""

from __future__ import annotations

import numpy as np

from tuner.arrays import FloatArray

__all__ = ["DEFAULT_BAND", "log_regret", "noise_floor", "tie_band"]

# Without a second run: two runs of the same kernel on a quiet device seldom differ by more.
DEFAULT_BAND = 0.01
# A clock that repeats itself to the digit still does not make half a percent worth a branch: trees
# that ask for less than 1% are larger, and no better on shapes left out.
_LEAST_BAND = 0.01


def log_regret(latency_us: FloatArray) -> FloatArray:
    """Return the regret of each config on each shape; both arrays are (n_shapes, n_configs).

    NaN stays NaN; each shape needs one measurement at least.
    """
    logs = np.log(latency_us)
    regret: FloatArray = logs - np.nanmin(logs, axis=1, keepdims=True)
    return regret


def noise_floor(latency_us: FloatArray, repeat_latency_us: FloatArray) -> float | None:
    """Return the slowdown that noise alone costs who chooses the best of one run, 1.0 for none.

    The geometric mean, over the shapes that were run twice, of what the first run's best config
    loses in the second; None when there are none. No selector can be expected to do better.
    """
    first = latency_us[: len(repeat_latency_us)]
    both = np.where(np.isnan(first) | np.isnan(repeat_latency_us), np.nan, first)
    rows = np.flatnonzero(~np.isnan(both).all(axis=1))
    if not rows.size:
        return None
    best = np.nanargmin(both[rows], axis=1)
    second = np.where(np.isnan(both[rows]), np.nan, repeat_latency_us[rows])
    return float(np.exp(log_regret(second)[np.arange(len(rows)), best].mean()))


def tie_band(latency_us: FloatArray, repeat_latency_us: FloatArray) -> float:
    """Return the difference in regret below which two configs are tied.

    The median of |log(first run / second run)| over the cells of the shapes that were run twice,
    which are the first rows; `DEFAULT_BAND` when there are none.
    """
    first = latency_us[: len(repeat_latency_us)]
    ratios = np.abs(np.log(first) - np.log(repeat_latency_us))
    both = ratios[~np.isnan(ratios)]
    return max(float(np.median(both)), _LEAST_BAND) if both.size else DEFAULT_BAND
