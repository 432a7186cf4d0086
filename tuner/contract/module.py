"""A kernel's file: read, and its definitions found."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tuner.cases.files import read_file
from tuner.contract.breach import Breach, Rule
from tuner.contract.nodes import Function, decorators, statements
from tuner.errors import CaseError
from tuner.printable import printable

__all__ = ["Module", "read_module"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """What a kernel's file defines.

    Attributes:
        file: its path, for messages.
        stem: `impl` of `impl.py`.
        kernels: the functions under `@triton.jit`.
        functions: the others at the module's level, the last of each name.
        classes: the classes at the module's level, all of a name, in order.
        owners: the class of each method.
        names: what the module assigns, and to what; None where it does so several times.
    """

    file: str
    stem: str
    tree: ast.Module
    kernels: Mapping[str, Function]
    functions: Mapping[str, Function]
    classes: Mapping[str, tuple[ast.ClassDef, ...]]
    owners: Mapping[Function, ast.ClassDef]
    names: Mapping[str, ast.expr | None]

    @property
    def dispatch(self) -> str:
        """The name of the module that `codegen emit` writes for this file."""
        return f"{self.stem}_dispatch"

    def breach(self, node: ast.AST | None, rule: Rule, fact: str, remedy: str) -> Breach:
        """Return a breach at `node`, or of the file as a whole."""
        line = getattr(node, "lineno", 1)
        return Breach(
            file=self.file,
            line=line,
            rule=rule,
            fact=printable(fact),
            remedy=printable(remedy),
        )

    def method(self, owner: ast.ClassDef, name: str) -> Function | None:
        """Return the method `name` of `owner`, one that it inherits in this file included."""
        queue, seen = [owner], {owner}
        while queue:
            model = queue.pop(0)
            found = [item for item in _functions(model.body) if item.name == name]
            if found:
                return found[-1]
            for base in model.bases:
                if isinstance(base, ast.Name):
                    new = [item for item in self.classes.get(base.id, ()) if item not in seen]
                    seen.update(new)
                    queue += new
        return None

    def called(self, call: ast.Call, caller: Function) -> tuple[Function, int] | None:
        """Return the function of this file that `call` calls, and how many params it binds."""
        match call.func:
            case ast.Name(id=name) if name in self.functions:
                return self.functions[name], 0
            case ast.Attribute(value=ast.Name(id=receiver), attr=name):
                owner = self.owners.get(caller)
                own = owner is not None and receiver in {*_first_parameter(caller), owner.name}
                models = (owner,) if own and owner else self.classes.get(receiver, ())
                for model in reversed(models):
                    method = self.method(model, name)
                    if method is not None:
                        is_static = any(found == "staticmethod" for found, _ in decorators(method))
                        by_class = receiver in self.classes and not any(
                            found == "classmethod" for found, _ in decorators(method)
                        )
                        return method, 0 if is_static or by_class else 1
        return None


def _first_parameter(function: Function) -> list[str]:
    parameters = [*function.args.posonlyargs, *function.args.args]
    return [parameter.arg for parameter in parameters[:1]]


def read_module(path: Path) -> Module:
    """Return what the file `path` defines.

    Raises:
        CaseError: it cannot be read, or is not Python.
    """
    tree = _tree(path)
    functions = [*_functions(tree.body)]
    classes: dict[str, tuple[ast.ClassDef, ...]] = {}
    for item in statements(tree.body):
        if isinstance(item, ast.ClassDef):
            classes[item.name] = (*classes.get(item.name, ()), item)
    return Module(
        file=str(path),
        stem=path.stem,
        tree=tree,
        kernels={item.name: item for item in functions if _is_kernel(item)},
        functions={item.name: item for item in functions if not _is_kernel(item)},
        classes=classes,
        owners={
            method: model
            for models in classes.values()
            for model in models
            for method in _functions(model.body)
        },
        names=_assigned(tree),
    )


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


def _functions(body: list[ast.stmt]) -> Iterator[Function]:
    for item in statements(body):
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
            yield item


def _is_kernel(function: Function) -> bool:
    return any(name == "jit" for name, _ in decorators(function))


def _assigned(tree: ast.Module) -> dict[str, ast.expr | None]:
    found: dict[str, ast.expr | None] = {}
    for item in statements(tree.body):
        targets: list[ast.expr] = []
        if isinstance(item, ast.Assign):
            targets = item.targets
        elif isinstance(item, ast.AnnAssign | ast.AugAssign):
            targets = [item.target]
        value = getattr(item, "value", None) if not isinstance(item, ast.AugAssign) else None
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    whole = name is target and name.id not in found
                    found[name.id] = value if whole else None
    return found
