"""The kernel under test: its model and its reference, and the inputs to run them with."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from codegen.errors import shown
from tuner.devices import Device
from tuner.errors import CaseError
from tuner.expressions import ShapeExpr
from tuner.records import Shape
from tuner.worker import values
from tuner.worker.copies import clone
from tuner.worker.loading import Asked, called, found, load
from tuner.worker.messages import CaseKernel, KernelFrom
from tuner.worker.pickled import PickledKernel

__all__ = ["Kernel", "load_kernel"]


class Kernel(Protocol):
    """A model that takes a config, and the model whose outputs are right.

    Attributes:
        model: called with the inputs and `config=`.
        reference: called with the inputs; None where nobody gave one.
    """

    model: Callable[..., Any]
    reference: Callable[..., Any] | None

    def shapes(self) -> tuple[Shape, ...]:
        """Return the shapes that come with the kernel, each once."""

    def inputs(self, shape: Shape) -> list[Any]:
        """Return new inputs of `shape` on the device."""

    def outline(self, shape: Shape) -> list[Any]:
        """Return something with the shapes and dtypes of the inputs, at the least cost."""

    def arguments(self) -> str:
        """Return in words what the model was made with."""

    def asked(self) -> Shape | None:
        """Return for which shape the dispatch was asked since the last time; None if for none."""


def load_kernel(kernel: KernelFrom, device: Device) -> Kernel:
    """Return the kernel, loaded into this process.

    Raises:
        CaseError: its files fail to load, or are not what they should be.
    """
    return (
        _Case(kernel, device) if isinstance(kernel, CaseKernel) else PickledKernel(kernel, device)
    )


class _Case:
    """A case: `base.py` and `impl.py`, loaded by path."""

    def __init__(self, case: CaseKernel, device: Device) -> None:
        self._case, self._device = case, device
        for path in (case.base, case.impl):  # Files of the case import what stands beside them.
            sys.path.insert(0, str(path.parent.absolute()))
        self._base = load(case.base)
        impl = load(case.impl, case.dispatch)
        self._asked = vars(sys.modules[f"{impl.__name__}_dispatch"])["_select_config"]
        self._expression = ShapeExpr.parse(case.shape_expr)
        self._listed: dict[Shape, list[Any]] | None = None
        self._sketch: ModuleType | None = None
        with device.creating():
            maker = found(case.base, self._base, "get_init_inputs")
            self._arguments = _as_list(case.base, "get_init_inputs()", called(case.base, maker))
            reference = _made(case.base, self._base, "Model", self._arguments)
            model = _made(case.impl, impl, "ModelNew", self._arguments)
        called(case.impl, values.share_weights, reference, model)
        reference = values.frozen(device.moved(reference))
        model = values.frozen(device.moved(model))
        self.model = _callable(case.impl, "ModelNew", model)
        self.reference: Callable[..., Any] | None = _callable(case.base, "Model", reference)
        self._names, self._most = _input_names(case.impl, model)

    def shapes(self) -> tuple[Shape, ...]:
        return tuple(self._inputs_listed())

    def inputs(self, shape: Shape) -> list[Any]:
        values.seed(shape)
        maker = getattr(self._base, "get_inputs_for_shape", None)
        if maker is None:
            made = clone(self._inputs_of(shape))
        else:
            with self._device.creating():
                made = self._made(maker, shape)
            self._check(made, shape)
            self._check_memory(made)
        moved: list[Any] = values.mapped(self._device.moved, made)
        return moved

    def outline(self, shape: Shape) -> list[Any]:
        if not hasattr(self._base, "get_inputs_for_shape"):
            return self._inputs_of(shape)
        if "torch" not in sys.modules:
            return self.inputs(shape)
        # On torch's device without memory, if the case lets it, a shape costs nothing. It is done
        # in a module of its own: what the case keeps between calls must not be without memory.
        self._sketch = self._sketch or load(self._case.base)
        with sys.modules["torch"].device("meta"):
            try:
                made = self._made(self._sketch.get_inputs_for_shape, shape)
            except CaseError:  # What is not possible there may be on a device.
                made = None
        if made is None:
            return self.inputs(shape)
        self._check(made, shape)
        return made

    def arguments(self) -> str:
        return values.in_words(self._arguments)

    def asked(self) -> Shape | None:
        if not isinstance(self._asked, Asked) or self._asked.shape is None:
            return None
        shape, self._asked.shape = tuple(self._asked.shape), None
        return shape

    def _made(self, maker: Callable[..., Any], shape: Shape) -> list[Any]:
        what = f"get_inputs_for_shape({shape})"
        return _as_list(self._case.base, what, called(self._case.base, maker, shape))

    def _check(self, inputs: Sequence[Any], shape: Shape) -> None:
        gives = self._shape_of(inputs)
        if gives != shape:
            raise CaseError(
                f"get_inputs_for_shape({shape}) gives inputs whose shape is {gives} by "
                f"{shown(self._case.shape_expr)}",
                where=str(self._case.base),
                remedy="let the two agree",
            )

    def _check_memory(self, inputs: Sequence[Any]) -> None:
        for value in values.leaves(inputs):
            if values.is_tensor(value) and value.device.type == "meta":
                raise CaseError(
                    "gives an input on the device meta, which has no memory",
                    where=str(self._case.base),
                    remedy="make inputs without naming a device, and keep none between calls",
                )

    def _shape_of(self, inputs: Sequence[Any]) -> Shape:
        if len(inputs) > self._most:
            raise CaseError(
                f"gives {len(inputs)} inputs, and ModelNew.forward takes {self._most:.0f} without "
                "its config",
                where=str(self._case.base),
                remedy="let the two agree; config must stand last",
            )
        shape = self._expression.shape_of(dict(zip(self._names, inputs, strict=False)))
        if len(shape) != len(self._case.axis_names):
            axes = ", ".join(self._case.axis_names)
            raise CaseError(
                f"shape_expr gives {len(shape)} sizes, {shape}, for the axes {axes}",
                where=str(self._case.base.with_name("sample.json")),
                remedy="name one axis a size, in autotune.key or axis_names",
            )
        return shape

    def _inputs_of(self, shape: Shape) -> list[Any]:
        inputs = self._inputs_listed().get(shape)
        if inputs is None:
            raise CaseError(
                f"no inputs for shape {shape}",
                where=str(self._case.base),
                remedy="list them in get_inputs_dyn_list(), or define get_inputs_for_shape(shape)",
            )
        return inputs

    def _inputs_listed(self) -> dict[Shape, list[Any]]:
        if self._listed is None:
            base, what = self._case.base, "get_inputs_dyn_list()"
            maker = getattr(self._base, "get_inputs_dyn_list", None)
            if maker is None:
                raise CaseError(
                    "lists no shapes",
                    where=str(base),
                    remedy=f"define {what}, list shapes in tune.yaml, or name them with --shapes",
                )
            values.seed(())
            listed: dict[Shape, list[Any]] = {}
            for i, one in enumerate(_as_list(base, what, called(base, maker))):
                inputs = _as_list(base, f"{what}[{i}]", one)
                listed.setdefault(self._shape_of(inputs), inputs)
            if not listed:
                raise CaseError(
                    f"{what} is empty",
                    where=str(base),
                    remedy="list the inputs of one shape at least",
                )
            self._listed = listed
        return self._listed


def _as_list(path: Path, what: str, value: Any) -> list[Any]:
    """Return `value` as a list; raises CaseError where it is something else, if one can loop it."""
    if isinstance(value, list | tuple):
        return list(value)
    raise CaseError(
        f"{what} gives {'None' if value is None else f'a {type(value).__name__}'}, not a list",
        where=str(path),
        remedy="return a list, even of one",
    )


def _made(path: Path, module: ModuleType, name: str, arguments: Sequence[Any]) -> Any:
    values.seed(())
    return called(path, found(path, module, name), *arguments)


def _callable(path: Path, name: str, model: Any) -> Callable[..., Any]:
    function = model if callable(model) else getattr(model, "forward", None)
    if not callable(function):
        raise CaseError(
            f"{name} has no forward", where=str(path), remedy="define it: it is what is called"
        )
    checked: Callable[..., Any] = function
    return checked


def _input_names(path: Path, model: Any) -> tuple[tuple[str, ...], float]:
    """Return the params of `forward` that can be inputs, in order, and how many it takes.

    Inputs are given by position and the config by name: none may stand behind it.
    """
    forward = getattr(model, "forward", model)
    parameters = called(path, inspect.signature, forward).parameters.values()
    names: list[str] = []
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL:
            return tuple(names), float("inf")
        if one.name == "config" or one.kind in {one.KEYWORD_ONLY, one.VAR_KEYWORD}:
            break
        names.append(one.name)
    return tuple(names), len(names)
