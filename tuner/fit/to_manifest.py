"""From a fit to the manifest that says how it came about."""

from __future__ import annotations

from typing import Any

from codegen.decision import Choose, Decision
from codegen.manifest import SCHEMA_VERSION, Candidate, Manifest, TuneMeta, parse_manifest
from codegen.policy import Outside
from tuner.fit import KINDS, Fit
from tuner.fit.validation import Score
from tuner.table import LatencyTable

__all__ = ["configs_used", "manifest_of"]

_BASIS = "shapes left out in turn"
_DIGITS = 4


def manifest_of(
    table: LatencyTable,
    fit: Fit,
    *,
    kernel: str | None = None,
    outside: Outside = "default",
    source: tuple[str, str] | None = None,
    meta: TuneMeta = TuneMeta(),  # noqa: B008 (it is frozen)
) -> Manifest:
    """Return the manifest for `fit`, which was fitted to `table`.

    Args:
        table: gives target, candidates and provenance.
        fit: gives selector, default and envelope.
        kernel: the kernel's name, if it is not that of the table.
        outside: what happens to a shape outside the range of the fitted ones.
        source: the path of the kernel's source from the manifest, and its hash.
        meta: what else is known of how the table came about; its notes come last.

    Raises:
        ManifestError: a name does not fit the manifest.
    """
    used = configs_used(fit)
    kept = [table.configs[index] for index in table.kept]
    payload = KINDS[fit.kind].payload(fit.selector, {index: i for i, index in enumerate(used)})
    named = {"name": table.kernel if kernel is None else kernel, "dtype": table.dtype}
    raw = {
        "schema_version": SCHEMA_VERSION,
        "kernel": {**named, "source": source and {"file": source[0], "sha256": source[1]}},
        "target": {
            "device": table.device,
            "arch": table.arch,
            "toolchain": dict(table.toolchain),
        },
        "axes": _axes(table, fit),
        "candidates": _candidates(table),
        "default": kept[fit.default].id,
        "outside": outside,
        "selector": {
            "kind": fit.kind,
            "config_ids": [kept[index].id for index in used],
            "payload": payload,
        },
        "launch_grid": table.launch_grid and table.launch_grid.model_dump(),
        "tune_meta": _tune_meta(table, fit, meta),
    }
    return parse_manifest(raw, name="the manifest")


def configs_used(fit: Fit) -> tuple[int, ...]:
    """Return the configs that the selector can choose, as indices into `table.kept`, ascending."""
    return tuple(sorted(_chosen(fit.selector.lower())))


def _chosen(decision: Decision) -> set[int]:
    if isinstance(decision, Choose):
        return {decision.config}
    return _chosen(decision.left) | _chosen(decision.right)


def _axes(table: LatencyTable, fit: Fit) -> list[dict[str, Any]]:
    sizes = zip(*fit.shapes, strict=True)
    return [
        {"name": name, "kind": "integer", "min": min(seen), "max": max(seen)}
        for name, seen in zip(table.axis_names, sizes, strict=True)
    ]


def _candidates(table: LatencyTable) -> list[dict[str, Any]]:
    return [
        Candidate.of(config, reason=reason).model_dump(exclude_defaults=True)
        for config, reason in zip(table.configs, table.reasons, strict=True)
    ]


def _tune_meta(table: LatencyTable, fit: Fit, meta: TuneMeta) -> dict[str, Any]:
    return {
        "path_used": meta.path_used,
        "warmup": meta.warmup,
        "repeat": meta.repeat,
        "method": table.method,
        "shapes": len(fit.shapes),
        "regret": fit.score and _regret(fit.score, fit.noise),
        "notes": [*_notes(table, fit), *meta.notes],
    }


def _regret(score: Score, noise: float | None) -> dict[str, Any]:
    return {
        "basis": _BASIS,
        "shapes": score.shapes,
        "geomean": round(score.geomean, _DIGITS),
        "p95": round(score.p95, _DIGITS),
        "worst": round(score.worst, _DIGITS),
        "noise_floor": None if noise is None else round(noise, _DIGITS),
    }


def _notes(table: LatencyTable, fit: Fit) -> list[str]:
    notes = [f"fitted to {table.file}, SHA-256 {table.sha256}"]
    unmeasured = len(table.shapes) - len(fit.shapes)
    if unmeasured:
        notes.append(f"{unmeasured} of {len(table.shapes)} shapes have no measurement")
    if fit.best_single:
        best = fit.best_single
        notes.append(
            f"the best single config, likewise on {_BASIS}: geomean {best.geomean:.{_DIGITS}f}, "
            f"p95 {best.p95:.{_DIGITS}f}, worst {best.worst:.{_DIGITS}f}"
        )
    if fit.score is None:
        notes.append("not validated: too few shapes to leave some out")
    elif fit.score.failed:
        notes.append(f"{fit.score.failed} more {_BASIS} got a config that was not measured on them")
    return notes
