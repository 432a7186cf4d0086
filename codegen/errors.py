"""What can go wrong, and how it is said.

    CodegenError            everything a user can cause; exit status 2
    ├── ManifestError       a manifest that cannot be read as one
    ├── SourceError         a kernel source that cannot be read or parsed
    ├── EmitError           a manifest that is sound and yet cannot be emitted
    └── OutputError         a file that cannot, or may not, be written

    InternalError           a fault of ours, never the user's; exit status 70

Every message is one line: where it stands, the fact with the value, the remedy.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "CodegenError",
    "EmitError",
    "InternalError",
    "ManifestError",
    "OutputError",
    "SourceError",
    "listed",
    "shown",
]


def shown(value: object, *, limit: int = 60) -> str:
    """Return `value` as it may stand in a one-line message: escaped, and cut at `limit`."""
    text = ascii(value) if isinstance(value, str) else _plain(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def listed(values: Iterable[object], *, most: int = 5) -> str:
    """Return the first few of `values` for a message, and how many there are besides."""
    texts = [shown(value) for value in values]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "an array"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    return ascii(value)


class CodegenError(Exception):
    """Base of all that a user can cause; carries the fact, the place and the remedy."""

    def __init__(self, fact: str, *, where: str, remedy: str) -> None:
        """Keep the three parts; `where` is a dotted path or file:line."""
        super().__init__(fact)
        self.fact = fact
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the one line a user reads."""
        line = f"{self.where}: {self.fact}; {self.remedy}"
        return line.replace("\r", "\\r").replace("\n", "\\n")


class ManifestError(CodegenError):
    """A manifest that is not JSON, not of our schema, or contradicts itself."""


class SourceError(CodegenError):
    """A kernel's source file that is missing, unreadable or not Python."""


class EmitError(CodegenError):
    """A sound manifest that no module can be made of within CPython's limits."""


class OutputError(CodegenError):
    """A file that cannot be written, or that is not ours to overwrite."""


class InternalError(Exception):
    """The generator contradicted itself: its output failed one of its own checks."""
