"""A kernel that was an object in another process: unpickled here, its class found by its file."""

from __future__ import annotations

import io
import pickle
import sys
import zlib
from collections.abc import Callable
from typing import Any

from codegen.errors import CodegenError
from tuner.devices import Device
from tuner.errors import CaseError
from tuner.records import Shape
from tuner.worker import values
from tuner.worker.loading import load
from tuner.worker.messages import ObjectKernel

__all__ = ["PickledKernel"]

_MOST_DEVICES = 64


class PickledKernel:
    """A model that was an object elsewhere, and inputs that were pickled to files."""

    def __init__(self, kernel: ObjectKernel, device: Device) -> None:
        """Build the model again.

        Raises:
            CaseError: that fails.
        """
        self._kernel, self._device = kernel, device
        sys.path[:] = [*kernel.search_path, *(p for p in sys.path if p not in kernel.search_path)]
        self.model = self._callable(kernel.model, "the model")
        self.reference: Callable[..., Any] | None = (
            self._callable(kernel.reference, "the reference")
            if kernel.reference is not None
            else None
        )

    def shapes(self) -> tuple[Shape, ...]:
        """Return the shapes that there are inputs of."""
        return self._kernel.shapes

    def inputs(self, shape: Shape) -> list[Any]:
        """Return the inputs of `shape`, on the device."""
        moved: list[Any] = values.mapped(self._device.moved, self.outline(shape))
        return moved

    def outline(self, shape: Shape) -> list[Any]:
        """Return the inputs of `shape` as they were pickled."""
        if shape not in self._kernel.shapes:
            raise CaseError(
                f"no inputs for shape {shape}",
                where="inputs_by_shape",
                remedy="add them, or leave the shape out",
            )
        number = self._kernel.shapes.index(shape)
        data = (self._kernel.inputs / f"{number}.pickle").read_bytes()
        return list(self._unpickled(data, f"the inputs of {shape}"))

    def arguments(self) -> str:
        """Return a checksum of the model: its state is more than words can tell."""
        return f"model {zlib.crc32(self._kernel.model):08x}"

    def asked(self) -> Shape | None:
        """Return None: an object is never run with a dispatch here."""
        return None

    def _callable(self, data: bytes, what: str) -> Callable[..., Any]:
        model = values.frozen(self._device.moved(self._unpickled(data, what)))
        called: Callable[..., Any] | None = (
            model if callable(model) else getattr(model, "forward", None)
        )
        if called is None:
            raise CaseError(
                f"{what} is a {type(model).__name__}, which cannot be called",
                where=str(self._kernel.source),
                remedy="give it a method forward",
            )
        return called

    def _unpickled(self, data: bytes, what: str) -> Any:
        try:
            return _Unpickler(io.BytesIO(data), self._kernel, self._device).load()
        except CodegenError:
            raise
        except BaseException as error:  # noqa: BLE001 (unpickling runs the user's code)
            raise CaseError(
                f"{what} cannot be built again in another process: {values.reason(error)}",
                where=str(self._kernel.source),
                remedy="define its class at the top level of an importable file",
            ) from None


class _Unpickler(pickle.Unpickler):
    """Finds the model's own module by its file, so that a script's `__main__` is found as well."""

    def __init__(self, file: io.BytesIO, kernel: ObjectKernel, device: Device) -> None:
        super().__init__(file)
        self._kernel, self._device = kernel, device

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Return what a pickle calls `global_name` of `module_name`."""
        if module_name == self._kernel.module_name == "__main__":
            source = self._kernel.source
            found: Any = sys.modules.get(f"_tuned.{source.stem}") or load(source)
            for part in global_name.split("."):
                found = getattr(found, part)
            return found
        if (module_name, global_name) == ("torch.storage", "_load_from_bytes"):
            return self._storage
        return super().find_class(module_name, global_name)

    def _storage(self, data: bytes) -> Any:
        """Return a storage, on this device if it was on another of its kind: here is but one."""
        import torch  # noqa: PLC0415 (only where a pickle holds a tensor)

        with self._device.creating():
            here = str(torch.empty(0).device)
        elsewhere = {f"{kind}:{i}": here for kind in ("cuda", "npu") for i in range(_MOST_DEVICES)}
        return torch.load(io.BytesIO(data), map_location=elsewhere, weights_only=False)
