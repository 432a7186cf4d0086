"""The ledger of a run: what is known of which config on which shape, kept durable as it comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from codegen.config import Config
from tuner.kb import KnowledgeBase
from tuner.kb.passes import Pass
from tuner.records import STRIKES, Failure, Record, Scope, Shape, Timing
from tuner.space import Space
from tuner.worker.messages import Work

__all__ = ["DEADLY", "Ledger", "now"]

# Kinds of failure that cost a worker.
DEADLY = frozenset({"crash", "hang"})


def now() -> str:
    """Return the time, UTC, as a record writes it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Ledger:
    """The records of one scope for the shapes and configs of a run.

    Attributes:
        resumed: how many of them were known before the run.
        added: how many the run added.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        scope: Scope,
        works: Sequence[Work],
        space: Space,
        *,
        retry_failed: bool = False,
    ) -> None:
        self._kb, self._scope, self._retry = kb, scope, retry_failed
        self._works = {work.shape: work for work in works}
        self._configs = {config.id: config for config in space.configs}
        self._allowed = {work.shape: _allowed(space, scope, work.shape) for work in works}
        self._aside = {work.shape: _aside(space, scope, work.shape) for work in works}
        self._records: dict[tuple[Shape, str], Record] = {}
        self._failures: dict[str, dict[Shape, Failure]] = {}
        self._timed: set[str] = set()
        self._rejected: dict[tuple[Shape, ...], Mapping[str, str]] = {}
        self._unwritten: list[Record] = []
        self._passed = set() if retry_failed else set(kb.passes(scope))
        self._new_passes: list[Pass] = []
        self._read(failed=not retry_failed)
        self.resumed = len(self._records)
        self.added = 0

    def _read(self, *, failed: bool) -> None:
        """Take over what the knowledge base knows, failures only if `failed`."""
        for record in self._kb.lookup(self._scope):
            if self._concerns(record) and (failed or isinstance(record.result, Timing)):
                self._keep(record)

    def _concerns(self, record: Record) -> bool:
        work = self._works.get(record.shape)
        return (
            work is not None
            and (record.dtype, record.inputs) == (work.dtype, work.inputs)
            and record.config.id in self._configs
            # Measured when it was not known that another is the same.
            and record.config.id not in self._aside[record.shape]
        )

    def _keep(self, record: Record) -> None:
        shape, config = record.shape, record.config.id
        self._records[shape, config] = record
        if isinstance(record.result, Failure):
            self._failures.setdefault(config, {})[shape] = record.result
            self._rejected.clear()
        elif config not in self._timed:
            self._timed.add(config)
            self._rejected.clear()

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of the run."""
        return tuple(self._works)

    @property
    def works(self) -> tuple[Work, ...]:
        """The shapes of the run, with what their inputs are."""
        return tuple(self._works.values())

    def has(self, shape: Shape) -> bool:
        """Say whether `shape` is one of the run's."""
        return shape in self._works

    def allowed(self, shape: Shape) -> bool:
        """Say whether any config may be used on `shape`."""
        return bool(self._allowed[shape])

    @property
    def aside(self) -> Mapping[str, str]:
        """The configs that are tried on no shape since another is the same to the device; which."""
        tried = {name for shape in self._works for name in self._allowed[shape]}
        found: dict[str, str] = {}
        for shape in self._works:
            for name, other in self._aside[shape].items():
                if name not in tried:
                    found.setdefault(name, other)
        return found

    def allowed_ids(self, shape: Shape) -> tuple[str, ...]:
        """Return the ids of the configs that may be used on `shape`."""
        return tuple(self._allowed[shape])

    def result(self, shape: Shape, config: str) -> Timing | Failure | None:
        """Return what is known of a config on `shape`, None if nothing is."""
        record = self._records.get((shape, config))
        return record.result if record else None

    def missing(self, shape: Shape) -> tuple[Config, ...]:
        """Return the configs that may be used on `shape` and of which nothing is known there."""
        return tuple(
            config
            for name, config in self._allowed[shape].items()
            if (shape, name) not in self._records
        )

    def untried(self, shape: Shape) -> tuple[Config, ...]:
        """Return those of `missing` that did not pass the gate on `shape` either."""
        return tuple(c for c in self.missing(shape) if self._pass(shape, c.id) not in self._passed)

    def add_pass(self, shape: Shape, config: str) -> None:
        """Note that a config passed the gate on `shape`; it is durable after the next `commit`."""
        passed = self._pass(shape, config)
        self._passed.add(passed)
        self._new_passes.append(passed)

    def _pass(self, shape: Shape, config: str) -> Pass:
        work = self._works[shape]
        return work.dtype, work.inputs, shape, config

    def records(self) -> tuple[Record, ...]:
        """Return all that is known, sorted by shape and config's id."""
        return tuple(self._records[key] for key in sorted(self._records))

    def add(self, shape: Shape, config: str, result: Timing | Failure) -> None:
        """Note a result; it is durable after the next `commit`."""
        work = self._works[shape]
        record = Record(
            shape=shape,
            dtype=work.dtype,
            inputs=work.inputs,
            config=self._configs[config],
            result=result,
            at=now(),
        )
        self._keep(record)
        self._unwritten.append(record)
        self.added += 1

    def commit(self) -> None:
        """Make all that was added durable: results in one transaction, then passes."""
        if self._unwritten:
            self._kb.record(self._scope, self._unwritten, replace=self._retry)
            self._unwritten.clear()
        if self._new_passes:
            self._kb.keep_passes(self._scope, self._new_passes)
            self._new_passes.clear()

    def refresh(self) -> None:
        """Take over what the knowledge base holds, now that all is written there.

        Where another run measured the same meanwhile, that is what was written first: so all of
        them, and the next one, go by the same results.
        """
        self._records.clear()
        self._failures.clear()
        self._timed.clear()
        self._rejected.clear()
        self._read(failed=True)

    def drop(self, shape: Shape) -> None:
        """Leave `shape` out of the run: nothing can be measured on it."""
        self._works.pop(shape, None)
        for key in [key for key in self._records if key[0] == shape]:
            del self._records[key]
        for failures in self._failures.values():
            failures.pop(shape, None)
        self._rejected.clear()

    def best(self, shape: Shape) -> tuple[str, Timing] | None:
        """Return the fastest config that is known on `shape`."""
        rejected = self.rejected(())
        timings = [
            (record.config.id, record.result)
            for config in self._configs
            if (record := self._records.get((shape, config)))
            and isinstance(record.result, Timing)
            and config not in rejected
        ]
        return min(timings, key=lambda item: item[1].median_us, default=None)

    def rejected(self, gate: Sequence[Shape]) -> Mapping[str, str]:
        """Return the configs that are out of the race, and why.

        Out is one that was wrong anywhere, that killed or hung workers on `STRIKES` shapes, or
        that failed on all shapes of `gate` that it was tried on.
        """
        key = tuple(gate)
        if key not in self._rejected:
            self._rejected[key] = self._find_rejected(key)
        return self._rejected[key]

    def _find_rejected(self, gate: Sequence[Shape]) -> Mapping[str, str]:
        out: dict[str, str] = {}
        for config, by_shape in self._failures.items():
            found = sorted(by_shape.items())
            wrong = [item for item in found if item[1].kind == "wrong"]
            deaths = sum(failure.kind in DEADLY for failure in by_shape.values())
            tried = [s for s in gate if s in self._works and config in self._allowed[s]]
            everywhere = bool(tried) and config not in self._timed and set(tried) <= set(by_shape)
            if wrong:
                out[config] = _reason(wrong)
            elif deaths >= STRIKES or everywhere:
                out[config] = _reason(found)
        return out


def _allowed(space: Space, scope: Scope, shape: Shape) -> Mapping[str, Config]:
    chosen = (space.configs[index] for index in space.allowed(_sizes(scope, shape)))
    return {config.id: config for config in chosen}


def _aside(space: Space, scope: Scope, shape: Shape) -> Mapping[str, str]:
    found = space.aside(_sizes(scope, shape)).items()
    return {space.configs[index].id: space.configs[other].id for index, other in found}


def _sizes(scope: Scope, shape: Shape) -> Mapping[str, int]:
    return dict(zip(scope.axis_names, shape, strict=True))


def _reason(found: Sequence[tuple[Shape, Failure]]) -> str:
    (shape, failure), *more = found
    sizes = ", ".join(map(str, shape))
    text = f"{failure.kind} on ({sizes}): {failure.message}"
    return text + (f" (and on {len(more)} more)" if more else "")
