"""A constraint on configs, as an expression: `BLOCK_M * BLOCK_N <= 16384 and BLOCK_M <= M`.

Allowed are the names of params, launch options, backend options and axes; `+ - * // %` and unary
minus on integers; `== != < <= > >=`, chained too; `in` and `not in` with a tuple of literals;
`and or not` on what is true or false; `min max abs cdiv`; integers, strings, True, False, None.
Nothing is converted: an integer is not a truth, and a string does not equal a number, not even to
say that they differ.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from codegen.errors import shown
from tuner.errors import CaseError
from tuner.expressions.core import MANY, Compiler, Evaluation, FaultError, Run, excerpt, parsed
from tuner.expressions.integers import Operation, ReasonError, divisor, integer, kind, limited

__all__ = ["Constraint"]

_REMEDY = (
    "use the names of params, options and axes, + - * // %, comparisons, and or not, in (1, 2), "
    "min max abs cdiv, integers and strings"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A condition that a config has to meet, at every shape or at the shapes it speaks of.

    Attributes:
        text: as it is written.
        names: that occur in it, sorted.
        where: the place that its errors name.
    """

    text: str
    names: tuple[str, ...]
    where: str
    _evaluation: Evaluation = field(repr=False, compare=False)

    @classmethod
    def parse(
        cls, text: str, *, names: Sequence[str] | None = None, where: str = "constraint"
    ) -> Constraint:
        """Return the constraint `text`, which may use `names`, any if None.

        Raises:
            CaseError: it is not of the grammar, or uses another name.
        """
        try:
            evaluation = Evaluation(_ConstraintCompiler(text, names), parsed(text))
        except FaultError as fault:
            remedy = fault.remedy or _REMEDY
            raise CaseError(f"{fault.part} {fault.why}", where=where, remedy=remedy) from None
        return cls(text=text, names=evaluation.names, where=where, _evaluation=evaluation)

    def holds(self, values: Mapping[str, object], *, of: Callable[[], str]) -> bool:
        """Say whether the constraint holds for `values`; `of` says of what, for an error.

        Raises:
            CaseError: it has no value: a division by zero, a string where a number is needed.
        """
        try:
            return _truth(self._evaluation.value(values))
        except FaultError as fault:
            fact = f"{fault.part} {fault.why}"
        except ReasonError as reason:
            fact = f"{excerpt(self.text)} {reason}"
        raise CaseError(
            f"{fact} (in {shown(self.text)}, for {of()})",
            where=self.where,
            remedy="correct it, or guard it: `… or …` stops at the first part that is true",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the text: what it compiles to cannot be pickled."""
        return _again, (self.text, self.where)


def _again(text: str, where: str) -> Constraint:
    return Constraint.parse(text, where=where)


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    hint = "; compare it, as in … == 0" if isinstance(value, int) else ""
    raise ReasonError(f"is {kind(value)}, neither true nor false{hint}")


def _not(value: object) -> bool:
    return not _truth(value)


def _class(value: object) -> str:
    """Return the name of what `value` can be compared with."""
    return "a number" if type(value) in {int, float} else kind(value)


def _equal(a: object, b: object) -> bool:
    if a is None or b is None:
        return a is b
    if _class(a) != _class(b):
        raise ReasonError(f"compares {kind(a)} with {kind(b)}")
    return a == b


def _unequal(a: object, b: object) -> bool:
    return not _equal(a, b)


def _in(a: object, literals: object) -> bool:
    assert isinstance(literals, tuple)  # noqa: S101 (of our own making)
    return any(_equal(a, literal) for literal in literals)


def _not_in(a: object, literals: object) -> bool:
    return not _in(a, literals)


Test: TypeAlias = Callable[[object, object], bool]


def _ordered(compare: Callable[[Any, Any], bool]) -> Test:
    def test(a: object, b: object) -> bool:
        for value in (a, b):
            if _class(value) != "a number":
                raise ReasonError(f"asks whether {kind(value)} is less or more")
        return compare(a, b)

    return test


_TESTS: Mapping[type[ast.cmpop], Test] = {
    ast.Eq: _equal,
    ast.NotEq: _unequal,
    ast.In: _in,
    ast.NotIn: _not_in,
    ast.Lt: _ordered(lambda a, b: a < b),
    ast.LtE: _ordered(lambda a, b: a <= b),
    ast.Gt: _ordered(lambda a, b: a > b),
    ast.GtE: _ordered(lambda a, b: a >= b),
}


def _cdiv(a: object, b: object) -> int:
    return limited(-(-integer(a) // divisor(b)))


class _ConstraintCompiler(Compiler):
    functions: Mapping[str, tuple[Operation, int, int]] = {
        "min": (lambda *values: min(integer(value) for value in values), 2, MANY),
        "max": (lambda *values: max(integer(value) for value in values), 2, MANY),
        "abs": (lambda value: limited(abs(integer(value))), 1, 1),
        "cdiv": (_cdiv, 2, 2),
    }

    def run(self, node: ast.expr) -> Run:
        match node:
            case ast.Name(id="true" | "false" | "null" as name) if not self.knows(name):
                python = {"true": "True", "false": "False", "null": "None"}
                raise FaultError(name, "is not known here", f"write {python[name]}")
            case ast.Constant(value=bool() | str() | None as value):
                return lambda _: value
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.apply(node, _not, operand)
            case ast.BoolOp(op=operator, values=operands):
                return self._short_circuit(isinstance(operator, ast.Or), operands)
            case ast.Compare(left=left, ops=operators, comparators=others):
                return self._comparison(node, left, operators, others)
        return super().run(node)

    def _short_circuit(self, stop: bool, operands: Sequence[ast.expr]) -> Run:
        runs = [self.apply(operand, _truth, operand) for operand in operands]
        test = any if stop else all
        return lambda values: test(run(values) for run in runs)

    def _comparison(
        self,
        node: ast.Compare,
        left: ast.expr,
        operators: Sequence[ast.cmpop],
        others: Sequence[ast.expr],
    ) -> Run:
        first = self.run(left)
        steps: list[tuple[Test, Run]] = []
        for operator, other in zip(operators, others, strict=True):
            if type(operator) not in _TESTS:
                raise FaultError(self.part(node), "is not allowed", "write == or !=")
            within = isinstance(operator, ast.In | ast.NotIn)
            run = self._literals(other) if within else self.run(other)
            steps.append((_TESTS[type(operator)], run))

        def compare(values: Mapping[str, object]) -> bool:
            value = first(values)
            for test, run in steps:
                following = run(values)
                if not test(value, following):
                    return False
                value = following
            return True

        return self.guarded(node, compare)

    def _literals(self, node: ast.expr) -> Run:
        if not isinstance(node, ast.Tuple | ast.List):
            raise FaultError(self.part(node), "stands after in", "list values there, as in (1, 2)")
        values = tuple(self.run(element)({}) for element in node.elts if self._literal(element))
        return lambda _: values

    def _literal(self, node: ast.expr) -> bool:
        value = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(value, ast.Constant):
            return True
        raise FaultError(self.part(node), "is not a literal", "list values, as in (1, 2)")
