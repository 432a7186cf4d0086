"""What the dispatch is asked for: a tuple of sizes, the same as `shape_expr` gives the tuner."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from tuner.contract.breach import Breach
from tuner.contract.module import Module
from tuner.contract.nodes import Function, quoted, within
from tuner.contract.selection import Selection
from tuner.contract.sizes import Sizes
from tuner.contract.values import Scope

__all__ = ["shape_breaches"]

_REMEDY = "hand over a tuple of sizes, as (x.shape[0], x.shape[1])"

_INPUT_ATTRIBUTES = frozenset({"contiguous", "device", "dtype", "numel", "shape", "size", "stride"})


def shape_breaches(
    module: Module, function: Function, selection: Selection, shape_expr: str | None
) -> Iterator[Breach]:
    """Yield what is wrong with the shape that is handed over in `selection`."""
    call = selection.call
    if len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        fact = f"the dispatch is asked for `{quoted(call)}`"
        yield module.breach(call, "shape", fact, "hand over the shape, one tuple")
        return
    scope = Scope(module, function, {function: frozenset({"config"})})
    faults = [*_faults(scope, call.args[0])]
    for node, why in faults:
        fact = f"the dispatch is asked for `{quoted(call.args[0])}`, in which {why}"
        place = node if hasattr(node, "lineno") else call
        yield module.breach(place, "shape", fact, _REMEDY)
    if shape_expr is not None and not faults:
        sizes = Sizes(function, before=selection.test.lineno)
        if not sizes.equal(call.args[0], ast.parse(shape_expr, mode="eval").body):
            fact = f"the dispatch is asked for `{quoted(call.args[0])}`, and shape_expr is"
            fact = f"{fact} `{quoted(ast.parse(shape_expr, mode='eval').body)}`"
            remedy = "ask for what was tuned, or correct sample.json and tune again"
            yield module.breach(call, "shape", fact, remedy)


def _faults(scope: Scope, node: ast.expr) -> Iterator[tuple[ast.AST, str]]:
    """Yield what is certainly no tuple of sizes in `node`, and why."""
    tensors = _tensors(scope.function)
    end = scope.expanded(node)
    match end:
        case ast.Tuple(elts=elements):
            for element in elements:
                if isinstance(element, ast.Starred):
                    continue
                yield from _element_faults(scope, element, tensors)
        case (
            ast.List()
            | ast.ListComp()
            | ast.Set()
            | ast.Dict()
            | ast.Constant()
            | ast.GeneratorExp()
        ):
            yield end, f"`{quoted(end)}` is no tuple"
        case ast.Name(id=name) if name in tensors:
            yield end, f"{name} is a tensor"
        case (
            ast.Call(func=ast.Attribute(attr="numel" | "dim"))
            | ast.Call(func=ast.Name(id="len" | "int" | "list"))
        ):
            yield end, f"`{quoted(end)}` is no tuple"
        case ast.Call(func=ast.Attribute(attr="size"), args=[_]):
            yield end, f"`{quoted(end)}` is no tuple"


def _element_faults(
    scope: Scope, element: ast.expr, tensors: Collection[str]
) -> Iterator[tuple[ast.AST, str]]:
    end = scope.expanded(element)
    match end:
        case ast.Constant(value=value) if type(value) not in {int, str}:
            yield element, f"`{quoted(element)}` is no integer"
        case ast.BinOp(op=ast.Div()):
            yield element, f"`{quoted(end)}` is a float: write // for /"
        case (
            ast.Compare() | ast.BoolOp() | ast.Tuple() | ast.List() | ast.Lambda() | ast.JoinedStr()
        ):
            yield element, f"`{quoted(end)}` is no integer"
        case ast.Name(id=name) if name in tensors:
            yield element, f"{name} is a tensor"
        case ast.Attribute(attr="shape" | "dtype" | "device" as attribute):
            yield element, f"`{quoted(end)}` is a {attribute}"
        case ast.Call(func=ast.Name(id="float")):
            yield element, f"`{quoted(end)}` is a float"
        case ast.Call(func=ast.Attribute(attr="item" | "sum" | "max" | "min" as method)):
            yield element, f"{method}() waits for the device"


def _tensors(function: Function) -> set[str]:
    """Return the params that are tensors: by annotation, or as they are asked for their shape."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    named = {item.arg for item in arguments}
    found = {
        item.arg
        for item in arguments
        if item.annotation is not None and ast.unparse(item.annotation).endswith("Tensor")
    }
    for node in within(function):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                if attribute in _INPUT_ATTRIBUTES and name in named:
                    found.add(name)
    return found
