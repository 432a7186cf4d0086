"""What the grammars share: a text becomes a tree, the tree a function, both within limits."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from codegen.errors import listed, shown
from tuner.expressions.integers import INTEGERS, Operation, ReasonError, minus

__all__ = [
    "MANY",
    "Compiler",
    "Evaluation",
    "FaultError",
    "Run",
    "excerpt",
    "parsed",
]

Run: TypeAlias = Callable[[Mapping[str, object]], object]

MANY = 1_000  # arguments: as many as one likes
_LENGTH = 1_000  # characters
_DEPTH = 60  # nodes on the way from the root; each takes a few frames of Python's own stack
_SHORTER = "write something shorter"


class FaultError(Exception):
    """What is wrong with which part of an expression.

    Attributes:
        part: its text.
        why: a predicate of it, such as `divides by zero`.
        remedy: None where that depends on the grammar.
    """

    def __init__(self, part: str, why: str, remedy: str | None = None) -> None:
        super().__init__(f"{part} {why}")
        self.part, self.why, self.remedy = part, why, remedy


def excerpt(text: str, *, limit: int = 60) -> str:
    """Return code as it may stand in a one-line message: escaped, cut at `limit`, not in quotes."""
    text = ascii(text)[1:-1]
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def parsed(text: str) -> ast.expr:
    """Return the tree of the Python expression `text`.

    Raises:
        FaultError: it is no expression, too long, or nested too deeply.
    """
    if len(text) > _LENGTH:
        why = f"has {len(text)} characters, more than {_LENGTH}"
        raise FaultError(shown(text), why, _SHORTER)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as "str" object is not callable
            tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        why = f"is not an expression: {error.msg} at character {error.offset or 1}"
        raise FaultError(shown(text), why, "correct it there") from None
    except (RecursionError, MemoryError):
        raise FaultError(shown(text), "is nested too deeply", _SHORTER) from None
    except ValueError as error:  # a NUL, a lone surrogate
        why = f"is not an expression: {error}"
        raise FaultError(shown(text), why, "correct it there") from None
    _check_depth(tree, text)
    return tree


def _check_depth(tree: ast.AST, text: str) -> None:
    level, depth = [tree], 0
    while level:
        depth += 1
        if depth > _DEPTH:
            why = f"is nested more than {_DEPTH} levels deep"
            raise FaultError(shown(text), why, _SHORTER)
        level = [child for node in level for child in ast.iter_child_nodes(node)]


class Compiler:
    """Turns a tree into a function: integers, names, arithmetic and calls of named functions.

    A grammar is a subclass that sets the tables and adds nodes of its own in `run`.
    """

    operators: Mapping[type[ast.operator], Operation] = INTEGERS
    # name → the function, and how few and how many arguments it takes
    functions: Mapping[str, tuple[Operation, int, int]] = {}
    # what to say of a name that is not among those known, and of these
    unknown, known = "is not known here", "the names are"

    def __init__(self, text: str, names: Sequence[str] | None) -> None:
        """Compile parts of `text`, in which `names` are known; None is for any."""
        self._text = text.strip()
        self._known = names
        self.names: set[str] = set()

    def knows(self, name: str) -> bool:
        """Say whether `name` may be used."""
        return self._known is None or name in self._known

    def part(self, node: ast.AST) -> str:
        """Return the text of `node` as it may stand in a message."""
        return excerpt(ast.get_source_segment(self._text, node) or ast.unparse(node))

    def refused(self, node: ast.AST) -> FaultError:
        """Return the error for a node that the grammar does not have."""
        return FaultError(self.part(node), "is not allowed")

    def run(self, node: ast.expr) -> Run:
        """Return the function that gives the value of `node`, given those of the names.

        Raises:
            FaultError: something in `node` is not of the grammar.
        """
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                if value >= 2**63:
                    raise FaultError(self.part(node), "does not fit in 64 bits", "write less")
                return lambda _: value
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.apply(node, minus, operand)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in self.operators:
                return self.apply(node, self.operators[type(operator)], left, right)
            case ast.BinOp(op=ast.Div()):
                raise FaultError(self.part(node), "is not an integer", "write //")
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(node, name, arguments)
        raise self.refused(node)

    def apply(self, node: ast.AST, operation: Operation, *operands: ast.expr) -> Run:
        """Return the function that applies `operation`; `node` is what a fault of it names."""
        runs = [self.run(operand) for operand in operands]
        return self.guarded(node, lambda values: operation(*[run(values) for run in runs]))

    def guarded(self, node: ast.AST, run: Run) -> Run:
        """Return `run`, its ReasonError made a FaultError of `node`."""
        part = self.part(node)

        def guarded(values: Mapping[str, object]) -> object:
            try:
                return run(values)
            except ReasonError as reason:
                raise FaultError(part, str(reason)) from None

        return guarded

    def _name(self, node: ast.Name, name: str) -> Run:
        if not self.knows(name):
            names = listed(self._known or (), most=12) or "none"
            raise FaultError(self.part(node), self.unknown, f"{self.known} {names}")
        self.names.add(name)
        part = self.part(node)

        def run(values: Mapping[str, object]) -> object:
            try:
                return values[name]
            except KeyError:
                raise FaultError(part, "has no value") from None

        return run

    def _call(self, node: ast.Call, name: str, arguments: list[ast.expr]) -> Run:
        if name not in self.functions:
            known = ", ".join(self.functions)
            why = f"calls {excerpt(name)}, which is not among the functions"
            raise FaultError(self.part(node), why, f"the functions are {known}")
        operation, fewest, most = self.functions[name]
        if not fewest <= len(arguments) <= most:
            wanted = str(fewest) if fewest == most else f"{fewest} or more"
            why = f"gives {len(arguments)} arguments, not {wanted}"
            raise FaultError(self.part(node), why, "correct it")
        return self.apply(node, operation, *arguments)


class Evaluation:
    """A compiled expression: the `names` in it, sorted, and its `value` for values of them."""

    __slots__ = ("_run", "names")

    def __init__(self, compiler: Compiler, tree: ast.expr) -> None:
        """Compile; raises FaultError where something is not of the grammar."""
        self._run = compiler.run(tree)
        self.names = tuple(sorted(compiler.names))

    def value(self, values: Mapping[str, object]) -> object:
        """Return the value; raises FaultError where there is none."""
        return self._run(values)
