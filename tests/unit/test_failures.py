"""Exceptions of a kernel: each is of one kind of failure, with one line of words."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from fake_toolchain import OVERFLOW, SINGLE

from tuner.overflow import Overflow
from tuner.toolchains.compiler_text import read_ascend
from tuner.worker.failures import failure_of


def named(name: str, base: type[BaseException] = Exception) -> BaseException:
    """Return an exception as a library that is not here would raise it."""
    return type(name, (base,), {})("at 3:4:\nbad tile")


def refused(text: str, name: str = "MLIRCompilationError") -> BaseException:
    """Return the error that triton-ascend raises of what its compiler printed."""
    rule = "/" * 20
    said = f"\n{rule}[ERROR][Triton][BEG]{rule}\n[MLIRCompile] encounters error:\n{text}"
    return type(name, (Exception,), {})(f"{said}\n\n[INFO]: The compiled kernel cache is in …\n")


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


@pytest.mark.parametrize("word", ["ub", "cc", "cbuf", "L1"])
@pytest.mark.parametrize("error", ["MLIRCompilationError", "RuntimeError"])
def test_ascends_overflow_is_of_resources_and_reads_as_the_gates(word: str, error: str) -> None:
    """With memory and numbers; of the compiler's retries the last one counts, however much it says.

    What else it refuses is of its compiler.
    """
    last = OVERFLOW.replace("ub", word).replace("4194304", "2097152")
    much = "a line of IR\n" * 1000
    text = f"{OVERFLOW}\n{SINGLE}\n{much}\x1b[31m{last}\x1b[0m"
    failure = failure_of(refused(text, error))
    assert failure == read_ascend(text, status=1).failure
    assert failure.kind == "resources"
    assert Overflow.of(failure) == Overflow(
        memory=word.lower(), needed=2097152, available=1572864, unit="bits"
    )
    assert failure_of(refused("error: failed to legalize operation 'x'")).kind == "compile"
    assert failure_of(refused("ub overflow, requires many bits")).kind == "compile"


def test_an_error_that_cannot_be_printed_is_still_a_failure() -> None:
    """By its type alone."""

    class SilentError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    failure = failure_of(SilentError())
    assert (failure.kind, failure.message) == ("launch", "SilentError")


def test_reading_an_overflow_costs_a_worker_no_import() -> None:
    """Neither what checks a service's answers nor anything of the toolchains."""
    program = "import sys, tuner.worker.failures; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = ran.stdout.split()
    assert "tuner.overflow" in loaded
    assert not [name for name in loaded if name.startswith(("pydantic", "tuner.toolchains"))]
