"""Cases: a kernel, its reference, its inputs and its candidates, as a directory.

    from pathlib import Path
    from tuner.cases import load_case

    case = load_case(Path("cases/matmul"))

The names below are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuner.cases.case import Case, load_case
    from tuner.cases.run import run_case

__all__ = ["Case", "load_case", "run_case"]

_HOMES = {
    "Case": "tuner.cases.case",
    "load_case": "tuner.cases.case",
    "run_case": "tuner.cases.run",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
