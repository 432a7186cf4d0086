"""The operators and functions of Python that lists of configs are written with."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["ARITHMETIC", "COMPARISONS", "FUNCTIONS", "POWERS"]

ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
POWERS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "dict": dict,
    "enumerate": lambda *a: [*enumerate(*a)],
    "int": int,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "sorted": sorted,
    "sum": sum,
    "tuple": tuple,
    "zip": lambda *a: [*zip(*a, strict=False)],
}
