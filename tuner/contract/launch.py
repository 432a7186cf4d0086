"""A launch, `kernel[grid](…)`: what the kernel is given, and by what."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tuner.contract.nodes import Function, within
from tuner.contract.values import Read, Scope, Value

__all__ = ["Launch", "find_launches", "parameters_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A launch in a function.

    Attributes:
        kernel: None where it is not of this file.
        name: what the kernel is called.
        given: the params of the kernel that are given one by one, and by which expression.
        values: what each of these stands for.
        params: it is given all params of the config, by `**config.kwargs` if not by `all_kwargs()`.
        options: it is given all launch options of the config, by `**config.all_kwargs()`.
        hidden: it is given more than can be seen, by * or **.
    """

    scope: Scope
    call: ast.Call
    kernel: Function | None
    name: str
    grid: ast.expr
    given: Mapping[str, ast.expr]
    values: Mapping[str, Value]
    params: bool
    options: bool
    hidden: bool

    @property
    def follows(self) -> bool:
        """Whether the kernel takes anything from the config."""
        return self.params or any(isinstance(value, Read) for value in self.values.values())


def find_launches(scope: Scope) -> Iterator[Launch]:
    """Yield the launches in a function, in order."""
    for node in within(scope.function):
        if not isinstance(node, ast.Call):
            continue
        launcher = scope.expanded(node.func) if isinstance(node.func, ast.Name) else node.func
        if not isinstance(launcher, ast.Subscript):
            continue
        target = scope.expanded(launcher.value)
        name = target.id if isinstance(target, ast.Name) else ast.unparse(launcher.value)
        launch = _launch(scope, node, name, launcher.slice)
        if launch.kernel is not None or launch.follows:
            yield launch


def parameters_of(kernel: Function) -> tuple[str, ...]:
    """Return the names of a kernel's params, in order."""
    arguments = kernel.args
    listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return tuple(item.arg for item in listed)


def _launch(scope: Scope, call: ast.Call, name: str, grid: ast.expr) -> Launch:
    kernel = scope.module.kernels.get(name)
    given: dict[str, ast.expr] = {}
    hidden = False
    if kernel is not None:
        for parameter, value in zip(parameters_of(kernel), call.args, strict=False):
            if isinstance(value, ast.Starred):
                break
            given[parameter] = value
    hidden = any(isinstance(value, ast.Starred) for value in call.args)
    whole: set[str] = set()
    for keyword in call.keywords:
        if keyword.arg is None:
            whole |= _spread(scope, keyword.value, given)
        else:
            given[keyword.arg] = keyword.value
    return Launch(
        scope=scope,
        call=call,
        kernel=kernel,
        name=name,
        grid=grid,
        given=given,
        values={key: scope.value(value) for key, value in given.items()},
        params=bool(whole & {"all_kwargs", "kwargs"}),
        options="all_kwargs" in whole,
        hidden=hidden or "hidden" in whole,
    )


def _spread(scope: Scope, node: ast.expr, given: dict[str, ast.expr]) -> set[str]:
    """Add to `given` what `**node` gives; return what else it does."""
    found: set[str] = set()
    match scope.expanded(node):
        case ast.Call(func=ast.Attribute(value=ast.Name(id=receiver), attr="all_kwargs")):
            return {"all_kwargs"} if receiver in scope.names else {"hidden"}
        case ast.Attribute(value=ast.Name(id=receiver), attr="kwargs"):
            return {"kwargs"} if receiver in scope.names else {"hidden"}
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is None:
                    found |= _spread(scope, value, given)
                elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                    given[key.value] = value
                else:
                    found.add("hidden")
            return found
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            for keyword in keywords:
                if keyword.arg is None:
                    found |= _spread(scope, keyword.value, given)
                else:
                    given[keyword.arg] = keyword.value
            return found
    return {"hidden"}
