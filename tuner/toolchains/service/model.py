"""A case's model, run for its launches alone: on torch's device without memory if it can be."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from codegen.config import Config
from codegen.errors import CodegenError
from tuner.devices import Launch, Times
from tuner.records import Shape, Target
from tuner.toolchains.service.driver import Captured, Compiler
from tuner.worker import values
from tuner.worker.kernel import Kernel, load_kernel
from tuner.worker.messages import CaseKernel

__all__ = ["Model", "case_kernel"]


class _Place:
    """Where tensors are made: `meta`, which has no memory, or the host."""

    method = "none, nothing is run"
    turn = 1
    repeat = 15

    def __init__(self, name: str) -> None:
        import torch  # noqa: PLC0415 (a toolchain's)

        self._torch, self._name = torch, name

    def creating(self) -> AbstractContextManager[Any]:
        device: AbstractContextManager[Any] = self._torch.device(self._name)
        return device

    def moved(self, value: Any) -> Any:
        movable = isinstance(value, self._torch.Tensor | self._torch.nn.Module)
        return value.to(self._name) if movable else value

    def target(self) -> Target:
        raise NotImplementedError

    def synchronize(self) -> None:
        raise NotImplementedError

    def healthy(self) -> bool:
        raise NotImplementedError

    def time(self, launches: Any, *, before: Launch | None = None) -> Times:
        raise NotImplementedError


def case_kernel(told: dict[str, Any]) -> CaseKernel:
    """Return the case of a request."""
    return CaseKernel(
        base=Path(told["base"]),
        impl=Path(told["impl"]),
        shape_expr=told["shape_expr"],
        axis_names=tuple(told["axis_names"]),
    )


class Model:
    """The model of a case, and its inputs by shape."""

    def __init__(self, case: CaseKernel, compiler: Compiler) -> None:
        self._case, self._compiler = case, compiler
        self._kernels: dict[str, Kernel] = {}
        self._inputs: dict[str, tuple[Shape, list[Any]]] = {}
        self._place = "meta"
        try:
            self._kernel("meta")
        except CodegenError:  # What its author did not think of may be possible on the host.
            self._place = "cpu"
            self._kernel("cpu")

    def shapes(self) -> tuple[Shape, ...]:
        """Return the shapes that come with the case, each once."""
        return self._kernel(self._place).shapes()

    def dtype(self, shape: Shape) -> str:
        """Return the dtype of the inputs of `shape`."""
        return values.dtype_of(self._inputs_of(shape, self._place))

    def launches(self, shape: Shape, config: Config) -> list[Captured]:
        """Return what `forward` would launch; raises whatever it raises."""
        if self._place == "meta":
            with contextlib.suppress(Exception):  # On the host it will be raised, or not be.
                return self._forward(shape, config, "meta")
        return self._forward(shape, config, "cpu")

    def _forward(self, shape: Shape, config: Config, place: str) -> list[Captured]:
        self._compiler.take()
        self._kernel(place).model(*self._inputs_of(shape, place), config=config)
        return self._compiler.take()

    def _kernel(self, place: str) -> Kernel:
        if place not in self._kernels:
            self._kernels[place] = load_kernel(self._case, _Place(place))
        return self._kernels[place]

    def _inputs_of(self, shape: Shape, place: str) -> list[Any]:
        known = self._inputs.get(place)
        if known is None or known[0] != shape:
            kernel = self._kernel(place)
            made = kernel.outline(shape) if place == "meta" else kernel.inputs(shape)
            known = self._inputs[place] = shape, values.mapped(_Place(place).moved, made)
        return known[1]
