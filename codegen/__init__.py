"""Compile a tuned kernel's manifest into a plain Python dispatch module.

Data goes one way: `manifest` (the file) → `policy` (what it means, with the reference `evaluate`)
→ `plan` (the statements to print) → `render` → `module` (formatted and checked text) → `files`.
Nothing here needs a device, numpy or a clock: the same manifest always gives the same bytes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from codegen._version import __version__

if TYPE_CHECKING:
    from codegen.config import Config
    from codegen.emit import emission
    from codegen.errors import CodegenError
    from codegen.manifest import Manifest, dump_manifest, load_manifest, policy_of
    from codegen.policy import Policy
    from codegen.source_hash import source_sha256

__all__ = [
    "CodegenError",
    "Config",
    "Manifest",
    "Policy",
    "__version__",
    "dump_manifest",
    "emission",
    "load_manifest",
    "policy_of",
    "source_sha256",
]

_HOMES = {
    "CodegenError": "codegen.errors",
    "Config": "codegen.config",
    "Manifest": "codegen.manifest",
    "Policy": "codegen.policy",
    "dump_manifest": "codegen.manifest",
    "emission": "codegen.emit",
    "load_manifest": "codegen.manifest",
    "policy_of": "codegen.manifest",
    "source_sha256": "codegen.source_hash",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: `codegen --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'codegen' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
