"""`_select_config`: that it is the function which `codegen emit` writes, and no other.

Accepted is what `tuner convert` writes, in just the words of `tuner.binding`, and besides these
forms, which work for a file in a package and for a loose one:

    try:                                        # both
        from .impl_dispatch import _select_config
    except ImportError:
        from impl_dispatch import _select_config

    from .impl_dispatch import _select_config   # one of them alone

    def _select_config(shape):                  # at the first call
        ... nothing but one of the above, and
        return _select_config(shape)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tuner.binding import SELECT, is_binding
from tuner.contract.breach import Breach
from tuner.contract.module import Module
from tuner.contract.nodes import Function, all_parameters, body_of, dotted, is_none, statements

__all__ = ["dispatch_breaches", "is_select", "is_selector"]

_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})


def is_select(node: ast.AST) -> bool:
    """Say whether `node` is a call of a `_select_config`, however it is reached."""
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name == SELECT
    return False


def is_selector(function: Function) -> bool:
    """Say whether `function` is meant to be the one that asks the dispatch."""
    return function.name == SELECT


def dispatch_breaches(module: Module) -> Iterator[Breach]:
    """Yield what is wrong with where `_select_config` comes from, and with how it is reached."""
    outer = [*statements(module.tree.body)]
    methods = [function for function in module.owners if is_selector(function)]
    helpers = [item for name, item in module.functions.items() if name == SELECT]
    imports = [item for item in outer if isinstance(item, ast.ImportFrom) and _binds(item)]
    bound = is_binding(module.tree, module.stem)
    if not bound:
        yield from _import_breaches(module, outer)
        for function in [*helpers, *methods]:
            yield from _selector_breaches(module, function)
    if SELECT in module.names and not bound:
        place = next(item for item in outer if _assigns(item))
        fact = f"{SELECT} is assigned, and is not the dispatch's"
        yield module.breach(place, "dispatch", fact, _import_remedy(module))
    known = bool(helpers or imports) or SELECT in module.names
    for node in ast.walk(module.tree):
        if is_select(node) and isinstance(node, ast.Call):
            yield from _call_breaches(module, node, known=known, methods=methods)


def _import_remedy(module: Module) -> str:
    return f"import it: from .{module.dispatch} import {SELECT}"


def _binds(node: ast.ImportFrom) -> bool:
    return any(SELECT in {alias.name, alias.asname} for alias in node.names)


def _assigns(item: ast.stmt) -> bool:
    targets = getattr(item, "targets", [getattr(item, "target", None)])
    return any(
        isinstance(name, ast.Name) and name.id == SELECT
        for target in targets
        if target is not None
        for name in ast.walk(target)
    )


def _call_breaches(
    module: Module, call: ast.Call, *, known: bool, methods: Sequence[Function]
) -> Iterator[Breach]:
    """Yield a breach where the name that is called is bound to nothing in the file."""
    if isinstance(call.func, ast.Name):
        if not known:
            fact = f"calls {SELECT}, which is not defined in this file"
            yield module.breach(call, "dispatch", fact, _import_remedy(module))
    elif not methods:
        fact = f"calls {ast.unparse(call.func)}, which is not defined in this file"
        remedy = f"{_import_remedy(module)}, and call {SELECT}(shape)"
        yield module.breach(call, "dispatch", fact, remedy)


# Imports


def _import_breaches(module: Module, outer: Sequence[ast.stmt]) -> Iterator[Breach]:
    """Yield what is wrong with the imports of `_select_config`, wherever they stand."""
    free = {item for item in module.tree.body if isinstance(item, ast.ImportFrom)}
    for item in outer:
        if isinstance(item, ast.Try) and _is_fallback(item):
            free |= {*_imports_in(item)}
    own = {
        node
        for function in [*module.functions.values(), *module.owners]
        if is_selector(function)
        for node in _imports_in(function)
    }
    for node in _imports_in(module.tree):
        yield from _origin_breaches(module, node)
        if node not in free and node not in own:
            fact = f"{SELECT} is imported where it may be passed over, or only now and then"
            remedy = f"{_import_remedy(module)}, at the module's level, alone or in try: … "
            remedy += "except ImportError: …"
            yield module.breach(node, "dispatch", fact, remedy)


def _imports_in(root: ast.AST) -> Iterator[ast.ImportFrom]:
    for node in ast.walk(root):
        if isinstance(node, ast.ImportFrom) and _binds(node):
            yield node


def _is_fallback(node: ast.Try) -> bool:
    """Say whether `node` is nothing but an import, and another for want of the first."""
    bodies = [node.body, *(handler.body for handler in node.handlers)]
    single = all(len(body) == 1 and isinstance(body[0], ast.ImportFrom) for body in bodies)
    plain = not node.orelse and not node.finalbody
    return single and plain and bool(node.handlers) and all(map(_is_import_error, node.handlers))


def _is_import_error(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return all(isinstance(name, ast.Name) and name.id in _IMPORT_ERRORS for name in names)


def _origin_breaches(module: Module, node: ast.ImportFrom) -> Iterator[Breach]:
    """Yield what is wrong with the module that `node` imports from, and with the name."""
    remedy = f"write from .{module.dispatch} import {SELECT}"
    origin = "." * node.level + (node.module or "")
    last = (node.module or "").rpartition(".")[2]
    if last != module.dispatch:
        fact = f"imports {SELECT} from {origin}, which is not the dispatch of this file"
        yield module.breach(node, "dispatch", fact, remedy)
    elif node.level > 1 or (node.level == 1 and node.module != last):
        fact = f"imports {SELECT} from {origin}, and codegen emit writes it beside this file"
        yield module.breach(node, "dispatch", fact, remedy)
    for alias in node.names:
        if SELECT in {alias.name, alias.asname} and alias.asname not in {None, alias.name}:
            fact = f"imports {alias.name} as {alias.asname}"
            yield module.breach(node, "dispatch", fact, f"{remedy}, under its own name")


# The function that imports at the first call


def _selector_breaches(module: Module, function: Function) -> Iterator[Breach]:
    """Yield what `function`, a `_select_config`, does beside asking the dispatch."""
    if not body_of(function):
        fact = f"{SELECT} has no code, and chooses nothing"
        yield module.breach(function, "dispatch", fact, _import_remedy(module))
        return
    remedy = f"let it do nothing but import {SELECT} and return {SELECT}(shape), or import it"
    sizes = [name for name in all_parameters(function.args) if name not in {"self", "cls"}]
    if len(sizes) != 1:
        fact = f"{SELECT} takes {len(sizes)} values"
        yield module.breach(function, "dispatch", fact, "let it take one, the shape")
        return
    odd = next(_other_statements(function.body, sizes[0]), None)
    if odd is not None:
        fact = f"{SELECT} does more than ask the dispatch"
        yield module.breach(odd, "dispatch", fact, remedy)
    elif not any(True for _ in _imports_in(function)) or not _returns(function, sizes[0]):
        fact = f"{SELECT} does not ask the dispatch"
        yield module.breach(function, "dispatch", fact, remedy)


def _other_statements(body: Sequence[ast.stmt], shape: str) -> Iterator[ast.stmt]:
    """Yield the statements that are no part of importing and calling the dispatch."""
    for item in statements(body):
        match item:
            case ast.Try(handlers=handlers) if all(map(_is_import_error, handlers)):
                pass
            case ast.If(test=test) if dotted(test) == "__package__":
                pass
            case ast.ImportFrom() if all(alias.name == SELECT for alias in item.names):
                pass
            case ast.Global(names=[only]) if only == SELECT:
                pass
            case ast.Expr(value=ast.Constant()) | ast.Raise() | ast.Pass():
                pass
            case ast.Assign(value=ast.Constant(value=str()) | ast.JoinedStr()):
                pass
            case ast.Return(value=value) if _asks(value, shape):
                pass
            case _:
                yield item


def _asks(value: ast.expr | None, shape: str) -> bool:
    """Say whether `value` is `_select_config(shape)`, the dispatch's, with the shape as it is."""
    match value:
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=given)], keywords=[]):
            return name == SELECT and given == shape
    return False


def _returns(function: Function, shape: str) -> bool:
    last = function.body[-1]
    return isinstance(last, ast.Return) and not is_none(last.value) and _asks(last.value, shape)
