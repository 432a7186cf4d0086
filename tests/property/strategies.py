"""Random manifests of every kind: sound ones, and sound ones with hostile text in every place."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from codegen.config import Config, Value

__all__ = [
    "HOSTILE",
    "candidate",
    "configs",
    "examples",
    "guarded",
    "hostile_texts",
    "manifests",
    "shapes",
]

_INT64 = st.integers(-(2**63), 2**63 - 1)
_SIZES = st.one_of(st.integers(-4, 300), st.integers(-(2**21), 2**21), _INT64)
_BY = st.one_of(st.integers(1, 70), st.sampled_from([128, 4096, 2**40, 2**63 - 1]))

# Names that the module, the template or Python already uses, and names that shadow each other.
_NAMES = (
    *("M", "N", "K", "M_", "M__", "shape", "shape_", "Config", "CONFIGS", "DEFAULT", "DEFAULT_"),
    *("TARGET", "AXIS_NAMES", "int", "str", "tuple", "print", "print_", "self", "object", "type"),
    *("match", "case", "A1", "A1_W1", "CONFIG", "ValueError", "name", "other", "B", "b", "X" * 64),
)
_PARAMS = (*_NAMES, "_", "__", "_1", "_M", "BLOCK_M", "BLOCK__M", "BLOCK_", "A", "AB")

HOSTILE = (
    '"',
    "'",
    '"""',
    "'''",
    "\\",
    '\\"',
    "a\nimport os",
    "a\rimport os",
    "\u2028import os\u2029\x85",
    "\x00",
    "\x1b[31m\x07\x7f",
    "{{ 7 * 7 }}",
    "{% raw %}{# x #}",
    "{0}{shape!r}%s",
    "# type: ignore",
    "type: ignore",
    "w" * 74 + " type: ignore",
    "w" * 74 + " fmt: off",
    "fmt: off",
    "# fmt: skip",
    "noqa",
    "coding: utf-7",
    "-*- coding: latin-1 -*-",
    "\u202edesrever\u2066",
    "\ufeff",
    "é漢🙂",
    "\ud800",
    "__import__('os').system('x')",
    '"; import os; "',
    '")\nimport os\n(',
    " in (",
    " and ",
    " or ",
    "a in (b",
    "x" * 500,
    "word " * 90,
    " ",
    "\t",
    "%",
    "...",
)

hostile_texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from(HOSTILE[:-4]), min_size=2, max_size=4).map("".join),
    st.text(min_size=1, max_size=20),
)
_PLAIN = st.text("abcdefgh_0123456789", min_size=1, max_size=8)


def _no_keyword(name: str) -> bool:
    return not keyword.iskeyword(name)


axis_names = st.one_of(
    st.sampled_from(_NAMES),
    st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,5}", fullmatch=True).filter(_no_keyword),
)
param_names = st.one_of(
    st.sampled_from(_PARAMS),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True).filter(_no_keyword),
)


