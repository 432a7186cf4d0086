"""The corpus as tests want it: which entries there are, and what each of them is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

__all__ = ["ENTRIES", "Entry", "Kind", "Refusal", "entries"]

Kind: TypeAlias = Literal["module", "function", "autotuned", "refused"]

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """How an entry is refused.

    Attributes:
        by: the command that refuses it.
        line: of `impl.py`, at which the reason stands; None where it is no one line's.
        reason: a part of the message.
    """

    by: Literal["convert", "harvest"]
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A kernel of the corpus.

    Attributes:
        kind: `module` has a `ModelNew`, `function` a public function instead; `autotuned` is either
            of them under `@triton.autotune`; `refused` must not be converted.
        refusal: of a refused one, None otherwise.
    """

    name: str
    directory: Path
    kind: Kind
    refusal: Refusal | None

    @property
    def impl(self) -> Path:
        """The kernel's file."""
        return self.directory / "impl.py"

    @property
    def text(self) -> str:
        """The kernel's text."""
        return self.impl.read_text()

    @property
    def sample(self) -> dict[str, Any]:
        """What `sample.json` holds."""
        found: dict[str, Any] = json.loads((self.directory / "sample.json").read_text())
        return found

    @property
    def candidates(self) -> tuple[dict[str, Any], ...]:
        """Each candidate as params and launch options by name, the kernel's own first."""
        told = self.sample
        if "sweep_param" in told:
            return tuple({told["sweep_param"]: value} for value in told["candidates"])
        return tuple(told["autotune"].get("configs", ()))


def entries(*kinds: Kind) -> tuple[Entry, ...]:
    """Return the entries of any of `kinds`, in order."""
    return tuple(entry for entry in ENTRIES if entry.kind in kinds)


def _entry(directory: Path) -> Entry:
    refused = directory / "refused.json"
    refusal = Refusal(**json.loads(refused.read_text())) if refused.exists() else None
    return Entry(
        name=directory.name,
        directory=directory,
        kind="refused" if refusal else _kind((directory / "impl.py").read_text()),
        refusal=refusal,
    )


def _kind(text: str) -> Kind:
    if "@triton.autotune" in text:
        return "autotuned"
    return "module" if "class ModelNew" in text else "function"


ENTRIES = tuple(_entry(path.parent) for path in sorted(HERE.glob("*/impl.py")))
