"""A trial: one shape with its inputs and the right outputs, and configs run and checked on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tuner.devices import Device, Launch
from tuner.records import Failure, Shape
from tuner.worker.compare import difference
from tuner.worker.copies import clone, restored, same_bits
from tuner.worker.failures import failure_of
from tuner.worker.kernel import Kernel
from tuner.worker.messages import Candidate, Limits
from tuner.worker.poison import cannot_poison, poisoned
from tuner.worker.rotation import Rotation

__all__ = ["Trial"]


class Trial:
    """One shape: inputs, the reference's outputs, and what is needed to try a config there."""

    def __init__(self, kernel: Kernel, device: Device, shape: Shape, limits: Limits) -> None:
        """Make the inputs, and run the reference on a copy; raises what the kernel's code does."""
        self.shape = shape
        self._kernel, self._device, self._limits = kernel, device, limits
        self._fresh = kernel.inputs(shape)
        self._inputs: list[Any] = clone(self._fresh)
        self._changes_inputs = False
        self._rotation: Rotation | None = None
        self._expected: Any = None
        # What the inputs are afterwards, where the reference changes them as well.
        self._after: list[Any] = self._fresh
        if kernel.reference:
            after = clone(self._fresh)
            self._expected = clone(kernel.reference(*after))
            device.synchronize()
            if not same_bits(after, self._fresh):
                self._after = after

    def launch(self, config: Candidate) -> Launch:
        """Return the call that runs `config`, always on the same inputs."""
        function, options = self._called(config)
        return partial(function, *self._inputs, **options)

    def timed(self, config: Candidate) -> Launch:
        """Return the call that runs `config` while it is timed."""
        # Launches in a row meet the same address again and again; single ones are few.
        if self._device.turn == 1 or self._changes_inputs:
            return self.launch(config)
        self._rotation = self._rotation or Rotation(self._inputs, self._expected)
        return self._rotation.launch(*self._called(config))

    def restorer(self) -> Launch | None:
        """Return what makes the inputs fresh again, None if no config was seen to change them."""
        return self.restore if self._changes_inputs else None

    def restore(self) -> None:
        """Make the inputs fresh again."""
        self._inputs[:] = [
            restored(value, original)
            for value, original in zip(self._inputs, self._fresh, strict=True)
        ]

    def failure(self, config: Candidate) -> Failure | None:
        """Run `config` on fresh inputs and poisoned memory; return what is wrong, None if right."""
        try:
            self._kernel.asked()  # What it was asked for while it was timed is of no interest.
            text = self._fault(self._output(config)) or self._other_shape()
            failure = Failure(kind="wrong", message=text) if text else None
        except BaseException as error:  # noqa: BLE001 (a kernel may raise anything; it is a record)
            failure = failure_of(error)
        if (failure or self._changes_inputs) and self._device.healthy():
            self.restore()
        return failure

    def _called(self, config: Candidate) -> tuple[Callable[..., Any], dict[str, Any]]:
        if config == "reference":
            if self._kernel.reference is None:
                raise LookupError("there is no reference")
            return self._kernel.reference, {}
        return self._kernel.model, {} if config == "dispatch" else {"config": config}

    def _output(self, config: Candidate) -> Any:
        try:
            with poisoned():
                output = self.launch(config)()
                self._device.synchronize()
        except NotImplementedError as error:
            if not cannot_poison(error):
                raise
            self.restore()
            output = self.launch(config)()
            self._device.synchronize()
        return output

    def _other_shape(self) -> str | None:
        """Say so if the kernel asks its dispatch for another shape than the case means."""
        asked = self._kernel.asked()
        if asked in {None, self.shape}:
            return None
        return f"it asks its dispatch for {asked}, where shape_expr gives {self.shape}"

    def _fault(self, output: Any) -> str | None:
        tolerance = self._limits.tolerance
        if not self._kernel.reference:
            self._changes_inputs |= not same_bits(self._inputs, self._fresh)
            return None
        if text := difference(output, self._expected, tolerance=tolerance):
            return text
        if self._after is self._fresh:
            return None if same_bits(self._inputs, self._fresh) else "it changes its inputs"
        self._changes_inputs = True
        text = difference(self._inputs, self._after, tolerance=tolerance)
        return text and text.replace("the output", "the inputs afterwards", 1)
