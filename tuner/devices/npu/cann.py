"""CANN, where it is installed and which version: read from its files, nothing of it is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cann", "find_cann"]

_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_ROOT = Path("/usr/local/Ascend")
# Below the root, the current names before the older ones.
_BELOW = ("cann", "ascend-toolkit/latest", "nnrt/latest")
_MOST_BYTES = 1 << 16
# version.cfg has `toolkit_running_version=[7.7.0.1.231:8.1.RC1]`, the .info files `version=8.5.0`.
_CONFIGURED = re.compile(
    r"^(?:toolkit|runtime)_running_version\s*=\s*\[[^:\]]*:([^\]]+)\]", re.MULTILINE
)
_INSTALLED = re.compile(r"^[Vv]ersion\s*=\s*(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cann:
    """An installation of CANN.

    Attributes:
        home: its directory.
        by: what named it: an environment variable, or the path that it was found at.
        version: None if none of its files tells.
        script: what sets it up in a shell, None if it is not there.
    """

    home: Path
    by: str
    version: str | None
    script: Path | None = None


def find_cann(environment: Mapping[str, str], *, root: Path = _ROOT) -> Cann | None:
    """Return the installation that `environment` names, else one below `root`, None if none."""
    for by, home in _places(environment, root):
        if home.is_dir():
            return Cann(home=home, by=by, version=_version(home), script=_script(home))
    return None


def _places(environment: Mapping[str, str], root: Path) -> Iterator[tuple[str, Path]]:
    for name in _VARIABLES:
        if value := environment.get(name):
            yield name, Path(value)
    for below in _BELOW:
        yield str(root / below), root / below


def _script(home: Path) -> Path | None:
    places = (home / "set_env.sh", home.parent / "set_env.sh")
    return next((path for path in places if path.is_file()), None)


def _version(home: Path) -> str | None:
    for path, pattern in (
        (home / "version.cfg", _CONFIGURED),
        *((path, _INSTALLED) for path in sorted(home.glob("*-linux/ascend_*_install.info"))),
        (home / "version.info", _INSTALLED),
    ):
        if match := pattern.search(_text(path)):
            return match[1].strip()
    return None


def _text(path: Path) -> str:
    """Return how the file begins, nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
