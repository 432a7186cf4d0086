"""How a command of ours ends: errors become words and an exit status here, and nowhere else.

0   good
1   a check failed
2   bad input or usage
70  a fault of our own, with a request to report it
130 interrupted
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from pathlib import Path
from typing import Any, TextIO

import click

from codegen.errors import CodegenError

__all__ = ["OUTPUT", "Command", "exit_status", "say"]

_INTERNAL = 70
_INTERRUPTED = 130


class Command(click.Command):
    """A subcommand; its function's result is the exit status, None being 0."""

    class Group(click.Group):
        """A group that shows its commands in the order in which they are used."""

        def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
            """Return the names in the order of definition."""
            return list(self.commands)


class _Output(click.Path):
    """A file that may not exist yet, or a directory that does: `made/` is not a file's name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return `value` as a path; fails where it names a directory that does not exist."""
        path = super().convert(value, param, ctx)
        if isinstance(value, str) and value.endswith(os.sep) and not Path(value).is_dir():
            self.fail(f"{value} is not a directory; make it, or name a file", param, ctx)
        return path


OUTPUT = _Output(path_type=Path)


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print `text`; a reader that has gone, as in `codegen check | head -1`, changes nothing else.

    What the stream cannot encode is escaped.
    """
    try:
        click.echo(text, err=err, nl=nl)
    except UnicodeEncodeError:
        click.echo(text.encode("ascii", "backslashreplace").decode(), err=err, nl=nl)
    except BrokenPipeError:
        _give_up(sys.stderr if err else sys.stdout)


def exit_status(cli: click.Group, name: str) -> int:
    """Run `cli` on the command line's arguments and return its exit status."""
    try:
        return _run(cli, name)
    except SystemExit:
        # Click ends so when the reader of `--help` has gone, having wrapped the stream to keep
        # Python from failing on it once more. What anyone else means by it stands.
        if sys.stdout is sys.__stdout__:
            raise
        return 0
    except RecursionError:
        say(f"{name}: the input is nested too deeply; make it shallower", err=True)
        return 2
    except Exception:  # noqa: BLE001 (the last line of defence)
        say(traceback.format_exc(), err=True)
        say(
            f"{name}: internal error: this is a fault of {name}, not of your input; please report "
            "it with the lines above and the manifest",
            err=True,
        )
        return _INTERNAL


def _run(cli: click.Group, name: str) -> int:
    try:
        status = cli.main(prog_name=name, standalone_mode=False)
        if sys.stdout is not None:  # It is None where it was closed before we started.
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else name
        fact = error.format_message().rstrip(".")
        say(f"{name}: {fact}; see `{command} --help`", err=True)
        return 2
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        say(f"{name}: interrupted", err=True)
        return _INTERRUPTED
    except CodegenError as error:
        say(f"{name}: {error}", err=True)
        return 2
    except BrokenPipeError:
        return 0
    except OSError as error:
        place, reason = error.filename or "standard output", (error.strerror or str(error)).lower()
        say(f"{name}: {place}: {reason}; mend that and run the command again", err=True)
        if not error.filename:
            _give_up(sys.stdout)
        return 2
    return status if isinstance(status, int) else 0


def _give_up(stream: TextIO) -> None:
    """Let what is still to be printed go nowhere: Python would fail on it once more at its exit."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
