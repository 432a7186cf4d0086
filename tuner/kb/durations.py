"""Durations as they are typed: `12h`, `90d`, `4w`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from codegen.errors import shown
from tuner.errors import KbError

__all__ = ["moment_before"]

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"([0-9]{1,6})([hdw])")


def moment_before(now: datetime, duration: str, *, where: str) -> datetime:
    """Return the moment that lies `duration` before `now`; `where` is for messages.

    Raises:
        KbError: it is no duration, or goes back beyond the calendar.
    """
    match = _DURATION.fullmatch(duration)
    if not match or int(match[1]) == 0:
        raise KbError(
            f"{shown(duration)} is not a duration",
            where=where,
            remedy="write hours, days or weeks, as 12h, 90d or 4w",
        )
    try:
        return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        raise KbError(
            f"{shown(duration)} goes back beyond the year 1",
            where=where,
            remedy="give a shorter duration",
        ) from None
