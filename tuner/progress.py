"""Progress, as it is shown: a live display at a terminal, plain lines elsewhere, or nothing.

Everything goes to standard error: standard output is for results.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from codegen.command import say
from tuner.printable import printable
from tuner.records import Failure, Shape, Timing

if TYPE_CHECKING:
    from rich.console import Group
    from rich.progress import Progress, TaskID

__all__ = ["Live", "Plain", "Quiet", "Reporter", "reporter"]

_EVERY_S = 10.0
_MOST_NEWS = 8  # Configs whose failures are told as they come.


class Reporter(Protocol):
    """Whoever shows how far a run has come."""

    def stage(self, name: str, total: int) -> None:
        """A stage of `total` shapes or configs begins; the one before is at its end."""

    def advance(self, device: str, shape: Shape | None, best: tuple[str, Timing] | None) -> None:
        """One more is done, on `device`; `best` is the fastest config there."""

    def failure(self, shape: Shape, config: str, failure: Failure) -> None:
        """A config failed on a shape."""

    def note(self, text: str) -> None:
        """Something that the user should know."""

    def close(self) -> None:
        """All is done, or given up."""


class Quiet:
    """Shows nothing."""

    def stage(self, name: str, total: int) -> None:
        """Show nothing."""

    def advance(self, device: str, shape: Shape | None, best: tuple[str, Timing] | None) -> None:
        """Show nothing."""

    def failure(self, shape: Shape, config: str, failure: Failure) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Show nothing."""


class Plain(Quiet):
    """A line now and then, for a log."""

    def __init__(self) -> None:
        self._name, self._total, self._done, self._failed = "", 0, 0, 0
        self._told: set[tuple[str, str]] = set()
        self._began = self._said = monotonic()

    def stage(self, name: str, total: int) -> None:
        """Say the stage's name and size."""
        self._name, self._total, self._done = name, total, 0
        self._began = self._said = monotonic()
        say(f"{name}: {total} to do", err=True)

    def advance(self, device: str, shape: Shape | None, best: tuple[str, Timing] | None) -> None:
        """Say how far it is, every ten seconds and at the end."""
        self._done += 1
        elapsed = monotonic() - self._began
        if monotonic() - self._said < _EVERY_S and self._done < self._total:
            return
        self._said = monotonic()
        left = elapsed / self._done * (self._total - self._done)
        text = f"{self._name}: {self._done}/{self._total}, {_clock(elapsed)} gone"
        text += f", {_clock(left)} left" if self._done < self._total else ""
        text += f", {self._failed} failed" if self._failed else ""
        say(f"{text}{_where(device, shape, best)}", err=True)

    def failure(self, shape: Shape, config: str, failure: Failure) -> None:
        """Say the first of a config that is not of the usual kinds, and count all."""
        self._failed += 1
        if _is_news(config, failure, self._told):
            say(_failure_line(shape, config, failure), err=True)

    def note(self, text: str) -> None:
        """Say it."""
        say(_note_line(text), err=True)


class Live(Quiet):
    """A bar with the time left, and a line a device with the best so far."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 (only a terminal needs it)
        from rich.live import Live as Display  # noqa: PLC0415
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        # Nothing in the text of others is markup, `:100:` no picture.
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._progress: Progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[failed]}", markup=False),
            console=self._console,
        )
        self._bar: TaskID | None = None
        self._devices: dict[str, str] = {}
        self._failed = 0
        self._told: set[tuple[str, str]] = set()
        self._display = Display(
            console=self._console, transient=True, get_renderable=self._drawn, refresh_per_second=4
        )
        self._display.start()

    def stage(self, name: str, total: int) -> None:
        """Begin a new bar."""
        if self._bar is not None:
            self._progress.remove_task(self._bar)
        self._devices.clear()
        self._bar = self._progress.add_task(name, total=total, failed=self._failures())

    def advance(self, device: str, shape: Shape | None, best: tuple[str, Timing] | None) -> None:
        """Move the bar."""
        self._devices[device] = _where(device, shape, best).removeprefix("; ")
        if self._bar is not None:
            self._progress.update(self._bar, advance=1, failed=self._failures())

    def failure(self, shape: Shape, config: str, failure: Failure) -> None:
        """Count it, and leave a line of the first of a config that is not of the usual kinds."""
        self._failed += 1
        if _is_news(config, failure, self._told):
            self._console.print(_failure_line(shape, config, failure), soft_wrap=True)

    def note(self, text: str) -> None:
        """Leave a line."""
        self._console.print(_note_line(text), soft_wrap=True)

    def close(self) -> None:
        """Take the display away."""
        self._display.stop()

    def _failures(self) -> str:
        return f"{self._failed} failed" if self._failed else ""

    def _drawn(self) -> Group:
        from rich.console import Group  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        lines = [Text(line, no_wrap=True, overflow="ellipsis") for line in self._lines()]
        return Group(self._progress, *lines)

    def _lines(self) -> list[str]:
        # Drawn by a thread of the display's own: what it goes through must not change meanwhile.
        return [f"  {line}" for line in tuple(self._devices.values()) if line]


def reporter(*, quiet: bool) -> Reporter:
    """Return who shows progress here: nobody, a live display at a terminal, or plain lines."""
    if quiet:
        return Quiet()
    return Live() if _can_be_live() else Plain()


def _can_be_live() -> bool:
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return False
    return find_spec("rich") is not None


def _where(device: str, shape: Shape | None, best: tuple[str, Timing] | None) -> str:
    if shape is None:
        return ""
    text = f"; {device} ({', '.join(map(str, shape))})"
    return text + (f" best {best[1].median_us:.1f} us with {printable(best[0])}" if best else "")


def _is_news(config: str, failure: Failure, told: set[tuple[str, str]]) -> bool:
    """Say whether nothing was told of `config` failing so, and remember it."""
    news = failure.kind in {"crash", "hang", "wrong"} and (config, failure.kind) not in told
    if news:
        told.add((config, failure.kind))
    # The fates at the end have all of them.
    return news and len(told) <= _MOST_NEWS


def _failure_line(shape: Shape, config: str, failure: Failure) -> str:
    sizes = ", ".join(map(str, shape))
    message = printable(failure.message, limit=200)
    return f"{failure.kind}: {printable(config)} on ({sizes}): {message}"


def _note_line(text: str) -> str:
    return f"note: {printable(text, limit=500)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
