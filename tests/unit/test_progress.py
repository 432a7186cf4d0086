"""Progress: a line now and then in a log, a bar at a terminal, and hostile text as text in both."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tuner import progress
from tuner.progress import Live, Plain, Quiet, Reporter, reporter
from tuner.records import Failure, Timing

ROOT = Path(__file__).parents[2]
SHAPE = (128, 4096)
BEST = ("BLOCK=64", Timing(median_us=12.34, spread=0.0, repeats=5, method="m"))
HOSTILE = "\x1b[2J\x1b]0;title\x07[red]:100: {task} %s\r\nnext\u202e"
ESCAPED = r"\x1b[2J\x1b]0;title\x07[red]:100: {task} %s next\u202e"


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self.s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock that progress is told by."""
    found = Clock()
    monkeypatch.setattr(progress, "monotonic", found)
    return found


def tell(to: Reporter) -> None:
    """Tell a whole run, with everything hostile that can come from a kernel."""
    to.stage("gate", 2)
    to.advance("cpu", None, None)
    to.failure(SHAPE, f'MODE="{HOSTILE}"', Failure(kind="wrong", message=HOSTILE))
    to.failure(SHAPE, "BLOCK=1", Failure(kind="compile", message=HOSTILE))
    to.advance("cpu", None, None)
    to.stage("measure", 2)
    to.note(HOSTILE)
    to.advance("cuda:0", SHAPE, BEST)
    to.advance("cuda:1", SHAPE, (HOSTILE, BEST[1]))
    to.close()


def test_plain_lines_come_every_ten_seconds_and_at_the_end(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """How far, how long, how long yet, how many failed, and what was best last."""
    plain = Plain()
    plain.stage("measure", 6)
    for _ in range(5):
        clock.s += 6
        plain.advance("cuda:0", SHAPE, BEST)
    plain.failure(SHAPE, "BLOCK=1", Failure(kind="compile", message="no"))
    clock.s += 3570
    plain.advance("cuda:0", SHAPE, None)
    plain.close()
    out, err = capsys.readouterr()
    assert out == ""
    where = "; cuda:0 (128, 4096) best 12.3 us with BLOCK=64"
    assert err.splitlines() == [
        "measure: 6 to do",
        f"measure: 2/6, 0:12 gone, 0:24 left{where}",
        f"measure: 4/6, 0:24 gone, 0:12 left{where}",
        "measure: 6/6, 1:00:00 gone, 1 failed; cuda:0 (128, 4096)",
    ]


def test_of_a_config_that_fails_in_an_unusual_way_the_first_is_told(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """What does not compile or lacks resources is counted only; so is what was told before."""
    assert clock.s == 0
    plain = Plain()
    for kind in ("compile", "resources", "memory", "launch", "wrong", "wrong", "crash", "hang"):
        plain.failure((1,), "A=1", Failure(kind=kind, message=f"{kind} it is"))  # type: ignore[arg-type]
    plain.failure((2,), "A=2", Failure(kind="wrong", message="x" * 500))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [
        "wrong: A=1 on (1): wrong it is",
        "crash: A=1 on (1): crash it is",
        "hang: A=1 on (1): hang it is",
    ]
    assert lines[3:] == [f"wrong: A=2 on (2): {'x' * 199}…"]


def test_hostile_text_is_escaped_in_plain_lines(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """No escape code, no second line and no mark of direction comes out."""
    assert clock.s == 0
    tell(Plain())
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "gate: 2 to do",
        f'wrong: MODE="{ESCAPED}" on (128, 4096): {ESCAPED}',
        "gate: 2/2, 0:00 gone, 2 failed",
        "measure: 2 to do",
        f"note: {ESCAPED}",
        f"measure: 2/2, 0:00 gone, 2 failed; cuda:1 (128, 4096) best 12.3 us with {ESCAPED}",
    ]


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither on one stream nor on the other."""
    tell(Quiet())
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("terminal", "quiet", "term", "rich", "kind"),
    [
        (True, True, "xterm", True, Quiet),
        (False, True, "xterm", True, Quiet),
        (False, False, "xterm", True, Plain),
        (True, False, "dumb", True, Plain),
        (True, False, "xterm", False, Plain),
        (True, False, "xterm", True, Live),
    ],
)
def test_who_shows_progress_depends_on_where_it_is_shown(
    terminal: bool, quiet: bool, term: str, rich: bool, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bar only at a terminal that can show one, and where there is something to draw it."""
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(progress, "find_spec", lambda _: object() if rich else None)
    found = reporter(quiet=quiet)
    try:
        assert type(found) is kind
    finally:
        found.close()


def test_without_a_standard_error_there_are_plain_lines_to_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was closed before we started."""
    monkeypatch.setattr(sys, "stderr", None)
    found = reporter(quiet=False)
    assert type(found) is Plain
    tell(found)


def live_output(program: str, columns: int = 100) -> str:
    """Return what `program`, with its standard error at a terminal, shows there."""
    pty: Any = pytest.importorskip("pty")
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stderr=slave,
        stdout=subprocess.PIPE,
        env=environment,
        cwd=ROOT,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # The other end is closed.
            break
        if not data:
            break
        shown += data
    os.close(master)
    assert process.stdout
    printed = process.stdout.read()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert printed == b""
    return shown.decode()


PROGRAM = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests" / "unit")!r})
import time
from test_progress import tell
from tuner.progress import reporter
found = reporter(quiet=False)
close, found.close = found.close, lambda: time.sleep(0.3)
tell(found)
close()
"""


def test_at_a_terminal_a_bar_is_shown_and_taken_away() -> None:
    """With how far it is, the best so far and how many failed; notes stay."""
    shown = live_output(PROGRAM)
    assert "━" in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert "measure" in plain
    assert "2/2" in plain
    assert "2 failed" in plain
    assert "  cuda:0 (128, 4096) best 12.3 us with BLOCK=64" in plain
    assert "  cuda:1 (128, 4096) best 12.3 us with" in plain
    assert "\x1b[?25h" in shown  # The cursor is there again.


@pytest.mark.parametrize("columns", [20, 100, 400])
def test_hostile_text_is_shown_as_text_at_a_terminal(columns: int) -> None:
    """Neither a terminal's codes nor rich's marks and pictures are made of it."""
    shown = live_output(PROGRAM, columns)
    assert "\x1b[2J" not in shown
    assert "\x1b]0;" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
    assert "\U0001f4af" not in shown
    lines = [line for line in shown.splitlines() if "note: " in line]
    assert any(f"note: {ESCAPED}" in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", x) for x in lines)
