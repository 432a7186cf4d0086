"""A service as we see it: a process that answers, dies, or is silent for too long."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

import codegen
import tuner
from tuner.cases import Case
from tuner.errors import CaseError, ToolchainError
from tuner.printable import printable
from tuner.records import Failure
from tuner.toolchains.answers import Answer, parse_answer
from tuner.toolchains.environment import Toolchain
from tuner.toolchains.targets import CompileTarget

__all__ = ["Service", "ServiceLostError"]

_BOOT = Path(__file__).parent / "service" / "boot.py"
_LONGEST_LINE = 50_000_000
_CHUNK = 2**16
# To import torch and triton, from a disk that may be slow.
_START_S = 300.0
_HINT = 300


class ServiceLostError(Exception):
    """The service is gone, and `failure` says how: it crashed, hung or babbled."""

    def __init__(self, failure: Failure) -> None:
        """Keep the failure, for the config that it was at."""
        super().__init__(failure.message)
        self.failure = failure


class Service:
    """One process of a toolchain's interpreter, with the case loaded for one target."""

    def __init__(
        self, toolchain: Toolchain, target: CompileTarget, case: Case, *, timeout_s: float
    ) -> None:
        """Start it.

        Raises:
            CaseError: the case cannot be loaded there.
            ToolchainError: the service does not start.
        """
        self._numbers = itertools.count(1)
        self._timeout_s = timeout_s
        self._rest = b""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        places = [str(Path(str(package.__file__)).parent) for package in (codegen, tuner)]
        try:
            self._process = subprocess.Popen(  # noqa: S603 (the toolchain's interpreter)
                [*toolchain.command, str(_BOOT), *places],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=_environment(),
            )
        except OSError as error:
            raise _unusable(toolchain, str(error.strerror).lower()) from None
        try:
            answer = self._asked(_opening(target, case), _START_S)
        except ServiceLostError as error:
            self.close()
            raise _unusable(toolchain, error.failure.message) from None
        if answer.options is None:
            self.close()
            raise _unusable(toolchain, answer.failure or "it does not answer as it should")
        self.options = tuple(answer.options)

    def ask(self, request: Mapping[str, Any]) -> Answer:
        """Return the answer to `request`.

        Raises:
            CaseError: the case is at fault.
            ServiceLostError: there was none; the service cannot be asked again.
        """
        return self._asked(request, self._timeout_s)

    def close(self) -> None:
        """End it, whatever it is at."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()

    def _asked(self, request: Mapping[str, Any], timeout_s: float) -> Answer:
        number = next(self._numbers)
        line = json.dumps({**request, "id": number}).encode() + b"\n"
        try:
            assert self._process.stdin  # noqa: S101 (a pipe)
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError:
            raise self._crashed() from None
        said = self._line(monotonic() + timeout_s, timeout_s)
        answer = parse_answer(said, number)
        if answer is None:
            text = printable(said.decode("utf-8", "replace"), limit=_HINT)
            raise ServiceLostError(
                Failure(kind="crash", message=f"the compiler's service says {text}")
            )
        if answer.refused:
            parts = answer.refused
            raise CaseError(parts.fact, where=parts.where, remedy=parts.remedy)
        return answer

    def _line(self, until: float, timeout_s: float) -> bytes:
        assert self._process.stdout  # noqa: S101 (a pipe)
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, until - monotonic()))
            if not ready:
                message = f"the compiler took longer than {timeout_s:g} s"
                raise ServiceLostError(Failure(kind="hang", message=message))
            part = os.read(descriptor, _CHUNK)
            if not part or len(self._rest) > _LONGEST_LINE:
                raise self._crashed()
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _crashed(self) -> ServiceLostError:
        self._process.kill()
        status = self._process.wait()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        said = self._last_words()
        message = f"the compiler's process {how}" + (f": {said}" if said else "")
        return ServiceLostError(Failure(kind="crash", message=message))

    def _last_words(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - _CHUNK))
            lines = self._log.read().decode("utf-8", "replace").split("\n")
            told = [line for line in lines if line.strip() and not line.startswith((" ", "\t"))]
            return printable(told[-1], limit=_HINT) if told else ""
        return ""


def _opening(target: CompileTarget, case: Case) -> dict[str, Any]:
    return {
        "do": "open",
        "backend": target.backend,
        "arch": target.arch,
        "warp_size": target.warp_size,
        "base": str(case.base.resolve()),
        "impl": str(case.impl.resolve()),
        "shape_expr": case.shape_expr.text,
        "axis_names": list(case.axis_names),
    }


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    # A dispatch of older code may lie beside the kernel, and no device is wanted.
    environment |= {"TUNED_DISPATCH": "off", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    for name in ("PYTHONPATH", "PYTHONHOME", "TRITON_INTERPRET"):
        environment.pop(name, None)
    return environment


def _unusable(toolchain: Toolchain, why: str) -> ToolchainError:
    return ToolchainError(
        f"does not start: {why}",
        where=toolchain.place,
        remedy=f"make it anew: remove it, then tuner toolchain install {toolchain.name}",
    )
