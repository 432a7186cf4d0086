"""The scalar types of the manifest, each as narrow as the code that is emitted from it needs."""

from __future__ import annotations

import keyword
import math
import re
from typing import Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)
from pydantic_core import PydanticCustomError

from codegen.literals import readable

__all__ = [
    "AxisValueField",
    "BlockField",
    "Count",
    "Identifier",
    "Int64",
    "LaunchOption",
    "LongText",
    "ParamName",
    "Positive",
    "RelativeFile",
    "Sha256",
    "Slowdown",
    "Strict",
    "Text",
    "ValueField",
    "only_a_leaf",
]

_INT64 = 2**63
_NAME_LENGTH = 64
_TEXT_LENGTH = 500
_NAME = re.compile(rf"[A-Za-z_][A-Za-z0-9_]{{0,{_NAME_LENGTH - 1}}}")
_MAX_LAUNCH_OPTION = 2**31 - 1


class Strict(BaseModel):
    """Base of all that is read from outside: no coercion, no unknown key, no change afterwards."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _no_keyword(name: str) -> str:
    if keyword.iskeyword(name):
        raise PydanticCustomError("keyword", "is a Python keyword")
    return name


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise PydanticCustomError("finite_number", "is not a finite number")
    return value


def _param_value(value: Any) -> Any:
    """Let through what a config may hold."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, int | str):
        return _axis_value(value, empty=True)
    raise PydanticCustomError("param_value", "is not an integer, boolean, float, string or null")


def _axis_value(value: Any, *, empty: bool = False) -> Any:
    """Let through an integer of 64 bits, or a short string that can be written as UTF-8."""
    if isinstance(value, int) and not isinstance(value, bool):
        if -_INT64 <= value < _INT64:
            return value
        raise PydanticCustomError("int64", "does not fit in 64 bits")
    if isinstance(value, str) and (value or empty) and len(value) <= _TEXT_LENGTH:
        return _encodable(value)
    raise PydanticCustomError(
        "axis_value", f"is not an integer or a string of 1 to {_TEXT_LENGTH} characters"
    )


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("surrogate", "has a lone surrogate") from None
    return text


def _block(value: Any) -> Any:
    """Let through a block size: a number, or the name of the param that has it."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value < _INT64:
        return value
    if isinstance(value, str) and _NAME.fullmatch(value) and not keyword.iskeyword(value):
        return value
    raise PydanticCustomError("block", "is neither the name of a param nor a number of 1 or more")


def only_a_leaf(value: Any) -> Any:
    """Let through a leaf of a tree that is not a split as well."""
    if isinstance(value, dict) and not {"left", "right"}.isdisjoint(value):
        raise PydanticCustomError("leaf_and_split", "is both a leaf and a split")
    return value


def _relative(path: str) -> str:
    parts = path.split("/")
    if (
        not readable(path)
        or path.startswith("/")
        or "\\" in path
        or ":" in path
        or not {"", ".", ".."}.isdisjoint(parts)
    ):
        raise PydanticCustomError("relative_file", "is not a plain relative path")
    return path


Int64: TypeAlias = Annotated[int, Field(ge=-_INT64, le=_INT64 - 1)]
Positive: TypeAlias = Annotated[int, Field(ge=1, le=_INT64 - 1)]
Count: TypeAlias = Annotated[int, Field(ge=0, le=_INT64 - 1)]
Slowdown: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
LaunchOption: TypeAlias = Annotated[int, Field(ge=1, le=_MAX_LAUNCH_OPTION)]

Text: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=_TEXT_LENGTH)]
LongText: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
Identifier: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=_NAME_LENGTH),
    AfterValidator(_no_keyword),
]
ParamName: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=_NAME_LENGTH),
    AfterValidator(_no_keyword),
]
Sha256: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
RelativeFile: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=_TEXT_LENGTH), AfterValidator(_relative)
]

# Checked before the union is tried, so that a wrong value is one error and not one a member.
ValueField: TypeAlias = Annotated[bool | int | float | str | None, BeforeValidator(_param_value)]
BlockField: TypeAlias = Annotated[int | str, BeforeValidator(_block)]
AxisValueField: TypeAlias = Annotated[int | str, BeforeValidator(_axis_value)]
