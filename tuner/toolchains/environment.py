"""Environments: which toolchains are on this machine, and whether an install of one was finished.

An environment's marker, `toolchain.json`, is written last: without it, or with the marker of
another recipe, the directory is what a killed install or an older version left.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from pydantic import ValidationError

from codegen.errors import CodegenError
from codegen.fields import Strict
from codegen.strict_json import parse_json, read_data
from tuner.errors import ToolchainError
from tuner.home import toolchains
from tuner.toolchains.recipes import RECIPES, Recipe
from tuner.toolchains.targets import ToolchainName

__all__ = [
    "MARKER",
    "Marker",
    "Toolchain",
    "directory_of",
    "find_toolchain",
    "interpreter_of",
    "own_toolchain",
    "read_marker",
]

MARKER = "toolchain.json"
_FORMAT = "toolchain/1"
# The oldest whose compiler the service can speak to; it has been run with 3.9.
_OWN_TRITON = (3, 6)
_OWN_PACKAGES = ("numpy", "torch", "triton")


class Marker(Strict):
    """What an environment says of itself: its recipe's pins, and what was installed."""

    format: str
    name: str
    pins: list[str]
    packages: dict[str, str]

    @classmethod
    def of(cls, recipe: Recipe, packages: dict[str, str]) -> Marker:
        """Return the marker of an environment made by `recipe`."""
        return cls(format=_FORMAT, name=recipe.name, pins=list(recipe.pins), packages=packages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """An environment that can be used.

    Attributes:
        command: starts a Python interpreter in it.
        place: where it is, in words.
        versions: package and version of what decides a verdict, sorted.
    """

    name: ToolchainName
    command: tuple[str, ...]
    place: str
    versions: tuple[tuple[str, str], ...]


def directory_of(name: ToolchainName, parent: Path | None = None) -> Path:
    """Return where the environment of the toolchain lies, below `parent` if one is named."""
    return (parent or toolchains()) / name


def interpreter_of(directory: Path) -> Path:
    """Return the interpreter of the environment in `directory`."""
    inside = Path("Scripts/python.exe") if sys.platform == "win32" else Path("bin/python")
    return directory / inside


def read_marker(directory: Path) -> Marker | None:
    """Return the marker in `directory`; None if there is none that is whole and of our format."""
    path = directory / MARKER
    if not path.is_file():
        return None
    try:
        marker = Marker.model_validate(parse_json(read_data(path), name=str(path)))
    except (CodegenError, ValidationError, OSError):
        return None
    return marker if marker.format == _FORMAT else None


def find_toolchain(name: ToolchainName, parent: Path | None = None) -> Toolchain:
    """Return the toolchain: its environment, or this interpreter where that has what it needs.

    Raises:
        ToolchainError: there is none, its install was not finished, or is of other versions.
    """
    recipe, directory = RECIPES[name], directory_of(name, parent)
    marker = read_marker(directory)
    if marker and tuple(marker.pins) == recipe.pins and interpreter_of(directory).exists():
        return _installed(recipe, directory, marker)
    own = own_toolchain() if name == "cuda" else None
    if own:
        return own
    fact = "there is no such environment"
    if marker:
        fact = "is of other versions than this tuner is made for"
    elif directory.exists():
        fact = "holds an install that was not finished"
    raise ToolchainError(
        fact,
        where=str(directory),
        remedy=f"make it: tuner toolchain install {name}" + (f" --to {parent}" if parent else ""),
    )


def _installed(recipe: Recipe, directory: Path, marker: Marker) -> Toolchain:
    versions = {package: marker.packages.get(package, "unknown") for package in recipe.compiler}
    return Toolchain(
        name=recipe.name,
        command=(str(interpreter_of(directory)),),
        place=str(directory),
        versions=tuple(sorted(versions.items())),
    )


def own_toolchain() -> Toolchain | None:
    """Return the toolchain of GPUs that this interpreter is itself, None if it lacks a package."""
    versions = {name: _version(name) for name in _OWN_PACKAGES}
    triton = versions["triton"]
    if None in versions.values() or triton is None or _version("triton-ascend"):
        return None
    numbers = triton.split(".")
    if not all(part.isdecimal() for part in numbers[:2]) or len(numbers) < 2:
        return None
    if (int(numbers[0]), int(numbers[1])) < _OWN_TRITON:
        return None
    return Toolchain(
        name="cuda",
        command=(sys.executable,),
        place="this interpreter",
        versions=(("triton", triton),),
    )


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
