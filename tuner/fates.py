"""The fate of every candidate: where it won, by how much it lost, or what was wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from codegen.config import Config
from tuner.printable import printable
from tuner.records import Failure, Record, Shape, Timing

__all__ = ["Fate", "fates"]

FateKind = Literal["won", "lost", "rejected", "aside", "unmeasured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of a candidate.

    Attributes:
        kind: `won` if it is the fastest somewhere; `rejected` if it may not be chosen at all;
            `aside` if it is the same to the device as another, which was measured in its place.
        selected: whether the fitted selector can choose it.
        shapes: on how many shapes it was measured, and `won` on how many it is the fastest.
        closest: its least slowdown over the fastest config of a shape, None where unmeasured.
        failed: on how many shapes it failed; `reason` is that of its rejection, or of the first,
            or why it was set aside.
    """

    config: Config
    kind: FateKind
    selected: bool
    shapes: int
    won: int
    closest: float | None
    failed: int
    reason: str | None

    def __str__(self) -> str:
        """Return the fate in words, without the config's name."""
        match self.kind:
            case "won":
                text = f"won {self.won} of {self.shapes}"
            case "lost":
                text = f"lost all {self.shapes}, at best {self.closest:.3f} times the winner"
            case "rejected":
                return f"rejected: {self._told}"
            case "aside":
                return f"set aside: {self._told}"
            case "unmeasured":
                return "not measured"
        if self.selected:
            text += ", selected"
        return text + (f", failed on {self.failed}: {self._told}" if self.failed else "")

    @property
    def _told(self) -> str:
        return printable(self.reason or "")


def fates(
    configs: Sequence[Config],
    records: Sequence[Record],
    rejected: Mapping[str, str],
    selected: Collection[str],
    aside: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Fate, ...]:
    """Return the fate of each of `configs`, in their order.

    Args:
        configs: all candidates.
        records: what is known of them.
        rejected: by config id, why.
        selected: the ids that the fitted selector can choose.
        aside: by config id, why it was not to be measured.
    """
    timed: dict[str, dict[Shape, float]] = {}
    failed: dict[str, list[tuple[Shape, Failure]]] = {}
    for record in records:
        if isinstance(record.result, Timing):
            if record.config.id not in rejected:
                timed.setdefault(record.config.id, {})[record.shape] = record.result.median_us
        else:
            failed.setdefault(record.config.id, []).append((record.shape, record.result))
    best: dict[Shape, tuple[float, str]] = {}
    for config, by_shape in timed.items():
        for shape, us in by_shape.items():
            best[shape] = min(best.get(shape, (us, config)), (us, config))
    return tuple(
        _fate(
            config,
            timed.get(config.id, {}),
            failed.get(config.id, []),
            best,
            rejected.get(config.id),
            aside.get(config.id),
            selected=config.id in selected,
        )
        for config in configs
    )


def _fate(
    config: Config,
    timed: Mapping[Shape, float],
    failed: Sequence[tuple[Shape, Failure]],
    best: Mapping[Shape, tuple[float, str]],
    rejected: str | None,
    aside: str | None,
    *,
    selected: bool,
) -> Fate:
    won = sum(best[shape][1] == config.id for shape in timed)
    kind: FateKind = "won" if won else "lost"
    reason = rejected or aside
    if rejected or aside:
        kind = "rejected" if rejected else "aside"
    elif not timed:
        kind = "rejected" if failed else "unmeasured"
    if failed and not reason:
        shape, failure = failed[0]
        reason = f"{failure.kind} on ({', '.join(map(str, shape))}): {failure.message}"
    return Fate(
        config=config,
        kind=kind,
        selected=selected,
        shapes=len(timed),
        won=won,
        closest=min((_slowdown(us, best[shape][0]) for shape, us in timed.items()), default=None),
        failed=len(failed),
        reason=reason,
    )


def _slowdown(us: float, best_us: float) -> float:
    return us / best_us if best_us else float("inf" if us else 1)
