"""The search space: the configs to try, and which of them are allowed at which shape."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TypeAlias

from codegen.config import Config, Value
from codegen.errors import listed, shown
from codegen.grid import GridDim, LaunchGrid, programs_of
from tuner.errors import CaseError
from tuner.expressions import Constraint

__all__ = ["MOST_COMBINATIONS", "Space", "Subspace", "Values", "combinations"]

MOST_COMBINATIONS = 200_000
# Beyond these a user is told what the space costs; nothing is refused.
_MANY_CONFIGS = 300

# The values of a config by name, params and options alike.
Values: TypeAlias = Mapping[str, Value]
_Range: TypeAlias = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subspace:
    """Fewer configs in a range of shapes.

    Attributes:
        when: the range of each axis named, both ends inclusive, None for no end.
        values: for each param or option named, the values that are left there.
        constraints: that have to hold there.
    """

    when: tuple[tuple[str, _Range], ...]
    values: tuple[tuple[str, tuple[Value, ...]], ...] = ()
    constraints: tuple[Constraint, ...] = ()

    def covers(self, sizes: Mapping[str, int]) -> bool:
        """Say whether a shape lies in the ranges."""
        return all(_within(sizes[axis], ends) for axis, ends in self.when)

    def has(self, values: Mapping[str, object]) -> bool:
        """Say whether the values of a config are among those that are left."""
        return all(_among(values.get(name), left) for name, left in self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Configs, each once.

    Attributes:
        notes: what a user may want to know of the space.
        constraints: in which an axis occurs; the others have been applied.
        subspaces: what holds in ranges of shapes besides.
        grid_dims: of the grid that a launch has; empty if nobody said.
        grid_limit: the most programs of a launch, None without a limit.
        same: by config, the index of the first that is the same to the device; empty if all differ.
    """

    configs: tuple[Config, ...]
    notes: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    subspaces: tuple[Subspace, ...] = ()
    grid_dims: tuple[GridDim, ...] = ()
    grid_limit: int | None = None
    same: tuple[int, ...] = ()

    @property
    def grid(self) -> LaunchGrid | None:
        """The grid with its limit; None where there is nothing to keep below."""
        if not self.grid_dims or self.grid_limit is None:
            return None
        return LaunchGrid(dims=self.grid_dims, limit=self.grid_limit)

    def limited(self, limit: int) -> Space:
        """Return the space for a target that launches `limit` programs, if no limit is given."""
        return self if self.grid_limit is not None else replace(self, grid_limit=limit)

    @classmethod
    def of(cls, configs: Iterable[Config]) -> Space:
        """Return the space of `configs`, all of them allowed at every shape.

        Raises:
            CaseError: there are none.
        """
        given = tuple(configs)
        _check_some(given, "configs")
        kept = tuple(dict.fromkeys(given))
        return cls(configs=kept, notes=tuple(_repeated(given)))

    @classmethod
    def build(
        cls,
        candidates: Sequence[Values],
        *,
        config_of: Callable[[Values], Config],
        where: str,
        constraints: Sequence[Constraint] = (),
        subspaces: Sequence[Subspace] = (),
        axis_names: Sequence[str] = (),
    ) -> Space:
        """Return the space of those candidates that meet the constraints.

        Constraints in which an axis occurs are left for `allowed`. A candidate is the values of a
        config by name, `config_of` makes one of it, and `where` says where they stand.

        Raises:
            CaseError: no config is left, or a constraint has no value for one.
        """
        _check_some(candidates, where)
        local = [c for c in constraints if {*c.names} & {*axis_names}]
        left = _left(candidates, [c for c in constraints if c not in local], config_of)
        configs = tuple(config_of(values) for values in left)
        kept = tuple(dict.fromkeys(configs))
        return cls(
            configs=kept,
            notes=(*_left_out(candidates, left), *_repeated(configs)),
            constraints=tuple(local),
            subspaces=tuple(subspaces),
        )

    def noted(self, *notes: str) -> Space:
        """Return the same space with more notes, which come first."""
        return replace(self, notes=(*notes, *self.notes))

    def merged(self, essence: Callable[[Config], Config]) -> Space:
        """Return the space in which configs of equal `essence` are the same to the device."""
        first: dict[Config, int] = {}
        same = tuple(first.setdefault(essence(c), i) for i, c in enumerate(self.configs))
        return replace(self, same=same if len(first) < len(same) else ())

    def size_notes(self) -> tuple[str, ...]:
        """Return what whoever is about to measure all configs may want to know."""
        n = len(self.configs)
        if n <= _MANY_CONFIGS:
            return ()
        many = f"{n:,} configs are more than {_MANY_CONFIGS}: trying them takes long"
        return (f"{many}; --search measures some of them",)

    def allowed(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the indices of the configs that are allowed at a shape, given its sizes by axis.

        Of those that are the same to the device it is the first.

        Raises:
            CaseError: a constraint has no value for a config at this shape.
        """
        if not (self.constraints or self.subspaces or self.same or self.grid):
            return tuple(range(len(self.configs)))
        return tuple(i for i, first in self._firsts(sizes) if i == first)

    def aside(self, sizes: Mapping[str, int]) -> dict[int, int]:
        """Return the indices of the configs for which another stands at a shape, and of those.

        Raises:
            CaseError: as `allowed`.
        """
        return {i: first for i, first in self._firsts(sizes) if i != first} if self.same else {}

    def _firsts(self, sizes: Mapping[str, int]) -> Iterator[tuple[int, int]]:
        """Yield what the constraints allow, and the first of them that is the same."""
        firsts: dict[int, int] = {}
        for i in self._allowed(sizes):
            yield i, firsts.setdefault(self.same[i], i) if self.same else i

    def is_empty(self, sizes: Mapping[str, int]) -> bool:
        """Say whether no config is allowed at a shape; raises CaseError as `allowed`."""
        return next(self._allowed(sizes), None) is None

    def _allowed(self, sizes: Mapping[str, int]) -> Iterator[int]:
        subspaces = [subspace for subspace in self.subspaces if subspace.covers(sizes)]
        constraints = [*self.constraints, *(c for s in subspaces for c in s.constraints)]
        unset, grid = _unset(constraints), self.grid
        for i, config in enumerate(self.configs):
            if grid and programs_of(grid.blocks(config), sizes) > grid.limit:
                continue
            own = config.all_kwargs()
            values = {**unset, **own, **sizes}
            if all(subspace.has(own) for subspace in subspaces) and all(
                constraint.holds(values, of=_at(config, sizes)) for constraint in constraints
            ):
                yield i


def combinations(parameters: Mapping[str, Sequence[Value]], where: str) -> list[dict[str, Value]]:
    """Return the product of the values of `parameters`, the last one changing fastest.

    Raises:
        CaseError: there are more than 200,000.
    """
    number = math.prod(len(values) for values in parameters.values())
    if number > MOST_COMBINATIONS:
        fact = f"has {number:,} combinations, more than {MOST_COMBINATIONS:,}"
        remedy = "leave values out, or write the configs out under configs"
        raise CaseError(fact, where=where, remedy=remedy)
    return [dict(zip(parameters, values, strict=True)) for values in product(*parameters.values())]


def _within(size: int, ends: _Range) -> bool:
    least, most = ends
    return (least is None or least <= size) and (most is None or size <= most)


def _among(value: object, left: Sequence[Value]) -> bool:
    """Say whether `value` is one of `left`; 1, 1.0 and True are three values."""
    return any(type(value) is type(other) and value == other for other in left)


def _unset(constraints: Iterable[Constraint]) -> dict[str, object]:
    """Return what an option that a config does not have is to the constraints: None."""
    return dict.fromkeys(name for constraint in constraints for name in constraint.names)


def _at(config: Config, sizes: Mapping[str, int]) -> Callable[[], str]:
    """Return a function that says which config at which shape, if anybody asks."""
    return lambda: f"{config.id} at {', '.join(f'{axis}={n}' for axis, n in sizes.items())}"


def _check_some(candidates: Sequence[object], where: str) -> None:
    if not candidates:
        raise CaseError("lists no config", where=where, remedy="list one at least")


def _left(
    candidates: Sequence[Values],
    constraints: Sequence[Constraint],
    config_of: Callable[[Values], Config],
) -> Sequence[Values]:
    """Return the candidates that meet the constraints; raises CaseError when none does."""
    for constraint in constraints:
        left = [
            values
            for values in candidates
            if constraint.holds(
                {**_unset([constraint]), **values}, of=partial(_id, config_of, values)
            )
        ]
        if not left:
            raise CaseError(
                f"{shown(constraint.text)} leaves no config; it does not hold for "
                f"{_id(config_of, candidates[0])}, to begin with",
                where=constraint.where,
                remedy="loosen it, or add configs that meet it",
            )
        candidates = left
    return candidates


def _id(config_of: Callable[[Values], Config], values: Values) -> str:
    return config_of(values).id


def _left_out(candidates: Sequence[object], left: Sequence[object]) -> Iterator[str]:
    if len(left) < len(candidates):
        out = len(candidates) - len(left)
        yield f"constraints leave out {out:,} of {len(candidates):,} configs"


def _repeated(configs: Sequence[Config]) -> Iterator[str]:
    """Yield which configs stand more than once."""
    twice = [name for name, times in Counter(c.id for c in configs).items() if times > 1]
    if twice:
        verb = "configs stand" if len(twice) > 1 else "config stands"
        yield f"{len(twice)} {verb} more than once and is tried once: {listed(twice)}"
