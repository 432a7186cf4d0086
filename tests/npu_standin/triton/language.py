"""What a kernel's signature speaks of."""

from __future__ import annotations

__all__ = ["constexpr"]

constexpr = int
