"""The grid of a launch follows the config exactly where the kernel does."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tuner.contract.breach import Breach
from tuner.contract.launch import Launch, parameters_of
from tuner.contract.nodes import dotted, within
from tuner.contract.values import Fixed, Read, Scope

__all__ = ["grid_breaches", "reads_of"]

# A grid may well divide by a stride or a count of heads; a block is at least as large as this.
_LEAST_BLOCK = 16


@dataclass(slots=True, kw_only=True)
class _Found:
    """What a grid, or a part of it, is made of.

    Attributes:
        reads: values of the config.
        fixed: constants, by the name that they have.
        divisors: constants that something is divided by, and where.
        open: it asks for what the kernel is given, or for more than can be seen.
    """

    reads: list[Read] = field(default_factory=list)
    fixed: dict[str, object] = field(default_factory=dict)
    divisors: list[tuple[ast.AST, int]] = field(default_factory=list)
    open: bool = False


def reads_of(scope: Scope, node: ast.AST) -> list[Read]:
    """Return the values of a config that `node` is made of."""
    return _found(scope, node).reads


def grid_breaches(launch: Launch, declared: Collection[str]) -> Iterator[Breach]:
    """Yield where grid and kernel of `launch` differ; `declared` are the params of a config."""
    found = _found(launch.scope, launch.grid)
    yield from _fixed_in_grid(launch, found, declared)
    yield from _fixed_in_kernel(launch, found)


def _fixed_in_grid(launch: Launch, found: _Found, declared: Collection[str]) -> Iterator[Breach]:
    module = launch.scope.module
    taken = {*declared} if launch.params else set()
    taken |= {name for name, value in launch.values.items() if isinstance(value, Read)}
    for name, value in found.fixed.items():
        if name.strip("_").lower() in {each.strip("_").lower() for each in taken}:
            fact = f"the grid takes {name}, fixed at {value}, and the kernel another of the config"
            remedy = f'write config.param("{name}") in the grid'
            yield module.breach(launch.grid, "grid", fact, remedy)
            return
    if not launch.follows or found.open:
        return
    for node, value, tile in _tiles(launch, found, taken):
        of = f" {tile}" if tile else ""
        fact = (
            f"the grid divides by {value}, fixed, and the kernel takes its block{of} of the config"
        )
        remedy = "divide by the param of the config that the kernel is given"
        yield module.breach(node, "grid", fact, remedy)
        return


def _tiles(
    launch: Launch, found: _Found, taken: Collection[str]
) -> Iterator[tuple[ast.AST, int, str | None]]:
    """Yield each constant that the grid divides by where it should by one of `taken`."""
    scope, parts = _resolved(launch)
    axes = _axes(launch)
    for axis, part in enumerate(parts.elts if isinstance(parts, ast.Tuple) else ()):
        here = _found(scope, part)
        names = {read.name for read in here.reads}
        for name in sorted(axes.get(axis, set()) & {*taken}):
            for node, value in here.divisors if name not in names else ():
                yield node, value, name
    if not found.reads:
        for node, value in found.divisors:
            if value >= _LEAST_BLOCK:
                yield node, value, None


def _resolved(launch: Launch) -> tuple[Scope, ast.AST]:
    """Return the expression of the grid, and where it stands: it may be what a method returns."""
    scope, node = launch.scope, launch.scope.expanded(launch.grid)
    called = scope.called(node) if isinstance(node, ast.Call) else None
    values = called.returned() if called else []
    if called and len(values) == 1:
        return called, called.expanded(values[0])
    return scope, node


def _axes(launch: Launch) -> dict[int, set[str]]:
    """Return, for each axis of the grid, the params that the kernel multiplies its index by."""
    found: dict[int, set[str]] = {}
    if launch.kernel is None:
        return found
    names = {*parameters_of(launch.kernel)}
    indices = {
        node.targets[0].id: axis
        for node in within(launch.kernel)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and (axis := _program(node.value, {})) is not None
    }
    for node in within(launch.kernel):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for index, size in ((node.left, node.right), (node.right, node.left)):
                axis = _program(index, indices)
                if axis is not None and isinstance(size, ast.Name) and size.id in names:
                    found.setdefault(axis, set()).add(size.id)
    return found


def _program(node: ast.AST, indices: dict[str, int]) -> int | None:
    """Return the axis whose index `node` is."""
    match node:
        case ast.Name(id=name):
            return indices.get(name)
        case ast.Call(func=ast.Attribute(value=inner, attr="to")):
            return _program(inner, indices)
        case ast.Call(func=function, args=args, keywords=keywords):
            values = [*args, *(keyword.value for keyword in keywords)]
            if (dotted(function) or "").endswith("program_id") and len(values) == 1:
                only = values[0]
                if isinstance(only, ast.Constant) and isinstance(only.value, int):
                    return only.value
    return None


def _fixed_in_kernel(launch: Launch, found: _Found) -> Iterator[Breach]:
    """Yield where the grid takes a param of the config, and the kernel a constant of that name."""
    module = launch.scope.module
    names = parameters_of(launch.kernel) if launch.kernel else ()
    for name in sorted({read.name for read in found.reads}):
        value = launch.values.get(name)
        if isinstance(value, Fixed):
            fact = f"the grid takes {name} of the config, and the kernel {value.value}, fixed"
            remedy = f'write {name}=config.param("{name}") in the launch'
            yield module.breach(launch.given[name], "grid", fact, remedy)
        elif name in names and name not in launch.given and not (launch.params or launch.hidden):
            fact = f"the grid takes {name} of the config, and the launch gives the kernel none"
            remedy = f'write {name}=config.param("{name}") in the launch'
            yield module.breach(launch.call, "grid", fact, remedy)


def _found(scope: Scope, root: ast.AST) -> _Found:
    found, stack, seen = _Found(), [(scope, root)], set[ast.AST]()
    while stack:
        inner, node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        for divisor in _divisors(node):
            value = inner.value(divisor)
            if isinstance(value, Fixed) and type(value.value) is int and value.value > 1:
                found.divisors.append((divisor, value.value))
        stack += [(inner, part) for part in _parts(inner, node, found)]
        if isinstance(node, ast.Call) and (called := inner.called(node)):
            stack += [(called, value) for value in called.returned()]
    return found


def _divisors(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BinOp(op=ast.FloorDiv(), right=right):
            return [right]
        case ast.Call(func=function, args=[_, divisor]) if (dotted(function) or "").endswith(
            "cdiv"
        ):
            return [divisor]
    return []


def _parts(scope: Scope, node: ast.AST, found: _Found) -> list[ast.AST]:
    """Add to `found` what `node` is; return what it is made of."""
    match node:
        case ast.Lambda(args=arguments, body=body):
            found.open = found.open or _asks_meta(body, arguments)
            return [body]
        case ast.FunctionDef(args=arguments, body=statements):
            found.open = found.open or any(_asks_meta(item, arguments) for item in statements)
            return [*statements]
        case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
            value = scope.value(node)
            if isinstance(value, Read):
                found.reads.append(value)
                return []
            if isinstance(value, Fixed):
                if value.name is not None:
                    found.fixed[value.name] = value.value
                return []
            end = scope.expanded(node)
            return [end] if end is not node else [*ast.iter_child_nodes(node)]
    return [*ast.iter_child_nodes(node)]


def _asks_meta(node: ast.AST, arguments: ast.arguments) -> bool:
    """Say whether `node` reads what the kernel is given, as in `meta["BLOCK"]`."""
    names = {item.arg for item in [*arguments.posonlyargs, *arguments.args]}
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))
