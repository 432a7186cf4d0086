"""Many configs on many shapes, compiled by several services at once.

First every launch is captured, which costs milliseconds; launches that are compiled alike, most of
them on several shapes and on Ascend those that differ in `num_warps` alone, are compiled once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from codegen.config import Config
from tuner.cases import Case
from tuner.errors import ToolchainError
from tuner.records import Failure, Shape
from tuner.toolchains.answers import Answer, BuiltField, LaunchField
from tuner.toolchains.client import Service, ServiceLostError
from tuner.toolchains.compiler_text import read_ascend, read_gpu
from tuner.toolchains.environment import Toolchain
from tuner.toolchains.targets import CompileTarget
from tuner.toolchains.verdict import KEPT, Verdict, compile_failure, worst

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Compiling", "Judged", "Pair", "grids_are_free"]

Pair = tuple[Shape, Config]
# With this variable triton-ascend lets each program do the work of many, and the limit is gone.
_ALL_BLOCKS = "TRITON_ALL_BLOCKS_PARALLEL"


def grids_are_free() -> bool:
    """Say whether the environment lifts Ascend's limit of a grid."""
    return os.environ.get(_ALL_BLOCKS) == "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of a config on a shape, whose inputs are of `dtype`."""

    shape: Shape
    config: Config
    dtype: str
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class _Capture:
    """The launches of a config on a shape; a verdict instead where there are none."""

    pair: Pair
    dtype: str = "unknown"
    launches: tuple[LaunchField, ...] = ()
    verdict: Verdict | None = None


class Compiling:
    """Services of one target, started when they are needed; a context manager."""

    def __init__(
        self,
        case: Case,
        target: CompileTarget,
        toolchain: Toolchain,
        *,
        services: int,
        timeout_s: float,
    ) -> None:
        self._case, self._target, self._toolchain = case, target, toolchain
        self._most, self._timeout_s = max(1, services), timeout_s
        self._idle: SimpleQueue[Service | None] = SimpleQueue()
        for _ in range(self._most):
            self._idle.put(None)
        self._closed = False
        self.options: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all services that are idle; those at work end with their work."""
        self._closed = True
        with suppress(Empty):
            while True:
                service = self._idle.get_nowait()
                if service:
                    service.close()

    def shapes(self) -> tuple[Shape, ...]:
        """Return the shapes that the case comes with.

        Raises:
            CaseError: it cannot be loaded, or lists none.
            ToolchainError: the toolchain does not start.
        """
        answer = self._asked({"do": "survey"})
        return tuple(tuple(shape) for shape in answer.shapes or ())

    def judge(self, pairs: Sequence[Pair], advance: Callable[[], None]) -> Iterator[Judged]:
        """Yield the verdict on each of `pairs` as it is known; `advance` is told of each.

        Raises:
            CaseError, ToolchainError: as `shapes`.
        """
        with ThreadPoolExecutor(self._most) as pool:
            captures = list(pool.map(self._captured, pairs))
            waiting: dict[str, list[_Capture]] = {}
            left: dict[int, set[str]] = {}
            for capture in captures:
                keys = {launch.key for launch in capture.launches}
                left[id(capture)] = keys
                for key in keys:
                    waiting.setdefault(key, []).append(capture)
                if not keys:
                    advance()
                    yield self._judged(capture, {})
            known: dict[str, Verdict] = {}
            tasks = {pool.submit(self._built, key, found[0]): key for key, found in waiting.items()}
            try:
                for task in as_completed(tasks):
                    key = tasks[task]
                    known[key] = task.result()
                    for capture in waiting[key]:
                        left[id(capture)].discard(key)
                        if not left[id(capture)]:
                            advance()
                            yield self._judged(capture, known)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.close()
                raise

    def _captured(self, pair: Pair) -> _Capture:
        request = {"do": "capture", **_told(pair)}
        try:
            answer = self._asked(request)
        except ServiceLostError as error:
            return _Capture(pair=pair, verdict=Verdict(failure=error.failure))
        if answer.launches is None:
            failure = Failure(kind="launch", message=answer.failure or "forward fails")
            return _Capture(pair=pair, verdict=Verdict(failure=failure))
        return _Capture(pair=pair, dtype=answer.dtype or "unknown", launches=tuple(answer.launches))

    def _built(self, key: str, capture: _Capture) -> Verdict:
        request = {"do": "compile", **_told(capture.pair), "keys": [key]}
        try:
            answer = self._asked(request)
        except ServiceLostError as error:
            return Verdict(failure=error.failure)
        if not answer.built:
            return compile_failure(answer.failure or "")
        return self._read(answer.built[0])

    def _read(self, built: BuiltField) -> Verdict:
        if built.refused:
            return compile_failure(built.text)
        if self._target.backend == "npu":
            return read_ascend(built.text, status=built.status)
        return read_gpu(self._target, built.shared, built.text)

    def _judged(self, capture: _Capture, known: dict[str, Verdict]) -> Judged:
        verdict = capture.verdict
        if verdict is None and not capture.launches:
            verdict = compile_failure("forward launches no kernel")
        if verdict is None:
            parts = [self._grid(launch) for launch in capture.launches]
            verdict = worst([*parts, *(known[launch.key] for launch in capture.launches)])
        shape, config = capture.pair
        return Judged(shape=shape, config=config, dtype=capture.dtype, verdict=verdict)

    def _grid(self, launch: LaunchField) -> Verdict:
        programs, most = 1, self._target.most_programs
        for size in launch.grid:
            programs *= size
        if most is None or programs <= most or grids_are_free():
            return KEPT
        message = f"{launch.kernel} has a grid of {programs} programs, and {most} is the most"
        return Verdict(failure=Failure(kind="launch", message=message))

    def _asked(self, request: dict[str, Any]) -> Answer:
        """Return the answer of a service that is idle; one that is lost is replaced the next time.

        Raises:
            ServiceLostError: it was lost over this request.
        """
        service = self._idle.get()
        try:
            if service is None:
                service = Service(
                    self._toolchain, self._target, self._case, timeout_s=self._timeout_s
                )
                self.options = service.options
            return service.ask(request)
        except (ServiceLostError, ToolchainError):
            if service:
                service.close()
            service = None
            raise
        finally:
            if service and self._closed:
                service.close()
                service = None
            self._idle.put(service)


def _told(pair: Pair) -> dict[str, Any]:
    shape, config = pair
    params, options = dict(config.params), dict(config.options)
    told = {"params": params, "options": options, **dict(config.launch_options())}
    return {"shape": list(shape), "config": told}
