"""The kernels of a file: functions under `@triton.jit`, their params and their decorators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from tuner.convert.source import Source, dotted

__all__ = ["Kernel", "KernelParam", "find_kernels", "signature"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelParam:
    """A param of a kernel, or of another function."""

    name: str
    default: cst.BaseExpression | None
    constexpr: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kernel:
    """A kernel.

    Attributes:
        autotune: its `@triton.autotune(…)`.
        heuristics: the params that `@triton.heuristics` computes.
    """

    name: str
    node: cst.FunctionDef
    params: tuple[KernelParam, ...]
    autotune: cst.Decorator | None
    heuristics: frozenset[str]

    def takes(self, name: str) -> bool:
        """Say whether `name` is one of its params."""
        return any(param.name == name for param in self.params)


def find_kernels(source: Source) -> tuple[Kernel, ...]:
    """Return the kernels of the file, in its order."""
    functions = (node for node in source.within(source.module) if isinstance(node, cst.FunctionDef))
    return tuple(_kernel(node) for node in functions if _decorator(node, "jit"))


def _kernel(node: cst.FunctionDef) -> Kernel:
    return Kernel(
        name=node.name.value,
        node=node,
        params=signature(node),
        autotune=_decorator(node, "autotune"),
        heuristics=frozenset(_heuristics(node)),
    )


def _decorator(node: cst.FunctionDef, name: str) -> cst.Decorator | None:
    """Return the decorator `triton.NAME`, or `NAME` imported from there."""
    for decorator in node.decorators:
        path = _path(decorator)
        if path.split(".")[-1] == name and not path.startswith("numba"):
            return decorator
    return None


def _path(decorator: cst.Decorator) -> str:
    call = decorator.decorator
    return dotted(call.func if isinstance(call, cst.Call) else call)


def _heuristics(node: cst.FunctionDef) -> Iterator[str]:
    for decorator in node.decorators:
        if _path(decorator).split(".")[-1] == "heuristics":
            yield from _keys(decorator)


def _keys(node: cst.CSTNode) -> Iterator[str]:
    """Yield the strings that are keys of a dict below `node`."""
    if isinstance(node, cst.DictElement) and isinstance(node.key, cst.SimpleString):
        yield str(node.key.evaluated_value)
    if isinstance(node, cst.Arg) and node.keyword:
        yield node.keyword.value
    for inner in node.children:
        yield from _keys(inner)


def signature(node: cst.FunctionDef) -> tuple[KernelParam, ...]:
    """Return the params of a function that have a name, in the order in which they are given."""
    params: Sequence[cst.Param] = (
        *node.params.posonly_params,
        *node.params.params,
        *node.params.kwonly_params,
    )
    return tuple(
        KernelParam(
            name=param.name.value,
            default=param.default,
            constexpr="constexpr" in _annotation(param),
        )
        for param in params
    )


def _annotation(param: cst.Param) -> str:
    if param.annotation is None:
        return ""
    written = param.annotation.annotation
    return written.value if isinstance(written, cst.SimpleString) else dotted(written)
