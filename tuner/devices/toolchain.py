"""The versions of the tools that are loaded in this process."""

from __future__ import annotations

import sys

__all__ = ["versions"]


def versions(*modules: str) -> dict[str, str]:
    """Return the version of each of `modules` that is imported by now and has one."""
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in modules}
    return {name: str(version) for name, version in found.items() if version is not None}
