"""Numbers that repeat a constant: `kernel[(triton.cdiv(n, 1024),)](…, BLOCK=1024)`.

A grid that keeps the old number while the kernel gets the config's would compute something else.
So a number like that is either known to be the constant, by where it stands, and follows the
config, or the file is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from tuner.convert.divisions import divisors
from tuner.convert.functions import Functions
from tuner.convert.launches import Launch
from tuner.convert.source import Source
from tuner.convert.trace import Tracer
from tuner.convert.worth import numbers_of

__all__ = ["Repeat", "repeats"]

_NAME_IT = "write the constant's name there, or give the number a name of its own"
# Below this a number is too common to be suspected where nothing else points at it.
_TELLING = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repeat:
    """A number that is the config's value `wanted`, less `minus`."""

    node: cst.Integer
    wanted: str
    minus: int


def repeats(
    source: Source,
    functions: Functions,
    launches: Iterable[Launch],
    tracer: Tracer,
    params: frozenset[str],
) -> tuple[Repeat, ...]:
    """Return the numbers that repeat one of the constants `params`.

    Raises:
        ConvertError: a number may repeat one of several, or mean something else.
    """
    finder = _Finder(source, functions, tracer, params)
    for launch in launches:
        if tracer.reaches(launch.call):
            finder.look_at(launch)
    for host in functions.hosts:
        if tracer.reaches(host):
            finder.look_elsewhere(host)
    return tuple(finder.found.values())


