"""Records: what is known of one config on one shape, measured or failed.

A record is the unit in which knowledge is gained, kept and lost: a worker makes one, the
knowledge base keeps a durable row of each, and a latency table is made of those of one scope.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

from codegen.config import Config

__all__ = ["FAILURES", "STRIKES", "Failure", "Record", "Scope", "Shape", "Target", "Timing"]

Shape: TypeAlias = tuple[int, ...]

# How a config can fail on a shape:
#   compile    its compiler refuses it
#   resources  it needs more registers or on-chip memory than the device has
#   memory     the device or the host ran out of memory
#   launch     any other exception
#   wrong      its output differs from the reference, or is not all written
#   crash      it killed the worker process, or left the device unusable
#   hang       it ran past the time limit
FAILURES = ("compile", "resources", "memory", "launch", "wrong", "crash", "hang")

# A config that killed or hung a worker on so many shapes is not let near another.
STRIKES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is measured on: the device, its architecture, and the tools that made the code.

    Attributes:
        toolchain: tool and version, sorted by tool.
    """

    device: str
    arch: str | None
    toolchain: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        """The target as one line of JSON: equal targets, equal keys."""
        fields = {"device": self.device, "arch": self.arch, "toolchain": dict(self.toolchain)}
        return json.dumps(fields, sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What all records of one tuning run share: a kernel's code on a target.

    Attributes:
        source_sha256: of the kernel's code, as `codegen hash` prints it.
        kernel: its name, for the reader; not part of the key.
        axis_names: what the sizes of a shape are called.
    """

    source_sha256: str
    kernel: str
    target: Target
    axis_names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A measurement: the median of `repeats` launches.

    Attributes:
        median_us: device time in microseconds; of launches by turns the median over the turns.
        spread: interquartile range of the repeats over their median.
        method: how it was timed.
    """

    median_us: float
    spread: float
    repeats: int
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why there is no measurement; `kind` is one of `FAILURES`, `message` is one line."""

    kind: Literal["compile", "resources", "memory", "launch", "wrong", "crash", "hang"]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What came of one config on one shape.

    Attributes:
        dtype: of the inputs, such as `float16`.
        inputs: what else of the inputs and of the model's arguments the time depends on, in
            words; two records with different `inputs` are of different work.
        at: when it was recorded, UTC, as `2026-11-30T21:04:32Z`.
    """

    shape: Shape
    dtype: str
    inputs: str
    config: Config
    result: Timing | Failure
    at: str
