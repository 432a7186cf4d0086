"""Version numbers, compared by their first parts."""

from __future__ import annotations

import re

__all__ = ["parts", "public"]

_NUMBER = re.compile(r"[0-9]{1,6}")


def parts(version: str, count: int = 2) -> tuple[int, ...]:
    """Return the first `count` numbers of `version`, of 2.13.0+cpu 2 and 13; or fewer."""
    found = []
    for part in version.split(".")[:count]:
        match = _NUMBER.match(part)
        if match is None:
            break
        found.append(int(match[0]))
    return tuple(found)


def public(version: str) -> str:
    """Return `version` without what a build adds to it: 2.13.0+cpu → 2.13.0."""
    return version.partition("+")[0]