def examples(number: int) -> settings:
    """Return settings for `number` examples, and for more in a profile that wants more."""
    return settings(max_examples=max(1, number * settings().max_examples // 100))


def _values(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Value]:
    floats = st.floats(allow_nan=False, allow_infinity=False)
    return st.one_of(st.none(), st.booleans(), st.integers(-9, 300), _INT64, floats, texts)


@st.composite
def configs(
    draw: st.DrawFn, *, texts: st.SearchStrategy[str] = _PLAIN, keys: Any = param_names
) -> Config:
    """Return a config with params, launch options and backend options of every type."""
    known = st.sampled_from(["num_warps", "num_stages", "num_ctas", "maxnreg"])
    launch = draw(st.dictionaries(known, st.integers(1, 2**31 - 1), max_size=4))
    pairs = draw(st.dictionaries(keys, _values(texts), max_size=5))
    at = draw(st.integers(0, len(pairs)))
    items = tuple(pairs.items())
    return Config(params=items[:at], options=items[at:], **launch)


def _integer(draw: st.DrawFn, name: str) -> dict[str, Any]:
    low, high = sorted(draw(st.lists(_SIZES, min_size=2, max_size=2)))
    open_sides = draw(st.sampled_from([(), (), ("min",), ("max",), ("min", "max")]))
    ends = {key: end for key, end in {"min": low, "max": high}.items() if key not in open_sides}
    return {"name": name, "kind": "integer", **ends}


def _category(draw: st.DrawFn, name: str, texts: st.SearchStrategy[str]) -> dict[str, Any]:
    value = st.one_of(st.integers(-3, 9), texts, st.sampled_from(["1", "float16", 1]))
    values = draw(st.lists(value, min_size=1, max_size=6, unique=True))
    return {"name": name, "kind": "category", "values": values}


class _Payloads:
    """Draws payloads for given axes and a number of configs."""

    def __init__(self, draw: st.DrawFn, axes: Sequence[Mapping[str, Any]], configs: int) -> None:
        self.draw = draw
        self.axes = axes
        self.integers = [axis["name"] for axis in axes if axis["kind"] == "integer"]
        self.categories = [axis for axis in axes if axis["kind"] == "category"]
        self.configs = st.integers(0, configs - 1)

    def any(self, kind: str) -> dict[str, Any]:
        return {"kind": kind, "payload": getattr(self, kind)()}

    def constant(self) -> dict[str, Any]:
        return {"config": self.draw(self.configs)}

    def tree(self) -> dict[str, Any]:
        return {"root": self.node(self.draw(st.integers(1, 5)))}

    def node(self, depth: int) -> dict[str, Any]:
        if depth == 0 or self.draw(st.integers(0, 5)) == 0:
            return {"config": self.draw(self.configs)}
        if self.categories and (not self.integers or self.draw(st.integers(0, 2)) == 0):
            axis = self.draw(st.sampled_from(self.categories))
            some = st.lists(st.sampled_from(axis["values"]), min_size=1, unique=True)
            split: dict[str, Any] = {"category": axis["name"], "values": self.draw(some)}
        else:
            split = self.question()
        return {**split, "left": self.node(depth - 1), "right": self.node(depth - 1)}

    def question(self) -> dict[str, Any]:
        form = self.draw(st.sampled_from(["axis"] * 4 + ["cdiv", "mod", "product", "ratio"]))
        threshold = {"threshold": self.draw(_SIZES)}
        if form == "ratio":
            feature = {"ratio": self.factor(), "over": self.factor()}
            below = st.one_of(st.integers(1, 9), st.integers(1, 2**63 - 1))
            return {"feature": feature, **threshold, "denominator": self.draw(below)}
        if form == "mod":
            threshold = {"threshold": self.draw(st.one_of(st.integers(-1, 64), _SIZES))}
        return {"feature": self.product() if form == "product" else self.term(form), **threshold}

    def factor(self) -> dict[str, Any]:
        form = self.draw(st.sampled_from(["axis", "cdiv", "mod", "product"]))
        return self.product() if form == "product" else self.term(form)

    def product(self) -> dict[str, Any]:
        forms = self.draw(
            st.lists(st.sampled_from(["axis", "cdiv", "mod"]), min_size=2, max_size=4)
        )
        return {"product": [self.term(form) for form in forms]}

    def term(self, form: str) -> dict[str, Any]:
        axis = self.draw(st.sampled_from(self.integers))
        return {form: axis} | ({} if form == "axis" else {"by": self.draw(_BY)})

    def bucket(self) -> dict[str, Any]:
        axes = self.draw(st.permutations(self.axes))
        dims: list[dict[str, Any]] = []
        cells = 1
        for axis in axes[: self.draw(st.integers(1, 3))]:
            dim = {"axis": axis["name"]}
            if axis["kind"] == "integer":
                edges = self.draw(st.lists(_SIZES, max_size=4, unique=True))
                dim["edges"] = sorted(edges)
            cells *= len(axis["values"]) if axis["kind"] == "category" else len(dim["edges"]) + 1
            dims.append(dim)
        return {
            "dims": dims,
            "cells": self.draw(st.lists(self.configs, min_size=cells, max_size=cells)),
        }

    def table(self) -> dict[str, Any]:
        columns = [
            st.sampled_from(axis["values"])
            if axis["kind"] == "category"
            else st.one_of(st.integers(0, 4), _SIZES)
            for axis in self.axes
        ]
        shapes = self.draw(st.lists(st.tuples(*columns), max_size=12, unique=True))
        entries = [{"shape": list(shape), "config": self.draw(self.configs)} for shape in shapes]
        other = self.draw(st.sampled_from(["tree", "bucket", "constant"]))
        return {"entries": entries, "otherwise": self.any(other)}


@st.composite
def manifests(
    draw: st.DrawFn, *, texts: st.SearchStrategy[str] = _PLAIN, kinds: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a raw manifest; it is sound as long as `texts` gives only what a manifest may hold."""
    axes = [
        _category(draw, name, texts) if draw(st.integers(0, 2)) == 0 else _integer(draw, name)
        for name in draw(st.lists(axis_names, min_size=1, max_size=4, unique=True))
    ]
    tried = draw(st.lists(configs(texts=texts), min_size=2, max_size=6, unique_by=_id))
    chosen = draw(st.permutations(range(len(tried))))[: draw(st.integers(1, len(tried)))]
    default = draw(st.sampled_from(range(len(tried))))
    spare = [i for i in range(len(tried)) if i not in {*chosen, default}]
    rejected = set(draw(st.lists(st.sampled_from(spare)))) if spare else set()
    kind = draw(st.sampled_from(tuple(kinds) or ("tree", "tree", "bucket", "table", "constant")))
    raw = {
        "schema_version": 2,
        "kernel": {"name": draw(texts), "dtype": draw(texts)},
        "target": {
            "device": draw(texts),
            "arch": draw(texts),
            "toolchain": draw(st.dictionaries(texts, texts, max_size=3)),
        },
        "axes": axes,
        "candidates": [
            candidate(config, reason="it failed" if i in rejected else None)
            for i, config in enumerate(tried)
        ],
        "default": tried[default].id,
        "outside": draw(st.sampled_from(["default", "nearest", "raise"])),
        "selector": {
            **_Payloads(draw, axes, len(chosen)).any(kind),
            "config_ids": [tried[i].id for i in chosen],
        },
        "tune_meta": {"notes": draw(st.lists(texts, max_size=2))},
        "extras": draw(st.dictionaries(texts, st.one_of(texts, st.none(), _INT64), max_size=2)),
    }
    if draw(st.booleans()):
        raw["kernel"]["source"] = {"file": f"{draw(texts)}.py", "sha256": "0" * 64}
    return raw


def candidate(config: Config, *, reason: str | None = None) -> dict[str, Any]:
    """Return the raw candidate for `config`, sound or not: kept, or rejected for `reason`."""
    return {
        "id": config.id,
        "params": config.kwargs,
        **dict(config.launch_options()),
        "options": dict(config.options),
        **({"status": "kept"} if reason is None else {"status": "rejected", "reason": reason}),
    }


def _id(config: Config) -> str:
    return config.id


@st.composite
def guarded(draw: st.DrawFn) -> dict[str, Any]:
    """Return a raw manifest with a launch grid; an exact shape of it may exceed the limit."""
    raw: dict[str, Any] = draw(manifests())
    if all(axis["kind"] == "category" for axis in raw["axes"]):
        raw["axes"][0] = _integer(draw, raw["axes"][0]["name"])
        raw["selector"] |= {"kind": "constant", "payload": {"config": 0}}
    integers = [axis["name"] for axis in raw["axes"] if axis["kind"] == "integer"]
    # A name that no config has yet, and no launch option.
    block, renamed = "ZZ_BLOCK", {}
    for entry in raw["candidates"]:
        entry["params"] = {**entry["params"], block: draw(_BY)}
        known = {
            k: entry[k] for k in ("num_warps", "num_stages", "num_ctas", "maxnreg") if k in entry
        }
        config = Config(
            params=tuple(entry["params"].items()), options=tuple(entry["options"].items()), **known
        )
        renamed[entry["id"]] = config.id
        entry["id"] = config.id
    raw["default"] = renamed[raw["default"]]
    raw["selector"]["config_ids"] = [renamed[id_] for id_ in raw["selector"]["config_ids"]]
    dim = st.fixed_dictionaries(
        {
            "axes": st.lists(st.sampled_from(integers), max_size=3),
            "block": st.one_of(st.just(block), _BY),
            "times": st.one_of(st.just(1), _BY),
        }
    )
    raw["launch_grid"] = {
        "dims": draw(st.lists(dim, min_size=1, max_size=3)),
        "limit": draw(st.one_of(st.integers(1, 70_000), st.integers(1, 2**63 - 1))),
    }
    return raw


@st.composite
def shapes(draw: st.DrawFn, axes: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Return a shape for raw `axes`, anywhere."""
    return tuple(
        draw(
            st.one_of(st.sampled_from(axis["values"]), st.integers(), st.text(max_size=3))
            if axis["kind"] == "category"
            else st.one_of(_SIZES, st.integers())
        )
        for axis in axes
    )
