"""Another program that rewrites a kernel, in a directory of its own, held to the contract."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from codegen.errors import shown
from tuner.cases.files import exists
from tuner.convert.errors import ConvertError
from tuner.convert.files import Text, read_text

__all__ = ["rewritten"]

_FILES = ("base.py", "sample.json", "tune.yaml")
_IMPL = "impl.py"
_TIMEOUT_S = 3600.0


def rewritten(command: str, directory: Path, impl: Path) -> tuple[Text, tuple[str, ...]]:
    """Return what `command` makes of the kernel `impl`, and what is wrong with it, a line each.

    It runs without a shell in a new directory that holds copies of the case's files, the kernel's
    as `impl.py`, and is to rewrite that in place. The case's own files are not given to it.

    Raises:
        ConvertError: it cannot be run, fails, or leaves no Python file.
    """
    from tuner.contract import breaches  # noqa: PLC0415 (most conversions need none)

    with _staged(directory, impl) as stage:
        _run(command, stage)
        result = stage / _IMPL
        found = breaches(result, case=stage)
        text = read_text(result)
    return text, tuple(f"{impl}:{b.line}: {b.fact}; {b.remedy}" for b in found)


@contextmanager
def _staged(directory: Path, impl: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tuner-convert-") as name:
        stage = Path(name)
        for file in _FILES:
            if exists(directory / file):
                shutil.copyfile(directory / file, stage / file)
        shutil.copyfile(impl, stage / _IMPL)
        yield stage


def _run(command: str, stage: Path) -> None:
    try:
        words = shlex.split(command)
    except ValueError as error:
        fact = f"{shown(command)} is no command: {str(error).lower()}"
        raise ConvertError(fact, where="--engine", remedy="correct its quotes") from None
    if not words:
        raise ConvertError("is empty", where="--engine", remedy="name a command")
    try:
        done = subprocess.run(  # noqa: S603 (it is the user's command, and no shell's)
            words, cwd=stage, check=False, stdin=subprocess.DEVNULL, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        fact = f"{shown(words[0])} ran for more than {_TIMEOUT_S:.0f} s"
        raise ConvertError(fact, where="--engine", remedy="run it by hand") from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        fact = f"{shown(words[0])} cannot be run: {reason}"
        raise ConvertError(fact, where="--engine", remedy="name a program on the PATH") from None
    if done.returncode:
        fact = f"{shown(words[0])} ended with status {done.returncode}"
        raise ConvertError(fact, where="--engine", remedy="see what it printed; nothing is changed")
