"""Inputs and outputs of launches that are timed in a row lie at several addresses."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

from codegen.config import Config
from tuner.devices.cpu import Cpu
from tuner.records import Shape
from tuner.worker.messages import Limits
from tuner.worker.rotation import Rotation
from tuner.worker.trial import Trial


class InTurns(Cpu):
    """The CPU, as if its launches had to be in a row."""

    turn = 16


class Kernel:
    """Doubles a vector, elsewhere or where it is; keeps what it was given."""

    def __init__(self, size: int, *, in_place: bool = False) -> None:
        self.size, self.in_place = size, in_place
        self.given: list[int] = []

    def model(self, x: Any, *, config: Config | None = None, factor: int = 2) -> Any:
        """Return the double of `x`."""
        assert config is not None
        self.given.append(x.__array_interface__["data"][0])
        return np.multiply(x, factor, out=x if self.in_place else None)

    def reference(self, x: Any) -> Any:
        """Return the double of `x`."""
        return np.multiply(x, 2, out=x if self.in_place else None)

    def inputs(self, shape: Shape) -> list[Any]:
        """Return a vector."""
        assert shape == (self.size,)
        return [np.arange(self.size, dtype=np.float32)]

    def asked(self) -> Shape | None:
        """Return that no dispatch was asked."""
        return None


CONFIG = Config(params=(("B", 1),))


def trial_of(kernel: Any, device: Cpu) -> Trial:
    """Return a trial of the kernel in which it was right."""
    trial = Trial(kernel, device, (kernel.size,), Limits())
    assert trial.failure(CONFIG) is None
    kernel.given.clear()
    return trial


def test_launches_go_round_four_copies() -> None:
    """Each as often as the others; a second config has the same ones."""
    kernel = Kernel(100)
    trial = trial_of(kernel, InTurns())
    launch = trial.timed(CONFIG)
    for _ in range(8):
        launch()
    assert len(set(kernel.given)) == 4
    assert kernel.given[:4] == kernel.given[4:]
    other = trial.timed(CONFIG)
    other()
    assert kernel.given[-1] == kernel.given[0]


def test_the_last_outputs_live_so_that_the_next_one_lies_elsewhere() -> None:
    """Three of them, whichever config made them."""
    made: list[weakref.ref[Any]] = []

    def double(x: Any, factor: int) -> Any:
        output = x * factor
        made.append(weakref.ref(output))
        return output

    rotation = Rotation([np.arange(5)], np.arange(5))
    one, two = (rotation.launch(double, {"factor": factor}) for factor in (2, 3))
    for launch in (one, one, two, one, two):
        launch()
    alive = [output() for output in made]
    assert [output is None for output in alive] == [True, True, False, False, False]
    assert [output.tolist() for output in alive[2:]] == [
        [0, 3, 6, 9, 12],
        [0, 2, 4, 6, 8],
        [0, 3, 6, 9, 12],
    ]


@pytest.mark.parametrize(
    ("device", "size", "in_place"),
    [(Cpu(), 100, False), (InTurns(), 2**21, False), (InTurns(), 100, True)],
)
def test_single_launches_large_inputs_and_those_that_change_are_not_copied(
    device: Cpu, size: int, in_place: bool
) -> None:
    """There it is the inputs of the trial, always."""
    kernel = Kernel(size, in_place=in_place)
    launch = trial_of(kernel, device).timed(CONFIG)
    for _ in range(3):
        launch()
    assert len(set(kernel.given)) == 1
