"""The knowledge base: records of every scope in one SQLite file.

What `record` returned from is on the disk. A process that is killed, or a disk that is full,
leaves the file as it was after the last transaction that returned. Several processes may read and
write at once; they wait for each other for up to a minute.

A row's key is the source's hash, the target, the names of the axes, dtype, inputs, shape and
config's id. The kernel's name is that under which a scope was first recorded, and so is the order
of a config's params.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from tuner.kb.archive import archive_of, refuse_same_file
from tuner.kb.connection import connect
from tuner.kb.fields import DayField
from tuner.kb.merge import Outcome, merge_rows, refuse_clashes
from tuner.kb.passes import Pass, forget_passes, keep_passes, read_passes
from tuner.kb.policy import Policy
from tuner.kb.reader import Reader, read_scopes, scope_number
from tuner.kb.rows import Row, ScopeRow, checked, sort_key
from tuner.kb.transactions import reading, writing
from tuner.kb.words import sqlite_words, verdict
from tuner.kb.writer import Writer
from tuner.records import Record, Scope

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["KnowledgeBase", "ScopeSummary"]

_DAY = TypeAdapter(DayField)

_SUMMARY = (
    "SELECT count(median_us), count(failure), count(DISTINCT shape), count(DISTINCT config_id),"
    " max(at), max(used_at) FROM record WHERE scope_id = ?"
)
# A day of use lasts until its end.
_UNUSED = "AND max(at, coalesce(used_at || 'T23:59:59Z', '')) < ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeSummary:
    """A scope and how much is known of it.

    Attributes:
        measured: rows with a timing; `failed`: rows with a failure.
        shapes: different shapes among them; `configs`: different configs.
        last_measured: UTC, as `2026-11-30T21:04:32Z`.
        last_used: a day, as `2026-11-30`; None if it was never used.
    """

    scope: Scope
    measured: int
    failed: int
    shapes: int
    configs: int
    last_measured: str
    last_used: str | None


class KnowledgeBase:
    """An open knowledge base; as a context manager, it is closed at the end.

    Every method raises KbError if the file cannot be read or written, or was altered.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Take an open connection; see `open`."""
        self._connection = connection
        self.path = path

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> KnowledgeBase:
        """Open the knowledge base at `path`; with `create`, make it and its directory if missing.

        Raises:
            KbError: it is missing, something else, of a newer version, or cannot be opened.
        """
        return cls(connect(path, create=create), path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def record(self, scope: Scope, records: Sequence[Record], *, replace: bool = False) -> None:
        """Keep `records`, all in one transaction that is on the disk when this returns.

        Of a key that is known the row stays as it is, or with `replace` becomes the new record; so
        does the first, or with `replace` the last, of two records of one key in `records`. The
        message of a failure is cut at 4,000 characters.

        Raises:
            KbError: also if a record has a part that cannot be kept; then none is.
        """
        rows = [Row(scope=scope, record=checked(scope, record)) for record in records]
        if not rows:
            return
        with self._writing() as writer:
            for row in rows:
                found = writer.find(row)
                if found is None:
                    writer.insert(row)
                elif replace:
                    writer.replace(found[0], _used_as(row, found[1]))

    def lookup(self, scope: Scope) -> tuple[Record, ...]:
        """Return all records of `scope`, sorted by dtype, inputs, shape and config's id."""
        with self._reading():
            rows = [row for _, row in self._rows_of(scope)]
        return tuple(row.record for row in sorted(rows, key=sort_key))

    def keep_passes(self, scope: Scope, passes: Sequence[Pass]) -> None:
        """Keep which configs passed the gate where, all in one transaction."""
        with self._writing():
            keep_passes(self._connection, scope, passes)

    def passes(self, scope: Scope) -> frozenset[Pass]:
        """Return which configs passed the gate of `scope` where."""
        with self._reading():
            return read_passes(self._connection, scope)

    def touch(self, scope: Scope, day: str) -> None:
        """Note that the records of `scope` were used on `day`, such as `2026-11-30`.

        Nothing is written where that day, or a later one, is noted already.
        """
        _check_day(day)
        stale = "scope_id = ? AND (used_at IS NULL OR used_at < ?)"
        with self._reading():
            number = scope_number(self._connection, scope)
            found = self._connection.execute(
                f"SELECT 1 FROM record WHERE {stale} LIMIT 1",  # noqa: S608 (no data in it)
                (number, day),
            ).fetchone()
        if found:
            with self._writing():
                self._connection.execute(
                    f"UPDATE record SET used_at = ? WHERE {stale}",  # noqa: S608
                    (day, number, day),
                )

    def scopes(self) -> tuple[ScopeSummary, ...]:
        """Return a summary of each scope that has a record, sorted by kernel, source and target."""
        with self._reading():
            found = [self._summary(scope) for scope in read_scopes(self._connection, self.path)]
        return tuple(sorted((summary for summary in found if summary), key=_scope_order))

    def rows(self) -> tuple[Row, ...]:
        """Return the rows of all scopes, sorted as `lookup` does within each scope."""
        with self._reading():
            scopes = read_scopes(self._connection, self.path)
            rows = [row for scope in scopes for _, row in self._reader(scope).rows()]
        return tuple(sorted(rows, key=sort_key))

    def merge(
        self,
        sources: Iterable[Iterable[Row]],
        policy: Policy,
        before_commit: Callable[[Outcome], None] | None = None,
    ) -> Outcome:
        """Take in the rows of `sources`, in one transaction, and return what became of them.

        `before_commit` is called with that when all is written; if it raises, nothing is.

        Raises:
            KbError: also if `policy` is `error` and a key has two different results.
        """
        outcome = Outcome()
        with self._writing() as writer:
            for rows in sources:
                merge_rows(writer, rows, policy, outcome)
            if policy == "error":
                refuse_clashes(outcome, self.path)
            if before_commit:
                before_commit(outcome)
        return outcome

    def forget(self, scope: Scope) -> int:
        """Move the rows of `scope` to the archive, see `tuner.kb.archive`; return how many.

        A row that is in the archive already stays there if it is newer, and else gives way.
        """
        with self._writing() as writer:
            found = self._rows_of(scope)
            self._move(found, archive_of(self.path), writer)
            forget_passes(self._connection, scope)
        return len(found)

    def unused_since(self, moment: datetime) -> tuple[Row, ...]:
        """Return the rows that were neither measured nor used since `moment`, which is in UTC."""
        with self._reading():
            return tuple(row for _, row in self._cold(moment))

    def archive(self, moment: datetime, archive: Path) -> tuple[Row, ...]:
        """Move the rows that `unused_since` returns to the knowledge base `archive`; return them.

        They are on the disk there before one is removed here: a kill leaves them in both. Of a key
        that is in the archive already, the newer result stays.
        """
        refuse_same_file(self.path, archive, remedy="name another file as the archive")
        with self._writing() as writer:
            found = self._cold(moment)
            self._move(found, archive, writer)
        return tuple(row for _, row in found)

    def _move(self, found: Sequence[tuple[int, Row]], archive: Path, writer: Writer) -> None:
        if not found:
            return
        with KnowledgeBase.open(archive) as other:
            other.merge([[row for _, row in found]], "newest")
        writer.remove([number for number, _ in found])

    def _cold(self, moment: datetime) -> list[tuple[int, Row]]:
        # Not strftime, which writes the year 990 as three digits on some systems.
        values = (moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z",)
        scopes = read_scopes(self._connection, self.path)
        return [found for s in scopes for found in self._reader(s).rows(_UNUSED, values)]

    def _rows_of(self, scope: Scope) -> tuple[tuple[int, Row], ...]:
        number = scope_number(self._connection, scope)
        if number is None:
            return ()
        return self._reader(ScopeRow(number=number, scope=scope)).rows()

    def _reader(self, scope: ScopeRow) -> Reader:
        return Reader(self._connection, self.path, scope)

    def _summary(self, row: ScopeRow) -> ScopeSummary | None:
        counts: tuple[Any, ...] = self._connection.execute(_SUMMARY, (row.number,)).fetchone()
        measured, failed, shapes, configs, last_measured, last_used = counts
        if not measured + failed:
            return None
        return ScopeSummary(
            scope=row.scope,
            measured=measured,
            failed=failed,
            shapes=shapes,
            configs=configs,
            last_measured=str(last_measured),
            last_used=None if last_used is None else str(last_used),
        )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with sqlite_words(self.path), reading(self._connection):
            yield

    @contextmanager
    def _writing(self) -> Iterator[Writer]:
        with sqlite_words(self.path), writing(self._connection):
            yield Writer(self._connection, self.path)


def _used_as(row: Row, old: Row) -> Row:
    return replace(row, used_at=old.used_at)


def _check_day(day: str) -> None:
    try:
        _DAY.validate_python(day, strict=True)
    except ValidationError as error:
        raise verdict(error, day, "day") from None


def _scope_order(summary: ScopeSummary) -> tuple[Any, ...]:
    scope = summary.scope
    return scope.kernel, scope.source_sha256, scope.target.key, scope.axis_names
