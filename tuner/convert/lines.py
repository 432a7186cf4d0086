"""Lines that go, and lines that grew too wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from tuner.convert.layout import merged, trimmed
from tuner.convert.source import Source

__all__ = ["Lines"]

# From here on a line of several assignments is split.
_WIDE = 100
_INDENT = 8


class Lines:
    """The lines of a file, some of which go."""

    __slots__ = ("_gone", "_source")

    def __init__(self, source: Source, gone: Sequence[cst.SimpleStatementLine]) -> None:
        """Let the lines `gone` go."""
        self._source, self._gone = source, tuple(gone)

    def statement(self, code: str) -> cst.SimpleStatementLine | cst.BaseCompoundStatement:
        """Return the statement `code`, indented as the file is."""
        return cst.parse_statement(code, config=self._source.module.config_for_parsing)

    def statements(self, code: str) -> list[Any]:
        """Return the statements of `code`, indented and ended as the file's lines are."""
        config = self._source.module.config_for_parsing
        text = code.replace("\n", str(config.default_newline))
        return [*cst.parse_module(text, config=config).body]

    def _is_gone(self, line: object) -> bool:
        return any(line is one for one in self._gone)

    def comment_of(self, line: cst.SimpleStatementLine) -> tuple[cst.EmptyLine, ...]:
        """Return the comment above a line that goes, unless it is about the line below too."""
        body: Sequence[cst.CSTNode] = self._source.parent(line).body  # type: ignore[union-attr]
        index = next(i for i, statement in enumerate(body) if statement is line)
        for below in body[index + 1 : index + 2]:
            if not self._is_gone(below) and not getattr(below, "leading_lines", ()):
                return ()
        return trimmed(line.leading_lines)

    def without_gone(self, block: Any, node: Any) -> Any:
        """Return `node`, which `block` became, without the lines that go.

        Comments that are not theirs alone stay.
        """
        kept: list[Any] = []
        above: list[cst.EmptyLine] = []
        for original, updated in zip(block.body, node.body, strict=True):
            if self._is_gone(original):
                own = len(self.comment_of(original))
                above += original.leading_lines[: len(original.leading_lines) - own]
            elif above or (not kept and original is not block.body[0]):
                first = not kept and isinstance(node, cst.IndentedBlock)
                lines = merged(above, updated.leading_lines, first=first)
                kept.append(updated.with_changes(leading_lines=lines))
                above = []
            else:
                kept.append(updated)
        if not kept and isinstance(node, cst.IndentedBlock):
            kept = [self.statement("pass\n")]
        footer = merged(above, node.footer, first=False) if above else node.footer
        return node.with_changes(body=kept, footer=footer)

    def narrowed(self, line: cst.SimpleStatementLine) -> Any:
        """Return `a, b = config.…, config.…` as a line each where it is too wide."""
        statement = line.body[0]
        if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
            return line
        target, value = statement.targets[0].target, statement.value
        if not isinstance(target, cst.Tuple) or not isinstance(value, cst.Tuple):
            return line
        code = self._source.module.code_for_node
        pairs = [
            (code(name.value), code(item.value))
            for name, item in zip(target.elements, value.elements, strict=True)
        ]
        # Not `a, b = b, a`, of which the order counts.
        alike = all(name.isidentifier() and item.startswith("config.") for name, item in pairs)
        if not alike or len(code(statement)) + _INDENT <= _WIDE:
            return line
        lines = [self.statement(f"{name} = {item}\n") for name, item in pairs]
        lines[0] = lines[0].with_changes(
            leading_lines=line.leading_lines, trailing_whitespace=line.trailing_whitespace
        )
        return cst.FlattenSentinel(lines)
