"""What the commands print of a knowledge base: every text in it is escaped, and cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from codegen.literals import comment
from tuner.kb.base import ScopeSummary
from tuner.kb.merge import Clash, Outcome
from tuner.kb.rows import Row
from tuner.printable import plural
from tuner.records import Failure, Record, Scope, Timing

__all__ = ["dropped_lines", "list_lines", "outcome_line", "show_lines", "work_label"]

_HASH_LENGTH = 12
_WIDTH = 48
_MESSAGE_WIDTH = 160
_HEADINGS = (
    *("kernel", "source", "device", "arch", "toolchain"),
    *("shapes x configs", "measured", "failed", "last measured", "last used"),
)


def list_lines(summaries: Sequence[ScopeSummary]) -> list[str]:
    """Return a line a scope, under headings."""
    return _aligned([_HEADINGS, *map(_summary_cells, summaries)])


def show_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line a row, under a line that names what neighbours share; `rows` are sorted."""
    for (scope, dtype, inputs), group in groupby(rows, key=_work):
        arch = f" {_cut(scope.target.arch)}" if scope.target.arch else ""
        axes = ", ".join(scope.axis_names)
        work = f"({axes}), {_cut(dtype)}" + (f", {_cut(inputs)}" if inputs else "")
        tools = _tools(scope) or "no toolchain"
        yield f"{_name(scope)} on {_cut(scope.target.device)}{arch}, {tools}: {work}"
        cells = [_record_cells(row.record) for row in group]
        yield from (f"  {line}" for line in _aligned(cells))


def outcome_line(outcome: Outcome) -> str:
    """Return what became of the rows that came in, in one line."""
    clashes = plural(len(outcome.clashes), "result")
    return (
        f"{plural(outcome.total, 'row')}: {outcome.new:,} new, {outcome.same:,} known already, "
        f"{outcome.replaced:,} replaced, {outcome.kept:,} kept; {clashes} dropped"
    )


def dropped_lines(clashes: Sequence[Clash], *, most: int) -> Iterator[str]:
    """Yield a line for each of the first `most` results that were dropped, and for the rest."""
    for clash in clashes[:most]:
        record = clash.dropped.record
        yield (
            f"dropped  {_name(clash.dropped.scope)} ({_sizes(record)}) {_cut(record.config.id)}: "
            f"{_short(record)}; there is {_short(clash.stays.record)}"
        )
    if len(clashes) > most:
        yield f"dropped  {len(clashes) - most} more"


def work_label(row: Row) -> str:
    """Return what tells the row's table from others, for a message."""
    scope, record = row.scope, row.record
    device = _cut(scope.target.device)
    return f"{_name(scope)} on {device}, {_tools(scope)}, {_cut(record.dtype)}"


def _work(row: Row) -> tuple[Scope, str, str]:
    return row.scope, row.record.dtype, row.record.inputs


def _summary_cells(summary: ScopeSummary) -> tuple[str, ...]:
    scope = summary.scope
    return (
        _cut(scope.kernel),
        scope.source_sha256[:_HASH_LENGTH],
        _cut(scope.target.device),
        _cut(scope.target.arch or "-"),
        _tools(scope) or "-",
        f"{summary.shapes} x {summary.configs}",
        str(summary.measured),
        str(summary.failed),
        _cut(summary.last_measured[:10]),
        _cut(summary.last_used or "-"),
    )


def _record_cells(record: Record) -> tuple[str, ...]:
    match record.result:
        case Timing() as timing:
            result = f"{timing.median_us:.3f} us, spread {timing.spread:.1%} of "
            result += plural(timing.repeats, "repeat")
        case Failure() as failure:
            result = f"{failure.kind}: {_cut(failure.message, _MESSAGE_WIDTH)}"
    return _sizes(record), _cut(record.config.id, 2 * _WIDTH), result


def _short(record: Record) -> str:
    match record.result:
        case Timing() as timing:
            return f"{timing.median_us:.3f} us of {record.at}"
        case Failure() as failure:
            return f"{failure.kind} of {record.at}"


def _name(scope: Scope) -> str:
    return f"{_cut(scope.kernel)} {scope.source_sha256[:_HASH_LENGTH]}"


def _tools(scope: Scope) -> str:
    return ", ".join(f"{_cut(tool)} {_cut(version)}" for tool, version in scope.target.toolchain)


def _sizes(record: Record) -> str:
    return _cut(", ".join(map(str, record.shape)))


def _cut(text: str, width: int = _WIDTH) -> str:
    # Cut twice: escapes are longer than what they stand for, and a megabyte need not be escaped.
    plain = comment(text[: width + 1])
    return plain if len(plain) <= width else f"{plain[: width - 3]}..."


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines, the cells of a column under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
