"""The manifest, schema version 2: what a tuning run leaves behind, as it stands in the file.

`load_manifest` reads either version, checks everything that can be checked, and returns a
manifest that is sound: `policy_of` of it cannot fail any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from hashlib import sha256
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field, JsonValue, ValidationError, create_model

from codegen.axes import Axis, CategoryAxis, IntegerAxis
from codegen.config import Config
from codegen.errors import ManifestError, shown
from codegen.fields import (
    AxisValueField,
    BlockField,
    Count,
    Identifier,
    Int64,
    LaunchOption,
    LongText,
    ParamName,
    Positive,
    RelativeFile,
    Sha256,
    Slowdown,
    Strict,
    Text,
    ValueField,
)
from codegen.grid import GridDim, LaunchGrid
from codegen.grid_check import check_grid
from codegen.json_text import dump_json
from codegen.policy import Outside, Policy
from codegen.selectors import BODIES, Site
from codegen.strict_json import read_json
from codegen.upgrade import upgraded
from codegen.words import first_error

__all__ = [
    "SCHEMA_VERSION",
    "Candidate",
    "LaunchGridField",
    "Manifest",
    "TuneMeta",
    "digest",
    "dump_manifest",
    "load_manifest",
    "parse_manifest",
    "policy_of",
]

SCHEMA_VERSION = 2


class Source(Strict):
    """The kernel's source: a path relative to the manifest, and `source_sha256` of it."""

    file: RelativeFile
    sha256: Sha256


class Kernel(Strict):
    """The kernel that was tuned; `dtype` when it was tuned for one and has no axis of it."""

    name: Text
    dtype: Text | None = None
    source: Source | None = None


class Target(Strict):
    """What it was tuned on: device, architecture, and the version of each tool that took part."""

    device: Text
    arch: Text | None = None
    toolchain: dict[Text, Text] = Field(default={})


class IntegerAxisField(Strict):
    """A size; `min` and `max`, inclusive, are the tuned envelope, and absent where it is open."""

    name: Identifier
    kind: Literal["integer"]
    min: Int64 | None = None
    max: Int64 | None = None


class CategoryAxisField(Strict):
    """One of a few values without an order."""

    name: Identifier
    kind: Literal["category"]
    values: Annotated[list[AxisValueField], Field(min_length=1, max_length=1000)]


AxisField: TypeAlias = Annotated[IntegerAxisField | CategoryAxisField, Field(discriminator="kind")]


class Candidate(Strict):
    """A config that was tried; `reason` says why it was rejected."""

    id: Annotated[str, Field(min_length=1)]
    params: dict[ParamName, ValueField]
    num_warps: LaunchOption | None = None
    num_stages: LaunchOption | None = None
    num_ctas: LaunchOption | None = None
    maxnreg: LaunchOption | None = None
    options: dict[ParamName, ValueField] = Field(default={})
    status: Literal["kept", "rejected"]
    reason: LongText | None = None

    @classmethod
    def of(cls, config: Config, *, reason: str | None = None) -> Candidate:
        """Return the candidate that stands for `config`: kept, or rejected for `reason`."""
        return cls(
            id=config.id,
            params=dict(config.params),
            **dict(config.launch_options()),
            options=dict(config.options),
            status="kept" if reason is None else "rejected",
            reason=reason,
        )

    def config(self) -> Config:
        """Return the config; raises ValueError when a name stands twice in it."""
        return Config(
            params=tuple(self.params.items()),
            num_warps=self.num_warps,
            num_stages=self.num_stages,
            num_ctas=self.num_ctas,
            maxnreg=self.maxnreg,
            options=tuple(self.options.items()),
        )


class Head(Strict):
    """What a selector has beside its kind and payload; payloads index into `config_ids`."""

    runtime_deps: list[Text] = Field(default=[])
    config_ids: Annotated[list[str], Field(min_length=1)]


if TYPE_CHECKING:
    SelectorField: TypeAlias = Any
else:
    _selectors = [create_model(b.__name__[:-4] + "Selector", __base__=(Head, b)) for b in BODIES]
    SelectorField = Annotated[reduce(or_, _selectors), Field(discriminator="kind")]


class Regret(Strict):
    """Slowdown over the best config of each shape, as ratios: 1.0 is the oracle.

    `basis` says which shapes these are, such as `fitted shapes`; `noise_floor` is what noise alone
    costs: the geometric mean of what the best config of one run loses in a second.
    """

    basis: Text
    shapes: Count
    geomean: Slowdown
    p95: Slowdown
    worst: Slowdown
    noise_floor: Slowdown | None = None


class GridDimField(Strict):
    """`times` the product of `axes`, in blocks of a param or of a number; each is 1 by default."""

    axes: Annotated[list[Identifier], Field(max_length=8)]
    block: BlockField = 1
    times: Positive = 1


class LaunchGridField(Strict):
    """The grid's dimensions, multiplied, and the most programs that the target launches at once."""

    dims: Annotated[list[GridDimField], Field(min_length=1, max_length=8)]
    limit: Positive

    @classmethod
    def of(cls, grid: LaunchGrid) -> LaunchGridField:
        """Return the field that stands for `grid`."""
        dims = [GridDimField(axes=list(d.axes), block=d.block, times=d.times) for d in grid.dims]
        return cls(dims=dims, limit=grid.limit)


class TuneMeta(Strict):
    """How the manifest came about; nothing here is read when code is emitted but `regret`."""

    path_used: Text | None = None
    warmup: Count | None = None
    repeat: Count | None = None
    method: Text | None = None
    shapes: Count | None = None
    regret: Regret | None = None
    notes: list[LongText] = Field(default=[])


