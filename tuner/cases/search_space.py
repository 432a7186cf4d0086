"""The search space of a case, of what `sample.json` and `tune.yaml` say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from codegen.config import LAUNCH_OPTIONS, Value
from codegen.errors import listed, shown
from tuner.cases.entry import single
from tuner.cases.launch_grid import grid_dims
from tuner.cases.sample import Sample
from tuner.cases.tune_yaml import SubspaceField, TuneYaml
from tuner.errors import CaseError
from tuner.expressions import Constraint
from tuner.records import Shape
from tuner.space import Space, Subspace, Values, combinations

__all__ = ["sample_space", "tuned_space"]

# How many configs may be tried at how many shapes for the sake of a note.
_MOST_TRIES = 2_000_000
# CANN's Auto-Tune recommends no more a parameter.
_MANY_VALUES = 5


def sample_space(sample: Sample) -> Space:
    """Return the candidates of `sample.json` as a space.

    Raises:
        CaseError: there are none.
    """
    where, candidates = _sample_candidates(sample)
    return Space.build(candidates, config_of=sample.names.config, where=where)


def tuned_space(sample: Sample, tune: TuneYaml, axis_names: tuple[str, ...]) -> Space:
    """Return the space of `tune.yaml`, whose candidates take the place of those of `sample.json`.

    Raises:
        CaseError: what they say does not fit together, or leaves no config.
    """
    own = list(_own_candidates(sample, tune))
    where, candidates = (tune.name, own) if own else _sample_candidates(sample)
    names = _Known(candidates, axis_names)
    space = Space.build(
        candidates,
        config_of=sample.names.config,
        where=where,
        constraints=_constraints(tune, names, tune.fields.constraints, "constraints"),
        subspaces=[
            _subspace(tune, names, field, ("subspaces", i))
            for i, field in enumerate(tune.fields.subspaces)
        ],
        axis_names=axis_names,
    )
    space = _with_grid(space, tune, axis_names)
    notes = [*_long_lists(tune), *_empty_shapes(space, axis_names, tune.fields.shapes or [])]
    if own and sample.candidates:
        notes.append(f"the candidates are those of {tune.name}, not of {sample.place}")
    return space.noted(*notes)


def _with_grid(space: Space, tune: TuneYaml, axis_names: tuple[str, ...]) -> Space:
    fields = tune.fields
    if fields.launch_grid is None:
        if fields.launch_grid_limit is not None:
            raise CaseError(
                "limits a grid that launch_grid does not give",
                where=tune.where("launch_grid_limit"),
                remedy="write launch_grid as well, such as cdiv(M, BLOCK_M)",
            )
        return space
    blocks = [
        {name for name, value in config.params if _is_block(value)} for config in space.configs
    ]
    dims = grid_dims(
        fields.launch_grid,
        axes=axis_names,
        params=sorted(set.intersection(*blocks)),
        where=tune.where("launch_grid"),
    )
    return replace(space, grid_dims=dims, grid_limit=fields.launch_grid_limit)


def _is_block(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _long_lists(tune: TuneYaml) -> Iterator[str]:
    """Yield the parameters that make the product large; configs written out are no product."""
    for name, values in (tune.fields.parameters or {}).items():
        if len(values) > _MANY_VALUES:
            yield f"{name} has {len(values)} values, more than {_MANY_VALUES}"


def _sample_candidates(sample: Sample) -> tuple[str, Sequence[Values]]:
    if sample.candidates is None:
        raise CaseError(
            "lists no candidates",
            where=sample.place,
            remedy="add autotune.configs, or parameters to tune.yaml",
        )
    return sample.candidates_where, sample.candidates


def _own_candidates(sample: Sample, tune: TuneYaml) -> Iterable[Values]:
    """Yield the product of the parameters, then the configs that are written out."""
    parameters = tune.fields.parameters
    if parameters is not None:
        where = tune.where("parameters")
        sample.names.check(parameters, where)
        _check_launch_options(tune, parameters, ("parameters",))
        yield from combinations(parameters, where)
    for i, entry in enumerate(tune.fields.configs or ()):
        yield entry.values(sample.names, tune.where("configs", i))


def _check_launch_options(
    tune: TuneYaml, parameters: dict[str, list[Value]], path: tuple[str | int, ...]
) -> None:
    for name in LAUNCH_OPTIONS:
        for i, value in enumerate(parameters.get(name, ())):
            single(name, value, tune.where(*path, name, i))


class _Known:
    """The names that a constraint may use, and the values that occur under them."""

    def __init__(self, candidates: Sequence[Values], axis_names: tuple[str, ...]) -> None:
        self.axes = axis_names
        self.values: dict[str, dict[tuple[type, Value], None]] = {}
        for candidate in candidates:
            for name, value in candidate.items():
                self.values.setdefault(name, {})[type(value), value] = None
        self.configs = tuple(dict.fromkeys((*self.values, *LAUNCH_OPTIONS)))

    @property
    def everywhere(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.configs, *self.axes)))


def _constraints(
    tune: TuneYaml, known: _Known, texts: Sequence[str], *path: str | int
) -> list[Constraint]:
    found = []
    for i, text in enumerate(texts):
        where = tune.where(*path, i)
        constraint = Constraint.parse(text, names=known.everywhere, where=where)
        both = [name for name in constraint.names if name in known.axes and name in known.configs]
        if both:
            raise CaseError(
                f"{both[0]} is an axis and a param of a config too (in {shown(text)})",
                where=where,
                remedy="give the axis another name, with axis_names in sample.json",
            )
        found.append(constraint)
    return found


def _subspace(
    tune: TuneYaml, known: _Known, field: SubspaceField, path: tuple[str | int, ...]
) -> Subspace:
    parameters = field.parameters or {}
    for name, values in parameters.items():
        for i, value in enumerate(values):
            _check_restriction(known, name, value, tune.where(*path, "parameters", name, i))
    return Subspace(
        when=tuple((axis, (least, most)) for axis, (least, most) in field.when.items()),
        values=tuple((name, tuple(values)) for name, values in parameters.items()),
        constraints=tuple(_constraints(tune, known, field.constraints, *path, "constraints")),
    )


def _check_restriction(known: _Known, name: str, value: Value, where: str) -> None:
    """Refuse what no config has: a subspace takes configs away and adds none."""
    if name not in known.values:
        names = listed(known.values, most=12)
        fact = f"{shown(name)} is no param or option of a config"
        raise CaseError(fact, where=where, remedy=f"there are {names}")
    if (type(value), value) not in known.values[name]:
        values = listed((value for _, value in known.values[name]), most=12)
        fact = f"no config has {name} {shown(value)}; it takes {values}"
        raise CaseError(fact, where=where, remedy="add it to parameters, or remove it here")


def _empty_shapes(
    space: Space, axis_names: Sequence[str], shapes: Sequence[Sequence[int]]
) -> Iterable[str]:
    """Yield at which of the shapes no config is allowed."""
    if not (space.constraints or space.subspaces or space.grid):
        return
    if len(shapes) * len(space.configs) > _MOST_TRIES:
        return
    empty: list[Shape] = [
        tuple(shape)
        for shape in shapes
        if space.is_empty(dict(zip(axis_names, shape, strict=True)))
    ]
    if empty:
        places = ", ".join(map(str, empty[:5]))
        more = f" and {len(empty) - 5} more" if len(empty) > 5 else ""
        yield f"the constraints leave no config at {places}{more}"
