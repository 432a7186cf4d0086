"""Before a module is written: does what its manifest chooses fit the targets that it ships to?

The compilers are the tuner's affair, and codegen knows nothing of the tuner: it is asked as a
command, in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from codegen.errors import EmitError

__all__ = ["check_gate"]


def check_gate(manifest: Path, targets: str, case: Path | None = None) -> None:
    """Ask `tuner gate` whether every config that `manifest` chooses fits `targets`.

    Args:
        manifest: its file.
        targets: names between commas, such as `ascend910b3,sm_90`.
        case: the directory with the kernel's base.py and sample.json; the manifest's own if None.

    Raises:
        EmitError: one does not fit, or that cannot be told; with what the tuner printed.
    """
    command = [sys.executable, "-m", "tuner", "gate", str(case or manifest.parent)]
    command += ["--manifest", str(manifest), "--target", targets, "--quiet"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (ours)
    if ran.returncode == 0:
        return
    told = [line.strip() for line in ran.stdout.splitlines() if "  rejected " in line]
    said = ran.stderr.strip().splitlines()
    fact = "the gate was not passed: " + "; ".join(told or said[-1:] or ["it did not say why"])
    remedy = "nothing was written; tune with candidates that fit, or leave the target out of --gate"
    raise EmitError(fact, where=str(manifest), remedy=remedy)
