"""The file `sample.json` of a case: its kernel's name, shape, params and candidates.

    {"op_name": "matmul", "shape_expr": "(a.shape[0], b.shape[1], a.shape[1])",
     "config_param_names": ["BLOCK_M", "BLOCK_N"],
     "autotune": {"key": ["M", "N", "K"], "configs": [{"BLOCK_M": 64, "BLOCK_N": 64}]}}

Instead of `configs` there may be `sweep_param`, a name, and `candidates`, its values; both may
stand beside `autotune` as well as in it. `axis_names` is optional. Other keys are passed over, as
Dynamic Tune, which the format is from, may write more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from codegen.config import LAUNCH_OPTIONS, Value
from codegen.errors import ManifestError, shown
from codegen.fields import Identifier, ParamName, Strict, Text, ValueField
from codegen.strict_json import parse_json
from codegen.words import first_error
from tuner.cases.entry import ConfigEntry, Names, single
from tuner.cases.files import as_case_error, read_file
from tuner.errors import CaseError

__all__ = ["Sample", "read_sample"]

_Axes = Annotated[list[Identifier], Field(min_length=1, max_length=32)]
_AXES = TypeAdapter(_Axes)
_Candidates = Annotated[list[ValueField], Field(min_length=1)]


class _Autotune(Strict):
    key: list[Text] | None = None
    configs: Annotated[list[ConfigEntry], Field(min_length=1)] | None = None
    sweep_param: ParamName | None = None
    candidates: _Candidates | None = None


class _SampleFile(Strict):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    op_name: Text
    shape_expr: Annotated[str, Field(min_length=1)]
    config_param_names: Annotated[list[ParamName], Field(max_length=100)]
    axis_names: _Axes | None = None
    autotune: _Autotune = Field(default=_Autotune())
    sweep_param: ParamName | None = None
    candidates: _Candidates | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What `sample.json` says.

    Attributes:
        place: the file's name, for messages.
        axis_names: None where it names none.
        key: `autotune.key` where it could name axes: identifiers, each once.
        candidates: the values of each config, checked; None where it lists none.
        candidates_where: the place in the file at which they stand.
    """

    place: str
    kernel: str
    shape_expr: str
    names: Names
    axis_names: tuple[str, ...] | None
    key: tuple[str, ...] | None
    candidates: tuple[dict[str, Value], ...] | None
    candidates_where: str


def read_sample(path: Path) -> Sample:
    """Return what the file `path` says.

    Raises:
        CaseError: it cannot be read, is not of the format, or contradicts itself.
    """
    data = read_file(path, "a case's sample.json")
    try:
        raw = parse_json(data, name=str(path))
        fields = _SampleFile.model_validate(raw)
    except ValidationError as error:
        raise as_case_error(first_error(error, raw, str(path))) from None
    except ManifestError as error:
        raise as_case_error(error) from None
    return _sample(fields, str(path))


def _sample(fields: _SampleFile, name: str) -> Sample:
    names = _names(fields.config_param_names, f"{name}: config_param_names")
    if fields.axis_names:
        _no_repeat(fields.axis_names, f"{name}: axis_names")
    where, candidates = _candidates(fields, names, name)
    key = fields.autotune.key
    return Sample(
        place=name,
        kernel=fields.op_name,
        shape_expr=fields.shape_expr,
        names=names,
        axis_names=tuple(fields.axis_names) if fields.axis_names else None,
        key=_axes(key),
        candidates=candidates,
        candidates_where=where,
    )


def _names(params: Sequence[str], where: str) -> Names:
    _no_repeat(params, where)
    launch = [name for name in params if name in LAUNCH_OPTIONS]
    if launch:
        remedy = f"remove it: a kernel reads it as config.{launch[0]}"
        raise CaseError(f"lists the launch option {launch[0]}", where=where, remedy=remedy)
    return Names(params=tuple(params))


def _no_repeat(names: Sequence[str], where: str) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise CaseError(f"lists {shown(name)} twice", where=where, remedy="keep one")


def _axes(key: Sequence[str] | None) -> tuple[str, ...] | None:
    try:
        names = tuple(_AXES.validate_python(key))
    except ValidationError:
        return None
    return names if len({*names}) == len(names) else None


def _candidates(
    fields: _SampleFile, names: Names, name: str
) -> tuple[str, tuple[dict[str, Value], ...] | None]:
    """Return where the candidates stand, and the values of each."""
    forms = [
        (f"{name}: autotune.configs", fields.autotune.configs),
        *_sweep(f"{name}: autotune.", fields.autotune.sweep_param, fields.autotune.candidates),
        *_sweep(f"{name}: ", fields.sweep_param, fields.candidates),
    ]
    given = [(where, entries) for where, entries in forms if entries is not None]
    if len(given) > 1:
        fact = f"lists candidates twice, the second time under {given[1][0].split(': ')[-1]}"
        raise CaseError(fact, where=given[0][0], remedy="keep one of the lists")
    if not given:
        return name, None
    where, entries = given[0]
    return where, tuple(entry.values(names, f"{where}[{i}]") for i, entry in enumerate(entries))


def _sweep(
    where: str, param: str | None, candidates: Sequence[Value] | None
) -> list[tuple[str, list[ConfigEntry] | None]]:
    if param is None and candidates is None:
        return []
    if param is None or candidates is None:
        given, other = (
            ("candidates", "sweep_param") if param is None else ("sweep_param", "candidates")
        )
        raise CaseError(f"stands without {other}", where=f"{where}{given}", remedy=f"add {other}")
    place = f"{where}candidates"
    return [(place, [single(param, value, f"{place}[{i}]") for i, value in enumerate(candidates)])]
