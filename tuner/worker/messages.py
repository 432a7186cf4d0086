"""What the crew and a worker say to each other, pickled over a pipe.

crew → worker    Setup, then any number of Describe and Job
worker → crew    Ready or Refused; Described or Refused; and for each job, as they come,
                 Began, Passed, Failed, Timed, Lost, and Finished at the end
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from codegen.config import Config
from tuner.devices.names import DeviceName
from tuner.records import Failure, Shape, Target, Timing

__all__ = [
    "Began",
    "Candidate",
    "CaseKernel",
    "Describe",
    "Described",
    "Failed",
    "Finished",
    "Job",
    "KernelFrom",
    "Limits",
    "Lost",
    "Message",
    "ObjectKernel",
    "Passed",
    "Ready",
    "Refused",
    "Setup",
    "Step",
    "Timed",
    "Work",
    "name_of",
]


# ---- What a worker is told ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseKernel:
    """A kernel on disk: the files of a case, and how a shape is read off the inputs.

    Attributes:
        dispatch: the emitted module that answers where no config is given; None while tuning.
    """

    base: Path
    impl: Path
    shape_expr: str
    axis_names: tuple[str, ...]
    dispatch: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectKernel:
    """A kernel that was an object in another process.

    Attributes:
        source: the file that defines its class, to be loaded in place of `module_name`.
        model: the pickled model; `reference`: of what gives the right outputs, None without.
        inputs: a directory with the pickled inputs of shape number i in `<i>.pickle`.
        search_path: the other process's `sys.path`.
    """

    source: Path
    module_name: str
    model: bytes
    reference: bytes | None
    shapes: tuple[Shape, ...]
    inputs: Path
    search_path: tuple[str, ...]


KernelFrom: TypeAlias = CaseKernel | ObjectKernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How a config is checked and timed.

    Attributes:
        timeout_s: the longest that compiling and running a config once may take.
        warmup: untimed rounds ahead of the timed ones.
        repeat: the most timed launches of a config on a shape; None for the device's own number.
        tolerance: by how much an output may differ, relative; None for the dtype's own.
    """

    timeout_s: float = 60.0
    warmup: int = 1
    repeat: int | None = None
    tolerance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The first message: what to load, where to run it, and how."""

    kernel: KernelFrom
    device: DeviceName
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe:
    """A question: which work are these shapes? None asks for those that the case lists."""

    shapes: tuple[Shape, ...] | None


Candidate: TypeAlias = Config | Literal["dispatch", "reference"]


def name_of(candidate: Candidate) -> str:
    """Return the id of a config; the other two are called what they are."""
    return candidate.id if isinstance(candidate, Config) else candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Some configs on one shape.

    In place of a config may stand `dispatch`, what the emitted module chooses, and `reference`,
    the model that the kernel is to replace.
    """

    shape: Shape
    configs: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Steps to be done in order: each config is run and checked, and if `measure` timed as well.

    `alone`: configs are timed one after the other, so that one that kills is known by name.
    """

    steps: tuple[Step, ...]
    measure: bool
    alone: bool = False


# ---- What a worker answers ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The kernel is loaded, the device open.

    Attributes:
        options: the launch options that an NPU's compiler knows, none if it does not say; None on
            another device.
    """

    target: Target
    method: str
    options: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """What was asked cannot be: the parts of a `CaseError` or `DeviceError`."""

    fact: str
    where: str
    remedy: str
    device: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A shape, the dtype of its inputs, and in words what else of them the time depends on."""

    shape: Shape
    dtype: str
    inputs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """The answer to `Describe`, shapes in order, each once; `verified` if there is a reference."""

    works: tuple[Work, ...]
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """From here on the worker is busy on `shape`: with one config, or with all if that is None.

    Attributes:
        phase: making inputs and reference, trying a config, or timing.
        limit_s: how long that may take before the worker is taken to hang.
    """

    shape: Shape
    phase: Literal["inputs", "try", "time"]
    config: str | None = None
    limit_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A config ran on a shape, and its output was right."""

    shape: Shape
    config: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A config did not; `fatal` if the device is unusable since, and the worker ends."""

    shape: Shape
    config: str
    failure: Failure
    fatal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A config was measured on a shape."""

    shape: Shape
    config: str
    timing: Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Nothing can be done on a shape, whatever the config: its inputs or reference fail."""

    shape: Shape
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The job is done.

    Attributes:
        busy_s: how long the device was at timed work, flushes included.
        samples: how many launches were timed, `late` of them perhaps waiting for the host.
    """

    busy_s: float = 0.0
    samples: int = 0
    late: int = 0


Message: TypeAlias = Ready | Refused | Described | Began | Passed | Failed | Timed | Lost | Finished
