"""What can go wrong in the tuner, and how it is said.

    CodegenError            codegen's base: everything a user can cause; exit status 2
    └── TunerError          the tuner's share of it
        ├── TableError      a latency table that cannot be read, or contradicts itself
        ├── FitError        a sound table to which no selector can be fitted
        ├── CaseError       a case that is incomplete, or whose parts do not fit each other
        ├── DeviceError     a device that is not there, or cannot be used as asked
        │   └── ProfileError    a profile that lacks a step (in tuner.devices.npu)
        ├── KbError         a knowledge base that cannot be read or written
        ├── ToolchainError  a compiler's environment that is not there, or cannot be used
        ├── TuneError       a run that ended with nothing to deploy
        ├── DeployError     a kernel of which no manifest is found
        ├── ConvertError    a kernel that cannot be converted for sure (in tuner.convert)
        └── MissingError    a package that the tuner needs is not installed

Every message is one line: where it stands, the fact with the value, the remedy. That a config
fails to compile, is wrong or hangs is no error: it is a record, see `tuner.records`.
"""

from __future__ import annotations

from codegen.errors import CodegenError

__all__ = [
    "CaseError",
    "DeployError",
    "DeviceError",
    "FitError",
    "KbError",
    "MissingError",
    "TableError",
    "ToolchainError",
    "TuneError",
    "TunerError",
]


class TunerError(CodegenError):
    """Base of all that a user of the tuner can cause."""


class TableError(TunerError):
    """A latency table that is not JSON, not of our format, or contradicts itself."""


class FitError(TunerError):
    """A sound table that no selector can be fitted to."""


class CaseError(TunerError):
    """A case with a missing or unsound file, or with parts that do not fit each other."""


class DeviceError(TunerError):
    """A device that this machine has not, or that cannot be used as asked."""


class KbError(TunerError):
    """A knowledge base that is not one, or that cannot be read or written."""


class ToolchainError(TunerError):
    """An environment of a compiler that is not there, cannot be made, or does not answer."""


class TuneError(TunerError):
    """A tuning run that ended with nothing to deploy; `details` has a line each reason."""

    def __init__(
        self, fact: str, *, where: str, remedy: str, details: tuple[str, ...] = ()
    ) -> None:
        """Keep the parts."""
        super().__init__(fact, where=where, remedy=remedy)
        self.details = details


class DeployError(TunerError):
    """A kernel of which no manifest is found."""


class MissingError(TunerError):
    """A package of the tuner's that is not installed here."""
