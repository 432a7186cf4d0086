"""Where rows come from, and how they are taken in: exports and other knowledge bases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tuner.kb.archive import refuse_same_file
from tuner.kb.base import KnowledgeBase
from tuner.kb.connection import is_sqlite
from tuner.kb.export import lines_text, write_export
from tuner.kb.lines import read_lines
from tuner.kb.merge import Outcome
from tuner.kb.policy import Policy
from tuner.kb.rows import Row, sort_key

__all__ = ["read_rows", "take_in"]


def read_rows(path: Path) -> tuple[Row, ...]:
    """Return the rows of the file `path`: an export or a knowledge base, which its content tells.

    Raises:
        KbError: it is neither, or cannot be read.
    """
    if not is_sqlite(path):
        return read_lines(path)
    with KnowledgeBase.open(path, create=False) as base:
        return base.rows()


def take_in(
    sources: Sequence[Path], into: Path, policy: Policy, *, report: Path | None = None
) -> Outcome:
    """Take the rows of `sources` into the knowledge base `into`, which is made if it is missing.

    All of them in one transaction, and `report` is written before it ends: on an error nothing
    is changed. All sources are read before `into` is locked, as they may be long.

    Raises:
        KbError: a source cannot be read, or `policy` is `error` and two results differ.
        OutputError: the report cannot be written.
    """
    for source in sources:
        refuse_same_file(into, source, remedy="name another one to take rows from")
    rows = [read_rows(source) for source in sources]

    def write_report(outcome: Outcome) -> None:
        if report is not None:
            write_export(report, lines_text(sorted(_dropped(outcome), key=sort_key)))

    with KnowledgeBase.open(into) as base:
        return base.merge(rows, policy, write_report)


def _dropped(outcome: Outcome) -> Iterator[Row]:
    return (clash.dropped for clash in outcome.clashes)
