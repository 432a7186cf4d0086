"""What `tune_configs` is given, made sure of: axes, shapes, configs, limits."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from codegen.config import LAUNCH_OPTIONS, Config
from codegen.errors import listed, shown
from codegen.manifest import Candidate
from codegen.words import first_error
from tuner.errors import CaseError
from tuner.printable import printable
from tuner.records import Shape
from tuner.search import SAMPLERS, Search
from tuner.worker.messages import Limits

__all__ = [
    "axes_of",
    "check_one_of",
    "config_of",
    "inputs_of",
    "limits_of",
    "search_of",
    "shapes_of",
    "source_of",
    "weights_of",
]


def axes_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the axes; raises CaseError if one is no name or stands twice."""
    if isinstance(names, str):
        raise CaseError(
            f"{shown(names)} is one string", where="axis_names", remedy='write ["M", "N"]'
        )
    axes = tuple(names)
    for i, name in enumerate(axes):
        if not (isinstance(name, str) and name.isidentifier() and name.isascii()):
            raise CaseError(
                f"{shown(name)} is not a name",
                where=f"axis_names[{i}]",
                remedy="use ASCII letters, digits and _, a letter first",
            )
        if name in axes[:i]:
            raise CaseError(
                f"axis {name} stands twice", where=f"axis_names[{i}]", remedy="rename one"
            )
    if not axes:
        raise CaseError("names no axis", where="axis_names", remedy="name one at least")
    return axes


def shapes_of(
    shapes: Iterable[Any], axes: Sequence[str], where: str = "shapes"
) -> tuple[Shape, ...]:
    """Return the shapes as tuples of integers, each once.

    Raises:
        CaseError: there is none, or one has a size that is no integer, or too many or few sizes.
    """
    found: dict[Shape, None] = {}
    for i, shape in enumerate(shapes):
        found[_shape(shape, axes, f"{where}[{i}]")] = None
    if not found:
        raise CaseError("is empty", where=where, remedy="give one shape at least")
    return tuple(found)


def _shape(shape: Any, axes: Sequence[str], where: str) -> Shape:
    several = isinstance(shape, Iterable) and not isinstance(shape, str | bytes)
    sizes = tuple(_size(size, where) for size in (shape if several else (shape,)))
    if len(sizes) != len(axes):
        raise CaseError(
            f"has {len(sizes)} sizes for {len(axes)} axes, {', '.join(axes)}",
            where=where,
            remedy="give one size an axis",
        )
    return sizes


def _size(value: Any, where: str) -> int:
    try:
        size = operator.index(value)
    except TypeError:
        size = -1
    if size < 0 or isinstance(value, bool):
        raise CaseError(
            f"{shown(value) if isinstance(value, int | float | str) else type(value).__name__} is "
            "not a size",
            where=where,
            remedy="use integers, 0 or more",
        )
    return size


def config_of(config: Any, index: int) -> Config:
    """Return `config`, ours, triton's or a dict, as ours.

    Raises:
        CaseError: it is none of these, or holds what no manifest can.
    """
    where = f"configs[{index}]"
    found = config if isinstance(config, Config) else _from_flat(_flat(config, where), where)
    try:
        Candidate.of(found)
    except ValidationError as error:
        verdict = first_error(error, found.all_kwargs(), where)
        raise CaseError(verdict.fact, where=where, remedy=verdict.remedy) from None
    return found


def _flat(config: Any, where: str) -> dict[Any, Any]:
    """Return the params and launch options of a dict or a `triton.Config` by name."""
    if isinstance(config, Mapping):
        return dict(config)
    if not isinstance(getattr(config, "kwargs", None), Mapping):
        raise CaseError(
            f"{type(config).__name__} is not a config",
            where=where,
            remedy="use Config, triton.Config or a dict",
        )
    if getattr(config, "pre_hook", None) is not None:
        raise CaseError(
            "has a pre_hook, and a manifest holds no code",
            where=where,
            remedy="do in forward what it does",
        )
    launch = {name: getattr(config, name, None) for name in LAUNCH_OPTIONS}
    given = {name: value for name, value in launch.items() if value is not None}
    return {**config.kwargs, **given}


