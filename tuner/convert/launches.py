"""The launches of a file: `kernel[grid](…)`, also by a name that is bound to `kernel[grid]`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from libcst import metadata

from tuner.convert.calls import Arguments, bound, only_value
from tuner.convert.kernels import Kernel
from tuner.convert.source import Source

__all__ = ["Launch", "find_launches", "kernel_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launch:
    """A launch.

    Attributes:
        kernel: None where it is not defined in this file.
        name: what stands before the bracket.
        grid: what stands in the bracket.
        host: the function in which it stands, None at the module's level.
    """

    kernel: Kernel | None
    name: str
    subscript: cst.Subscript
    arguments: Arguments
    host: cst.FunctionDef | None

    @property
    def call(self) -> cst.Call:
        """The call."""
        return self.arguments.call

    @property
    def grid(self) -> tuple[cst.BaseSlice, ...]:
        """What stands in the bracket."""
        return tuple(element.slice for element in self.subscript.slice)


def find_launches(source: Source, kernels: tuple[Kernel, ...]) -> tuple[Launch, ...]:
    """Return the calls of which a subscript of a name is called, in the order of the file."""
    inside = {id(node) for kernel in kernels for node in source.within(kernel.node)}
    return tuple(
        launch
        for node in source.within(source.module)
        if isinstance(node, cst.Call) and id(node) not in inside
        for launch in _launches(source, kernels, node)
    )


def _launches(source: Source, kernels: tuple[Kernel, ...], call: cst.Call) -> Iterator[Launch]:
    subscript: cst.BaseExpression | None = call.func
    if isinstance(subscript, cst.Name):
        subscript = only_value(source, subscript)
    if not isinstance(subscript, cst.Subscript) or not isinstance(subscript.value, cst.Name):
        return
    kernel = kernel_of(source, kernels, subscript.value)
    imported = all(isinstance(b, metadata.ImportAssignment) for b in _bindings(source, subscript))
    if kernel is None and not imported:
        return
    yield Launch(
        kernel=kernel,
        name=subscript.value.value,
        subscript=subscript,
        arguments=bound(source, call, kernel.params if kernel else None),
        host=source.host(call),
    )


def _bindings(source: Source, subscript: cst.Subscript) -> tuple[object, ...]:
    return source.bindings(subscript.value) or (None,)


def kernel_of(source: Source, kernels: tuple[Kernel, ...], name: cst.Name) -> Kernel | None:
    """Return the kernel that `name` stands for: the last of its definitions, all of one form."""
    nodes = [getattr(binding, "node", None) for binding in source.bindings(name)]
    found = [kernel for kernel in kernels if any(kernel.node is node for node in nodes)]
    return found[-1] if found and len(found) == len(nodes) else None
