"""What every test may use: the flag that refreshes golden files, and the command in process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, settings

from codegen.cli import cli
from codegen.command import exit_status

# The same examples on every run, so that a change is judged by what it changed;
# `--hypothesis-profile=wide` looks for new ones.
_PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
settings.register_profile(
    "steady",
    deadline=None,
    phases=_PHASES,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "wide",
    deadline=None,
    phases=_PHASES,
    max_examples=2000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# A shell starts what runs in the background deaf to Ctrl-C, and the commands that are tested would
# inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag that makes golden files what is emitted now."""
    parser.addoption(
        "--update-golden", action="store_true", help="write what is emitted into tests/golden/cases"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str


Command: TypeAlias = Callable[..., Ran]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs `codegen` with its arguments, in this process."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr("sys.argv", ["codegen", *map(str, arguments)])
        capsys.readouterr()
        status = exit_status(cli, "codegen")
        printed = capsys.readouterr()
        return Ran(status=status, out=printed.out, err=printed.err)

    return run


@pytest.fixture
def process() -> Command:
    """Return a function that runs `codegen` with its arguments, in a process of its own."""

    def run(*arguments: object, timeout: float = 120) -> Ran:
        command = [sys.executable, "-m", "codegen", *map(str, arguments)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
        return Ran(status=ran.returncode, out=ran.stdout, err=ran.stderr)

    return run