def _from_flat(flat: Mapping[Any, Any], where: str) -> Config:
    strange = [name for name in flat if not isinstance(name, str)]
    if strange:
        raise CaseError(f"{shown(strange[0])} is not a name", where=where, remedy="use strings")
    params = tuple((name, value) for name, value in flat.items() if name not in LAUNCH_OPTIONS)
    launch = {name: flat[name] for name in LAUNCH_OPTIONS if name in flat}
    try:
        return Config(params=params, **launch)
    except (TypeError, ValueError) as error:
        fact = f"cannot be written down: {printable(str(error), limit=200)}"
        remedy = "use integers, finite floats, booleans, strings and None"
        raise CaseError(fact, where=where, remedy=remedy) from None


def inputs_of(inputs_by_shape: Any, shape: Shape) -> list[Any]:
    """Return the inputs of `shape`, from a mapping or a function of the shape.

    Raises:
        CaseError: the mapping has none, or they are not a sequence.
    """
    where = "inputs_by_shape"
    if callable(inputs_by_shape):
        found = inputs_by_shape(shape)
    elif isinstance(inputs_by_shape, Mapping):
        found = inputs_by_shape.get(shape)
    else:
        fact = f"{type(inputs_by_shape).__name__} is neither a mapping nor a function"
        raise CaseError(fact, where=where, remedy="pass one of the two")
    if found is None:
        raise CaseError(
            f"has no inputs for shape {shape}",
            where=where,
            remedy="add them, or pass a function of the shape",
        )
    if not isinstance(found, Sequence) or isinstance(found, str | bytes):
        fact = f"gives {type(found).__name__} for shape {shape}, and not a list"
        raise CaseError(fact, where=where, remedy="give a list or tuple, even of one input")
    return list(found)


def limits_of(
    *, timeout_s: Any, warmup: Any, repeat: Any, tolerance: Any, budget_s: Any
) -> tuple[Limits, float | None]:
    """Return the limits and the budget; raises CaseError if one is out of range."""
    _check_number("timeout_s", timeout_s, above=0)
    _check_count("warmup", warmup, least=0)
    if repeat is not None:
        _check_count("repeat", repeat, least=1)
    if tolerance is not None:
        _check_number("tolerance", tolerance, above=0)
    if budget_s is not None:
        _check_number("budget_s", budget_s, above=0)
    limits = Limits(timeout_s=timeout_s, warmup=warmup, repeat=repeat, tolerance=tolerance)
    return limits, budget_s


def search_of(search: Any) -> Search | None:
    """Return `search`; raises CaseError if it is no `Search`, or says what cannot be."""
    if search is None:
        return None
    if not isinstance(search, Search):
        raise CaseError(
            f"{type(search).__name__} is not a Search",
            where="search",
            remedy="pass Search(trials=64)",
        )
    _check_count("search.trials", search.trials, least=1)
    _check_count("search.seed", search.seed, least=0)
    if search.sampler is not None:
        check_one_of("search.sampler", search.sampler, SAMPLERS)
    return search


def weights_of(
    weights: Mapping[Any, Any] | None, axes: Sequence[str], shapes: Sequence[Shape]
) -> dict[Shape, float]:
    """Return how much each shape named counts; raises CaseError if one is not tuned."""
    found: dict[Shape, float] = {}
    for shape, weight in (weights or {}).items():
        sizes = _shape(shape, axes, "weights")
        if sizes not in shapes:
            raise CaseError(
                f"{sizes} is not one of the shapes", where="weights", remedy="name one that is"
            )
        _check_number("weights", weight, above=0)
        found[sizes] = float(weight)
    return found


def check_one_of(name: str, value: Any, known: Iterable[str]) -> None:
    """Raise CaseError unless `value`, of the argument `name`, is one of `known`."""
    choices = tuple(known)
    if value not in choices:
        raise CaseError(f"{shown(value)} is not known", where=name, remedy=f"use {listed(choices)}")


def _check_number(name: str, value: Any, *, above: float) -> None:
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not math.isfinite(value) or value <= above:
        fact = f"{shown(value)} is out of range"
        raise CaseError(fact, where=name, remedy=f"use a number greater than {above}")


def _check_count(name: str, value: Any, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        fact = f"{shown(value)} is out of range"
        raise CaseError(fact, where=name, remedy=f"use an integer, {least} or more")


def source_of(module: Any) -> Path:
    """Return the file that defines the class of `module`; raises CaseError if there is none."""
    try:
        path = inspect.getsourcefile(type(module))
    except (TypeError, OSError):
        path = None
    if path is None:
        raise CaseError(
            f"the class {type(module).__name__} comes from no file",
            where="module",
            remedy="define it in a file, or pass source=",
        )
    return Path(path)
