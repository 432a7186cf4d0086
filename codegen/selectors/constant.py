"""The constant selector: one config for every shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from codegen.axes import Shape
from codegen.decision import Choose
from codegen.fields import Int64, Strict
from codegen.selectors.base import Site

__all__ = ["Constant", "ConstantBody", "ConstantPayload"]


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the config with this index."""

    config: int
    kind = "constant"
    pinned: tuple[tuple[Shape, int], ...] = ()

    def choose(self, sizes: Mapping[str, Any]) -> int:  # noqa: ARG002 (the protocol's)
        """Return the one config."""
        return self.config

    def lower(self) -> Choose:
        """Return a lone leaf."""
        return Choose(self.config)


class ConstantPayload(Strict):
    """`{"config": 0}`."""

    config: Int64

    def build(self, site: Site) -> Constant:
        """Return the selector; raises ManifestError when the config does not exist."""
        return Constant(site.at("config").config(self.config))


class ConstantBody(Strict):
    """A constant selector as the manifest writes it."""

    kind: Literal["constant"]
    payload: ConstantPayload
