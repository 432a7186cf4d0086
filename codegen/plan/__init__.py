"""From a policy to the statements that are printed: all thinking is done before the template.

nodes       the n-ary form: ranges of one axis side by side, equal ones merged
simplify    decision → nodes, without questions whose answer is known
envelope    what happens outside, folded into the nodes where that is cheaper
entry       what of the envelope is left to check, or to move into it, on every call
statements  nodes → return, raise, if/elif/else
program     the order of the steps
"""

from __future__ import annotations

from codegen.plan.program import RESERVED, Program, plan
from codegen.plan.statements import Block, Branch, Clamp, Note, Raise, Return

__all__ = ["RESERVED", "Block", "Branch", "Clamp", "Note", "Program", "Raise", "Return", "plan"]
