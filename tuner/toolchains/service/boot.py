"""How a service starts: `python boot.py CODEGEN TUNER`, by a toolchain's own interpreter.

Of this package's environment it sees these two directories alone: with all of it on the path, its
torch and triton would stand in for the toolchain's.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def _load(name: str, place: str) -> None:
    file = str(Path(place) / "__init__.py")
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=[place])
    assert spec  # noqa: S101 (a file always gives one)
    assert spec.loader  # noqa: S101
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == "__main__":
    sys.path.pop(0)  # The directory of this file, whose modules are not for everyone.
    for package, directory in zip(("codegen", "tuner"), sys.argv[1:3], strict=True):
        _load(package, directory)
    importlib.import_module("tuner.toolchains.service.main").main()
