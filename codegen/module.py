"""Rendered text → the text of a module that has passed every check we know."""

from __future__ import annotations

import ast

from codegen.errors import InternalError
from codegen.plan import RESERVED

__all__ = ["finished"]

_OLDEST_PYTHON = (3, 8)

# What may stand in a module of ours: no import, no lambda, no `while`.
_NODES = frozenset(
    """
    Module Expr Constant Assign AnnAssign Name Load Store Tuple Dict keyword Call ClassDef
    FunctionDef arguments arg Return Raise Try ExceptHandler If For Attribute Subscript ListComp
    comprehension JoinedStr FormattedValue Compare Lt LtE Gt GtE Eq NotEq In NotIn BoolOp And Or
    UnaryOp Not USub BinOp Add Mult FloorDiv Mod
    """.split()  # noqa: SIM905
)
_BUILTINS = frozenset(
    """
    AttributeError KeyError ValueError bool dict hash isinstance len list object property repr str
    int tuple
    """.split()  # noqa: SIM905
)


def finished(rendered: str) -> str:
    """Return `rendered` formatted by black, and proven to be the same program and a harmless one.

    Raises:
        InternalError: the text does not compile, is not the same program after formatting, is not
            stable under formatting, or holds a construct that no module of ours has.
    """
    before = _parsed(rendered)
    text = _formatted(rendered)
    after = before if text == rendered else _parsed(text)
    if ast.dump(before) != ast.dump(after):
        raise InternalError("formatting changed the module's meaning")
    if text != rendered and _formatted(text) != text:
        raise InternalError("the module is not stable under black")
    _check_constructs(after)
    return text


def _parsed(text: str) -> ast.Module:
    try:
        compile(text, "<emitted>", "exec", dont_inherit=True)
        return ast.parse(text, feature_version=_OLDEST_PYTHON)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InternalError(f"the module does not compile: {error}") from error


def _formatted(text: str) -> str:
    # Black takes a tenth of a second to import, which `--help` need not wait for.
    from black import format_file_contents  # noqa: PLC0415
    from black.mode import Mode, TargetVersion  # noqa: PLC0415
    from black.parsing import InvalidInput  # noqa: PLC0415
    from black.report import NothingChanged  # noqa: PLC0415

    try:
        return format_file_contents(
            text, fast=True, mode=Mode(target_versions={TargetVersion.PY38})
        )
    except NothingChanged:
        return text
    except (InvalidInput, RecursionError) as error:
        raise InternalError(f"black cannot format the module: {error}") from error


def _check_constructs(tree: ast.Module) -> None:
    known = {*_BUILTINS, *RESERVED}
    known |= {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    known |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    for node in ast.walk(tree):
        if type(node).__name__ not in _NODES:
            raise InternalError(f"the module holds a {type(node).__name__}")
        if isinstance(node, ast.Name) and node.id not in known:
            raise InternalError(f"the module names {node.id}")
