"""The few lines that `tuner fit` prints about what it did."""

from __future__ import annotations

from collections.abc import Iterator

from codegen.decision import count_leaves, depth_of
from tuner.fit import Fit
from tuner.fit.to_manifest import configs_used
from tuner.fit.validation import Score
from tuner.fit_file import Fitted
from tuner.table import LatencyTable

__all__ = ["summary"]


def summary(fitted: Fitted) -> str:
    """Return the summary, a fact a line."""
    return "\n".join(f"{name:<10}{text}" for name, text in _facts(fitted))


def _facts(fitted: Fitted) -> Iterator[tuple[str, str]]:
    table, fit = fitted.table, fitted.fit
    yield "shapes", _shapes(table, fit)
    rejected = len(table.configs) - len(table.kept)
    yield "configs", f"{len(table.kept)} kept, {rejected} rejected"
    yield "selector", _selector(fit)
    yield "default", fitted.manifest.default
    yield "ties", f"below {fit.band:.2%}, {_band_source(table)}"
    if fit.score is None:
        yield "regret", "not validated: too few shapes to leave some out"
        return
    yield "regret", f"{_score(fit.score)} times the best config"
    if fit.best_single:
        yield "", f"{_score(fit.best_single)} with the best single config"
    yield "", f"on {fit.score.shapes} shapes left out in turn; 1 is the oracle"
    if fit.noise is not None:
        yield "", f"{fit.noise:.3f} is the noise floor: the best of one run, in a second"
    if fit.score.failed:
        yield "", f"{fit.score.failed} more got a config that was not measured on them"


def _shapes(table: LatencyTable, fit: Fit) -> str:
    unmeasured = len(table.shapes) - len(fit.shapes)
    return f"{len(fit.shapes)}" + (f", {unmeasured} without a measurement" if unmeasured else "")


def _selector(fit: Fit) -> str:
    decision, used = fit.selector.lower(), len(configs_used(fit))
    leaves = count_leaves(decision)
    return (
        f"{fit.kind}: {leaves} {'leaf' if leaves == 1 else 'leaves'}, depth {depth_of(decision)}, "
        f"{used} {'config' if used == 1 else 'configs'} used"
    )


def _band_source(table: LatencyTable) -> str:
    repeats = len(table.repeat_latency_us)
    return f"as two runs of {repeats} shapes differ" if repeats else "for want of a second run"


def _score(score: Score) -> str:
    return "geomean {:.3f}, p95 {:.3f}, worst {:.3f}".format(
        # Rounded as the manifest rounds them first: one number is printed one way.
        *(round(value, 4) for value in (score.geomean, score.p95, score.worst))
    )
