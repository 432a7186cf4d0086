"""One worker process, from the outside: started, spoken to, found dead, and buried."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import IO

from tuner.devices.names import DeviceName
from tuner.errors import DeviceError
from tuner.worker.messages import Describe, Job, Message, Setup

__all__ = ["WorkerProcess"]

_ROOT = Path(__file__).resolve().parents[2]
# The worker's code is this process's own, whatever else is called `tuner` where it looks; and our
# place, and the current directory, hide no module of the user's.
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[2]); import codegen, tuner; del sys.path[0]; "
    "sys.path.sort(key=bool, reverse=True); from tuner.worker.__main__ import main; main()"
)
_TAIL_BYTES = 4000
_MOST_LOG_BYTES = 2**20
_DYING_S = 10.0
_DIRECTORY = re.compile(r'File "[^"]*/')
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# By the kind of device, what keeps a process to one of them.
_VISIBLE = {"cuda": "CUDA_VISIBLE_DEVICES", "npu": "ASCEND_RT_VISIBLE_DEVICES"}
# How Python's fault handler begins the lines that tell nothing of the cause.
_UNTOLD = ("Thread 0x", "Current thread", "Extension modules", "Stack (most recent", "<")


class WorkerProcess:
    """A process with a pipe, and a file for what it prints."""

    def __init__(self, setup: Setup) -> None:
        self.pipe, theirs = Pipe()
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it is buried)
        try:
            self._process = subprocess.Popen(  # noqa: S603 (ourselves)
                [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), str(_ROOT)],
                pass_fds=(theirs.fileno(),),
                env=_environment(setup.device),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,  # Ctrl-C at the terminal is for the crew to handle.
            )
        except OSError as error:
            self.pipe.close()
            self._log.close()
            raise DeviceError(
                f"no process can be started for it: {(error.strerror or str(error)).lower()}",
                where=str(setup.device),
                remedy="end some other processes, or raise the limit on them",
            ) from None
        finally:
            theirs.close()
        self.send(setup)

    def send(self, request: Setup | Describe | Job) -> None:
        """Ask for something; a worker that is gone is found out when its answer is read."""
        try:
            self.pipe.send(request)
        except OSError:
            return

    def receive(self) -> Message | None:
        """Return the next message, waiting for it; None if the process is gone.

        One that sends what is no message counts as gone: a kernel wrote into the pipe.
        """
        try:
            message = self.pipe.recv()
        except Exception:  # noqa: BLE001 (unpickling what a kernel wrote may raise anything)
            return None
        return message if isinstance(message, Message) else None

    def trim(self) -> None:
        """Forget what it printed, if that is much: a kernel may print at each of many launches."""
        if os.fstat(self._log.fileno()).st_size > _MOST_LOG_BYTES:
            # The process shares the position.
            self._log.seek(0)
            self._log.truncate()

    def kill(self) -> str:
        """End the process, its children too, and return what it printed last."""
        if self._log.closed:
            return ""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            # One that waits for a driver may outlive even this.
            self._process.wait(timeout=_DYING_S)
        text = self._last_words()
        self.pipe.close()
        self._log.close()
        return text

    def died(self) -> str:
        """Bury a process that has closed its pipe: say how it ended, and what it printed last."""
        try:
            # Dying takes a moment after the pipe is closed, longer where a core is dumped.
            status = _status_in_words(self._process.wait(timeout=_DYING_S))
        except subprocess.TimeoutExpired:
            status = "its process closed its pipe and lived on"
        text = self.kill()
        return f"{status}: {text}" if text else status

    def _last_words(self) -> str:
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - _TAIL_BYTES))
        # Where a file lies on this machine is nobody else's concern: the words go into a manifest.
        text = _DIRECTORY.sub('File "', self._log.read().decode("utf-8", "replace"))
        lines = [line.strip(" \t\r\0") for line in text.splitlines() if line.strip(" \t\r\0")]
        told = [line for line in lines if not line.startswith(_UNTOLD)]
        files = [line for line in told if line.startswith("File ")]
        rest = [line for line in told if not line.startswith("File ")]
        return "; ".join([*rest[-2:], *files[:1]])


def _status_in_words(status: int) -> str:
    if status >= 0:
        return f"its process ended with status {status}"
    try:
        return f"its process was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"its process was killed by signal {-status}"


def _environment(device: DeviceName) -> dict[str, str]:
    environment = dict(os.environ)
    environment["PYTHONUNBUFFERED"] = "1"
    environment["TUNED_DISPATCH_WORKER"] = "1"
    # A dispatch of older code is what is about to be replaced.
    environment["TUNED_DISPATCH"] = "off"
    if variable := _VISIBLE.get(device.kind):
        environment[variable] = _visible(variable, device.index)
    else:
        threads = environment.get("OMP_NUM_THREADS", "1")
        environment |= dict.fromkeys(_THREADS, threads)
    return environment


def _visible(variable: str, index: int) -> str:
    """Return what device number `index` is called among those that `variable` lets us see."""
    told = os.environ.get(variable)
    if told is None:
        return str(index)
    seen = [name.strip() for name in told.split(",") if name.strip()]
    return seen[index] if index < len(seen) else ""
