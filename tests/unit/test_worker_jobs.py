"""Jobs in the worker: fresh inputs at every try and launch, and what is said of each config."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from codegen.config import Config
from tuner.devices import Times
from tuner.devices.cpu import Cpu
from tuner.records import Shape
from tuner.worker.job import DeviceLostError, Worker
from tuner.worker.messages import Began, Failed, Finished, Job, Limits, Lost, Message, Step, Timed

Run = Callable[..., Any]


class Kernel:
    """A kernel whose configs are functions by name, as the param F tells."""

    def __init__(
        self,
        functions: dict[str, Run],
        reference: Run | None,
        inputs: Callable[[], list[Any]] = lambda: [np.arange(6, dtype=np.float32)],
    ) -> None:
        self.functions, self.reference, self.make = functions, reference, inputs

    def model(self, *inputs: Any, config: Any = None) -> Any:
        """Run the function that the config names."""
        return self.functions[config.param("F") if config else "dispatch"](*inputs)

    def shapes(self) -> tuple[Shape, ...]:
        """Return one shape."""
        return ((6,),)

    def inputs(self, shape: Shape) -> list[Any]:
        """Return what was asked for, whatever the shape."""
        assert shape == (6,)
        return self.make()

    def outline(self, shape: Shape) -> list[Any]:
        """Return the inputs."""
        return self.inputs(shape)

    def arguments(self) -> str:
        """Return nothing."""
        return ""

    def asked(self) -> Shape | None:
        """Return that no dispatch was asked."""
        return None


class Device(Cpu):
    """The CPU, pinned nowhere and timed by no clock; it can break."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = False
        self.timed = 0

    def healthy(self) -> bool:
        """Say whether it is not broken."""
        return not self.broken

    def time(self, launches: Any, *, before: Any = None) -> Times:
        """Run each launch; all take a microsecond."""
        for launch in launches:
            if before:
                before()
            launch()
            self.timed += 1
        return Times(us=(1.0,) * len(launches), late=(False,) * len(launches), busy_s=0.0)


def config(name: str) -> Config:
    """Return the config that runs the function `name`."""
    return Config(params=(("F", name),))


def done(
    kernel: Kernel,
    *names: str,
    device: Device | None = None,
    measure: bool = True,
    alone: bool = False,
    tolerance: float | None = None,
) -> list[Message]:
    """Return what is said of the configs `names`."""
    said: list[Message] = []
    worker = Worker(kernel, device or Device(), Limits(tolerance=tolerance), said.append)
    own = {"reference", "dispatch"}
    configs: tuple[Any, ...] = tuple(name if name in own else config(name) for name in names)
    try:
        worker.do(Job(steps=(Step(shape=(6,), configs=configs),), measure=measure, alone=alone))
    except DeviceLostError:
        said.append(Lost(shape=(6,), message="device lost"))
    return said


def results(said: list[Message]) -> dict[str, str]:
    """Return by config `timed`, or kind and message of its failure."""
    found: dict[str, str] = {}
    for message in said:
        if isinstance(message, Timed):
            found[message.config] = "timed"
        elif isinstance(message, Failed):
            found[message.config] = f"{message.failure.kind}: {message.failure.message}"
    return {name.replace('F="', "").rstrip('"'): text for name, text in found.items()}


def twice(x: Any) -> Any:
    """Return twice the vector."""
    return 2 * x


def twice_in_place(x: Any) -> Any:
    """Double the vector where it is."""
    x *= 2
    return x


def spoiling(x: Any) -> Any:
    """Return twice the vector, and change it as well."""
    y = 2 * x
    x += 1
    return y


def failing(x: Any) -> Any:
    """Change the vector, and raise."""
    x += 1
    raise ValueError("no such tile")


def test_a_config_is_tried_and_timed_and_a_wrong_one_is_not_timed() -> None:
    """What is wrong costs one try; the rest is timed by turns."""
    functions = {"right": twice, "wrong": lambda x: 3 * x, "short": lambda x: 2 * x[:3]}
    said = done(Kernel(functions, twice), "right", "wrong", "short", "reference")
    found = results(said)
    assert found["right"] == found["reference"] == "timed"
    assert found["wrong"].startswith("wrong: the output differs from the reference in 5 of 6")
    assert found["short"] == "wrong: the output has shape (3,) instead of (6,)"
    assert isinstance(said[-1], Finished)
    assert said[-1].samples == 10


