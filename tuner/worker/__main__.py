"""`python -m tuner.worker FD`: answer on the pipe FD until it is closed."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from codegen.errors import CodegenError
from tuner.devices import open_device, options_of
from tuner.errors import CaseError, DeviceError
from tuner.records import Shape
from tuner.worker import values
from tuner.worker.job import DeviceLostError, Worker
from tuner.worker.kernel import Kernel, load_kernel
from tuner.worker.messages import (
    Describe,
    Described,
    Message,
    Ready,
    Refused,
    Setup,
    Work,
)

__all__ = ["main"]

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def main() -> None:
    """Serve the crew at the other end of the pipe."""
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The crew ends us; the terminal does not.
    _die_with_parent()
    pipe = Connection(int(sys.argv[1]))
    _keep_to_ourselves(pipe)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        _serve(pipe)
    # A kernel may have left threads that never end, or an interpreter that cannot.
    sys.stderr.flush()
    os._exit(0)


def _serve(pipe: Connection) -> None:
    setup: Setup = pipe.recv()
    try:
        device = open_device(setup.device)
        kernel = load_kernel(setup.kernel, device)
    except CodegenError as error:
        pipe.send(_refused(error))
        return
    options = options_of(setup.device)
    pipe.send(Ready(target=device.target(), method=device.method, options=options))

    def say(message: Message) -> None:
        pipe.send(message)

    worker = Worker(kernel, device, setup.limits, say)
    while True:
        request = pipe.recv()
        if isinstance(request, Describe):
            pipe.send(_described(kernel, request.shapes))
            continue
        try:
            worker.do(request)
        except DeviceLostError:
            return


def _described(kernel: Kernel, shapes: tuple[Shape, ...] | None) -> Message:
    try:
        works = [_work(kernel, shape) for shape in (shapes or kernel.shapes())]
    except CodegenError as error:
        return _refused(error)
    except BaseException as error:  # noqa: BLE001 (inputs are made by the case's code)
        fact = f"the inputs cannot be made: {values.reason(error)}"
        return _refused(CaseError(fact, where="the case", remedy="mend base.py"))
    return Described(works=tuple(works), verified=kernel.reference is not None)


def _work(kernel: Kernel, shape: Shape) -> Work:
    inputs = kernel.outline(shape)
    words = f"{values.in_words(inputs)} | {kernel.arguments()}".removesuffix(" | ")
    return Work(shape=shape, dtype=values.dtype_of(inputs), inputs=words)


def _refused(error: CodegenError) -> Refused:
    return Refused(
        fact=error.fact,
        where=error.where,
        remedy=error.remedy,
        device=isinstance(error, DeviceError),
    )


def _keep_to_ourselves(pipe: Connection) -> None:
    """Let no process that a kernel starts hold the pipe: it would stay open when this one dies."""
    os.set_inheritable(pipe.fileno(), False)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=pipe.close)


def _die_with_parent() -> None:
    """Let the kernel end this process when its parent dies, even one that hangs in a launch."""
    if sys.platform != "linux":
        return
    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    with contextlib.suppress(OSError):
        # Where memory runs out, this process is to go, and not the one that keeps the results.
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main()
