"""How a kernel's file gets the dispatch beside it: text that `convert` adds and `contract` knows.

It is bound while the file is imported: `_select_config` is then the dispatch's own function, which
costs a plain call and is traced by `torch.compile` as such. A missing dispatch is no error until a
config is asked for, since a kernel is written, and tuned, before it has one.
"""

from __future__ import annotations

import ast
from copy import deepcopy

__all__ = ["LOADER", "SELECT", "binding", "is_binding"]

SELECT = "_select_config"
LOADER = "_tuned_dispatch"

_BINDING = '''\
def _tuned_dispatch(){loaded}:
    """Load {module}.py, which `codegen emit manifest.json` writes beside this file.

    A warning says so if it was tuned for other code, where tuned-dispatch is installed to tell.
    TUNED_DISPATCH=strict raises instead, TUNED_DISPATCH=off does not ask.
    """
    import importlib.util
    import os
    import sys

    source = globals().get("__file__", "")
    path = os.path.join(os.path.dirname(source), "{module}.py")
    if __package__:
        from . import {module} as dispatch
    elif os.path.exists(path):  # A loose file, which may have been loaded by its path alone.
        spec = importlib.util.spec_from_file_location(f"{{__name__}}_dispatch", path)
        dispatch = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(dispatch)
        sys.modules[spec.name] = dispatch
    else:
        import {module} as dispatch
    mode = os.environ.get("TUNED_DISPATCH", "")
    if mode != "off":
        try:
            from codegen.beside import check_source
        except ImportError as error:
            if mode == "strict":
                raise RuntimeError("TUNED_DISPATCH=strict needs tuned-dispatch") from error
        else:
            check_source(source, getattr(dispatch, "SOURCE_SHA256", None), mode)
    return dispatch


try:
    _select_config = _tuned_dispatch()._select_config
except ImportError:

    def _select_config(shape{sizes}){config}:
        """Raise: there was no dispatch to choose the config for `shape` when this was imported."""
        message = "no {module}.py beside this file: `codegen emit manifest.json` writes it"
        raise ModuleNotFoundError(message)
'''


def binding(stem: str, *, annotated: bool = False) -> str:
    """Return the statements that bind `_select_config` in the file `stem`.py.

    With `annotated` its functions have types, of which `Any` is to be imported.
    """
    return _BINDING.format(
        module=f"{stem}_dispatch",
        loaded=" -> Any" if annotated else "",
        sizes=": tuple[int, ...]" if annotated else "",
        config=" -> Any" if annotated else "",
    )


def is_binding(tree: ast.Module, stem: str) -> bool:
    """Say whether `tree`, of the file `stem`.py, binds `_select_config` in just these words."""
    ours = [ast.dump(_bare(item)) for item in ast.parse(binding(stem)).body]
    theirs = [item for item in tree.body if _is_of_interest(item)]
    return len(theirs) == len(ours) and [ast.dump(_bare(item)) for item in theirs] == ours


def _is_of_interest(item: ast.stmt) -> bool:
    """Say whether `item` may bind one of the two names."""
    return any(
        {getattr(node, field, None) for field in ("name", "asname")} & {SELECT, LOADER}
        or (isinstance(node, ast.Name) and node.id in {SELECT, LOADER} and _is_stored(node))
        for node in ast.walk(item)
    )


def _is_stored(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


class _Bare(ast.NodeTransformer):
    """Takes annotations and docstrings away."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        node.returns = None
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node


def _bare(item: ast.stmt) -> ast.AST:
    bare: ast.AST = _Bare().visit(deepcopy(item))
    return bare
