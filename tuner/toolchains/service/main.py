"""The loop of the service: a line of JSON in, a line of JSON out, until its input ends.

    {"do": "open", "backend": …, "arch": …, "warp_size": …, "base": …, "impl": …, …}
        → {"options": […]} or {"refused": {"fact": …, "where": …, "remedy": …}}
    {"do": "survey"}  → {"shapes": [[…], …]} or {"refused": …}
    {"do": "capture", "shape": […], "config": {…}}
        → {"dtype": …, "launches": [{"key": …, "kernel": …, "grid": […]}]} or {"failure": …}
    {"do": "compile", "shape": […], "config": {…}, "keys": […]}
        → {"built": [{"key": …, "shared": …, "text": …, "status": …, "refused": …}]}

Each answer carries the number `id` of its request. Kernels and compilers may print what they like:
standard output is standard error to them.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import os
import signal
import sys
from typing import Any, TextIO

from codegen.config import LAUNCH_OPTIONS, Config
from codegen.errors import CodegenError
from tuner.toolchains.service.driver import Compiler
from tuner.toolchains.service.model import Model, case_kernel
from tuner.worker.values import reason

__all__ = ["main"]

_MOST_TEXT = 20_000
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def main() -> None:
    """Answer requests until there are no more."""
    _die_with_parent()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # What prints to standard output, a program that is started too.
    service = _Service()
    for line in sys.stdin:
        request = json.loads(line)
        _say(answers, {"id": request["id"], **service.answer(request)})


def _say(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


class _Service:
    def __init__(self) -> None:
        self._compiler: Compiler | None = None
        self._model: Model | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._answer(request)
        except CodegenError as error:
            told = {"fact": error.fact, "where": error.where, "remedy": error.remedy}
            return {"refused": told}
        except (KeyboardInterrupt, SystemExit) as error:
            return {"failure": reason(error)}
        except Exception as error:  # noqa: BLE001 (the case's code may raise anything)
            return {"failure": reason(error)}

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "open":
            return self._open(request)
        assert self._model  # noqa: S101 (the client opens first)
        assert self._compiler  # noqa: S101
        if request["do"] == "survey":
            return {"shapes": [list(shape) for shape in self._model.shapes()]}
        shape, config = tuple(request["shape"]), _config(request["config"])
        if request["do"] == "capture":
            return self._captured(shape, config)
        return self._built(shape, config, request["keys"])

    def _open(self, request: dict[str, Any]) -> dict[str, Any]:
        self._compiler = _compiler(request)
        self._model = Model(case_kernel(request), self._compiler)
        return {"options": [*self._compiler.options()]}

    def _captured(self, shape: tuple[int, ...], config: Config) -> dict[str, Any]:
        assert self._model  # noqa: S101
        launches = self._model.launches(shape, config)
        told = [{"key": one.key, "kernel": one.kernel, "grid": [*one.grid]} for one in launches]
        return {"dtype": self._model.dtype(shape), "launches": told}

    def _built(self, shape: tuple[int, ...], config: Config, keys: list[str]) -> dict[str, Any]:
        assert self._model  # noqa: S101
        assert self._compiler  # noqa: S101
        launches = {one.key: one for one in self._model.launches(shape, config)}
        built = []
        for key in keys:
            made = dataclasses.asdict(self._compiler.build(launches[key]))
            built.append({"key": key, **made, "text": made["text"][-_MOST_TEXT:]})
        return {"built": built}


def _compiler(request: dict[str, Any]) -> Compiler:
    if request["backend"] == "npu":
        from tuner.toolchains.service.ascend import Ascend  # noqa: PLC0415 (a toolchain's)

        return Ascend(request["arch"])
    from tuner.toolchains.service.gpu import Gpu  # noqa: PLC0415

    return Gpu(request["backend"], request["arch"], request["warp_size"])


def _config(told: dict[str, Any]) -> Config:
    return Config(
        params=tuple(told["params"].items()),
        options=tuple(told.get("options", {}).items()),
        **{name: told[name] for name in LAUNCH_OPTIONS if name in told},
    )


def _die_with_parent() -> None:
    """Let the kernel end this process when its parent dies, even in the midst of a compile."""
    parent = os.getppid()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
