"""The outcome of tuning a kernel: the files written, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from codegen.config import Config
from codegen.errors import OutputError
from codegen.files import exists, write_text
from codegen.manifest import LaunchGridField, Manifest, TuneMeta, policy_of
from codegen.policy import Outside
from tuner.fates import Fate, fates
from tuner.fit import MAX_DEPTH, MAX_LEAVES, KindName
from tuner.fit_file import MANIFEST_NAME, Fitted, Request, fit_file
from tuner.kb import table_dict
from tuner.measured import Measured
from tuner.places import (
    beside,
    check_directory,
    check_ours,
    copied,
    holds_manifest,
    holds_table,
    make_directory,
)
from tuner.printable import plural
from tuner.records import Failure, Record, Shape, Timing
from tuner.summary import summary
from tuner.table_text import table_text
from tuner.worker.messages import Limits

__all__ = ["TABLE_NAME", "Delivery", "TuneOutcome", "check_delivery", "deliver"]

TABLE_NAME = "latencies.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Where the outcome goes, and how the selector is fitted; as in `fit_file`.

    `source` is copied into `directory` if it does not lie there: a manifest stands beside it.
    """

    directory: Path
    source: Path
    selector: KindName = "tree"
    max_leaves: int = MAX_LEAVES
    max_depth: int = MAX_DEPTH
    outside: Outside = "default"
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOutcome:
    """What tuning a kernel came to.

    Attributes:
        manifest_path: the manifest, to be compiled by `codegen emit`.
        table_path: the latency table that it was fitted to.
        fates: of every candidate, in the order of the space; after a search of those measured.
        measured: all that is known, and how long it took.
        fitted: the selector, its score, and whether the manifest changed.
        table_changed: whether the table's file did.
        copies: the kernel's source, where it was copied to stand beside the manifest.
    """

    manifest_path: Path
    table_path: Path
    # Thousands of numbers, which nobody wants printed.
    fates: tuple[Fate, ...] = field(repr=False)
    measured: Measured = field(repr=False)
    fitted: Fitted = field(repr=False)
    table_changed: bool
    copies: tuple[Path, ...] = ()

    @property
    def manifest(self) -> Manifest:
        """The manifest itself."""
        return self.fitted.manifest

    def select(self, shape: Shape) -> Config:
        """Return the config for `shape`, one size an axis, as the emitted module would."""
        return policy_of(self.manifest).evaluate(shape)

    def files(self) -> tuple[tuple[Path, bool], ...]:
        """Return the files, and whether each was changed."""
        return (
            *((path, True) for path in self.copies),
            (self.table_path, self.table_changed),
            (self.manifest_path, self.fitted.changed),
        )

    def lines(self) -> Iterator[str]:
        """Yield the report: what was measured, each candidate's fate, the selector."""
        yield from _measuring_lines(self.measured)
        yield ""
        told = [fate for fate in self.fates if not self.measured.search or _is_telling(fate)]
        width = min(60, max((len(fate.config.id) for fate in told), default=0))
        for fate in sorted(told, key=lambda fate: -fate.won):
            yield f"  {fate.config.id:<{width}}  {fate}"
        winners = sum(fate.kind == "won" for fate in self.fates)
        aside = sum(fate.config.id in self.measured.aside for fate in self.fates)
        yield f"{winners} of {len(self.fates) - aside} candidates are the fastest somewhere" + (
            f", {aside} set aside" if aside else ""
        )
        if rest := len(self.fates) - len(told):
            yield f"{plural(rest, 'candidate')} more lost everywhere"
        yield ""
        yield summary(self.fitted)


def check_delivery(delivery: Delivery, replayed: Path | None = None) -> None:
    """Refuse what `deliver` would refuse, before anything is measured.

    `replayed` is a table that the measurements are taken from.

    Raises:
        OutputError: a file cannot, or may not, be written.
        SourceError: there is no code in the place of the source's copy.
    """
    directory, force = delivery.directory, delivery.force
    check_directory(directory)
    beside(delivery.source, directory, force=force)
    check_ours(directory / MANIFEST_NAME, holds_manifest, "a manifest", force=force)
    table = directory / TABLE_NAME
    check_ours(table, holds_table, "a latency table", force=force)
    if replayed is not None and exists(table) and exists(replayed) and table.samefile(replayed):
        raise OutputError(
            "is the table that is replayed, and would be written over",
            where=str(table),
            remedy="name another directory with -o",
        )


