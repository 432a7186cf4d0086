"""The crew: who is asked to run and time configs, and answers whatever happens to them.

`Workers` is a crew of processes, one a device or several; `Replay` answers from a recorded table.
"""

from __future__ import annotations

from tuner.crew.base import (
    Crew,
    DeviceGone,
    Done,
    Event,
    Outcome,
    ShapeLost,
    Surveyed,
    Wanted,
)
from tuner.crew.replay import Replay
from tuner.crew.workers import Workers

__all__ = [
    "Crew",
    "DeviceGone",
    "Done",
    "Event",
    "Outcome",
    "Replay",
    "ShapeLost",
    "Surveyed",
    "Wanted",
    "Workers",
]
