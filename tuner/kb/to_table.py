"""From the records of one scope to a latency table, as `tuner fit` reads it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import ValidationError

from codegen.config import Config
from codegen.errors import listed, shown
from tuner.errors import KbError, TableError
from tuner.kb.fields import config_value
from tuner.kb.words import verdict
from tuner.records import Failure, Record, Scope, Shape, Timing
from tuner.table_file import TableFile

__all__ = ["table_dict"]

_REASON_LENGTH = 500
_METHOD_LENGTH = 500
# No clock here is finer than a nanosecond, and a table takes no zero.
_SHORTEST_US = 0.001

_Results: TypeAlias = Mapping[tuple[Shape, Config], Timing | Failure]


def table_dict(
    scope: Scope,
    records: Sequence[Record],
    *,
    configs: Sequence[Config] | None = None,
    method: str | None = None,
    allowed: Callable[[Shape], Collection[int]] | None = None,
) -> dict[str, Any]:
    """Return the JSON value of the `latency-table/1` that `records` make, ready to be dumped.

    One row a shape, sorted, of all that `configs` were tried on; a column for each of `configs`,
    by default those of the records, sorted by id. Latencies have three decimals of a microsecond;
    a failure is null, and so is what was not tried. What was not, though it is `allowed`, stands
    under `untried`. A config that failed and has no timing at all
    is rejected, with its failure on the first shape for the reason. What failed on every shape
    keeps its row.

    Args:
        scope: what the records are of.
        records: of one dtype, of one `inputs` a shape, each shape and config once; those of
            other configs than `configs` are left out.
        configs: the columns, in their order.
        method: how it was timed; by default what the timings say, joined if they differ.
        allowed: returns the indices of the `configs` that may be used on a shape.

    Raises:
        KbError: there is no record, they are of different dtypes or inputs, or a key stands twice.
        TableError: a size, or a config, is beyond what a table can hold.
    """
    columns = tuple(configs) if configs is not None else _configs_of(records)
    known = set(columns)
    records = [record for record in records if record.config in known]
    results = _results(records, scope)
    shapes = sorted({shape for shape, _ in results})
    value = {
        "format": "latency-table/1",
        "kernel": scope.kernel,
        "axis_names": list(scope.axis_names),
        "dtype": records[0].dtype,
        "source_sha256": scope.source_sha256,
        "device": scope.target.device,
        "arch": scope.target.arch,
        "toolchain": dict(scope.target.toolchain),
        "method": method if method is not None else _method(results),
        "configs": [config_value(config) for config in columns],
        "rejected": _rejected(columns, shapes, results),
        "shapes": [list(shape) for shape in shapes],
        "latency_us": [[_latency(results.get((s, c))) for c in columns] for s in shapes],
        "untried": _untried(columns, shapes, results, allowed) if allowed else None,
    }
    value = {name: part for name, part in value.items() if part is not None}
    _check(value)
    return value


def _configs_of(records: Sequence[Record]) -> tuple[Config, ...]:
    return tuple(sorted({record.config for record in records}, key=lambda config: config.id))


def _results(records: Sequence[Record], scope: Scope) -> _Results:
    where = f"table of {shown(scope.kernel)}"
    if not records:
        raise KbError("there is no record to make it of", where=where, remedy="measure some first")
    dtypes = sorted({record.dtype for record in records})
    if len(dtypes) > 1:
        fact = f"its records are of different dtype: {listed(dtypes)}"
        raise KbError(fact, where=where, remedy="choose one with --dtype")
    inputs: dict[Shape, str] = {}
    for record in records:
        first = inputs.setdefault(record.shape, record.inputs)
        if first != record.inputs:
            shape = shown(str(record.shape))
            fact = f"shape {shape} was measured with different inputs: "
            fact += listed([first, record.inputs])
            raise KbError(fact, where=where, remedy="choose one with --inputs")
    results = {(record.shape, record.config): record.result for record in records}
    if len(results) != len(records):
        fact = f"{len(records) - len(results)} records are of a shape and config met before"
        raise KbError(fact, where=where, remedy="give one record for each")
    return results


def _method(results: _Results) -> str | None:
    methods = {result.method for result in results.values() if isinstance(result, Timing)}
    return " | ".join(sorted(methods))[:_METHOD_LENGTH] or None


def _latency(result: Timing | Failure | None) -> float | None:
    if isinstance(result, Timing):
        return max(round(result.median_us, 3), _SHORTEST_US)
    return None


def _rejected(
    columns: Sequence[Config], shapes: Sequence[Shape], results: _Results
) -> dict[str, str]:
    """Return a reason for each column that has a failure and no timing, by its index."""
    reasons = {}
    for i, config in enumerate(columns):
        tried = [(shape, results[shape, config]) for shape in shapes if (shape, config) in results]
        failed = [(s, result) for s, result in tried if isinstance(result, Failure)]
        if failed and len(failed) == len(tried):
            reasons[str(i)] = _reason(*failed[0], len(failed) - 1)
    return reasons


def _untried(
    columns: Sequence[Config],
    shapes: Sequence[Shape],
    results: _Results,
    allowed: Callable[[Shape], Collection[int]],
) -> dict[str, list[int]] | None:
    """Return by the index of a shape which columns are without a record, None if all have one.

    A config that was measured nowhere is not spoken of.
    """
    timed = {config for (_, config), result in results.items() if isinstance(result, Timing)}
    found = {}
    for row, shape in enumerate(shapes):
        may = allowed(shape)
        left = [i for i, config in enumerate(columns) if i in may and config in timed]
        left = [i for i in left if (shape, columns[i]) not in results]
        if left:
            found[str(row)] = left
    return found or None


def _reason(shape: Shape, failure: Failure, others: int) -> str:
    more = f" and {others} more shape{'s' if others > 1 else ''}" if others else ""
    sizes = ", ".join(map(str, shape))
    text = f"{failure.kind} on shape ({sizes}): {failure.message}".encode("utf-8", "replace")
    reason = text.decode()
    if len(reason) + len(more) > _REASON_LENGTH:
        reason = f"{reason[: _REASON_LENGTH - len(more) - 1]}…"
    return reason + more


def _check(value: dict[str, Any]) -> None:
    where = f"table of {shown(value['kernel'])}"
    try:
        TableFile.model_validate(value).parts_agree()
    except ValidationError as error:
        fault = verdict(error, value, where)
        raise TableError(fault.fact, where=fault.where, remedy=fault.remedy) from None
    except TableError as error:
        raise TableError(error.fact, where=f"{where}: {error.where}", remedy=error.remedy) from None