class Manifest(Strict):
    """A tuned kernel: candidates, the selector among them, and where it holds."""

    schema_version: Literal[2]
    kernel: Kernel
    target: Target
    axes: Annotated[list[AxisField], Field(min_length=1, max_length=32)]
    candidates: Annotated[list[Candidate], Field(min_length=1)]
    default: str
    outside: Outside
    selector: SelectorField
    launch_grid: LaunchGridField | None = None
    tune_meta: TuneMeta = TuneMeta()
    extras: dict[str, JsonValue] = Field(default={})


def load_manifest(path: Path) -> Manifest:
    """Return the manifest in the file `path`, upgraded from version 1 if need be.

    Raises:
        ManifestError: it cannot be read, is not of the schema, or contradicts itself.
    """
    return parse_manifest(read_json(path), name=str(path))


def parse_manifest(raw: Any, *, name: str) -> Manifest:
    """Return the manifest that the JSON value `raw` stands for; `name` is for messages.

    Raises:
        ManifestError: as `load_manifest`.
    """
    try:
        raw = upgraded(raw)
        manifest = Manifest.model_validate(raw)
        policy_of(manifest)
    except ValidationError as error:
        raise first_error(error, raw, name) from None
    except ManifestError as error:
        raise ManifestError(
            error.fact, where=f"{name}: {error.where}", remedy=error.remedy
        ) from None
    return manifest


def dump_manifest(manifest: Manifest) -> str:
    """Return `manifest` as the text of a file; equal manifests are equal bytes."""
    return dump_json(manifest.model_dump(exclude_defaults=True))


def digest(manifest: Manifest) -> str:
    """Return the SHA-256 of `dump_manifest`: the layout of the file does not count."""
    return sha256(dump_manifest(manifest).encode()).hexdigest()


def policy_of(manifest: Manifest) -> Policy:
    """Return what `manifest` decides.

    Raises:
        ManifestError: with the dotted path of what contradicts something else.
    """
    axes = dict(_axes(manifest))
    configs = {candidate.id: candidate for candidate in _candidates(manifest)}
    ids = manifest.selector.config_ids
    chosen = [_kept(configs, id_, f"selector.config_ids[{i}]") for i, id_ in enumerate(ids)]
    if len(set(ids)) < len(ids):  # Looked for one by one only where there is one to be found.
        for i, id_ in enumerate(ids):
            _no_repeat(ids, i, f"selector.config_ids[{i}]", f"config {shown(id_)}")
    site = Site(path="selector.payload", axes=axes, configs=len(ids))
    policy = Policy(
        axes=tuple(axes.values()),
        configs=tuple(chosen),
        default=_kept(configs, manifest.default, "default"),
        outside=manifest.outside,
        selector=manifest.selector.payload.build(site),
        grid=_grid(manifest.launch_grid),
    )
    check_grid(policy)
    return policy


def _grid(field: LaunchGridField | None) -> LaunchGrid | None:
    if field is None:
        return None
    dims = tuple(GridDim(tuple(dim.axes), dim.block, dim.times) for dim in field.dims)
    return LaunchGrid(dims=dims, limit=field.limit)


def _axes(manifest: Manifest) -> Iterator[tuple[str, Axis]]:
    names = [axis.name for axis in manifest.axes]
    for i, axis in enumerate(manifest.axes):
        _no_repeat(names, i, f"axes[{i}].name", f"axis {axis.name}")
        yield axis.name, _axis(axis, f"axes[{i}]")


def _axis(axis: IntegerAxisField | CategoryAxisField, where: str) -> Axis:
    if isinstance(axis, CategoryAxisField):
        for i, value in enumerate(axis.values):
            _no_repeat(axis.values, i, f"{where}.values[{i}]", f"value {shown(value)}")
        return CategoryAxis(name=axis.name, values=tuple(axis.values))
    if axis.min is not None and axis.max is not None and axis.min > axis.max:
        raise ManifestError(
            f"min {axis.min} lies above max {axis.max}", where=where, remedy="swap them"
        )
    return IntegerAxis(name=axis.name, low=axis.min, high=axis.max)


def _candidates(manifest: Manifest) -> Iterator[Candidate]:
    ids = [candidate.id for candidate in manifest.candidates]
    seen: set[str] = set()
    for i, candidate in enumerate(manifest.candidates):
        where = f"candidates[{i}]"
        if candidate.id in seen:
            _no_repeat(ids, i, f"{where}.id", f"config {shown(candidate.id)}")
        seen.add(candidate.id)
        try:
            derived = candidate.config().id
        except ValueError as error:
            raise ManifestError(str(error), where=where, remedy="keep one of the two") from None
        if candidate.id != derived:
            raise ManifestError(
                f"{shown(candidate.id)} is not the id of these params",
                where=f"{where}.id",
                remedy=f"their id is {derived[:1000]}",
            )
        yield candidate


def _kept(candidates: dict[str, Candidate], id_: str, where: str) -> Config:
    """Return the config `id_`, which must be a candidate that was kept."""
    if id_ not in candidates:
        raise ManifestError(
            f"no candidate has the id {shown(id_)}", where=where, remedy="name a kept candidate"
        )
    if candidates[id_].status != "kept":
        reason = shown(candidates[id_].reason or "no reason was kept")
        raise ManifestError(
            f"config {shown(id_)} was rejected: {reason}",
            where=where,
            remedy="name a kept candidate",
        )
    return candidates[id_].config()


def _no_repeat(items: list[Any], index: int, where: str, what: str) -> None:
    first = items.index(items[index])
    if first != index:
        raise ManifestError(
            f"{what} stands twice, first as number {first}", where=where, remedy="remove one"
        )
