"""What a kernel's file can have that cannot be converted, and how it is said."""

from __future__ import annotations

from tuner.errors import TunerError

__all__ = ["ConvertError"]


class ConvertError(TunerError):
    """A kernel's file that is not converted, as the result might mean something else."""
