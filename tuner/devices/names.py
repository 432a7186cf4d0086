"""The names of devices as a user writes them: `cpu`, `cuda:0,cuda:1`, `npu:0`, `replay:T.json`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from codegen.errors import shown
from tuner.errors import DeviceError

__all__ = ["DeviceName", "parse_devices"]

_ACCELERATOR = re.compile(r"(cuda|npu)(?::([0-9]{1,3}))?")


@dataclass(frozen=True, slots=True)
class DeviceName:
    """A device by its kind; `index` counts those of a kind, `table` is what a replay answers from.

    `str` gives the name as a user would write it.
    """

    kind: Literal["cpu", "cuda", "npu", "replay"]
    index: int = 0
    table: Path | None = None

    def __str__(self) -> str:
        """Return `cpu`, `cuda:0`, `npu:0` or `replay:table.json`."""
        if self.kind == "replay":
            return f"replay:{self.table}"
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.index}"


def parse_devices(text: str) -> tuple[DeviceName, ...]:
    """Return the devices that `text` names: one, or several of a kind between commas.

    Raises:
        DeviceError: a name is unknown or stands twice, or kinds are mixed.
    """
    if text.startswith("replay:"):
        return (_replay(text.removeprefix("replay:")),)
    names = tuple(_name(part.strip()) for part in text.split(","))
    for i, name in enumerate(names):
        if name in names[:i]:
            raise DeviceError(f"{name} stands twice", where="--device", remedy="name it once")
    if len({name.kind for name in names}) > 1:
        raise DeviceError(
            f"{shown(text)} mixes kinds of devices",
            where="--device",
            remedy="tune on one kind at a time: what is best on one is not on another",
        )
    return names


def _replay(path: str) -> DeviceName:
    if not path:
        raise DeviceError(
            "replay: names no table", where="--device", remedy="write replay:table.json"
        )
    return DeviceName("replay", table=Path(path))


def _name(text: str) -> DeviceName:
    if text == "cpu":
        return DeviceName("cpu")
    match = _ACCELERATOR.fullmatch(text)
    if match:
        return DeviceName("cuda" if match[1] == "cuda" else "npu", int(match[2] or 0))
    raise DeviceError(
        f"{shown(text)} is not a device",
        where="--device",
        remedy="write cpu, cuda:0, cuda:0,cuda:1, npu:0 or replay:table.json",
    )
