"""Builders that tests share: configs, a manifest of any kind in a few lines, its module.

A manifest goes through `parse_manifest` and its module through `module_text`, so that a test sees
what a user would; no file is touched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from codegen.config import Config
from codegen.emit import module_text
from codegen.manifest import Candidate, Manifest, parse_manifest

__all__ = [
    "category",
    "configs",
    "emitted",
    "integer",
    "leaf",
    "load_module",
    "manifest_of",
    "split",
    "tree",
    "tree_manifest",
    "without_cuda",
]

_TOP = 2**20
_MODULES = count(1)


def configs(n: int) -> tuple[Config, ...]:
    """Return `n` configs that all differ, with three params and two launch options each."""
    return tuple(
        Config(
            params=(("BLOCK_M", 16 * (1 + i % 8)), ("BLOCK_N", 16 * (1 + i // 8)), ("BLOCK_K", 64)),
            num_warps=4,
            num_stages=3,
        )
        for i in range(n)
    )


def integer(name: str, low: int | None = None, high: int | None = None) -> dict[str, Any]:
    """Return a raw integer axis, tuned from `low` to `high`; None leaves that side open."""
    ends = {"min": low, "max": high}
    return {"name": name, "kind": "integer"} | {k: v for k, v in ends.items() if v is not None}


def category(name: str, *values: int | str) -> dict[str, Any]:
    """Return a raw category axis."""
    return {"name": name, "kind": "category", "values": list(values)}


def leaf(config: int) -> dict[str, Any]:
    """Return a raw leaf, for the config with this index."""
    return {"config": config}


def split(feature: Any, threshold: int, left: Any, right: Any, **more: int) -> dict[str, Any]:
    """Return a raw split on `feature`, raw or the name of an axis; `more` may be a denominator."""
    feature = {"axis": feature} if isinstance(feature, str) else feature
    return {"feature": feature, "threshold": threshold, "left": left, "right": right, **more}


def tree(root: dict[str, Any]) -> dict[str, Any]:
    """Return a raw tree selector."""
    return {"kind": "tree", "payload": {"root": root}}


def manifest_of(
    *,
    axes: Sequence[Mapping[str, Any]],
    selector: Mapping[str, Any],
    outside: str = "default",
    default: int = 0,
    n_configs: int = 4,
) -> Manifest:
    """Return a sound manifest; `selector` is raw, kind and payload, over `configs(n_configs)`.

    `default` is an index into these configs.

    Raises:
        ManifestError: the parts contradict each other.
    """
    chosen = configs(n_configs)
    raw = {
        "schema_version": 2,
        "kernel": {"name": "kernel"},
        "target": {"device": "device"},
        "axes": [dict(axis) for axis in axes],
        "candidates": [Candidate.of(c).model_dump(exclude_defaults=True) for c in chosen],
        "default": chosen[default].id,
        "outside": outside,
        "selector": {**selector, "config_ids": [config.id for config in chosen]},
    }
    return parse_manifest(raw, name="test")


def tree_manifest(
    leaves: int, *, outside: str = "default", envelope: bool = True, n_configs: int = 40
) -> Manifest:
    """Return a balanced tree over M, N and K in turn, whose neighbours choose different configs.

    Each axis is halved between 0 and 2**20; with `envelope` it was tuned from 1 to 2**20.
    """
    ends = (1, _TOP) if envelope else (None, None)
    root = _halved(leaves, count(), dict.fromkeys("MNK", (0, _TOP)), n_configs)
    return manifest_of(
        axes=[integer(name, *ends) for name in "MNK"],
        selector=tree(root),
        outside=outside,
        n_configs=n_configs,
    )


def _halved(
    leaves: int, numbers: Iterator[int], ranges: dict[str, tuple[int, int]], n_configs: int
) -> dict[str, Any]:
    """Return a raw node that halves the first of `ranges`; the next level takes the next."""
    if leaves == 1:
        return leaf(next(numbers) % n_configs)
    (axis, (low, high)), *rest = ranges.items()
    middle = (low + high) // 2
    lower, upper = {**dict(rest), axis: (low, middle)}, {**dict(rest), axis: (middle, high)}
    return split(
        axis,
        middle,
        _halved(leaves // 2, numbers, lower, n_configs),
        _halved(leaves - leaves // 2, numbers, upper, n_configs),
    )


def emitted(manifest: Manifest) -> str:
    """Return the text of the module that is emitted for `manifest`."""
    return module_text(manifest, Path("manifest.json"), Path("manifest_dispatch.py"))


def load_module(text: str) -> ModuleType:
    """Return the module whose source is `text`, in `sys.modules` under a name of its own.

    Both pickle and dynamo look a module up there by its name.
    """
    name = f"emitted_{next(_MODULES)}"
    module = ModuleType(name)
    exec(compile(text, f"<{name}>", "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    sys.modules[name] = module
    return module


def without_cuda() -> str | None:
    """Say why no kernel can be launched on a CUDA device here, None if one can."""
    for name in ("torch", "triton"):
        if find_spec(name) is None:
            return f"needs {name}, which is not installed"
    if os.environ.get("TRITON_INTERPRET") == "1":
        return "needs a device, not the interpreter"
    import torch

    return None if torch.cuda.is_available() else "needs a CUDA device, and torch sees none"
