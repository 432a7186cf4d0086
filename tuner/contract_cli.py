"""The command `tuner contract`: parse, call one function, print."""

from __future__ import annotations

from pathlib import Path

import click

from codegen.command import Command, say

__all__ = ["contract"]

_PATH = click.Path(path_type=Path)


@click.command(cls=Command, short_help="Check that kernels take their config as they should.")
@click.argument("files", nargs=-1, required=True, type=_PATH, metavar="FILE…")
@click.option(
    "--case",
    type=_PATH,
    metavar="DIR",
    help="Compare with the sample.json in DIR too: params, launch options, shape_expr.",
)
def contract(files: tuple[Path, ...], case: Path | None) -> int:
    """Check that kernels take their config from the dispatch as they should.

    FILE is a kernel's file, such as impl.py. It is read and not run. Exit status: 0 all is well,
    1 a line is printed for each breach, 2 a file cannot be read.
    """
    from tuner.contract import breaches  # noqa: PLC0415 (`--help` need not wait)

    found = 0
    for file in files:
        lines = [str(breach) for breach in breaches(file, case=case)]
        say("\n".join(lines) if lines else f"{file}: ok")
        found += len(lines)
    return 1 if found else 0
