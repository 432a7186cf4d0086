"""CANN's own exporter, run by hand on what the profiler recorded where torch_npu did not.

The command is that of CANN's reference: `msprof --export=on --type=db --output=PROF_…`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

__all__ = ["export_databases"]

_LIMIT_S = 20.0  # The crew waits for a minute in all.


def export_databases(directory: Path) -> bool:
    """Export the recordings below `directory` to databases beside them; say whether that was done.

    False as well where there is no `msprof`, or nothing that was recorded.
    """
    tool = shutil.which("msprof")
    recorded = sorted(path for path in directory.rglob("PROF_*") if path.is_dir())
    return tool is not None and bool(recorded) and all(_export(tool, path) for path in recorded)


def _export(tool: str, recording: Path) -> bool:
    # It runs on a Python of its own, which must not find our packages.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [tool, "--export=on", "--type=db", f"--output={recording}"]
    try:
        ran = subprocess.run(  # noqa: S603 (CANN's, found on the path)
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ran.returncode == 0
