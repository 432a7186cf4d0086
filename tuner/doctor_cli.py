"""The command `tuner doctor`: parse, call one function, print."""

from __future__ import annotations

from pathlib import Path

import click

from codegen.command import Command, say

__all__ = ["doctor"]

_PATH = click.Path(path_type=Path)


@click.command(cls=Command, short_help="Find out what keeps a device from being used.")
@click.argument("paths", nargs=-1, type=_PATH, metavar="[MANIFEST|DIRECTORY]...")
@click.option(
    "--device",
    metavar="NAME",
    help="npu:0, cuda:0 or cpu.  [default: what the machine seems to be for]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(paths: tuple[Path, ...], device: str | None, *, as_json: bool) -> int:
    """Find out whether a device can be used, what is wrong if not, and what to type.

    Says as well which manifests are for this machine, its device and its tools: those named, or
    those a few levels below the current directory.

    Exit status: 0 if the device can be used, 1 if not.
    """
    from tuner.devices.names import parse_devices  # noqa: PLC0415 (`--help` need not wait)
    from tuner.doctor import diagnose, find_manifests, json_text, lines, look  # noqa: PLC0415
    from tuner.errors import DeviceError  # noqa: PLC0415

    names = parse_devices(device) if device is not None else ()
    if len(names) > 1 or any(name.kind == "replay" for name in names):
        raise DeviceError(f"{device} is not one device", where="--device", remedy="write npu:0")
    manifests = find_manifests(paths or (Path(),))
    diagnosis = diagnose(look(), names[0] if names else None, manifests)
    if as_json:
        say(json_text(diagnosis), nl=False)
    else:
        for line in lines(diagnosis):
            say(line)
    return 0 if diagnosis.usable else 1
