"""The cases' files as tests want them: text, candidates, modules.

A case is known by the directories of its two versions: `original/K` holds all of it, with a kernel
of fixed constants; `converted/K` holds the kernel once more, taking its config.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from codegen.config import LAUNCH_OPTIONS, Config

__all__ = [
    "CASES",
    "CONVERTED",
    "HOSTILE",
    "NUMPY_CASES",
    "ORIGINAL",
    "TRITON_CASES",
    "candidates",
    "config_of",
    "load",
    "load_converted",
    "sample",
    "tune",
]

Select: TypeAlias = Callable[[tuple[int, ...]], Config]

HERE = Path(__file__).parent
ORIGINAL, CONVERTED, HOSTILE = HERE / "original", HERE / "converted", HERE / "hostile"
TRITON_CASES = ("conv2d", "matmul", "relu", "rms_norm", "softmax", "vector_add")
NUMPY_CASES = ("nearest",)
CASES = tuple(sorted(TRITON_CASES + NUMPY_CASES))


def sample(directory: Path) -> dict[str, Any]:
    """Return what `sample.json` in `directory` holds."""
    found: dict[str, Any] = json.loads((directory / "sample.json").read_text())
    return found


def tune(directory: Path) -> dict[str, Any]:
    """Return what `tune.yaml` in `directory` holds; nothing if there is none."""
    import yaml

    path = directory / "tune.yaml"
    found: dict[str, Any] = yaml.safe_load(path.read_text()) if path.exists() else {}
    return found


def candidates(directory: Path) -> tuple[dict[str, Any], ...]:
    """Return each candidate as params and launch options by name; constraints are not applied."""
    told = sample(directory)
    if "sweep_param" in told:
        return tuple({told["sweep_param"]: value} for value in told["candidates"])
    if "autotune" in told:
        return tuple(told["autotune"]["configs"])
    parameters = tune(directory)["parameters"]
    products = itertools.product(*parameters.values())
    return tuple(dict(zip(parameters, values, strict=True)) for values in products)


def config_of(candidate: Mapping[str, Any]) -> Config:
    """Return the config that a candidate stands for."""
    params = tuple(pair for pair in candidate.items() if pair[0] not in LAUNCH_OPTIONS)
    launch = {name: value for name, value in candidate.items() if name in LAUNCH_OPTIONS}
    return Config(params=params, **launch)


def load(path: Path) -> ModuleType:
    """Return the module at `path`, a file of a case, as a member of a package of its own."""
    package = "_case_" + "_".join(path.parent.relative_to(HERE).parts)
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package)
        sys.modules[package].__path__ = [str(path.parent)]
    return importlib.import_module(f"{package}.{path.stem}")


def load_converted(path: Path, select: Select) -> ModuleType:
    """Return the converted kernel at `path`, whose `_select_config` is `select`.

    A kernel that was not tuned yet has no dispatch module beside it; one stands in for it here.
    """
    package = "_case_" + "_".join(path.parent.relative_to(HERE).parts)
    dispatch = ModuleType(f"{package}.{path.stem}_dispatch")
    vars(dispatch)["_select_config"] = select
    sys.modules[dispatch.__name__] = dispatch
    impl = load(path)
    vars(impl)["_select_config"] = select  # where the module was loaded before
    return impl
