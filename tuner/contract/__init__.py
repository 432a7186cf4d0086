"""The contract: what a kernel's file must keep to, so that its config comes from the dispatch.

    from pathlib import Path
    from tuner.contract import breaches

    for breach in breaches(Path("impl.py"), case=Path(".")):
        print(breach)

The file is read, and nothing of it is run. The names below are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuner.contract.breach import Breach
    from tuner.contract.check import breaches

__all__ = ["Breach", "breaches"]

_HOMES = {"Breach": "tuner.contract.breach", "breaches": "tuner.contract.check"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