def test_a_config_that_leaves_a_hole_is_wrong_after_a_right_one_too() -> None:
    """The memory that it gets back holds what the right one wrote: poison shows it."""

    def hole(x: Any) -> Any:
        y = np.empty_like(x)
        y[:-1] = 2 * x[:-1]
        return y

    found = results(done(Kernel({"right": twice, "hole": hole}, twice), "right", "hole"))
    assert found["right"] == "timed"
    assert found["hole"].endswith("[5] is nan instead of 10")


def test_a_config_that_changes_an_input_is_wrong_and_harms_no_other() -> None:
    """Where the reference leaves the inputs alone; also one that fails half way."""
    functions = {"spoils": spoiling, "fails": failing, "right": twice}
    found = results(done(Kernel(functions, twice), "spoils", "fails", "right", "spoils", "right"))
    assert found == {
        "spoils": "wrong: it changes its inputs",
        "fails": "launch: ValueError: no such tile",
        "right": "timed",
    }


def test_where_the_reference_works_in_place_configs_must_and_see_fresh_inputs() -> None:
    """At every try and every timed launch; one that does not do the same is wrong."""
    seen: set[tuple[float, ...]] = set()

    def watched(x: Any) -> Any:
        seen.add(tuple(x.tolist()))
        return twice_in_place(x)

    kernel = Kernel({"in place": watched, "not": twice}, twice_in_place)
    device = Device()
    found = results(done(kernel, "in place", "not", "in place", "reference", device=device))
    assert found["in place"] == found["reference"] == "timed"
    assert found["not"].startswith("wrong: the inputs afterwards[0] differs from the reference")
    assert seen == {(0, 1, 2, 3, 4, 5)}
    assert device.timed > 10


def test_inputs_within_lists_are_fresh_and_watched_as_well() -> None:
    """A list of arrays is an input like another."""

    def make() -> list[Any]:
        return [[np.arange(3.0), np.ones(2)], 5]

    def right(pair: Any, n: int) -> Any:
        return pair[0] * n

    def changes(pair: Any, n: int) -> Any:
        pair[1][0] = 7
        return pair[0] * n

    def empties(pair: Any, n: int) -> Any:
        y = pair[0] * n
        pair.clear()
        return y

    kernel = Kernel({"right": right, "changes": changes, "empties": empties}, right, make)
    found = results(done(kernel, "changes", "empties", "right"))
    assert found["right"] == "timed"
    assert found["changes"] == found["empties"] == "wrong: it changes its inputs"


def test_without_a_reference_configs_are_timed_on_fresh_inputs_if_any_changes_them() -> None:
    """Nothing is wrong then; what raises still fails."""
    starts: set[float] = set()

    def watched(x: Any) -> Any:
        starts.add(float(x[1]))
        return spoiling(x)

    found = results(done(Kernel({"a": watched, "b": twice, "c": failing}, None), "a", "b", "c"))
    assert found == {"a": "timed", "b": "timed", "c": "launch: ValueError: no such tile"}
    assert starts == {1.0}
    assert results(done(Kernel({}, None), "reference")) == {
        "reference": "launch: LookupError: there is no reference"
    }


def test_a_tolerance_is_passed_on() -> None:
    """What is half off passes where that is allowed."""
    kernel = Kernel({"off": lambda x: 2.2 * x}, twice)
    assert "wrong" in results(done(kernel, "off"))["off"]
    assert results(done(kernel, "off", tolerance=0.2)) == {"off": "timed"}


def test_an_output_that_cannot_be_compared_fails_and_ends_nothing() -> None:
    """Whatever its methods raise."""

    class Nasty:
        def __eq__(self, other: object) -> bool:
            raise SystemExit(1)

        __hash__ = None  # type: ignore[assignment]

    nested: list[Any] = []
    nested.append(nested)
    kernel = Kernel({"nasty": lambda _: Nasty(), "right": twice}, lambda _: Nasty())
    assert results(done(kernel, "nasty", "right"))["nasty"] == "launch: it raised SystemExit(1)"
    lost = done(Kernel({"endless": lambda _: nested}, lambda _: nested), "endless")[1]
    assert isinstance(lost, Lost)
    assert lost.message.startswith("the reference fails: RecursionError")


