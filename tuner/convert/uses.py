"""May a constant go? Every use of it must be one that gets the config instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from tuner.convert.cells import Cell, attributes, is_target
from tuner.convert.functions import Functions
from tuner.convert.kernels import Kernel
from tuner.convert.launches import Launch
from tuner.convert.source import Binding, Source, dotted
from tuner.convert.trace import Tracer

__all__ = ["Uses", "checked_uses", "refuse_other_roles"]

_OWN = "give that a constant of its own"
_BY_NAME = frozenset({"getattr", "setattr", "hasattr", "delattr"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Uses:
    """What becomes of the constants that are kept outside of the functions that use them.

    Attributes:
        deleted: the lines that go.
        moved: by the id of a function, the constants of the module that it reads.
        inline: reads of attributes, and what they become.
    """

    deleted: tuple[cst.SimpleStatementLine, ...]
    moved: tuple[tuple[cst.FunctionDef, Cell, str], ...]
    inline: tuple[tuple[cst.Attribute, str], ...]


def checked_uses(
    source: Source, functions: Functions, kernels: Iterable[Kernel], tracer: Tracer
) -> Uses:
    """Return what becomes of the constants that `tracer` found.

    Raises:
        ConvertError: one is used for something else as well.
    """
    return _Checker(source, functions, kernels, tracer).uses()


class _Checker:
    def __init__(
        self, source: Source, functions: Functions, kernels: Iterable[Kernel], tracer: Tracer
    ) -> None:
        self._source, self._functions, self._tracer = source, functions, tracer
        self._kernels = {
            id(node): kernel for kernel in kernels for node in source.within(kernel.node)
        }
        self._kept = [
            (cell, wanted) for cell, wanted in tracer.cells.values() if cell.kind != "local"
        ]
        self._deleted: dict[int, cst.SimpleStatementLine] = {}

    def uses(self) -> Uses:
        for cell, _ in self._kept:
            line = self._line(cell)
            self._deleted[id(line)] = line
        moved: list[tuple[cst.FunctionDef, Cell, str]] = []
        inline: list[tuple[cst.Attribute, str]] = []
        for cell, wanted in self._kept:
            if cell.kind == "global":
                moved += [(host, cell, wanted) for host in self._readers(cell)]
            else:
                inline += [(read, wanted) for read in self._reads(cell)]
        return Uses(deleted=tuple(self._deleted.values()), moved=tuple(moved), inline=tuple(inline))

    def _line(self, cell: Cell) -> cst.SimpleStatementLine:
        """Return the line that sets `cell`, if it can be taken out whole."""
        source, statement = self._source, cell.store.statement
        assert statement is not None  # noqa: S101 (the tracer has looked)
        line = source.parent(statement)
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
            fact = f"{cell.name} is set in a line with other statements"
            source.fail(statement, fact, "write it in a line of its own")
        if cell.kind == "global" and source.parent(line) is not source.module:
            fact = f"{cell.name} is set under a condition"
            source.fail(statement, fact, "set it at the module's level, or in the function")
        for target in _targets(statement):
            if id(target) not in self._tracer.cells:
                fact = f"{source.code(target)} is set together with {cell.name}, and stays"
                source.fail(statement, fact, "set it in a line of its own")
        return line

    def _is_going(self, node: cst.CSTNode) -> bool:
        return any(id(outer) in self._deleted for outer in self._source.around(node))

    def _readers(self, cell: Cell) -> Iterator[cst.FunctionDef]:
        """Yield the functions that read a constant of the module, each once."""
        assert cell.binding is not None  # noqa: S101 (a variable has one)
        self._refuse_by_name(cell)
        self._refuse_import_of_all(cell)
        found: list[cst.FunctionDef] = []
        for access in sorted(cell.binding.references, key=lambda a: self._source.place(a.node)):
            node = access.node
            if self._is_going(node):
                continue
            kernel = self._kernels.get(id(node))
            if kernel:
                fact = f"the kernel {kernel.name} reads {cell.name} as a global"
                self._source.fail(node, fact, "give it a tl.constexpr param for it")
            host = self._owner(node, cell)
            if all(host is not known for known in found):
                found.append(host)
                yield host

    def _reads(self, cell: Cell) -> Iterator[cst.Attribute]:
        """Yield where an attribute is read."""
        self._refuse_by_name(cell)
        self._refuse_in_bodies(cell)
        for node in attributes(self._source, cell.name):
            owner = self._functions.class_of(node.value)
            if self._is_going(node) or self._source.is_imported(node):
                continue
            if owner is None or (owner is not cell.owner and self._derives(owner, cell)):
                fact = f"{self._source.code(node)} may be the constant {cell.name}"
                remedy = "use it in ModelNew's own methods alone, or rename this"
                self._source.fail(node, fact, remedy)
            if owner is cell.owner and not is_target(self._source, node):
                self._owner(node, cell)
                yield node

    def _derives(self, owner: cst.ClassDef, cell: Cell) -> bool:
        """Say whether the class `owner` has the one of `cell` among its bases."""
        found, todo = {id(owner)}, [owner]
        for one in todo:  # it grows meanwhile
            for base in one.bases:
                above = self._functions.class_of(base.value)
                if above is not None and id(above) not in found:
                    found.add(id(above))
                    todo.append(above)
        return id(cell.owner) in found

    def _owner(self, node: cst.CSTNode, cell: Cell) -> cst.FunctionDef:
        """Return the function that reads `cell` at `node`, if it gets the config."""
        host = self._source.host(node)
        if host is None or not self._tracer.reaches(node):
            where = f"in {host.name.value}" if host else "outside of a function"
            if any(isinstance(outer, cst.Parameters) for outer in self._source.around(node)):
                where = "outside of a function, as a default,"
            fact = f"{cell.name} is used {where} for something else too, which takes no config"
            self._source.fail(node, fact, _OWN)
        return host

    def _refuse_by_name(self, cell: Cell) -> None:
        """Refuse what reaches `cell` by its name as text, or as a global."""
        source = self._source
        for node in source.within(source.module):
            if isinstance(node, cst.Global | cst.Nonlocal):
                if cell.kind == "global" and any(n.name.value == cell.name for n in node.names):
                    source.fail(node, f"{cell.name} is declared global here", "read it as it is")
            elif isinstance(node, cst.SimpleString) and node.evaluated_value == cell.name:
                self._refuse_text(node, cell)

    def _refuse_import_of_all(self, cell: Cell) -> None:
        """Refuse an `import *` behind `cell`, as it may set it too."""
        for node in self._source.within(self._source.module):
            of_all = isinstance(node, cst.ImportFrom) and isinstance(node.names, cst.ImportStar)
            if of_all and self._source.place(node) > self._source.place(cell.store.target):
                fact = f"{self._source.code(node)} may set {cell.name}"
                self._source.fail(node, fact, "import by name")

    def _refuse_text(self, node: cst.SimpleString, cell: Cell) -> None:
        """Refuse the name of `cell` as text where it is exported or looked up."""
        remedy = f"remove it there: the config takes the place of {cell.name}"
        for outer in self._source.around(node):
            if isinstance(outer, cst.Assign | cst.AugAssign | cst.AnnAssign):
                if any(dotted(target) == "__all__" for target in _targets(outer)):
                    self._source.fail(node, f"{cell.name} is exported by __all__", remedy)
            elif isinstance(outer, cst.Call) and dotted(outer.func) in _BY_NAME:
                fact = f"{cell.name} is looked up by {dotted(outer.func)}()"
                self._source.fail(node, fact, remedy)

    def _refuse_in_bodies(self, cell: Cell) -> None:
        """Refuse a class whose body reads what it sets, and one below it that sets it again."""
        for node in self._source.within(self._source.module):
            if not isinstance(node, cst.Name) or node.value != cell.name:
                continue
            bound = [getattr(binding, "node", None) for binding in self._source.bindings(node)]
            if any(one is cell.store.target for one in bound):
                fact = f"{cell.name} is used in the class's body for something else too"
                self._source.fail(node, fact, _OWN)
            owner = self._source.owner(node)
            if owner is None or owner is cell.owner or self._source.host(node) is not None:
                continue
            if is_target(self._source, node) and self._derives(owner, cell):
                fact = f"{owner.name.value} sets {cell.name} anew"
                self._source.fail(node, fact, "let it have a file of its own")


def _targets(statement: cst.BaseSmallStatement) -> Iterator[cst.CSTNode]:
    """Yield the names and attributes that a statement sets."""
    stack: list[cst.CSTNode] = []
    if isinstance(statement, cst.Assign):
        stack = [target.target for target in statement.targets]
    elif isinstance(statement, cst.AnnAssign | cst.AugAssign):
        stack = [statement.target]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Tuple | cst.List):
            stack += [element.value for element in reversed(node.elements)]
        else:
            yield node


def refuse_other_roles(
    source: Source, functions: Functions, launches: Iterable[Launch], tracer: Tracer
) -> None:
    """Refuse a constant that a kernel gets for another of its constexpr params besides.

    Raises:
        ConvertError: with the line of the launch.
    """
    for launch in launches:
        if launch.kernel is None or not tracer.reaches(launch.call):
            continue
        constexprs = {param.name for param in launch.kernel.params if param.constexpr}
        for argument in launch.arguments.named:
            wanted = _wanted(source, functions, argument.value, tracer)
            if wanted and argument.name in constexprs and argument.name != wanted:
                if argument.name in tracer.values:
                    continue  # traced on its own account, and found to be the same
                fact = (
                    f"{source.code(argument.value)} is {wanted}, and {launch.name} gets it as "
                    f"{argument.name} too"
                )
                source.fail(argument.value, fact, _OWN)


def _wanted(source: Source, functions: Functions, node: cst.CSTNode, tracer: Tracer) -> str | None:
    """Return what the config calls the constant that `node` reads."""
    targets: list[object] = []
    if isinstance(node, cst.Name):
        bindings: tuple[Binding, ...] = source.bindings(node)
        targets = [getattr(binding, "node", None) for binding in bindings]
    elif isinstance(node, cst.Attribute):
        owner = functions.class_of(node.value)
        targets = [
            cell.store.target
            for cell, _ in tracer.cells.values()
            if cell.kind == "attribute" and cell.owner is owner and cell.name == node.attr.value
        ]
    found = [tracer.cells[id(target)][1] for target in targets if id(target) in tracer.cells]
    return found[0] if found else None
