"""A plan, carried out on the syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import libcst as cst

from tuner.binding import SELECT, binding
from tuner.convert.kernels import Kernel
from tuner.convert.layout import appended_arg, appended_param, without
from tuner.convert.lines import Lines
from tuner.convert.place import selection_index
from tuner.convert.plan import Plan, Tuned
from tuner.convert.source import Source
from tuner.convert.template import ALL_KWARGS, CONFIG, accessor, selection

__all__ = ["carried_out"]


def carried_out(source: Source, plan: Plan, shape: str, stem: str) -> str:
    """Return the text of the file with all changes of `plan`.

    `shape` is the expression that the dispatch is asked for, and `stem` the name of the file that
    the text is for.
    """
    edits = _Edits(source, plan, shape, stem)
    changed = source.module.visit(_Transformer(edits.nodes))
    assert isinstance(changed, cst.Module)  # noqa: S101 (a module stays one)
    return edits.finished(changed).code


class _Transformer(cst.CSTTransformer):
    """Puts in place of each node what its edits make of it, from the inside out."""

    def __init__(self, nodes: dict[int, list[Callable[[Any], Any]]]) -> None:
        super().__init__()
        self._nodes = nodes

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        """Apply the edits of `original_node`."""
        result = super().on_leave(original_node, updated_node)
        for edit in self._nodes.get(id(original_node), ()):
            result = edit(result)
        return result


class _Edits:
    """The edits of a plan, by the id of their node."""

    def __init__(self, source: Source, plan: Plan, shape: str, stem: str) -> None:
        self._source, self._plan, self._shape, self._stem = source, plan, shape, stem
        self._lines = Lines(source, plan.uses.deleted)
        self.nodes: dict[int, list[Callable[[Any], Any]]] = {}
        self._values()
        for item in plan.tuned:
            self._launch(item)
        for addition in plan.tracer.additions.values():
            if not any(addition.call is item.launch.call for item in plan.tuned):
                self._keyword(addition.call, addition.keyword, accessor(addition.wanted))
        for site in plan.handed:
            self._keyword(site.call, CONFIG, CONFIG)
        for kernel in plan.autotuned:
            self._add(kernel.node, partial(_without, kernel))
        for function in (*plan.entries, *plan.helpers):
            self._function(function)
        self._blocks()

    def _add(self, node: cst.CSTNode, edit: Callable[[Any], Any]) -> None:
        self.nodes.setdefault(id(node), []).append(edit)

    def _replace(self, node: cst.BaseExpression, code: str) -> None:
        self._add(node, lambda _: cst.parse_expression(code))

    def _values(self) -> None:
        """Let each constant that is read where it stands be the config's."""
        plan = self._plan
        gone = {id(arg.value) for item in plan.tuned for arg in item.dropped}
        for seed in plan.tracer.seeds.values():
            kept = seed.cell is not None and seed.cell.kind != "local"
            if not kept and id(seed.node) not in gone:
                self._replace(seed.node, accessor(seed.wanted))
        for node, wanted in plan.uses.inline:
            if id(node) not in gone:
                self._replace(node, accessor(wanted))
        for repeat in plan.repeats:
            code = accessor(repeat.wanted)
            self._replace(repeat.node, f"{code} - {repeat.minus}" if repeat.minus else code)

    def _launch(self, item: Tuned) -> None:
        call = item.launch.call
        if not item.whole:
            for name in item.added:
                self._keyword(call, name, accessor(name))
            return
        dropped = [i for i, arg in enumerate(call.args) if any(arg is d for d in item.dropped)]
        star = cst.Arg(star="**", value=cst.parse_expression(ALL_KWARGS))
        self._add(call, lambda node: without(appended_arg(node, star), dropped))

    def _keyword(self, call: cst.Call, name: str, code: str) -> None:
        arg = cst.Arg(
            keyword=cst.Name(name),
            value=cst.parse_expression(code),
            equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
        )
        self._add(call, lambda node: appended_arg(node, arg))

    def _is_annotated(self, function: cst.FunctionDef) -> bool:
        """Say whether `function` has types, and the file a name for that of a config."""
        typed = any(param.annotation for param in function.params.params)
        return typed and any(
            type(binding).__name__ == "ImportAssignment"
            for binding in self._source.global_bindings("Any")
        )

    def _function(self, function: cst.FunctionDef) -> None:
        entry = any(function is one for one in self._plan.entries)
        annotated = self._is_annotated(function)
        param = cst.Param(
            name=cst.Name(CONFIG),
            annotation=cst.Annotation(cst.Name("Any")) if annotated else None,
            default=cst.Name("None") if entry else None,
            equal=_equal(spaced=annotated) if entry else cst.MaybeSentinel.DEFAULT,
            star="",
        )
        self._add(function, lambda node: appended_param(node, param, keyword=not entry))
        moved = [
            self._moved(cell.store.target, cell.name, wanted)
            for host, cell, wanted in self._plan.uses.moved
            if host is function
        ]
        index = selection_index(self._source, self._plan, function) if entry else None
        chosen = [self._lines.statement(selection(self._shape))] if entry else []
        if chosen or moved:
            self._insert(function, index, [*chosen, *moved])

    def _moved(
        self, target: cst.CSTNode, name: str, wanted: str
    ) -> cst.SimpleStatementLine | cst.BaseCompoundStatement:
        """Return the line that takes the place of a constant of the module, in a function."""
        statement = self._lines.statement(f"{name} = {accessor(wanted)}\n")
        line = self._line(target)
        first = next(iter(line.body), None)
        alone = isinstance(first, cst.Assign) and isinstance(first.targets[0].target, cst.Name)
        if isinstance(first, cst.AnnAssign) or alone:
            trailing = line.trailing_whitespace
            lines = tuple(one.with_changes(indent=True) for one in self._lines.comment_of(line))
            return statement.with_changes(trailing_whitespace=trailing, leading_lines=lines)
        return statement

    def _line(self, node: cst.CSTNode) -> cst.SimpleStatementLine:
        for outer in self._source.around(node):
            if isinstance(outer, cst.SimpleStatementLine):
                return outer
        raise AssertionError(node)

    def _insert(
        self, function: cst.FunctionDef, index: int | None, statements: list[cst.BaseStatement]
    ) -> None:
        """Put `statements` before the one at `index` of the body, or behind its docstring."""
        at = _docstring(function) if index is None else index

        def edit(node: cst.FunctionDef) -> cst.FunctionDef:
            body = node.body
            if isinstance(body, cst.SimpleStatementSuite):
                line = cst.SimpleStatementLine(
                    body=body.body, trailing_whitespace=body.trailing_whitespace
                )
                body = cst.IndentedBlock(body=[line])
            lines = [*body.body]
            lines = [*lines[:at], *statements, *lines[at:]]
            return node.with_changes(body=body.with_changes(body=lines))

        self._add(function, edit)

    def _blocks(self) -> None:
        """Take out the lines that go, and split those that grew too wide."""
        blocks: dict[int, cst.CSTNode] = {}
        for line in self._plan.uses.deleted:
            block = self._source.parent(line)
            assert block is not None  # noqa: S101 (a line stands in a block)
            blocks[id(block)] = block
        for block in blocks.values():
            self._add(block, partial(self._lines.without_gone, block))
        statements = {
            id(statement): statement
            for cell, _ in self._plan.tracer.cells.values()
            if cell.kind == "local" and (statement := cell.store.statement)
        }
        for statement in statements.values():
            outer = self._source.parent(statement)
            if isinstance(outer, cst.SimpleStatementLine) and len(outer.body) == 1:
                self._add(outer, self._lines.narrowed)

    def finished(self, module: cst.Module) -> cst.Module:
        """Return `module` with what binds the dispatch, before what first calls it."""
        if self._source.global_bindings(SELECT):
            return module
        first = min(
            index
            for index, statement in enumerate(self._source.module.body)
            for entry in self._plan.entries
            if statement is entry or any(outer is statement for outer in self._source.around(entry))
        )
        gone = sum(
            any(statement is line for line in self._plan.uses.deleted)
            for statement in self._source.module.body[:first]
        )
        annotated = any(self._is_annotated(entry) for entry in self._plan.entries)
        helpers = self._lines.statements(binding(self._stem, annotated=annotated))
        at = first - gone
        if at:
            empty = [cst.EmptyLine(indent=False), cst.EmptyLine(indent=False)]
            helpers[0] = helpers[0].with_changes(leading_lines=empty)
        below = module.body[at]
        lines = [*below.leading_lines]
        while len(lines) < 2 or any(line.comment for line in lines[:2]):
            lines.insert(0, cst.EmptyLine(indent=False))
        body = [*module.body[:at], *helpers, below.with_changes(leading_lines=lines)]
        return module.with_changes(body=[*body, *module.body[at + 1 :]])


def _equal(*, spaced: bool) -> cst.AssignEqual:
    space = cst.SimpleWhitespace(" " if spaced else "")
    return cst.AssignEqual(whitespace_before=space, whitespace_after=space)


def _docstring(function: cst.FunctionDef) -> int:
    """Return 1 if the body of `function` begins with a docstring, else 0."""
    return 1 if function.get_docstring(clean=False) is not None else 0


def _without(kernel: Kernel, node: cst.FunctionDef) -> cst.FunctionDef:
    """Return the function of `kernel` without `@triton.autotune`."""
    kept: list[cst.Decorator] = []
    above: Iterable[cst.EmptyLine] = ()
    for before, now in zip(kernel.node.decorators, node.decorators, strict=True):
        if before is kernel.autotune:
            above = now.leading_lines
        else:
            kept.append(now.with_changes(leading_lines=[*above, *now.leading_lines]))
            above = ()
    return node.with_changes(decorators=kept)
