"""Exceptions of a kernel: each is of one kind of failure, with one line of words."""

from __future__ import annotations

import numpy as np
import pytest

from tuner.worker.failures import failure_of


def named(name: str, base: type[BaseException] = Exception) -> BaseException:
    """Return an exception as a library that is not here would raise it."""
    return type(name, (base,), {})("at 3:4:\nbad tile")


def array_memory_error() -> BaseException:
    """Return what numpy raises where memory does not suffice."""
    with pytest.raises(MemoryError, match="Unable to allocate") as caught:
        np.empty(2**60, np.uint8)
    return caught.value


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (named("OutOfResources"), "resources"),
        (named("CompilationError"), "compile"),
        (named("UnsupportedLanguageConstruct", type(named("CompilationError"))), "compile"),
        (named("CompileTimeAssertionFailure"), "compile"),
        (named("PTXASError"), "compile"),
        (named("MLIRCompilationError"), "compile"),
        (RuntimeError("PassManager::run failed"), "compile"),
        (named("OutOfMemoryError", RuntimeError), "memory"),
        (MemoryError(), "memory"),
        (array_memory_error(), "memory"),
        (RuntimeError("Triton Error [CUDA]: out of memory"), "memory"),
        (ValueError("out of memory"), "launch"),
        (ValueError("no such tile"), "launch"),
        (ZeroDivisionError(), "launch"),
        (KeyboardInterrupt(), "launch"),
        (SystemExit(0), "launch"),
        (GeneratorExit(), "launch"),
    ],
)
def test_an_exception_is_of_one_kind(error: BaseException, kind: str) -> None:
    """By its type or one it descends from, else by what a RuntimeError says."""
    failure = failure_of(error)
    assert failure.kind == kind
    assert failure.message
    assert "\n" not in failure.message


def test_the_message_begins_with_the_type() -> None:
    """Several lines become one; what ends a process is said to have been raised."""
    assert failure_of(named("OutOfResources")).message == "OutOfResources: at 3:4: bad tile"
    assert failure_of(SystemExit(0)).message == "it raised SystemExit(0)"
    assert failure_of(SystemExit("\x1b[2J")).message == r"it raised SystemExit(\x1b[2J)"
    assert failure_of(KeyboardInterrupt()).message == "it raised KeyboardInterrupt()"
