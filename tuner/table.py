"""The latency table: what was measured, checked, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from codegen.config import Config
from codegen.errors import ManifestError
from codegen.manifest import LaunchGridField
from codegen.strict_json import parse_json, read_data
from codegen.words import first_error
from tuner.arrays import BoolArray, FloatArray, IntArray
from tuner.errors import TableError
from tuner.table_file import TableFile

__all__ = ["LatencyTable", "parse_table", "read_table"]

_NOTHING = "no measurement on any shape"

# What the manifest's remedies are for a table.
_REMEDIES = {
    "add it; `codegen schema` lists the fields": "add it; the README shows a table",
    "remove it, or put it under extras": "remove it",
    "see `codegen schema`": "the README shows a table",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LatencyTable:
    """Latencies of the configs of one kernel on one device.

    Attributes:
        shapes: int64 (n_shapes, n_axes), the sizes in the order of `axis_names`; all different.
        latency_us: float64 (n_shapes, n_configs) in microseconds, NaN for a hole.
        untried: bool (n_shapes, n_configs), the holes where nothing is known; the others failed.
        repeat_latency_us: float64 (n_repeated, n_configs), a second run of the first shapes.
        weights: float64 (n_shapes,), how much a shape counts; positive.
        reasons: one a config: None if it is kept, else why it is rejected. A rejected config has
            no latencies.
        source_sha256: the hash of the source that was measured, None if the table does not say.
        launch_grid: the limit that no config may exceed, as the manifest has it.
        file: the file's name without its directory; `sha256` is that of its bytes.
    """

    kernel: str
    dtype: str | None
    source_sha256: str | None
    device: str
    arch: str | None
    toolchain: tuple[tuple[str, str], ...]
    method: str | None
    axis_names: tuple[str, ...]
    configs: tuple[Config, ...]
    reasons: tuple[str | None, ...]
    shapes: IntArray
    latency_us: FloatArray
    untried: BoolArray
    repeat_latency_us: FloatArray
    weights: FloatArray
    launch_grid: LaunchGridField | None
    file: str
    sha256: str

    @property
    def kept(self) -> tuple[int, ...]:
        """The indices of the configs that are not rejected, ascending."""
        return tuple(i for i, reason in enumerate(self.reasons) if reason is None)


def read_table(path: Path) -> LatencyTable:
    """Return the table in the file `path`.

    Raises:
        TableError: it cannot be read, is not of the format, or contradicts itself.
    """
    try:
        data = read_data(path)
        raw = parse_json(data, name=str(path))
    except ManifestError as error:
        raise _as_table_error(error) from None
    return parse_table(raw, name=str(path), file=path.name, digest=sha256(data).hexdigest())


def parse_table(raw: Any, *, name: str, file: str, digest: str) -> LatencyTable:
    """Return the table that the JSON value `raw` stands for; `name` is for messages.

    `file` and `digest` are what the table remembers of where it came from.

    Raises:
        TableError: as `read_table`.
    """
    try:
        fields = TableFile.model_validate(raw)
        fields.parts_agree()
    except ValidationError as error:
        raise _as_table_error(first_error(error, raw, name)) from None
    except TableError as error:
        raise TableError(error.fact, where=f"{name}: {error.where}", remedy=error.remedy) from None
    return _table(fields, file, digest)


def _table(fields: TableFile, file: str, digest: str) -> LatencyTable:
    latency = _array(fields.latency_us, len(fields.configs))
    latency[:, [int(index) for index in fields.rejected]] = np.nan
    untried = np.zeros(latency.shape, dtype=np.bool_)
    for shape, unknown in fields.untried.items():
        untried[int(shape), unknown] = True
    measured = (~np.isnan(latency)).sum(axis=0)
    reasons = (
        fields.rejected.get(str(i), None if measured[i] else _NOTHING)
        for i in range(len(fields.configs))
    )
    return LatencyTable(
        kernel=fields.kernel,
        dtype=fields.dtype,
        source_sha256=fields.source_sha256,
        device=fields.device,
        arch=fields.arch,
        toolchain=tuple(fields.toolchain.items()),
        method=fields.method,
        axis_names=tuple(fields.axis_names),
        configs=tuple(config.config("") for config in fields.configs),
        reasons=tuple(reasons),
        shapes=np.array(fields.shapes, dtype=np.int64),
        latency_us=latency,
        untried=untried,
        repeat_latency_us=_array(fields.repeat_latency_us, len(fields.configs)),
        weights=np.array(fields.weights or [1.0] * len(fields.shapes), dtype=np.float64),
        launch_grid=fields.launch_grid,
        file=file,
        sha256=digest,
    )


def _array(rows: Sequence[Sequence[float | None]], columns: int) -> FloatArray:
    """Return `rows` as float64 (n_rows, columns), None as NaN."""
    return np.array(rows, dtype=np.float64).reshape(len(rows), columns)


def _as_table_error(error: ManifestError) -> TableError:
    """Say of a table what codegen says of a manifest."""
    remedy, more, rest = error.remedy.partition(" (and ")
    remedy = _REMEDIES.get(remedy, remedy).replace("manifest", "table")
    return TableError(error.fact, where=error.where, remedy=remedy + more + rest)
