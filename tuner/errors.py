"""What can go wrong in the tuner, and how it is said.

    CodegenError            codegen's base: everything a user can cause; exit status 2
    └── TunerError          the tuner's share of it
        ├── TableError      a latency table that cannot be read, or contradicts itself
        ├── FitError        a sound table to which no selector can be fitted
        └── MissingError    a package that the tuner needs is not installed

Every message is one line: where it stands, the fact with the value, the remedy.
"""

from __future__ import annotations

from codegen.errors import CodegenError

__all__ = ["FitError", "MissingError", "TableError", "TunerError"]


class TunerError(CodegenError):
    """Base of all that a user of the tuner can cause."""


class TableError(TunerError):
    """A latency table that is not JSON, not of our format, or contradicts itself."""


class FitError(TunerError):
    """A sound table that no selector can be fitted to."""


class MissingError(TunerError):
    """A package of the tuner's that is not installed here."""
