"""Manifests of schema version 1, as AKG's Dynamic Tune writes them, made into version 2."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, JsonValue, Tag, model_validator

from codegen.config import Config
from codegen.errors import ManifestError, shown
from codegen.fields import (
    Count,
    Identifier,
    Int64,
    LaunchOption,
    LongText,
    ParamName,
    Strict,
    ValueField,
    only_a_leaf,
)

__all__ = ["upgraded"]

_NEWEST = 2


class _Param(Strict):
    name: ParamName
    value: ValueField


class _RuntimeMeta(Strict):
    num_warps: LaunchOption | None = None
    num_stages: LaunchOption | None = None
    num_ctas: LaunchOption | None = None
    maxnreg: LaunchOption | None = None


class _Candidate(Strict):
    config_id: str
    params: list[_Param]
    runtime_meta: _RuntimeMeta
    status: Literal["kept", "rejected"]
    reject_reason: LongText | None = None


class _Leaf(Strict):
    config_index: Count

    @model_validator(mode="before")
    @classmethod
    def _only_a_leaf(cls, value: Any) -> Any:
        return only_a_leaf(value)


class _Split(Strict):
    split_axis: Identifier
    threshold: Int64
    left: _Node
    right: _Node


_Node: TypeAlias = Annotated[
    Annotated[_Leaf, Tag("<leaf>")] | Annotated[_Split, Tag("<split>")],
    Discriminator(lambda v: "<leaf>" if isinstance(v, dict) and "config_index" in v else "<split>"),
]


class _Payload(Strict):
    root: _Node


class _Selector(Strict):
    kind: Literal["tree"]
    payload: _Payload
    runtime_deps: list[str] = Field(default=[])
    config_ids: Annotated[list[str], Field(min_length=1)]


class _TuneMeta(Strict):
    path_used: str | None = None
    warmup: Count | None = None
    repeat: Count | None = None
    notes: list[LongText] = Field(default=[])


class _ManifestV1(Strict):
    schema_version: Literal[1]
    axis_names: Annotated[list[Identifier], Field(min_length=1)]
    candidates: Annotated[list[_Candidate], Field(min_length=1)]
    selector: _Selector
    tune_meta: _TuneMeta = _TuneMeta()
    extras: dict[str, JsonValue] = Field(default={})


def upgraded(raw: Any) -> Any:
    """Return `raw` as version 2, unchanged if it is that already.

    Version 1 knows no kernel, target, envelope or default. The kernel is called `unknown`, the
    envelope is open, and the default is the config that most leaves name (the first of equals).

    Raises:
        ManifestError: the version is missing, none, or newer than this program.
        pydantic.ValidationError: a version 1 that is not what AKG writes.
    """
    if not isinstance(raw, dict):
        raise ManifestError(f"{shown(raw)} is not a manifest", where="(root)", remedy="write { … }")
    version = raw.get("schema_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        fact = "missing field" if "schema_version" not in raw else f"{shown(version)} is no version"
        raise ManifestError(fact, where="schema_version", remedy=f"write {_NEWEST}")
    if version > _NEWEST:
        raise ManifestError(
            f"version {shown(version)} is newer than {_NEWEST}, the newest that this program reads",
            where="schema_version",
            remedy="upgrade: pip install -U tuned-dispatch",
        )
    return raw if version == _NEWEST else _from_v1(_ManifestV1.model_validate(raw))


def _from_v1(old: _ManifestV1) -> dict[str, Any]:
    configs = [_config(candidate, i) for i, candidate in enumerate(old.candidates)]
    ids = [_id_named(old, configs, i) for i in range(len(old.selector.config_ids))]
    most = Counter(_leaves(old.selector.payload.root)).most_common()
    default = min(index for index, count in most if count == most[0][1])
    if default >= len(ids):
        raise ManifestError(
            f"config index {default} is out of range, config_ids has {len(ids)}",
            where="selector.payload",
            remedy="tune again: this tree was not written for these configs",
        )
    upgraded_note = "upgraded from schema_version 1; the default is the config of most leaves"
    return {
        "schema_version": _NEWEST,
        "kernel": {"name": "unknown"},
        "target": {"device": "unknown"},
        "axes": [{"name": name, "kind": "integer"} for name in old.axis_names],
        "candidates": [_candidate(*pair) for pair in zip(old.candidates, configs, strict=True)],
        "default": ids[default],
        "outside": "nearest",
        "selector": {
            "kind": "tree",
            "payload": {"root": _node(old.selector.payload.root)},
            "runtime_deps": old.selector.runtime_deps,
            "config_ids": ids,
        },
        "tune_meta": {
            **old.tune_meta.model_dump(exclude_none=True),
            "notes": [*old.tune_meta.notes, upgraded_note],
        },
        "extras": old.extras,
    }


def _config(candidate: _Candidate, index: int) -> Config:
    pairs = tuple((param.name, param.value) for param in candidate.params)
    meta = candidate.runtime_meta.model_dump()
    try:
        return Config(params=pairs, **meta)
    except ValueError as error:
        where = f"candidates[{index}].params"
        raise ManifestError(str(error), where=where, remedy="keep one of the two") from None


def _candidate(old: _Candidate, config: Config) -> dict[str, Any]:
    """Return the candidate of version 2; a reason without a rejection is dropped there."""
    new: dict[str, Any] = {"id": config.id, "params": dict(config.params)}
    new |= dict(config.launch_options())
    new["status"] = old.status
    if old.reject_reason is not None:
        new["reason"] = old.reject_reason
    return new


def _id_named(old: _ManifestV1, configs: list[Config], index: int) -> str:
    """Return the new id of `config_ids[index]`, whose old id must name one config only."""
    name = old.selector.config_ids[index]
    where = f"selector.config_ids[{index}]"
    found = [i for i, candidate in enumerate(old.candidates) if candidate.config_id == name]
    if not found:
        raise ManifestError(
            f"no candidate has the id {shown(name)}", where=where, remedy="name a kept candidate"
        )
    if len({configs[i].id for i in found}) > 1:
        raise ManifestError(
            f"{shown(name)} is the id of different configs, candidates {found}",
            where=where,
            remedy="tune again: which of them was meant cannot be known",
        )
    return configs[found[0]].id


def _leaves(node: _Node) -> list[int]:
    if isinstance(node, _Leaf):
        return [node.config_index]
    return [*_leaves(node.left), *_leaves(node.right)]


def _node(node: _Node) -> dict[str, Any]:
    if isinstance(node, _Leaf):
        return {"config": node.config_index}
    return {
        "feature": {"axis": node.split_axis},
        "threshold": node.threshold,
        "left": _node(node.left),
        "right": _node(node.right),
    }
