"""Launch options that Ascend's compiler ignores, and configs that differ in nothing else.

In SIMD mode, the default, warps and stages never reach it; triton-ascend 3.2.0 hands them on in
SIMT mode alone. Imports next to nothing: a toolchain's service goes by it as well.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from json import dumps
from typing import Any

from codegen.config import LAUNCH_OPTIONS, Config

__all__ = ["counting_in", "differing", "essence", "unknown_options", "without_no_ops"]

# What of the options reaches the compiler in SIMT mode alone.
_SIMT_ONLY = ("num_warps", "num_stages", "num_ctas", "warp_size")
_SIMT = "force_simt_only"
_MODE = "compile_mode"
_SIMD_MODES = frozenset({None, "simd", "unstructured_in_simt"})


def without_no_ops(options: Mapping[str, Any], mode: Mapping[str, Any]) -> dict[str, Any]:
    """Return `options` without those that mean nothing to a launch whose options are `mode`."""
    if mode.get(_SIMT) or mode.get(_MODE) not in _SIMD_MODES:
        return dict(options)
    return {name: value for name, value in options.items() if name not in _SIMT_ONLY}


def essence(config: Config, counting: Collection[str] = ()) -> Config:
    """Return `config` without the options that mean nothing to its launch.

    Params are arguments of the kernel, and stay, whatever they are called; so do the options in
    `counting`.
    """
    given = {**dict(config.launch_options()), **dict(config.options)}
    left = without_no_ops(given, config.all_kwargs())
    left |= {name: value for name, value in given.items() if name in counting}
    launch: dict[str, Any] = {name: left.get(name) for name in LAUNCH_OPTIONS}
    options = tuple((name, value) for name, value in config.options if name in left)
    return replace(config, **launch, options=options)


def differing(config: Config, other: Config) -> tuple[str, ...]:
    """Return in which options two configs differ, sorted."""
    one, two = (
        {*each.launch_options(), *((name, dumps(value)) for name, value in each.options)}
        for each in (config, other)
    )
    return tuple(sorted({name for name, _ in one ^ two}))


def counting_in(source: str) -> frozenset[str]:
    """Return the no-op options that count for a kernel by what its source says.

    They are those that it does more with than hand them on to the launch under their own name, as
    in `num_warps=config.num_warps`; all of them where it names what chooses the mode.
    """
    try:
        names = frozenset(_names(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset(_SIMT_ONLY)
    return frozenset(_SIMT_ONLY) if names & {_SIMT, _MODE} else names & {*_SIMT_ONLY}


def _names(node: ast.AST) -> Iterator[str]:
    """Yield each name and each string in `node`, but not what is only handed on."""
    match node:
        case ast.keyword(arg="force_simt_only" | "compile_mode" as name):
            yield name
        case ast.keyword(arg=str(name), value=ast.Attribute(attr=same) | ast.Name(id=same)) | (
            ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr=same))
        ) if name == same:
            node = node.value
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.arg(arg=name):
            yield name
        case ast.Constant(value=str(name)):
            yield name
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


def unknown_options(configs: Iterable[Config], known: Collection[str]) -> tuple[str, ...]:
    """Return which options of `configs` a backend that knows those in `known` does not know.

    None where it did not say what it knows.
    """
    names = dict.fromkeys(name for config in configs for name, _ in config.options)
    return tuple(name for name in names if known and name not in known)
