"""Where the tuner keeps what should outlive a run, if nobody names another place."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = [
    "HOME_VARIABLE",
    "TOOLCHAINS_VARIABLE",
    "home",
    "kernels",
    "knowledge_base",
    "replays",
    "toolchains",
]

HOME_VARIABLE = "TUNED_DISPATCH_HOME"
TOOLCHAINS_VARIABLE = "TUNED_DISPATCH_TOOLCHAINS"


def home() -> Path:
    """Return `$TUNED_DISPATCH_HOME`, else `tuned-dispatch` in the user's data directory."""
    named = os.environ.get(HOME_VARIABLE)
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "tuned-dispatch"


def knowledge_base() -> Path:
    """Return the knowledge base that is used when none is named."""
    return home() / "kb.sqlite"


def replays() -> Path:
    """Return the knowledge base of what was replayed from tables, and never measured."""
    return home() / "replays.sqlite"


def kernels() -> Path:
    """Return the directory in which `tune_configs` writes when it is given no `cache_dir`."""
    return home() / "kernels"


def toolchains() -> Path:
    """Return the directory of the toolchains' environments, one a toolchain, called as it is.

    That is `$TUNED_DISPATCH_TOOLCHAINS`, else `toolchains` in `home()`.
    """
    named = os.environ.get(TOOLCHAINS_VARIABLE)
    return Path(named) if named else home() / "toolchains"
