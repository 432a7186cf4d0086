"""The commands `tuner toolchain`: parse, call one function, print."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from codegen.command import Command, say

__all__ = ["toolchain"]

# The names of `tuner.toolchains.recipes.RECIPES`.
_NAMES = ("ascend", "cuda")


@click.group(cls=Command.Group, short_help="Make and list the compilers that `tuner gate` asks.")
def toolchain() -> None:
    """Make and list the compilers with which `tuner gate` needs no device."""


@toolchain.command(cls=Command)
@click.argument("name", type=click.Choice(_NAMES))
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Make DIR/NAME.  [default: $TUNED_DISPATCH_TOOLCHAINS, else toolchains under "
    "$TUNED_DISPATCH_HOME or the user's data directory]",
)
@click.option("--python", metavar="EXE", help="The interpreter that it is made of.")
def install(name: str, to: Path | None, python: str | None) -> None:
    """Make the environment of toolchain NAME, which takes a few hundred MB.

    ascend is triton-ascend with Ascend's own compiler, for CPython 3.11; cuda is triton, for GPUs
    of NVIDIA and AMD. No device is needed. What is there already, whole and of the right versions,
    is left as it is.
    """
    from tuner.home import TOOLCHAINS_VARIABLE  # noqa: PLC0415 (`--help` need not wait)
    from tuner.toolchains.install import install_toolchain  # noqa: PLC0415
    from tuner.toolchains.recipes import RECIPES  # noqa: PLC0415

    recipe = next(recipe for known, recipe in RECIPES.items() if known == name)
    parent = to.absolute() if to else None
    made = install_toolchain(recipe.name, say, parent=parent, python=python)
    say(f"{made.place}: ready, {', '.join(f'{tool} {v}' for tool, v in made.versions)}")
    if parent:
        say(f"next: export {TOOLCHAINS_VARIABLE}={shlex.quote(str(parent))}")


@toolchain.command("list", cls=Command)
def list_() -> None:
    """Print each toolchain, where it is, and its targets."""
    from tuner.errors import ToolchainError  # noqa: PLC0415
    from tuner.toolchains.environment import find_toolchain  # noqa: PLC0415
    from tuner.toolchains.recipes import RECIPES  # noqa: PLC0415
    from tuner.toolchains.targets import TARGETS  # noqa: PLC0415

    for name in RECIPES:
        try:
            found = find_toolchain(name)
            versions = ", ".join(f"{tool} {version}" for tool, version in found.versions)
            say(f"{name}: {found.place}: {versions}")
        except ToolchainError as error:
            say(f"{name}: {error}")
        targets = (target.name for target in TARGETS.values() if target.toolchain == name)
        say(f"  {', '.join(targets)}")
