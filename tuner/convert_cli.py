"""The commands `tuner convert` and `tuner harvest`: parse, call one function, print."""

from __future__ import annotations

import difflib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codegen.command import OUTPUT, Command, say
from codegen.files import exists
from tuner.needs import need

if TYPE_CHECKING:
    from tuner.convert.case import Draft

__all__ = ["convert", "harvest"]

_PATH = click.Path(path_type=Path)


@click.command(cls=Command)
@click.argument("case", type=_PATH, metavar="CASE")
@click.option("--impl", type=_PATH, help="The kernel.  [default: CASE/impl.py]")
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    help="Write to another file, or directory.  [default: the kernel's own file, in place]",
)
@click.option("--diff", is_flag=True, help="Print what would change; write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if anything would change.")
@click.option(
    "--engine",
    metavar="COMMAND",
    help="Let COMMAND rewrite impl.py in a copy of CASE instead; what it writes is taken if it "
    "keeps the rules of `tuner contract`.",
)
@click.option("--force", is_flag=True, help="Overwrite another file that stands at -o.")
def convert(
    case: Path,
    impl: Path | None,
    output: Path | None,
    diff: bool,
    check: bool,
    engine: str | None,
    force: bool,
) -> int:
    """Let the kernel of CASE take its config from the tuned dispatch.

    The constants that CASE/sample.json lists as config_param_names, and the launch options that
    its candidates set, are taken from a config instead, which forward gets from its new param
    config=None or else from the dispatch. All else stays as it is, and a kernel that does so
    already is not changed. The file is rewritten in place; nothing of it is run. What cannot be
    converted for sure is refused, with its line.
    """
    need("libcst")
    from tuner.convert.case import draft_case  # noqa: PLC0415 (`--help` need not wait)

    draft = draft_case(case, impl=impl, output=output, engine=engine)
    if draft.faults:
        for fault in draft.faults:
            say(fault)
        say(f"{draft.output}: left as it is: what the engine wrote breaks the contract", err=True)
        return 1
    for note in draft.notes:
        say(f"note: {note}")
    if diff:
        say(_diff(draft), nl=False)
    if diff or check:
        if check:
            say(f"{draft.output}: {'would be converted' if draft.changed else 'unchanged'}")
        return 1 if check and draft.changed else 0
    changed = draft.write(force=force)
    say(f"{draft.output}: {'converted' if changed else 'unchanged'}")
    if changed:
        say(f"next: {_tune_command(case, draft.output)}")
    return 0


def _tune_command(case: Path, impl: Path) -> str:
    words = ["tuner", "tune", str(case)]
    own = exists(impl) and exists(case / "impl.py") and impl.samefile(case / "impl.py")
    return shlex.join(words if own else [*words, "--impl", str(impl)])


def _diff(draft: Draft) -> str:
    """Return the change as a patch, with the names as `git apply` takes them."""
    lines = difflib.unified_diff(
        draft.before.splitlines(keepends=True),
        draft.text.splitlines(keepends=True),
        fromfile=str(draft.source),
        tofile=str(draft.output),
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


@click.command(cls=Command)
@click.argument("file", type=_PATH, metavar="FILE.py")
@click.option("--kernel", metavar="NAME", help="Which kernel, where several are autotuned.")
@click.option(
    "--shape-expr",
    metavar="EXPR",
    help="The shape, over the inputs.  [default: what the decorator's key is made of]",
)
@click.option("-o", "--output", type=_PATH, required=True, metavar="CASE", help="The new case.")
@click.option("--force", is_flag=True, help="Overwrite files that stand there.")
def harvest(
    file: Path, kernel: str | None, shape_expr: str | None, output: Path, force: bool
) -> int:
    """Make a case of a kernel under @triton.autotune.

    CASE gets sample.json with the decorator's configs and key, impl.py without the decorator and
    with the config from the tuned dispatch, and base.py, a copy of the one beside FILE.py or else
    one to be filled in. Nothing of FILE.py is run.
    """
    need("libcst")
    from tuner.convert.harvest import harvest_case  # noqa: PLC0415 (`--help` need not wait)

    found = harvest_case(file, kernel=kernel, shape_expr=shape_expr)
    for note in found.notes:
        say(f"note: {note}")
    for path, changed in found.write(output, force=force):
        say(f"{path}: {'written' if changed else 'unchanged'}")
    say(f"{found.kernel}: {found.configs} configs")
    say(f"next: tuner tune {shlex.quote(str(output))}")
    return 0