def deliver(
    measured: Measured,
    delivery: Delivery,
    limits: Limits,
    *,
    weights: Mapping[Shape, float] | None = None,
) -> TuneOutcome:
    """Write the table, fit to it, and write the manifest, each file whole or not at all.

    `weights` tells how much a shape counts in the fit, 1 where it is not named.

    Raises:
        OutputError: a file cannot, or may not, be written.
        FitError: no selector can be fitted, such as where no config runs on every shape.
    """
    directory = delivery.directory
    make_directory(directory)
    check_delivery(delivery)
    source = beside(delivery.source, directory, force=delivery.force)
    copies = source != delivery.source and copied(delivery.source, source)
    table_path = directory / TABLE_NAME
    table = table_dict(
        measured.scope,
        _admitted(measured),
        configs=measured.configs,
        allowed=lambda shape: _allowed(measured, shape),
    )
    table["rejected"] |= _set_aside(measured)
    if measured.space.grid:
        table["launch_grid"] = LaunchGridField.of(measured.space.grid).model_dump()
    if weights:
        table["weights"] = [weights.get(tuple(shape), 1.0) for shape in table["shapes"]]
    table_changed = write_text(table_path, table_text(table))
    fitted = fit_file(
        Request(
            table=table_path,
            output=directory / MANIFEST_NAME,
            source=source,
            outside=delivery.outside,
            selector=delivery.selector,
            max_leaves=delivery.max_leaves,
            max_depth=delivery.max_depth,
            force=delivery.force,
            meta=_meta(measured, limits),
        )
    )
    return TuneOutcome(
        manifest_path=directory / MANIFEST_NAME,
        table_path=table_path,
        fates=fates(
            measured.configs,
            measured.records,
            measured.rejected,
            fitted.manifest.selector.config_ids,
            measured.aside,
        ),
        measured=measured,
        fitted=fitted,
        table_changed=table_changed,
        copies=(source,) if copies else (),
    )


def _allowed(measured: Measured, shape: Shape) -> frozenset[int]:
    """Return the indices of `measured.configs` that may be used on `shape`."""
    sizes = dict(zip(measured.scope.axis_names, shape, strict=True))
    space = measured.space
    ids = {space.configs[i].id for i in space.allowed(sizes)}
    return frozenset(i for i, config in enumerate(measured.configs) if config.id in ids)


def _is_telling(fate: Fate) -> bool:
    """Say whether a fate is worth a line where there are hundreds: not of one that only lost."""
    return fate.kind != "lost" or fate.selected or fate.failed > 0


def _admitted(measured: Measured) -> list[Record]:
    """Return the records without the timings of configs that are rejected: they may not win."""
    return [
        record
        for record in measured.records
        if isinstance(record.result, Failure) or record.config.id not in measured.rejected
    ]


def _set_aside(measured: Measured) -> dict[str, str]:
    """Return why columns of the table are empty in which another stands for a config, by index."""
    return {
        str(i): f"set aside: {measured.aside[config.id]}"
        for i, config in enumerate(measured.configs)
        if config.id in measured.aside
    }


def _meta(measured: Measured, limits: Limits) -> TuneMeta:
    notes = [
        "outputs were verified against the reference"
        if measured.verified
        else "outputs were not verified: there was no reference"
    ]
    if measured.lost:
        notes.append(f"left out, since nothing runs on them: {plural(len(measured.lost), 'shape')}")
    if measured.unfinished:
        notes.append(f"not measured with all configs: {plural(measured.unfinished, 'shape')}")
    if measured.search:
        notes.append(_searched(measured))
    timings = [one.result for one in measured.records if isinstance(one.result, Timing)]
    repeat = limits.repeat or max((timing.repeats for timing in timings), default=None)
    return TuneMeta(path_used="tuner tune", warmup=limits.warmup, repeat=repeat, notes=notes)


def _searched(measured: Measured) -> str:
    configs, shapes = measured.configs, len(measured.works)
    return (
        f"searched: {len(configs):,} of {len(measured.space.configs):,} configs measured, "
        f"{len(measured.records) / shapes:.0f} a shape on {plural(shapes, 'shape')}"
    )


def _measuring_lines(measured: Measured) -> Iterator[str]:
    target, timing, gate = measured.scope.target, measured.timing, measured.gate
    tools = ", ".join(f"{tool} {version}" for tool, version in target.toolchain)
    yield f"device    {target.device}" + (f" ({tools})" if tools else "")
    yield f"method    {measured.method}"
    text = f"{measured.added} new, {measured.resumed} known before"
    yield f"results   {text}"
    if measured.search:
        yield f"search    {_searched(measured).removeprefix('searched: ')}"
    if gate.wall_s or timing.wall_s:
        name = "trying" if measured.search else "gate"
        text = f"{name} {gate.wall_s:.1f} s, measuring {timing.wall_s:.1f} s"
        if timing.wall_s and timing.busy_s:
            share = timing.busy_s / (timing.wall_s * measured.devices)
            text += f" with the device {share:.0%} busy at timed work"
        yield f"time      {text}"
    if timing.late:
        yield (
            f"late      {timing.late} of {timing.samples} launches may have waited for the host "
            "and were timed again"
        )
    for shape, message in measured.lost.items():
        yield f"left out  shape ({', '.join(map(str, shape))}): {message}"
    if measured.unfinished:
        left = plural(measured.unfinished, "shape")
        yield f"budget    {left} left unfinished; run again to go on"
