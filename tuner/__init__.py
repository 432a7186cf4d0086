"""Find out which config of a kernel is best for which shapes, and write it down as a manifest.

    from pathlib import Path
    from tuner import fit_table, read_table

    fit = fit_table(read_table(Path("table.json")))

The names below are imported when they are first used, as numpy takes its time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codegen.config import Config
    from tuner.fit import fit_table
    from tuner.table import read_table

__all__ = ["Config", "fit_table", "read_table"]

_HOMES = {"Config": "codegen.config", "fit_table": "tuner.fit", "read_table": "tuner.table"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
