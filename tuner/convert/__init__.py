"""Kernels with fixed constants, turned into kernels that take their config from the dispatch.

    from tuner.convert import convert_source

    text = convert_source(
        Path("impl.py").read_text(),
        name="impl.py",
        shape_expr="(a.shape[0], b.shape[1], a.shape[1])",
        config_param_names=["BLOCK_M", "BLOCK_N"],
        launch_options=["num_warps"],
    )

Nothing of a kernel is run. What cannot be converted for sure is refused, with file and line. The
names below are imported when they are first used, as libcst takes its time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuner.convert.case import draft_case, postprocess_case
    from tuner.convert.convert import convert_source
    from tuner.convert.errors import ConvertError
    from tuner.convert.harvest import harvest_case

__all__ = ["ConvertError", "convert_source", "draft_case", "harvest_case", "postprocess_case"]

_HOMES = {
    "ConvertError": "tuner.convert.errors",
    "convert_source": "tuner.convert.convert",
    "draft_case": "tuner.convert.case",
    "harvest_case": "tuner.convert.harvest",
    "postprocess_case": "tuner.convert.case",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
