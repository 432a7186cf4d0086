"""Find out which config of a kernel is best for which shapes, and write it down as a manifest.

    from tuner import Config, tune_configs

    outcome = tune_configs(
        axis_names=["M", "N", "K"],
        shapes=[(128, 4096, 4096), (4096, 4096, 4096)],
        configs=[Config(params=(("BLOCK_M", 64),), num_warps=4), ...],
        module=ModelNew(),
        inputs_by_shape=make_inputs,
        reference=Model(),
    )
    print(outcome.manifest_path)

`tuner.cases` does the same for a kernel in a directory, as the command `tuner tune` does. The
names below are imported when they are first used, as numpy takes its time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codegen.config import Config
    from tuner.api import tune_configs
    from tuner.deploy import load_deployed_selector
    from tuner.fit import fit_table
    from tuner.outcome import TuneOutcome
    from tuner.search.asking import Search
    from tuner.table import read_table

__all__ = [
    "Config",
    "Search",
    "TuneOutcome",
    "fit_table",
    "load_deployed_selector",
    "read_table",
    "tune_configs",
]

_HOMES = {
    "Config": "codegen.config",
    "Search": "tuner.search.asking",
    "TuneOutcome": "tuner.outcome",
    "fit_table": "tuner.fit",
    "load_deployed_selector": "tuner.deploy",
    "read_table": "tuner.table",
    "tune_configs": "tuner.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