@pytest.mark.parametrize("error", [ValueError("bad\nshape"), SystemExit(0), KeyboardInterrupt()])
def test_a_reference_that_fails_loses_the_shape_in_one_line(error: BaseException) -> None:
    """No config can be judged there, and the next job is done as ever."""

    def fail(_: Any) -> Any:
        raise error

    said = done(Kernel({"right": twice}, fail), "right")
    assert isinstance(said[1], Lost)
    assert said[1].message.startswith(f"the reference fails: {type(error).__name__}")
    assert "\n" not in said[1].message
    assert said[-1] == Finished()


def test_a_config_that_fails_while_it_is_timed_is_found_out() -> None:
    """It passed when it was tried; the others get their times."""
    calls = {"late": 0}

    def late(x: Any) -> Any:
        calls["late"] += 1
        if calls["late"] > 4:
            raise ValueError("tired")
        return 2 * x

    said = done(Kernel({"late": late, "right": twice}, twice), "right", "late")
    assert results(said) == {"right": "timed", "late": "launch: ValueError: tired"}
    began = [m.config for m in said if isinstance(m, Began) and m.phase == "time"]
    assert began[0] is None
    assert began[-1] == 'F="late"'


def test_alone_each_config_is_named_while_it_is_timed() -> None:
    """So that one that kills the process is known."""
    said = done(Kernel({"a": twice, "b": twice}, twice), "a", "b", alone=True)
    began = {m.config for m in said if isinstance(m, Began) and m.phase == "time"}
    assert began == {'F="a"', 'F="b"'}
    assert results(said) == {"a": "timed", "b": "timed"}


def test_a_job_that_does_not_measure_only_tries() -> None:
    """Nothing is timed."""
    device = Device()
    said = done(Kernel({"a": twice}, twice), "a", measure=False, device=device)
    assert results(said) == {}
    assert device.timed == 0
    assert said[-1] == Finished()


def test_a_config_that_breaks_the_device_has_crashed() -> None:
    """It is fatal: the job ends there, and the message says what it was."""
    device = Device()

    def breaks(_: Any) -> Any:
        device.broken = True
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    said = done(Kernel({"a": twice, "b": breaks}, twice), "b", "a", device=device)
    failed = next(m for m in said if isinstance(m, Failed))
    assert failed.fatal
    assert failed.failure.kind == "crash"
    assert failed.failure.message.startswith("it left the device unusable: RuntimeError: CUDA")
    assert said[-1] == Lost(shape=(6,), message="device lost")


def test_a_device_that_breaks_while_several_are_timed_ends_the_job() -> None:
    """Nobody knows which it was: the crew has them timed one by one."""
    device = Device()

    def breaks(x: Any) -> Any:
        if device.timed > 3:
            device.broken = True
            raise RuntimeError("illegal memory access")
        return 2 * x

    said = done(Kernel({"a": twice, "b": breaks}, twice), "a", "b", device=device)
    assert results(said) == {}
    assert said[-1] == Lost(shape=(6,), message="device lost")


def test_a_kernel_that_is_in_place_on_torch_tensors_is_right() -> None:
    """Views and gradients do not matter: inputs keep strides and lose their history."""
    torch = pytest.importorskip("torch")

    def make() -> list[Any]:
        base = torch.arange(24.0).reshape(4, 6)
        return [base[:, :3], base.clone().requires_grad_(), torch.ones(1).expand(4)]

    def reference(x: Any, y: Any, z: Any) -> Any:
        x += y[:, :3] * z[:, None]
        return x, y.sum()

    def hole(x: Any, y: Any, z: Any) -> Any:
        out = torch.empty_like(y)
        out[:3] = y[:3]
        x += y[:, :3] * z[:, None]
        return x, out.sum()

    kernel = Kernel({"right": reference, "hole": hole}, reference, make)
    found = results(done(kernel, "right", "hole", "right"))
    assert found["right"] == "timed"
    assert "the output[1] differs" in found["hole"]
