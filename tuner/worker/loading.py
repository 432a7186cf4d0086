"""The files of a kernel, loaded into this process; whatever goes wrong there is one CaseError."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from codegen.errors import CodegenError
from tuner.errors import CaseError
from tuner.worker import values

__all__ = ["Asked", "called", "found", "load"]

_PACKAGE = "_tuned"
# What a dispatch module holds, so that a kernel may import any of it.
_DISPATCH: dict[str, Any] = {
    "AXIS_NAMES": (),
    "CONFIGS": (),
    "Config": None,
    "DEFAULT": None,
    "MANIFEST_SHA256": "",
    "SOURCE_SHA256": "",
    "TARGET": {},
}


class Asked:
    """A dispatch's `_select_config` that remembers what shape it was asked for last."""

    def __init__(self, select: Callable[[Any], Any]) -> None:
        """Ask `select`."""
        self._select = select
        self.shape: Any = None

    def __call__(self, shape: Any) -> Any:
        """Return what the dispatch chooses for `shape`."""
        self.shape = shape
        return self._select(shape)


def load(path: Path, dispatch: Path | None = None) -> ModuleType:
    """Return the module in the file `path`, loaded as a member of a package of our own.

    Its dispatch is the file `dispatch`, whose `_select_config` is then an `Asked`. Without it, one
    that raises takes its place: it may not exist yet, or be of an older tuning, and every call
    gives a config.

    Raises:
        CaseError: it is not Python, or fails while it is loaded.
    """
    name = f"{_PACKAGE}.{path.stem}"
    answers = _watched(load(dispatch)) if dispatch else _no_dispatch(f"{name}_dispatch")
    for known in (f"{path.stem}_dispatch", f"{name}_dispatch"):
        sys.modules[known] = answers
    package = sys.modules.setdefault(_PACKAGE, ModuleType(_PACKAGE))
    package.__path__ = [str(path.parent.absolute())]
    loader = _Loader(name, str(path.absolute()))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec  # noqa: S101 (a loader of a file always gives one)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    called(path, loader.exec_module, module)
    return module


def found(path: Path, module: ModuleType, name: str) -> Any:
    """Return what the file at `path` calls `name`; raises CaseError if there is no such thing."""
    value = getattr(module, name, None)
    if value is None:
        raise CaseError(f"defines no {name}", where=str(path), remedy="define it there")
    return value


def called(path: Path, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the file at `path`.

    Raises:
        CaseError: it raised anything; with the line of the file that it failed at.
    """
    try:
        result = function(*arguments)
        # A generator fails while it is read.
        return list(result) if inspect.isgenerator(result) else result
    except CodegenError:
        raise
    # SystemExit and KeyboardInterrupt as well: the terminal's is not let through to a worker.
    except BaseException as error:  # noqa: BLE001 (the case's code may raise anything)
        missing = isinstance(error, ModuleNotFoundError)
        raise CaseError(
            f"fails: {values.reason(error)}",
            where=values.place_of(error, path),
            remedy="install it beside the tuner, or mend the import" if missing else "mend it",
        ) from None


class _Loader(SourceFileLoader):
    """Compiles the file as it is now.

    Bytecode that lies about is matched by second and size: it may be older, and writing it is for
    the kernel's owner to do.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _watched(dispatch: ModuleType) -> ModuleType:
    vars(dispatch)["_select_config"] = Asked(vars(dispatch)["_select_config"])
    return dispatch


def _no_dispatch(name: str) -> ModuleType:
    def _select_config(shape: Any) -> Any:
        raise RuntimeError(
            f"no config was given for shape {shape}, and none is chosen while tuning"
        )

    module = ModuleType(name)
    module.__dict__.update(_DISPATCH, _select_config=_select_config)
    return module
