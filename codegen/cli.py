"""The command `codegen`: parse, call one function, print."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codegen._version import __version__
from codegen.command import OUTPUT, Command, exit_status, say

if TYPE_CHECKING:
    from codegen.emit import Emission

__all__ = ["main"]

_PATH = click.Path(path_type=Path)


@click.group(cls=Command.Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="codegen", message="%(prog)s %(version)s")
def cli() -> None:
    """Compile a tuned kernel's manifest into a plain Python module, and keep the two together.

    \b
    codegen emit manifest.json                write impl_dispatch.py beside impl.py
    codegen check                             is everything below generated/ up to date?
    codegen show manifest.json --shape 128,4096,4096

    Exit status: 0 good, 1 a check failed, 2 bad input or usage, 70 a fault of codegen itself.
    """  # noqa: D301 (click's mark, not a backslash)


@cli.command(cls=Command)
@click.argument("manifests", nargs=-1, required=True, type=_PATH, metavar="MANIFEST...")
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    help="The module's file, or a directory; default: <stem>_dispatch.py beside the source.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a module would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change.")
@click.option("--force", is_flag=True, help="Overwrite a file that codegen did not emit.")
@click.option(
    "--gate",
    metavar="TARGET[,TARGET]",
    help="Write only what `tuner gate` says fits these targets, such as ascend910b3.",
)
@click.option(
    "--case",
    type=_PATH,
    metavar="DIR",
    help="For --gate: where base.py and sample.json are.  [default: beside the manifest]",
)
def emit(
    manifests: tuple[Path, ...],
    output: Path | None,
    check: bool,
    diff: bool,
    force: bool,
    gate: str | None,
    case: Path | None,
) -> int:
    """Render each MANIFEST into its dispatch module.

    All are rendered before the first is written: when one cannot be, nothing is changed.
    """
    from codegen.emit import emission  # noqa: PLC0415 (`--help` need not wait)
    from codegen.gating import check_gate  # noqa: PLC0415
    from codegen.output import previous, refuse_shared_places  # noqa: PLC0415

    if output is not None and len(manifests) > 1 and not output.is_dir():
        raise click.UsageError("with several manifests -o has to be a directory")
    emissions = [emission(path, output) for path in manifests]
    refuse_shared_places(emissions)
    before = [previous(item, force=force) for item in emissions]
    for path in manifests if gate else ():
        check_gate(path, gate or "", case)
    for item, old in zip(emissions, before, strict=True):
        if check or diff:
            _compare(item, old, diff=diff)
        else:
            _write(item)
    changed = any(item.text.encode() != old for item, old in zip(emissions, before, strict=True))
    return 1 if check and changed else 0


@cli.command(cls=Command)
@click.argument("paths", nargs=-1, type=_PATH, metavar="[PATH]...")
def check(paths: tuple[Path, ...]) -> int:
    """Check modules against their manifests and sources.

    PATH is a module, a manifest or a directory; generated/ if none is given. For each module: is
    it what its manifest gives, byte for byte, and is its source still the one that was tuned?
    """
    from codegen.check import check_paths  # noqa: PLC0415

    verdicts = check_paths(paths or (Path("generated"),))
    for verdict in verdicts:
        for fault in verdict.faults:
            say(f"{verdict.place}: {fault}", err=True)
        if verdict.good:
            say(f"{verdict.place}: ok")
    bad = sum(not verdict.good for verdict in verdicts)
    say(f"{len(verdicts)} checked, {bad} failed")
    return 1 if bad else 0


@cli.command(cls=Command)
@click.argument("path", type=_PATH, metavar="MODULE_OR_MANIFEST")
@click.option("--shape", required=True, help="One value an axis, such as 128,4096,float16.")
def show(path: Path, shape: str) -> None:
    """Explain which config a shape gets: the path taken, and inside or outside the envelope."""
    from codegen.check import policy_behind  # noqa: PLC0415
    from codegen.explain import explain, parse_shape  # noqa: PLC0415
    from codegen.literals import comment  # noqa: PLC0415

    policy = policy_behind(path)
    explanation = explain(policy, parse_shape(shape, policy))
    axes = zip(policy.axes, explanation.shape, strict=True)
    say(f"shape   {', '.join(f'{axis.name} = {comment(str(v))}' for axis, v in axes)}")
    say(f"place   {comment(explanation.place)}")
    for step in explanation.path:
        say(f"path    {comment(step)}")
    say(f"config  {explanation.config.id if explanation.config else 'none, ValueError'}")


@cli.command(cls=Command)
def schema() -> None:
    """Print the manifest's JSON Schema."""
    import json  # noqa: PLC0415

    from codegen.manifest import Manifest  # noqa: PLC0415

    say(json.dumps(Manifest.model_json_schema(), indent=2))


@cli.command("hash", cls=Command)
@click.argument("sources", nargs=-1, required=True, type=_PATH, metavar="SOURCE...")
def hash_(sources: tuple[Path, ...]) -> None:
    """Print the hash that ties a manifest to each SOURCE.

    Comments, layout and the import of the dispatch module do not count; any change of code does.
    """
    from codegen.source_hash import source_sha256_of  # noqa: PLC0415

    for source in sources:
        say(f"{source_sha256_of(source)}  {source}")


def _compare(item: Emission, old: bytes | None, *, diff: bool) -> None:
    from codegen.shell import emit_command  # noqa: PLC0415

    if item.text.encode() == old:
        return
    if diff:
        before = (old or b"").decode("utf-8", "replace")
        say("".join(_diff(before, item.text, str(item.output))), nl=False)
    else:
        command = emit_command(item.manifest_path, None if item.at_default else item.output)
        say(f"{item.output}: would change; run: {command}", err=True)


def _diff(old: str, new: str, name: str) -> list[str]:
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return list(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"))


def _write(item: Emission) -> None:
    from codegen.check import stale_source  # noqa: PLC0415
    from codegen.errors import CodegenError  # noqa: PLC0415
    from codegen.files import exists, write_text  # noqa: PLC0415

    changed = write_text(item.output, item.text)
    say(f"{item.output}: {'written' if changed else 'unchanged'}")
    source = item.manifest.kernel.source
    if source and exists(item.manifest_path.parent / source.file):
        try:
            fault = stale_source(item.manifest, item.manifest_path)
        except CodegenError as error:
            fault = str(error)
        if fault:
            say(f"warning: {fault}", err=True)


def main() -> None:
    """Run the command line; exits with a status that says who is at fault."""
    sys.exit(exit_status(cli, "codegen"))