class _Finder:
    def __init__(
        self, source: Source, functions: Functions, tracer: Tracer, params: frozenset[str]
    ) -> None:
        self._source, self._functions, self._tracer = source, functions, tracer
        self.found: dict[int, Repeat] = {}
        self._passed: set[int] = set()
        # Those of which the number stands in a call, with no name that could be used instead.
        nameless = {seed.wanted for seed in tracer.seeds.values() if seed.cell is None}
        nameless |= {addition.wanted for addition in tracer.additions.values()}
        self._nameless = nameless & params
        self._by_value: dict[int, list[str]] = {}
        for name, (value, _) in tracer.values.items():
            if name in params and isinstance(value, int) and value > 1:
                self._by_value.setdefault(value, []).append(name)

    def look_at(self, launch: Launch) -> None:
        """Find the repeats in the grid of `launch` and in what it is computed from."""
        parts = [*self._slice(launch.grid)]
        read = {wanted for part in parts for wanted in self._reads(part)}
        for part in parts:
            self._divisors(part, read)
        whole = {id(node) for node in launch.grid}
        for part in parts:
            self._refuse_disguised(part, read)
            for node in self._numbers(part, whole):
                self._passed.add(id(node))
                self._plain(node, read, is_whole=self._is_element(node, whole))

    def _divisors(self, part: cst.CSTNode, read: set[str]) -> None:
        for divisor in divisors(self._source, part):
            node = divisor.node
            if not divisor.rounds_up or not isinstance(node, cst.Integer) or self._is_passed(node):
                continue
            names = self._names(node, read)
            if len(names) > 1:
                self._refuse(node, names)
            for number, minus in ((node, 0), *divisor.others) if names else ():
                self._passed.add(id(number))
                self.found[id(number)] = Repeat(node=number, wanted=names[0], minus=minus)

    def _refuse_disguised(self, part: cst.CSTNode, read: set[str]) -> None:
        """Refuse a division by a constant's number that is written in some other way."""
        for divisor in divisors(self._source, part):
            if isinstance(divisor.node, cst.Integer) and not divisor.is_power:
                continue
            known = {*self._tracer.seeds, *self._tracer.cells, *self._tracer.defaults}
            for number in sorted(numbers_of(self._source, self._functions, divisor.node, known)):
                value = 1 << number if divisor.is_power and 0 <= number < 64 else number
                names = [name for name in self._by_value.get(value, ()) if name not in read]
                if names:
                    code = self._source.code(divisor.node)
                    fact = f"{code}, by which the grid divides, may stand for {' or '.join(names)}"
                    self._source.fail(divisor.node, fact, "divide by the constant itself")

    def _plain(self, node: cst.Integer, read: set[str], *, is_whole: bool) -> None:
        """Take a number of a grid that divides nothing for a constant, if it can only be one."""
        names = self._names(node, read)
        nameless = [name for name in names if name in self._nameless]
        if is_whole and nameless and len(names) == 1:
            self.found[id(node)] = Repeat(node=node, wanted=names[0], minus=0)
        elif nameless or (names and (is_whole or node.evaluated_value >= _TELLING)):
            self._refuse(node, nameless or names)

    def _names(self, node: cst.Integer, read: set[str]) -> list[str]:
        """Return the constants of this value, without those in `read`."""
        names = self._by_value.get(node.evaluated_value, ())
        return [name for name in names if name not in read]

    def _refuse(self, node: cst.Integer, names: list[str]) -> None:
        either = " or ".join(names)
        self._source.fail(node, f"{node.value} may stand for {either} here", _NAME_IT)

    def _is_passed(self, node: cst.CSTNode) -> bool:
        around = (node, *self._source.around(node))
        return id(node) in self._passed or any(id(n) in self._tracer.seeds for n in around)

    def _numbers(self, part: cst.CSTNode, whole: Iterable[int] = ()) -> Iterator[cst.Integer]:
        """Yield the integers in `part` that nothing is known of, but for indices."""
        for node in self._source.within(part):
            if isinstance(node, cst.Integer) and not self._is_passed(node):
                outer = self._source.parent(node)
                if not isinstance(outer, cst.Index) or id(outer) in {*whole}:
                    yield node

    def _is_element(self, node: cst.CSTNode, whole: set[int]) -> bool:
        """Say whether `node` is a size of the grid as it stands, as 132 in (132, 1)."""
        outer = self._source.parent(node)
        return isinstance(outer, cst.Element) or id(outer) in whole

    def _slice(self, grid: Iterable[cst.CSTNode]) -> Iterator[cst.CSTNode]:
        """Yield the grid, the values of the variables in it, and the functions it calls."""
        stack = [*grid]
        seen: set[int] = set()
        while stack:
            part = stack.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            for node in self._source.within(part):
                stack += self._origins(node)

    def _origins(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        if isinstance(node, cst.Call):
            yield from (s.function.body for s in self._functions.sites if s.call is node)
        for binding in self._source.bindings(node):
            bound = getattr(binding, "node", None)
            if isinstance(bound, cst.FunctionDef):
                if self._source.host(bound) is not bound:
                    yield bound.body
            elif isinstance(bound, cst.Name) and self._source.host(bound) is not None:
                yield from self._values(bound)

    def _values(self, target: cst.CSTNode) -> Iterator[cst.CSTNode]:
        for outer in self._source.around(target):
            if isinstance(outer, cst.Assign | cst.AnnAssign | cst.AugAssign):
                if outer.value is not None:
                    yield outer.value
                return

    def _reads(self, part: cst.CSTNode) -> Iterator[str]:
        """Yield what `part` has of the config's values by name, or as meta["NAME"]."""
        for node in self._source.within(part):
            for binding in self._source.bindings(node):
                known = self._tracer.cells.get(id(getattr(binding, "node", None)))
                if known:
                    yield known[1]
            if isinstance(node, cst.Attribute):
                for cell, wanted in self._tracer.cells.values():
                    if cell.kind == "attribute" and cell.name == node.attr.value:
                        yield wanted
            if isinstance(node, cst.Index) and isinstance(node.value, cst.SimpleString):
                yield str(node.value.evaluated_value)

    def look_elsewhere(self, host: cst.FunctionDef) -> None:
        """Find the repeats in `host` outside of the grids.

        A number is not suspected of being a constant that has a name, unless it is telling.
        """
        common = {n for value, names in self._by_value.items() if value < _TELLING for n in names}
        for divisor in divisors(self._source, host.body):
            node = divisor.node
            if divisor.rounds_up and isinstance(node, cst.Integer) and not self._is_passed(node):
                named = [n for n in self._names(node, common) if n not in self._nameless]
                if named:
                    self._refuse(node, named)
        self._divisors(host.body, common - self._nameless)
        for node in self._numbers(host.body):
            suspects = [name for name in self._names(node, set()) if name in self._nameless]
            if suspects and node.evaluated_value >= _TELLING:
                self._refuse(node, suspects)
