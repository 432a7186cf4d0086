"""The command `tuner`: parse, call one function, print."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codegen._version import __version__
from codegen.command import OUTPUT, Command, exit_status, say
from tuner.contract_cli import contract
from tuner.convert_cli import convert, harvest
from tuner.doctor_cli import doctor
from tuner.gate_cli import gate
from tuner.kb_cli import kb
from tuner.needs import need
from tuner.toolchain_cli import toolchain
from tuner.tune_cli import run, tune

if TYPE_CHECKING:
    from codegen.policy import Outside

__all__ = ["main"]

_PATH = click.Path(path_type=Path)
# codegen's limits and the names of `tuner.fit.KINDS`, which take numpy to import.
_LEAVES = click.IntRange(1, 10_000)
_DEPTH = click.IntRange(1, 64)
_KINDS = click.Choice(["tree", "bucket", "constant"])


@click.group(cls=Command.Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tuner", message="%(prog)s %(version)s")
def cli() -> None:
    """Find out which config of a kernel is best for which shapes.

    \b
    tuner tune CASE --device cuda:0           measure, fit, write manifest.json
    codegen emit CASE/manifest.json           then compile it

    Exit status: 0 good, 1 a check failed, 2 bad input or usage, 70 a fault of tuner itself, 130
    interrupted.
    """  # noqa: D301 (click's mark, not a backslash)


for command in (convert, harvest, contract, tune, run):
    cli.add_command(command)


@cli.command(cls=Command)
@click.argument("table", type=_PATH, metavar="TABLE")
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    help="The manifest's file, or a directory for it.  [default: manifest.json beside the source]",
)
@click.option("--source", type=_PATH, help="The kernel's source, to be tied to the manifest.")
@click.option("--kernel", metavar="NAME", help="The kernel's name.  [default: the table's]")
@click.option("--selector", type=_KINDS, default="tree", show_default=True)
@click.option(
    "--max-leaves",
    type=_LEAVES,
    default=64,
    show_default=True,
    help="The most leaves of a tree, or cells of a bucket; cross-validation chooses how many.",
)
@click.option(
    "--max-depth",
    type=_DEPTH,
    default=7,
    show_default=True,
    help="The most splits on the way to a leaf of a tree.",
)
@click.option(
    "--max-configs",
    type=_LEAVES,
    help="The most different configs to choose from, the default one of them.  [default: all]",
)
@click.option(
    "--previous",
    type=_PATH,
    metavar="MANIFEST",
    help="Keep what this manifest chooses unless noise cannot explain the gain of a change."
    "  [default: the manifest that is replaced, if it is of this kernel]",
)
@click.option("--afresh", is_flag=True, help="Do not go by the manifest that is replaced.")
@click.option(
    "--outside",
    type=click.Choice(["default", "nearest", "raise"]),
    default="default",
    show_default=True,
    help="What a shape outside the range of the table gets.",
)
@click.option("--force", is_flag=True, help="Overwrite a file that is not a manifest.")
@click.option(
    "--accept-source",
    is_flag=True,
    help="The timings of TABLE hold, though the source was changed since they were recorded.",
)
def fit(
    table: Path, output: Path | None, source: Path | None, outside: Outside, **options: Any
) -> None:
    """Fit a selector to the latency TABLE and write the manifest.

    What is minimised is the mean of log(latency / best latency of the shape). How good the
    selector is on shapes that were not tuned is measured by leaving shapes out in turn.
    """
    place = _place(output, source)
    need("numpy")
    from tuner.fit_file import Request, fit_file  # noqa: PLC0415 (`--help` need not wait)
    from tuner.summary import summary  # noqa: PLC0415

    request = Request(table=table, output=place, source=source, outside=outside, **options)
    fitted = fit_file(request)
    say(summary(fitted))
    say(f"{place}: {'written' if fitted.changed else 'unchanged'}")
    say(f"next: codegen emit {shlex.quote(str(place))}")


def _place(output: Path | None, source: Path | None) -> Path:
    """Return where the manifest goes; raises UsageError when nothing says so."""
    name = "manifest.json"
    if output is not None:
        return output / name if output.is_dir() else output
    if source is not None:
        return source.with_name(name)
    raise click.UsageError("name the manifest with -o, or the kernel with --source")


cli.add_command(kb)
cli.add_command(doctor)
cli.add_command(gate)
cli.add_command(toolchain)


def main() -> None:
    """Run the command line; exits with a status that says who is at fault."""
    sys.exit(exit_status(cli, "tuner"))
