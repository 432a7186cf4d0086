"""Modules imported in processes of their own: one that crashes or hangs takes nothing with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tuner.doctor.found import AUTOLOAD_OFF, Device, Import
from tuner.printable import printable

__all__ = ["import_all"]

_LIMIT_S = 60.0  # torch from a cold disk takes ten.
_MOST_WORDS = 300
_AT_ONCE = 4
# What the module says is written to a file: libraries print to the standard output.
_PROGRAM = """
import importlib, json, sys
sys.path[:] = [place for place in sys.path if place]  # The current directory hides no package.
name, place = sys.argv[1:]
facts = {}
def look(devices, count, name_of, arch_of):
    facts["available"] = bool(devices.is_available())
    if facts["available"]:
        facts["devices"] = [[str(name_of(i)), arch_of(i)] for i in range(count())]
def sm(i):
    return "sm_%d%d" % tuple(torch.cuda.get_device_capability(i))
try:
    module = importlib.import_module(name)
    facts["version"] = str(getattr(module, "__version__", "")) or None
    if name == "torch":
        torch = module
        facts["cuda"] = torch.version.cuda and str(torch.version.cuda)
        look(torch.cuda, torch.cuda.device_count, torch.cuda.get_device_name, sm)
    elif name == "torch_npu":
        npu = importlib.import_module("torch").npu
        look(npu, npu.device_count, npu.get_device_name, lambda i: None)
except BaseException as error:
    words = ["%s: %s" % (type(error).__name__, str(error).rstrip(". "))]
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__
    if str(error) and str(error) not in words[0]:
        words.append("(%s)" % str(error).rstrip(". "))
    facts["error"] = " ".join(words)
with open(place, "w", encoding="utf-8", errors="replace") as file:
    json.dump(facts, file)
"""


def import_all(
    modules: Sequence[str], environment: Mapping[str, str], *, limit_s: float = _LIMIT_S
) -> dict[str, Import]:
    """Return what came of importing each of `modules`, by its name.

    Where torch cannot be, it is tried once more without the backends that it loads by itself, and
    that is told as well.

    Args:
        modules: names of modules.
        environment: of the processes.
        limit_s: the longest that one may take.
    """
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        found = pool.map(lambda name: _imported(name, environment, limit_s), modules)
        imports = dict(zip(modules, found, strict=True))
    if "torch" in imports and imports["torch"].error is not None:
        without = {**environment, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        imports[AUTOLOAD_OFF] = _imported("torch", without, limit_s)
    return imports


def _imported(name: str, environment: Mapping[str, str], limit_s: float) -> Import:
    with tempfile.TemporaryDirectory(prefix="tuned-dispatch-doctor-") as directory:
        place, log = Path(directory, "facts"), Path(directory, "log")
        with log.open("wb") as printed:
            process = subprocess.Popen(  # noqa: S603 (ourselves)
                [sys.executable, "-c", _PROGRAM, name, str(place)],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
            )
        try:
            status = process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return Import(error=f"no end after {limit_s:.0f} s")
        finally:
            _end(process)
        if not place.is_file():
            return Import(error=_died(status, log))
        return _read(place)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process with all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        process.wait()


def _died(status: int, log: Path) -> str:
    """Say how a process ended that wrote nothing."""
    how = f"status {status}"
    if status < 0:
        how = next((one.name for one in signal.Signals if one == -status), f"signal {-status}")
    text = log.read_bytes()[-4000:].decode("utf-8", "replace")
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    return printable(f"the process died by {how}: {last}".rstrip(": "), limit=_MOST_WORDS)


def _read(place: Path) -> Import:
    try:
        facts: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    except ValueError:
        return Import(error="what it says of itself was cut off")
    words = facts.get("error")
    return Import(
        version=facts.get("version"),
        error=None if words is None else printable(words, limit=_MOST_WORDS),
        cuda=facts.get("cuda"),
        available=facts.get("available", False),
        devices=tuple(
            Device(name=printable(name), arch=arch) for name, arch in facts.get("devices", ())
        ),
    )
