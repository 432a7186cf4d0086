"""Rows from elsewhere into a knowledge base: what is new, what gives way, and what is dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from codegen.errors import shown
from tuner.errors import KbError
from tuner.kb.policy import Policy, prefers, same_result
from tuner.kb.rows import Row
from tuner.kb.writer import Writer

__all__ = ["Clash", "Outcome", "merge_rows", "refuse_clashes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Two different results of one key: the one that stays, and the one that is dropped."""

    stays: Row
    dropped: Row


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of the rows that came in.

    Attributes:
        new: rows whose key was not there.
        same: rows that say what was known.
        replaced: rows that took the place of another result.
        kept: rows that gave way to the result that was there.
        clashes: one for each row replaced or kept, in the order in which they were met.
    """

    new: int = 0
    same: int = 0
    replaced: int = 0
    kept: int = 0
    clashes: list[Clash] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many rows came in."""
        return self.new + self.same + self.replaced + self.kept


def merge_rows(writer: Writer, rows: Iterable[Row], policy: Policy, outcome: Outcome) -> None:
    """Write `rows`, checked before, and count in `outcome` what became of them.

    A row of a known key leaves the later of the two days of use. With the policy `error` the
    newer result is written, for `refuse_clashes` to undo.

    Raises:
        KbError: a row that was there was altered.
    """
    for row in rows:
        found = writer.find(row)
        if found is None:
            writer.insert(row)
            outcome.new += 1
        else:
            _settle(writer, *found, row, policy, outcome)


def refuse_clashes(outcome: Outcome, path: Path) -> None:
    """Raise KbError, inside the transaction, if any key of `path` has two different results."""
    if not outcome.clashes:
        return
    clash, count = outcome.clashes[0], len(outcome.clashes)
    record = clash.stays.record
    raise KbError(
        f"{count} row{'s' if count > 1 else ''} would have two different results, the first "
        f"{shown(clash.stays.scope.kernel)} {shown(str(record.shape))} {shown(record.config.id)}",
        where=str(path),
        remedy="nothing was changed; choose newest or fastest to keep one of the two",
    )


def _settle(
    writer: Writer, number: int, old: Row, new: Row, policy: Policy, outcome: Outcome
) -> None:
    """Let the one of `old`, which is row `number`, and `new` stay that `policy` prefers."""
    wins = prefers(policy, new.record, old.record)
    winner, loser = (new, old) if wins else (old, new)
    used_at = max((day for day in (old.used_at, new.used_at) if day), default=None)
    if wins or used_at != old.used_at:
        writer.replace(number, replace(winner, used_at=used_at))
    if same_result(new.record, old.record):
        outcome.same += 1
        return
    outcome.clashes.append(Clash(stays=winner, dropped=loser))
    if wins:
        outcome.replaced += 1
    else:
        outcome.kept += 1
