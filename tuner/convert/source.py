"""A kernel's file, parsed: where a name is bound, what stands around a node, at which line."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import libcst as cst
from libcst import metadata

from codegen.errors import shown
from tuner.convert.errors import ConvertError

__all__ = ["Binding", "Source", "check_python", "dotted", "parse"]

Binding = metadata.BaseAssignment

# A level is four of Python's frames while libcst visits it; code that is written has up to 30.
_MOST_LEVELS = 100
_MOST_CHARACTERS = 2_000_000
_CORRECT = "correct the line, or run the Python version that it is written for"


class Source:
    """The syntax tree of a file, and what is known of its nodes.

    Attributes:
        name: the file's, for messages.
        module: its root; formatting is kept in it.
        captures: the names that `match` patterns bind, which no scope lists.
    """

    __slots__ = (
        "_bindings",
        "_children",
        "_global",
        "_parents",
        "_positions",
        "_scopes",
        "captures",
        "module",
        "name",
    )

    def __init__(self, name: str, module: cst.Module) -> None:
        """Resolve the names of `module`."""
        wrapper = metadata.MetadataWrapper(module, unsafe_skip_copy=True)
        self.name = name
        self.module = wrapper.module
        self._positions: Mapping[cst.CSTNode, Any] = wrapper.resolve(metadata.PositionProvider)
        self._parents: Mapping[cst.CSTNode, Any] = wrapper.resolve(metadata.ParentNodeProvider)
        # In the order of the text; to ask each node for its children takes ten times as long.
        self._children: dict[int, list[cst.CSTNode]] = {}
        for node, parent in self._parents.items():
            self._children.setdefault(id(parent), []).append(node)
        self._scopes: Mapping[cst.CSTNode, Any] = dict(wrapper.resolve(metadata.ScopeProvider))
        self._global: Any = self._scopes[self.module]
        self._bindings = {
            id(access.node): tuple(sorted(access.referents, key=self._place))
            for scope in {*self._scopes.values()} - {None}
            for access in scope.accesses
        }
        self.captures = frozenset(
            node.name.value
            for node in self.within(self.module)
            if isinstance(node, cst.MatchAs | cst.MatchStar) and node.name
        )

    def _place(self, binding: Binding) -> tuple[int, int]:
        """Return where `binding` stands; at the beginning what the file does not bind."""
        node = getattr(binding, "node", None)
        if node is None or node not in self._positions:
            return 0, 0
        return self.place(node)

    def place(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return line and column at which `node` begins."""
        start = self._positions[node].start
        return start.line, start.column

    def end(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return line and column at which `node` ends."""
        end = self._positions[node].end
        return end.line, end.column

    def lines(self, bindings: Iterable[Binding]) -> str:
        """Return the lines of `bindings`, for a message."""
        return ", ".join(str(line) for line in sorted({self._place(b)[0] for b in bindings}))

    def where(self, node: cst.CSTNode) -> str:
        """Return `file:line` of `node`."""
        return f"{self.name}:{self.place(node)[0]}"

    def fail(self, node: cst.CSTNode, fact: str, remedy: str) -> NoReturn:
        """Refuse the file for what stands at `node`; raises ConvertError."""
        raise ConvertError(fact, where=self.where(node), remedy=remedy)

    def code(self, node: cst.CSTNode) -> str:
        """Return `node` as it is written, in one line, for a message."""
        text = " ".join(self.module.code_for_node(node).split())
        return text if len(text) <= 60 else f"{text[:59]}…"

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node around `node`, None for the module."""
        found: cst.CSTNode | None = self._parents.get(node)
        return found

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the nodes around `node`, from the inside out."""
        outer = self.parent(node)
        while outer is not None:
            yield outer
            outer = self.parent(outer)

    def host(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """Return the outermost function in whose body `node` stands, or that it is.

        A default, a decorator and an annotation are evaluated outside of their function. None at
        the level of the module or of a class.
        """
        found = node if isinstance(node, cst.FunctionDef) else None
        inner = node
        for outer in self.around(node):
            if isinstance(outer, cst.FunctionDef) and inner is outer.body:
                found = outer
            inner = outer
        return found

    def owner(self, function: cst.CSTNode) -> cst.ClassDef | None:
        """Return the class whose method `function` is, also under an `if` in its body."""
        for outer in self.around(function):
            if isinstance(outer, cst.ClassDef):
                return outer
            if isinstance(outer, cst.FunctionDef | cst.Lambda):
                return None
        return None

    def within(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield `node` and all below it, in the order of the text."""
        stack = [node]
        while stack:
            inner = stack.pop()
            yield inner
            stack.extend(reversed(self._children.get(id(inner), ())))

    def bindings(self, name: cst.CSTNode) -> tuple[Binding, ...]:
        """Return what the name `name`, which is read, may be bound by, in the order of the text."""
        return self._bindings.get(id(name), ())

    def is_imported(self, node: cst.BaseExpression) -> bool:
        """Say whether `node` is a name with dots of which the first is imported or built in."""
        root = node
        while isinstance(root, cst.Attribute):
            root = root.value
        kinds = (metadata.ImportAssignment, metadata.BuiltinAssignment)
        return any(isinstance(binding, kinds) for binding in self.bindings(root))

    def is_read(self, name: cst.CSTNode) -> bool:
        """Say whether `name` stands for a variable's value, and is no keyword or attribute."""
        return id(name) in self._bindings

    def bound_in(self, function: cst.CSTNode) -> Iterator[Binding]:
        """Yield what is bound in `function`, in functions within it too, in the text's order."""
        outer = self._scopes.get(function)
        scopes = {id(s): s for node in self.within(function) if (s := self._scopes.get(node))}
        for scope in scopes.values():
            if scope is not outer and not isinstance(scope, metadata.GlobalScope):
                inside = [b for b in scope.assignments if isinstance(b, metadata.Assignment)]
                yield from sorted(inside, key=self._place)

    def global_bindings(self, name: str) -> tuple[Binding, ...]:
        """Return what binds `name` at the module's level."""
        scope: Any = self._global
        found = [b for b in scope.assignments if b.name == name]
        return tuple(sorted(found, key=self._place))


def dotted(node: cst.CSTNode) -> str:
    """Return a name with dots, as `triton.jit`; empty for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr.value}" if before else ""
    return ""


def parse(text: str, name: str) -> Source:
    """Return the file `name`, which holds `text`.

    Raises:
        ConvertError: it is not Python, or too long or too deep to be looked through.
    """
    if len(text) > _MOST_CHARACTERS:
        fact = f"has {len(text)} characters, more than {_MOST_CHARACTERS}"
        raise ConvertError(fact, where=name, remedy="put the kernel into a file of its own")
    check_python(text, name)
    try:
        return Source(name, cst.parse_module(text))
    except cst.ParserSyntaxError as error:
        fact = f"is not Python: {shown(error.message)}"
        raise ConvertError(fact, where=f"{name}:{error.raw_line}", remedy=_CORRECT) from None
    except RecursionError:
        raise _too_deep(name, 1) from None


def check_python(text: str, name: str) -> None:
    """Refuse what Python refuses, and what would overrun libcst's stack.

    Raises:
        ConvertError: with the line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        where = f"{name}:{error.lineno}" if error.lineno else name
        raise ConvertError(f"is not Python: {error.msg}", where=where, remedy=_CORRECT) from None
    except (RecursionError, MemoryError):
        raise _too_deep(name, 1) from None
    except ValueError as error:  # a NUL, a lone surrogate
        fact = f"is not Python: {error}"
        raise ConvertError(fact, where=name, remedy="name a Python file") from None
    level: Sequence[ast.AST] = [tree]
    for _ in range(_MOST_LEVELS):
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
        if not level:
            return
    lines = (getattr(node, "lineno", 0) for node in level)
    raise _too_deep(name, max(lines, default=1) or 1)


def _too_deep(name: str, line: int) -> ConvertError:
    remedy = "split its longest expression or elif chain into several statements"
    return ConvertError("is nested too deeply", where=f"{name}:{line}", remedy=remedy)
