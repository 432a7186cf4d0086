"""Expressions that users write in a case's files: the shape of inputs, constraints on configs.

They are read by `ast` and evaluated by functions of ours, node by node: what is not on the list of
a grammar is refused, and nothing of an expression ever reaches Python's own `eval`.
"""

from __future__ import annotations

from tuner.expressions.constraint import Constraint
from tuner.expressions.shape import ShapeExpr

__all__ = ["Constraint", "ShapeExpr"]
