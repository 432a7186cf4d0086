"""The commands `tuner kb`: parse, call one function, print."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from codegen.command import OUTPUT, Command, say
from tuner.printable import plural

if TYPE_CHECKING:
    from tuner.kb.merge import Outcome
    from tuner.kb.policy import Policy
    from tuner.kb.rows import Row
    from tuner.kb.selection import Selection

__all__ = ["kb"]

_PATH = click.Path(path_type=Path)
# The names of `tuner.kb.policy.POLICIES`, which takes pydantic to import.
_POLICIES = click.Choice(["newest", "fastest", "error"])
_MOST_DROPPED = 5

_Function = TypeVar("_Function", bound=Callable[..., Any])

_kb_option = click.option(
    "--kb",
    "file",
    type=_PATH,
    metavar="FILE",
    help="The knowledge base.  [default: the user's]",
)


def _selecting(function: _Function) -> _Function:
    """Add the options that choose rows."""
    options = (
        click.option("--kernel", metavar="NAME", help="Rows of the kernel NAME."),
        click.option(
            "--source",
            metavar="HASH|FILE.py",
            help="Rows of the source whose hash begins so, or of this file as it is now.",
        ),
        click.option("--device", metavar="TEXT", help="Rows of devices whose name contains TEXT."),
        click.option("--toolchain", metavar="TEXT", help="Rows of toolchains that contain TEXT."),
        click.option("--dtype", metavar="NAME", help="Rows of one dtype, such as float16."),
        click.option("--inputs", metavar="TEXT", help="Rows of exactly these inputs."),
        click.option("--shape", metavar="SIZES", help="Rows of one shape, such as 128,4096."),
        click.option("--failed", is_flag=True, help="Failures only."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group(cls=Command.Group, short_help="See what is known; export, import, merge, prune.")
def kb() -> None:
    """Look into the knowledge base of measurements, and move rows in and out of it."""


@kb.command("list", cls=Command)
@_kb_option
def list_(file: Path | None) -> None:
    """Print a line for each kernel, source and target that was measured."""
    from tuner.kb.base import KnowledgeBase  # noqa: PLC0415 (`--help` need not wait)
    from tuner.kb.report import list_lines  # noqa: PLC0415

    path = _place(file)
    with KnowledgeBase.open(path, create=False) as base:
        summaries = base.scopes()
    for line in list_lines(summaries) if summaries else [f"{path}: holds no rows"]:
        say(line)


@kb.command(cls=Command)
@_kb_option
@_selecting
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="The most rows to print.",
)
def show(file: Path | None, limit: int, **wanted: Any) -> None:
    """Print what each config did on each shape."""
    from tuner.kb.report import show_lines  # noqa: PLC0415

    rows = _rows(_place(file), _selection(**wanted))
    for line in show_lines(rows[:limit]):
        say(line)
    if not rows:
        say("no row fits; `tuner kb list` prints what is there")
    elif len(rows) > limit:
        say(f"{plural(len(rows) - limit, 'more row')}; print them with --limit {len(rows)}")


@kb.command(cls=Command)
@click.argument("output", type=OUTPUT, metavar="FILE")
@_kb_option
@_selecting
@click.option("--table", is_flag=True, help="Write a latency table, for `tuner fit`.")
def export(output: Path, file: Path | None, *, table: bool, **wanted: Any) -> None:
    """Write rows to FILE as lines of JSON, or to the standard output if it is `-`.

    A second export of the same rows gives the same bytes.
    """
    from tuner.kb.export import lines_text, table_text, write_export  # noqa: PLC0415

    rows = _rows(_place(file), _selection(**wanted))
    text = table_text(rows) if table else lines_text(rows)
    if str(output) == "-":
        say(text, nl=False)
        return
    changed = write_export(output, text)
    say(f"{output}: {'written' if changed else 'unchanged'}, {plural(len(rows), 'row')}")


@kb.command("import", cls=Command)
@click.argument("source", type=_PATH, metavar="FILE")
@_kb_option
@click.option(
    "--on-conflict",
    "policy",
    type=_POLICIES,
    default="newest",
    show_default=True,
    help="Which of two different results of one key stays; `error` changes nothing.",
)
def import_(source: Path, file: Path | None, policy: Policy) -> None:
    """Take in the rows of FILE: what `export` wrote, or a knowledge base such as an archive."""
    from tuner.kb.sources import take_in  # noqa: PLC0415

    _say_outcome(str(source), take_in([source], _place(file), policy))


@kb.command(cls=Command)
@click.argument("sources", nargs=-1, required=True, type=_PATH, metavar="FROM...")
@click.option("--into", type=_PATH, required=True, metavar="FILE", help="Made if it is missing.")
@click.option(
    "--policy",
    type=_POLICIES,
    default="newest",
    show_default=True,
    help="Which of two different results of one key stays; `error` changes nothing.",
)
@click.option(
    "--report",
    type=_PATH,
    metavar="REPORT",
    help="Write every result that is dropped to REPORT, in the form of an export.",
)
def merge(sources: tuple[Path, ...], into: Path, policy: Policy, report: Path | None) -> None:
    """Take the rows of each knowledge base FROM into another; all of them, or none on an error.

    A result is dropped where the same config was measured on the same shape, of the same source
    and on the same target, with another result.
    """
    from tuner.kb.sources import take_in  # noqa: PLC0415

    _say_outcome(str(into), take_in(sources, into, policy, report=report))


@kb.command(cls=Command)
@click.option(
    "--unused-for",
    required=True,
    metavar="DURATION",
    help="Rows neither measured nor used for so long: 12h, 90d, 4w.",
)
@click.option(
    "--archive",
    type=_PATH,
    metavar="ARCHIVE",
    help="Where they go.  [default: kb.archive.sqlite beside kb.sqlite]",
)
@_kb_option
@click.option("--dry-run", is_flag=True, help="Only say how many rows that would be.")
def prune(unused_for: str, archive: Path | None, file: Path | None, *, dry_run: bool) -> None:
    """Move rows that nobody uses to an archive, from where `tuner kb merge` brings them back."""
    from datetime import datetime, timezone  # noqa: PLC0415

    from tuner.kb.archive import archive_of  # noqa: PLC0415
    from tuner.kb.base import KnowledgeBase  # noqa: PLC0415
    from tuner.kb.durations import moment_before  # noqa: PLC0415

    path = _place(file)
    moment = moment_before(datetime.now(timezone.utc), unused_for, where="--unused-for")
    with KnowledgeBase.open(path, create=False) as base:
        place = archive or archive_of(path)
        rows = base.unused_since(moment) if dry_run else base.archive(moment, place)
    if not rows:
        say(f"{path}: no row is unused for {unused_for}")
        return
    verb = "would be moved" if dry_run else "moved"
    scopes = plural(len({row.scope for row in rows}), "scope")
    say(f"{path}: {plural(len(rows), 'row')} of {scopes} {verb} to {place}")
    if not dry_run:
        say(f"to undo: tuner kb merge {shlex.quote(str(place))} --into {shlex.quote(str(path))}")


def _place(file: Path | None) -> Path:
    from tuner.home import knowledge_base  # noqa: PLC0415

    return file or knowledge_base()


def _selection(**wanted: Any) -> Selection:
    from tuner.kb.selection import Selection, parse_shape, parse_source  # noqa: PLC0415

    shape, source = wanted.pop("shape"), wanted.pop("source")
    return Selection(
        shape=None if shape is None else parse_shape(shape),
        source=None if source is None else parse_source(source),
        **wanted,
    )


def _rows(path: Path, wanted: Selection) -> tuple[Row, ...]:
    from tuner.kb.base import KnowledgeBase  # noqa: PLC0415
    from tuner.kb.selection import select  # noqa: PLC0415

    with KnowledgeBase.open(path, create=False) as base:
        return select(base.rows(), wanted)


def _say_outcome(place: str, outcome: Outcome) -> None:
    from tuner.kb.report import dropped_lines, outcome_line  # noqa: PLC0415

    say(f"{place}: {outcome_line(outcome)}")
    for line in dropped_lines(outcome.clashes, most=_MOST_DROPPED):
        say(line)
