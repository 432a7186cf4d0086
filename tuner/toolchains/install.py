"""Making a toolchain's environment: a virtual environment, pip, and a marker at the end."""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from codegen.files import write_text
from codegen.json_text import dump_json
from tuner.errors import ToolchainError
from tuner.printable import printable
from tuner.toolchains.environment import (
    MARKER,
    Marker,
    Toolchain,
    directory_of,
    find_toolchain,
    interpreter_of,
    read_marker,
)
from tuner.toolchains.recipes import RECIPES, Recipe
from tuner.toolchains.targets import ToolchainName

__all__ = ["install_toolchain", "python_for"]

_ASK = "import json, sys; print(json.dumps([*sys.version_info[:2], sys.implementation.name]))"
_LIST = (
    "import json; from importlib import metadata; "
    "print(json.dumps({d.metadata['Name'].lower(): d.version for d in metadata.distributions()}))"
)
_QUICK_S = 120
_HINT = 300

Say = Callable[[str], None]


def install_toolchain(
    name: ToolchainName, say: Say, *, parent: Path | None = None, python: str | None = None
) -> Toolchain:
    """Make the environment of the toolchain `name` below `parent`; return it.

    One that is whole and of the right versions is left as it is; what an install that was killed
    left is removed, and made anew. Of two installs at once the second waits for the first.

    Raises:
        ToolchainError: there is no interpreter for it, or pip failed.
    """
    recipe, directory = RECIPES[name], directory_of(name, parent)
    with _alone(directory):
        marker = read_marker(directory)
        if not marker or tuple(marker.pins) != recipe.pins:
            _make(recipe, directory, python_for(recipe, python), say)
    return find_toolchain(name, parent)


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Keep other installs of `directory` waiting; the lock ends with the process."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        lock = directory.with_name(f".{directory.name}.lock").open("w")
    except OSError as error:
        raise _cannot("cannot be made", directory, error) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(recipe: Recipe, directory: Path, python: str, say: Say) -> None:
    if directory.exists():
        _check_ours(directory)
        say(f"{directory}: holds an install that was not finished or is old; removed")
        shutil.rmtree(directory, ignore_errors=True)
    say(f"{directory}: a virtual environment of {python}")
    _run([python, "-m", "venv", str(directory)], directory, "cannot be made")
    inside = str(interpreter_of(directory))
    for step in recipe.steps:
        say(f"pip {shlex.join(step)}")
        pip = [inside, "-m", "pip", "--disable-pip-version-check", step[0], "--quiet", *step[1:]]
        _run(pip, directory, f"pip {step[0]} failed")
    probe = f"import torch, numpy, {recipe.probe}"
    _run([inside, "-c", probe], directory, "what was installed cannot be imported")
    packages = json.loads(_run([inside, "-c", _LIST], directory, "cannot be listed"))
    marker = Marker.of(recipe, dict(sorted(packages.items())))
    write_text(directory / MARKER, dump_json(marker.model_dump()))


def _check_ours(directory: Path) -> None:
    """Refuse to remove what does not look like an environment."""
    whole = directory.is_dir() and not directory.is_symlink()
    if not whole or (any(directory.iterdir()) and not (directory / "pyvenv.cfg").is_file()):
        raise ToolchainError(
            "exists, and is not an environment of Python",
            where=str(directory),
            remedy="name another place with --to, or move it away",
        )


def python_for(recipe: Recipe, named: str | None = None) -> str:
    """Return an interpreter that the recipe's wheels are for: the one named, or one that is found.

    Raises:
        ToolchainError: the one named is of another version, or none is found.
    """
    if named:
        found = _version_of(named)
        if found is None or not _fits(recipe, found):
            told = "is no Python" if found is None else f"is CPython {found[0]}.{found[1]}"
            raise ToolchainError(
                f"{told}, and {recipe.name} needs {_wanted(recipe)}",
                where=named,
                remedy="name another with --python",
            )
        return named
    names = [sys.executable, *(f"python{major}.{minor}" for major, minor in recipe.pythons)]
    for name in names:
        path = shutil.which(name)
        found = _version_of(path) if path else None
        if path and found and _fits(recipe, found):
            return path
    raise ToolchainError(
        f"{recipe.name} needs {_wanted(recipe)}, and there is none in PATH",
        where="python",
        remedy="install it, or name one with --python",
    )


def _fits(recipe: Recipe, version: tuple[int, int]) -> bool:
    return version in recipe.pythons if recipe.pythons else version >= (3, 10)


def _wanted(recipe: Recipe) -> str:
    if not recipe.pythons:
        return "CPython 3.10 or newer"
    return "CPython " + " or ".join(f"{major}.{minor}" for major, minor in recipe.pythons)


def _version_of(python: str) -> tuple[int, int] | None:
    """Return the version of the interpreter; None if it is none, does not run or is no CPython."""
    try:
        ran = subprocess.run(  # noqa: S603 (the user's interpreter)
            [python, "-I", "-c", _ASK], capture_output=True, text=True, timeout=_QUICK_S, check=True
        )
        major, minor, kind = json.loads(ran.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return (int(major), int(minor)) if kind == "cpython" else None


def _run(command: Sequence[str], directory: Path, what: str) -> str:
    """Run a command of the install and return what it printed; raises ToolchainError."""
    try:
        ran = subprocess.run(  # noqa: S603 (ours)
            command, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise _cannot(what, directory, error) from None
    if ran.returncode:
        raise ToolchainError(
            f"{what}: {_cause(ran.stderr or ran.stdout)}",
            where=str(directory),
            remedy=f"mend that and run the command again, or try it alone: {shlex.join(command)}",
        )
    return ran.stdout


def _cause(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(?i)error\b|\w*Error:", line)]
    return printable((errors or lines or ["it did not say why"])[-1], limit=_HINT)


def _cannot(what: str, directory: Path, error: OSError) -> ToolchainError:
    return ToolchainError(
        f"{what}: {(error.strerror or str(error)).lower()}",
        where=str(directory),
        remedy="name another place with --to",
    )
