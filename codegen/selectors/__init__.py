"""The kinds of selector. A new kind is a module beside these and a line in `BODIES`."""

from __future__ import annotations

from codegen.selectors.base import MAX_DEPTH, MAX_LEAVES, Selector, Site
from codegen.selectors.bucket import BucketBody
from codegen.selectors.constant import ConstantBody
from codegen.selectors.table import TableBody
from codegen.selectors.tree import TreeBody

__all__ = ["BODIES", "MAX_DEPTH", "MAX_LEAVES", "Selector", "Site"]

BODIES = (TreeBody, BucketBody, TableBody, ConstantBody)
