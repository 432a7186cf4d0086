"""Exceptions of a kernel, sorted into the kinds of failure that a record knows."""

from __future__ import annotations

from typing import Literal, TypeAlias

from codegen.errors import shown
from tuner.overflow import ascend_overflow
from tuner.records import Failure
from tuner.worker.values import reason

__all__ = ["failure_of"]

_Kind: TypeAlias = Literal["compile", "resources", "memory", "launch"]

# By the exception's type, or one it descends from: names, as neither library may be there.
_KINDS: dict[str, _Kind] = {
    "OutOfResources": "resources",
    "CompilationError": "compile",
    "CompileTimeAssertionFailure": "compile",
    "PTXASError": "compile",
    "MLIRCompilationError": "compile",
    "OutOfMemoryError": "memory",
    "MemoryError": "memory",
}
# By what a RuntimeError says: what comes out of Triton's compiler and the driver has no type.
_WORDS: dict[str, _Kind] = {
    "PassManager::run failed": "compile",
    "out of memory": "memory",
}


def failure_of(error: BaseException) -> Failure:
    """Return the failure that `error`, raised by a kernel, stands for.

    What Ascend's compiler says of on-chip memory reads as a verdict of the gate, whatever the
    exception's type: `MLIRCompilationError` holds all that was printed.
    """
    if overflow := ascend_overflow(_said(error)):
        return overflow
    message = reason(error)
    if isinstance(error, KeyboardInterrupt | SystemExit):
        message = f"it raised {type(error).__name__}({shown(str(error))[1:-1]})"
    return Failure(kind=_kind(error, message), message=message)


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 (an exception of a user's may fail at being printed)
        return ""


def _kind(error: BaseException, message: str) -> _Kind:
    for base in type(error).__mro__:
        if base.__name__ in _KINDS:
            return _KINDS[base.__name__]
    if isinstance(error, RuntimeError):
        for words, kind in _WORDS.items():
            if words in message:
                return kind
    return "launch"
