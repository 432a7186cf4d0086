"""A breach of the contract, as it is found and as it is printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Breach", "Rule"]

# What a breach is of:
#   entry        there is a ModelNew.forward, or a public function, with code in it
#   signature    it takes config=None
#   selection    it asks the dispatch when config is None, and only then
#   dispatch     the dispatch is that of codegen emit, imported in a form that it is deployed in
#   shape        what the dispatch is asked for is the shape
#   config       the config is used, and not changed
#   param        the params that are read are those that the candidates have
#   grid         grid and kernel follow one config
#   launch       the launch takes what the config holds, its options too
#   autotune     Triton does not tune on its own
Rule: TypeAlias = Literal[
    "entry",
    "signature",
    "selection",
    "dispatch",
    "shape",
    "config",
    "param",
    "grid",
    "launch",
    "autotune",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """One thing in a kernel's file that is not as the contract has it.

    Attributes:
        file: as it was named.
        line: counted from 1.
        fact: what is wrong.
        remedy: what to do.
    """

    file: str
    line: int
    rule: Rule
    fact: str
    remedy: str

    def __str__(self) -> str:
        """Return the one line that a user reads."""
        line = f"{self.file}:{self.line}: {self.fact}; {self.remedy}"
        return line.replace("\r", "\\r").replace("\n", "\\n")
