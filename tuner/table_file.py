"""The format `latency-table/1`: the latency of configs on shapes, as it stands in a JSON file.

    {"format": "latency-table/1", "kernel": "matmul", "axis_names": ["M", "N"],
     "device": "NVIDIA H200",
     "configs": [{"params": {"BLOCK_M": 64}, "num_warps": 4}, {"params": {"BLOCK_M": 128}}],
     "shapes": [[16, 4096], [512, 4096]],
     "latency_us": [[11.2, null], [40.1, 35.0]]}

`latency_us` has a row a shape and in it a value a config, in microseconds; null where it failed,
and may not be chosen. Optional are `untried` (index of a shape, as a string → indices of configs
that are null there only because nobody tried them, and may be chosen), `dtype`, `arch`,
`toolchain` (tool → version), `method` (how it was timed), `rejected` (index of a config, as a
string → why it was never measured), `repeat_latency_us`, a second, independent run of the first
shapes, from which the noise is read, `weights`, how much each shape counts (1 for all if absent),
`source_sha256`, the hash (`codegen hash`) of the source that was measured, and `launch_grid`, as a
manifest has it: beyond its limit no config may be chosen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from codegen.config import Config
from codegen.errors import shown
from codegen.fields import (
    Count,
    Identifier,
    LaunchOption,
    LongText,
    ParamName,
    Sha256,
    Strict,
    Text,
    ValueField,
)
from codegen.manifest import LaunchGridField
from tuner.errors import TableError

__all__ = ["TableFile"]

# From a picosecond to eleven days: beyond these a ratio of two may leave a float's range.
_Latency = Annotated[float, Field(ge=1e-6, le=1e12, allow_inf_nan=False)]
_Row = list[_Latency | None]
_Weight = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class ConfigField(Strict):
    """A config as the table writes it: a candidate of the manifest without id and fate."""

    params: dict[ParamName, ValueField]
    num_warps: LaunchOption | None = None
    num_stages: LaunchOption | None = None
    num_ctas: LaunchOption | None = None
    maxnreg: LaunchOption | None = None
    options: dict[ParamName, ValueField] = Field(default={})

    def config(self, where: str) -> Config:
        """Return the config; raises TableError when a name stands twice in it."""
        try:
            return Config(
                params=tuple(self.params.items()),
                num_warps=self.num_warps,
                num_stages=self.num_stages,
                num_ctas=self.num_ctas,
                maxnreg=self.maxnreg,
                options=tuple(self.options.items()),
            )
        except ValueError as error:
            raise TableError(str(error), where=where, remedy="keep one of the two") from None


class TableFile(Strict):
    """The file's fields; `parts_agree` checks what they say of each other."""

    format: Literal["latency-table/1"]
    kernel: Text
    axis_names: Annotated[list[Identifier], Field(min_length=1, max_length=32)]
    dtype: Text | None = None
    source_sha256: Sha256 | None = None
    device: Text
    arch: Text | None = None
    toolchain: dict[Text, Text] = Field(default={})
    method: Text | None = None
    configs: Annotated[list[ConfigField], Field(min_length=1)]
    rejected: dict[str, LongText] = Field(default={})
    shapes: Annotated[list[list[Count]], Field(min_length=1)]
    latency_us: list[_Row]
    untried: dict[str, list[Count]] = Field(default={})
    repeat_latency_us: list[_Row] = Field(default=[])
    weights: list[_Weight] = Field(default=[])
    launch_grid: LaunchGridField | None = None

    def parts_agree(self) -> None:
        """Check repeats, lengths and indices; raises TableError with the dotted path."""
        _no_repeat(self.axis_names, "axis_names", "axis")
        ids = [config.config(f"configs[{i}]").id for i, config in enumerate(self.configs)]
        _no_repeat(ids, "configs", "config")
        _lengths(self.shapes, len(self.axis_names), "shapes", "axes")
        _no_repeat([tuple(shape) for shape in self.shapes], "shapes", "shape")
        self._latencies_agree()
        for key in self.rejected:
            _index(key, len(self.configs), "rejected", "config")
        self._untried_agree()

    def _untried_agree(self) -> None:
        for key, configs in self.untried.items():
            shape = _index(key, len(self.shapes), "untried", "shape")
            where = f"untried.{key}"
            _no_repeat(configs, where, "config")
            for config in configs:
                _index(str(config), len(self.configs), where, "config")
                if self.latency_us[shape][config] is not None:
                    raise TableError(
                        f"config {config} is measured there, in latency_us[{shape}][{config}]",
                        where=where,
                        remedy="remove one of the two",
                    )

    def _latencies_agree(self) -> None:
        rows = f"rows for {len(self.shapes)} shapes"
        if len(self.latency_us) != len(self.shapes):
            fact = f"has {len(self.latency_us)} {rows}"
            raise TableError(fact, where="latency_us", remedy="give one row a shape")
        if len(self.repeat_latency_us) > len(self.shapes):
            fact, remedy = f"has {len(self.repeat_latency_us)} {rows}", "repeat the first shapes"
            raise TableError(fact, where="repeat_latency_us", remedy=remedy)
        if self.weights and len(self.weights) != len(self.shapes):
            fact = f"has {len(self.weights)} values for {len(self.shapes)} shapes"
            raise TableError(fact, where="weights", remedy="give one a shape, or leave it out")
        _lengths(self.latency_us, len(self.configs), "latency_us", "configs")
        _lengths(self.repeat_latency_us, len(self.configs), "repeat_latency_us", "configs")


def _index(key: str, count: int, where: str, what: str) -> int:
    if key not in {str(i) for i in range(count)}:
        raise TableError(
            f"{shown(key)} is not the index of a {what}",
            where=where,
            remedy=f'use "0" to "{count - 1}"',
        )
    return int(key)


def _lengths(rows: Sequence[Sequence[object]], wanted: int, where: str, what: str) -> None:
    for i, row in enumerate(rows):
        if len(row) != wanted:
            raise TableError(
                f"has {len(row)} values for {wanted} {what}",
                where=f"{where}[{i}]",
                remedy=f"give one value for each of the {what}",
            )


def _no_repeat(items: Sequence[object], where: str, what: str) -> None:
    first: dict[object, int] = {}
    for i, item in enumerate(items):
        if first.setdefault(item, i) != i:
            text = shown(item) if isinstance(item, str) else json.dumps(item)
            raise TableError(
                f"{what} {text} stands twice, first as number {first[item]}",
                where=f"{where}[{i}]",
                remedy="remove one",
            )
