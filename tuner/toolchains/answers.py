"""What a service answers, checked: it runs code of others, and may say anything."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field, ValidationError, model_validator
from typing_extensions import Self

from codegen.errors import CodegenError
from codegen.fields import Strict
from codegen.strict_json import parse_json

__all__ = ["Answer", "BuiltField", "LaunchField", "parse_answer"]

_Key: TypeAlias = Annotated[str, Field(min_length=1, max_length=100)]
_Size: TypeAlias = Annotated[int, Field(ge=0, le=2**63 - 1)]
_Text: TypeAlias = Annotated[str, Field(max_length=50_000)]


class RefusedField(Strict):
    """The parts of an error of the case's."""

    fact: _Text
    where: _Text
    remedy: _Text


class LaunchField(Strict):
    """A launch: equal keys are compiled alike; `grid` has up to three sizes."""

    key: _Key
    kernel: _Text
    grid: Annotated[list[int], Field(max_length=3)]


class BuiltField(Strict):
    """What a compiler said of a launch, see `tuner.toolchains.service.driver.Built`."""

    key: _Key
    shared: _Size | None
    text: _Text
    status: int
    refused: bool


class Answer(Strict):
    """One line: exactly one of the fields is set, and `dtype` goes with `launches`."""

    id: int
    refused: RefusedField | None = None
    failure: _Text | None = None
    options: Annotated[list[_Text], Field(max_length=1_000)] | None = None
    shapes: Annotated[list[list[_Size]], Field(max_length=100_000)] | None = None
    dtype: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    launches: Annotated[list[LaunchField], Field(max_length=10_000)] | None = None
    built: Annotated[list[BuiltField], Field(max_length=10_000)] | None = None

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        parts = (self.refused, self.failure, self.options, self.shapes, self.launches, self.built)
        if sum(part is not None for part in parts) != 1:
            raise ValueError("is not one answer")
        if (self.dtype is None) != (self.launches is None):
            raise ValueError("has launches without a dtype, or the other way round")
        return self


def parse_answer(line: bytes, number: int) -> Answer | None:
    """Return the answer to request `number` that `line` is; None if it is none."""
    try:
        answer = Answer.model_validate(parse_json(line, name="answer"))
    except (ValidationError, CodegenError):
        return None
    return answer if answer.id == number else None
