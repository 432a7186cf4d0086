"""When a run cannot go on, or ends with nothing: each case in one line, with what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuner.errors import CaseError, TuneError
from tuner.ledger import Ledger
from tuner.measured import Task
from tuner.printable import printable
from tuner.records import Failure, Shape, Timing
from tuner.worker.messages import Work

__all__ = [
    "check_shapes_left",
    "check_something_timed",
    "check_survivors",
    "check_works",
    "in_brackets",
]

_LIMIT = 300


def in_brackets(shape: Shape) -> str:
    """Return `shape` as it stands in a message: `(16, 4096)`."""
    return f"({', '.join(map(str, shape))})"


def check_works(works: Sequence[Work], task: Task) -> None:
    """Refuse shapes that do not fit the axes, or each other.

    Raises:
        CaseError: a shape has not one size an axis, or dtypes differ, or `task.sanity` is missing.
    """
    for work in works:
        if len(work.shape) != len(task.axis_names):
            raise CaseError(
                f"shape {in_brackets(work.shape)} has {len(work.shape)} sizes for "
                f"{len(task.axis_names)} axes, {', '.join(task.axis_names)}",
                where="shapes",
                remedy="give one size an axis",
            )
    first = {work.dtype: in_brackets(work.shape) for work in reversed(works)}
    if len(first) > 1:
        told = ", ".join(f"{dtype} on {shape}" for dtype, shape in sorted(first.items()))
        raise CaseError(
            f"the inputs are of different dtypes: {told}",
            where=task.kernel,
            remedy="tune the shapes of one dtype at a time, each in a directory of its own",
        )
    if task.sanity and task.shapes and task.sanity not in task.shapes:
        raise CaseError(
            f"{in_brackets(task.sanity)} is not one of the shapes",
            where="sanity_shape",
            remedy="name one that is tuned",
        )


def check_shapes_left(ledger: Ledger, lost: Mapping[Shape, str], kernel: str) -> None:
    """Raise TuneError if every shape is lost."""
    if ledger.shapes:
        return
    details = tuple(f"{in_brackets(shape)}: {message}" for shape, message in lost.items())
    raise TuneError(
        f"no shape can be measured; {printable(details[0], limit=_LIMIT)}",
        where=kernel,
        remedy="mend what makes the inputs or the reference, or name other shapes",
        details=details if len(details) > 1 else (),
    )


def check_survivors(ledger: Ledger, gate: Sequence[Shape], task: Task) -> None:
    """Raise TuneError if every candidate is rejected."""
    rejected, aside = ledger.rejected(gate), ledger.aside
    names = [config.id for config in task.space.configs if config.id not in aside]
    if len(rejected) < len(names):
        return
    details = _by_reason({name: rejected[name] for name in names})
    several = len(rejected) > 1
    raise TuneError(
        f"all {len(rejected)} candidates are rejected"
        if several
        else f"the only candidate is rejected: {printable(details[0], limit=_LIMIT)}",
        where=task.kernel,
        remedy="mend the kernel or the space; then run again, with --retry-failed if the kernel's "
        "code is as it was",
        details=details if several else (),
    )


def _by_reason(reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Return a line each reason, with the configs that share it: what is said once is read."""
    configs: dict[str, list[str]] = {}
    for config, reason in reasons.items():
        configs.setdefault(reason, []).append(config)
    return tuple(
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {reason}"
        for reason, names in configs.items()
    )


def check_something_timed(ledger: Ledger, gate: Sequence[Shape], task: Task, *, late: bool) -> None:
    """Raise TuneError if there is no timing of a config that may be chosen; `late`: out of time."""
    rejected = ledger.rejected(gate)
    records = ledger.records()
    if any(isinstance(r.result, Timing) and r.config.id not in rejected for r in records):
        return
    if late:
        raise TuneError(
            f"the budget of {task.budget_s:g} s was spent before a shape was measured",
            where=task.kernel,
            remedy="give it more time",
        )
    details = tuple(
        f"{r.config.id}: {r.result.kind} on {in_brackets(r.shape)}: {r.result.message}"
        for r in records
        if isinstance(r.result, Failure)
    )
    fact = f"; {printable(details[0], limit=_LIMIT)}" if details else ""
    raise TuneError(
        f"nothing could be measured{fact}",
        where=task.kernel,
        remedy="mend the kernel or the space; then run again with --retry-failed",
        details=details if len(details) > 1 else (),
    )
