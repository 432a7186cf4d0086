"""What stands behind options of several commands: durations, shapes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from codegen.errors import shown

if TYPE_CHECKING:
    from tuner.records import Shape

__all__ = ["Duration", "Shapes"]

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType[float]):
    """Seconds, minutes or hours, as 90s, 10m or 1.5h."""

    name = "duration"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the seconds."""
        match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([smh])", str(value))
        if not match or float(match[1]) == 0:
            self.fail(f"{shown(str(value))} is not a duration such as 90s, 10m or 2h", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


class Shapes(click.ParamType["tuple[Shape, ...]"]):
    """Shapes as 1,224,224;1,384,384."""

    name = "shapes"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[Shape, ...]:
        """Return the shapes, each once."""
        parts = [part for part in str(value).split(";") if part.strip()]
        shapes = []
        for part in parts:
            sizes = [size.strip() for size in part.split(",")]
            if not all(re.fullmatch(r"[1-9]\d{0,17}|0", size) for size in sizes):
                self.fail(
                    f"{shown(part)} is not a shape; write sizes between commas and ; between "
                    'shapes, as "1,224,224;1,384,384"',
                    param,
                    ctx,
                )
            shapes.append(tuple(map(int, sizes)))
        if not shapes:
            self.fail("names no shape", param, ctx)
        return tuple(dict.fromkeys(shapes))
