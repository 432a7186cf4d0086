"""A record as it stands outside of the program: the fields of a row, and of a line of an export.

What is written passes through the same fields as what is read, so that nothing is stored that
could not be read again.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from codegen.config import Config
from codegen.fields import Identifier, Sha256, Strict, Text
from tuner.errors import KbError, TableError
from tuner.records import Failure, Record, Scope, Target, Timing
from tuner.table_file import ConfigField

__all__ = [
    "MESSAGE_LENGTH",
    "DayField",
    "LineFields",
    "RowFields",
    "ScopeFields",
    "config_from",
    "config_value",
    "result_value",
    "scope_value",
]

MESSAGE_LENGTH = 4_000
_SIZE_BITS = 1024
_DAY, _INSTANT = "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"


def _size(value: int) -> int:
    if value.bit_length() > _SIZE_BITS:
        raise PydanticCustomError("size", "is too large")
    return value


def _date(text: str, pattern: str, kind: Literal["day", "instant"]) -> str:
    """Let through a date as the program writes it: of one width, so that order is time's order."""
    try:
        written = datetime.strptime(text, pattern).strftime(pattern)  # noqa: DTZ007 (Z is in it)
    except ValueError:
        written = ""
    if written != text:
        raise PydanticCustomError(kind, "is not a date")
    return text


DayField = Annotated[str, AfterValidator(lambda text: _date(text, _DAY, "day"))]
_Instant = Annotated[str, AfterValidator(lambda text: _date(text, _INSTANT, "instant"))]
_Size = Annotated[int, AfterValidator(_size)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Inputs = Annotated[str, StringConstraints(max_length=4_000)]
_Message = Annotated[str, StringConstraints(max_length=MESSAGE_LENGTH)]


class ScopeFields(Strict):
    """A scope: the kernel's code, what its sizes are called, and the target."""

    kernel: Text
    source_sha256: Sha256
    axis_names: Annotated[list[Identifier], Field(min_length=1, max_length=32)]
    device: Text
    arch: Text | None = None
    toolchain: dict[Text, Text] = Field(default={})

    def scope(self) -> Scope:
        """Return the scope."""
        target = Target(
            device=self.device, arch=self.arch, toolchain=tuple(sorted(self.toolchain.items()))
        )
        return Scope(
            source_sha256=self.source_sha256,
            kernel=self.kernel,
            target=target,
            axis_names=tuple(self.axis_names),
        )


class TimingFields(Strict):
    """A measurement, see `tuner.records.Timing`."""

    median_us: _Amount
    spread: _Amount
    repeats: Annotated[int, Field(ge=1, le=2**63 - 1)]
    method: Text


class FailureFields(Strict):
    """A failure, see `tuner.records.Failure`."""

    kind: Literal["compile", "resources", "memory", "launch", "wrong", "crash", "hang"]
    message: _Message


class RowFields(Strict):
    """A record without its scope and config, and the last day on which it was used."""

    shape: list[_Size]
    dtype: Text
    inputs: _Inputs
    timing: TimingFields | None = None
    failure: FailureFields | None = None
    at: _Instant
    used_at: DayField | None = None

    def record(self, scope: Scope, config: Config, where: str) -> Record:
        """Return the record of `config`; raises KbError, with `where`, if the parts disagree."""
        if len(self.shape) != len(scope.axis_names):
            raise KbError(
                f"has {len(self.shape)} sizes for {len(scope.axis_names)} axes",
                where=f"{where}: shape",
                remedy="give one size an axis",
            )
        return Record(
            shape=tuple(self.shape),
            dtype=self.dtype,
            inputs=self.inputs,
            config=config,
            result=self._result(where),
            at=self.at,
        )

    def _result(self, where: str) -> Timing | Failure:
        if self.timing and not self.failure:
            return Timing(**self.timing.model_dump())
        if self.failure and not self.timing:
            return Failure(kind=self.failure.kind, message=self.failure.message)
        raise KbError(
            f"has {'both' if self.timing else 'neither'} a timing {'and' if self.timing else 'nor'}"
            " a failure",
            where=where,
            remedy="give one of the two",
        )


class LineFields(RowFields):
    """A line of an export: a record whole."""

    scope: ScopeFields
    config: ConfigField


def config_from(fields: ConfigField, where: str) -> Config:
    """Return the config; raises KbError, with `where`, when a name stands twice in it."""
    try:
        return fields.config(where)
    except TableError as error:
        raise KbError(error.fact, where=error.where, remedy=error.remedy) from None


def scope_value(scope: Scope) -> dict[str, Any]:
    """Return `scope` as the JSON value that `ScopeFields` reads."""
    return {
        "kernel": scope.kernel,
        "source_sha256": scope.source_sha256,
        "axis_names": list(scope.axis_names),
        "device": scope.target.device,
        "arch": scope.target.arch,
        "toolchain": dict(sorted(scope.target.toolchain)),
    }


def config_value(config: Config) -> dict[str, Any]:
    """Return `config` as the JSON value that `ConfigField` reads; the params keep their order."""
    value: dict[str, Any] = {"params": dict(config.params), **dict(config.launch_options())}
    return value | ({"options": dict(config.options)} if config.options else {})


def result_value(record: Record) -> dict[str, Any]:
    """Return what `record` says beside its config as the JSON value that `RowFields` reads.

    The message of a failure is cut at `MESSAGE_LENGTH`, and what UTF-8 cannot hold is escaped in
    it: it is the text of a kernel or its compiler, and may be anything.
    """
    value = {"shape": list(record.shape), "dtype": record.dtype, "inputs": record.inputs}
    match record.result:
        case Timing() as timing:
            fields = ("median_us", "spread", "repeats", "method")
            result = {"timing": {name: getattr(timing, name) for name in fields}}
        case Failure() as failure:
            result = {"failure": {"kind": failure.kind, "message": _storable(failure.message)}}
    return {**value, **result, "at": record.at}


def _storable(message: str) -> str:
    if len(message) > MESSAGE_LENGTH:
        message = f"{message[: MESSAGE_LENGTH - 1]}…"
    text = message.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MESSAGE_LENGTH else f"{text[: MESSAGE_LENGTH - 1]}…"
