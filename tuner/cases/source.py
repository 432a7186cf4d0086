"""What can be seen of `base.py` and `impl.py` without running them."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from codegen.errors import SourceError, listed
from codegen.source_hash import source_sha256_of
from tuner.cases.files import read_file
from tuner.errors import CaseError

__all__ = ["Base", "Impl", "read_base", "read_impl"]

_EVERYTHING = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What `base.py` defines.

    Attributes:
        inputs: of `Model.forward`, empty where that cannot be seen.
    """

    has_inputs_dyn_list: bool
    has_inputs_for_shape: bool
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Impl:
    """What `impl.py` defines: `inputs` are the params of `ModelNew.forward` besides the config."""

    source_sha256: str
    inputs: tuple[str, ...]


def read_base(path: Path) -> Base:
    """Return what the reference's file `path` defines.

    Raises:
        CaseError: it is missing, is not Python, or lacks something.
    """
    tree = _tree(path)
    defined = _defined(tree.body)
    everything = _EVERYTHING in defined  # from … import *: it cannot be told

    def has(name: str) -> bool:
        return name in defined or everything

    for name, what in (("Model", "class Model"), ("get_init_inputs", "get_init_inputs()")):
        if not has(name):
            _lacks(path, what, "the reference, and the arguments of its __init__, stand there")
    listing, making = has("get_inputs_dyn_list"), "get_inputs_for_shape" in defined
    if not (listing or making):
        remedy = "define one of them: the inputs come from there"
        _lacks(path, "get_inputs_dyn_list() and no get_inputs_for_shape(shape)", remedy)
    models = _classes(tree, "Model")
    forward = _method(models[-1], "forward") if models else None
    return Base(
        has_inputs_dyn_list=listing,
        has_inputs_for_shape=making,
        inputs=_inputs(forward) if forward else (),
    )


def read_impl(path: Path) -> Impl:
    """Return what the kernel's file `path` defines.

    Raises:
        CaseError: it is missing, is not Python, or has no `ModelNew.forward(…, config=None)`.
    """
    tree = _tree(path)
    models = _classes(tree, "ModelNew")
    if not models:
        also = "ModelNew" in _defined(tree.body)
        remedy = "define it there: a manifest is tied to the code of this file"
        _lacks(path, f"class ModelNew{' of its own' if also else ''}", remedy)
    forward = _forward(path, models)
    try:
        digest = source_sha256_of(path)
    except SourceError as error:
        raise CaseError(error.fact, where=error.where, remedy=error.remedy) from None
    return Impl(source_sha256=digest, inputs=_inputs(forward))


def _lacks(path: Path, what: str, remedy: str) -> NoReturn:
    raise CaseError(f"has no {what}", where=str(path), remedy=remedy)


def _tree(path: Path) -> ast.Module:
    data = read_file(path, "a Python file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except SyntaxError as error:
        where = f"{path}:{error.lineno}" if error.lineno else str(path)
        remedy = "correct the line, or run the Python version that it is written for"
        raise CaseError(f"is not Python: {error.msg}", where=where, remedy=remedy) from None
    except (RecursionError, MemoryError):
        remedy = "split its longest expression into several statements"
        raise CaseError("is nested too deeply", where=str(path), remedy=remedy) from None
    except ValueError as error:  # a NUL
        remedy = "name a Python file"
        raise CaseError(f"is not Python: {error}", where=str(path), remedy=remedy) from None


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run with `body`, those within if, try and with too, in order."""
    stack = list(reversed(body))  # of our own: a chain of elif is as deep as it is long
    while stack:
        statement = stack.pop()
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            handlers = getattr(statement, "handlers", [])
            inner = [*statement.body, *(item for handler in handlers for item in handler.body)]
            inner += [*getattr(statement, "orelse", []), *getattr(statement, "finalbody", [])]
            stack += reversed(inner)


def _defined(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that the module defines, imports or assigns; `*` for import *."""
    names: set[str] = set()
    for statement in _statements(body):
        match statement:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                names |= {alias.asname or alias.name for alias in imported}
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                names.add(name)
    return names


def _classes(tree: ast.Module, name: str) -> list[ast.ClassDef]:
    """Return the definitions of class `name`; at the module's level the last one counts."""
    outer = [item for item in tree.body if isinstance(item, ast.ClassDef) and item.name == name]
    if outer:
        return outer[-1:]
    return [
        item
        for item in _statements(tree.body)
        if isinstance(item, ast.ClassDef) and item.name == name
    ]


def _method(model: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    found = [
        item
        for item in _statements(model.body)
        if isinstance(item, ast.FunctionDef) and item.name == name
    ]
    return found[-1] if found else None


def _forward(path: Path, models: Sequence[ast.ClassDef]) -> ast.FunctionDef:
    """Return the first `forward` that takes a config; of several definitions one is enough."""
    error = None
    for model in models:
        forward = _method(model, "forward")
        fault = "has no forward" if forward is None else _config_fault(forward)
        if forward is not None and fault is None:
            return forward
        line = (forward or model).lineno
        error = error or CaseError(
            f"{model.name if forward is None else 'ModelNew.forward'} {fault}",
            where=f"{path}:{line}",
            remedy="let it take its config from a param config=None, or name a file in which it "
            "does with --impl FILE",
        )
    assert error is not None  # noqa: S101 (there is one model at least)
    raise error


def _config_fault(forward: ast.FunctionDef) -> str | None:
    arguments = forward.args
    named = [argument.arg for argument in arguments.args]
    defaults = len(arguments.defaults)
    if "config" in named:
        plain = named.index("config") < len(named) - defaults
        return "has a param config without a default" if plain else None
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if argument.arg == "config":
            return None if default else "has a param config without a default"
    if any(argument.arg == "config" for argument in arguments.posonlyargs):
        return "has a param config that cannot be given by name"
    names = listed(_inputs(forward)) or "none"
    return f"has no param config (its params are {names})"


def _inputs(forward: ast.FunctionDef) -> tuple[str, ...]:
    """Return the names by which `forward` takes its inputs, in order."""
    arguments = forward.args
    names = [argument.arg for argument in arguments.posonlyargs + arguments.args]
    return tuple(name for name in names[1:] if name != "config")
