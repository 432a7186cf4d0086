"""Triton for GPUs: each launch's kernel compiled to the end, its shared memory read off."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

from tuner.toolchains.service.driver import Built, Captured, activate, grid_of
from tuner.worker.values import reason

__all__ = ["Gpu"]


class Gpu:
    """Stands between `kernel[grid](…)` and the device: specialised as triton does it, not run."""

    def __init__(self, backend: str, arch: str, warp_size: int) -> None:
        from triton.backends.compiler import GPUTarget  # noqa: PLC0415 (a toolchain's)
        from triton.compiler.compiler import make_backend  # noqa: PLC0415
        from triton.runtime.jit import JITFunction  # noqa: PLC0415

        target = GPUTarget(backend, int(arch) if arch.isdecimal() else arch, warp_size)
        activate(target)
        self._options: Any = make_backend(target).parse_options({})
        self._compile: Any = JITFunction._do_compile  # noqa: SLF001 (the one place it can be had)
        self._run: Any = JITFunction.run
        self._launches: list[Captured] = []
        self._grid: tuple[int, ...] = ()
        launches = self

        def run(function: Any, *arguments: Any, grid: Any, warmup: bool, **options: Any) -> Any:
            launches._grid = () if warmup else grid_of(function, grid, arguments, options)
            return launches._run(function, *arguments, grid=grid, warmup=warmup, **options)

        def compiled(function: Any, *parts: Any, **more: Any) -> None:
            launches._note(function, parts, more)

        JITFunction.run = run
        JITFunction._do_compile = compiled  # noqa: SLF001

    def options(self) -> tuple[str, ...]:
        """Return the fields of the backend's options."""
        return tuple(field.name for field in dataclasses.fields(self._options))

    def take(self) -> list[Captured]:
        """Return the launches since the last call."""
        taken, self._launches = self._launches, []
        return taken

    def build(self, launch: Captured) -> Built:
        """Compile to the binary of the target."""
        function, parts, more = launch.parts
        try:
            kernel = self._compile(function, *parts, **more)
            return Built(shared=int(kernel.metadata.shared))
        except Exception as error:  # noqa: BLE001 (a compiler may raise anything)
            return Built(text=said_of(error), refused=True)

    def _note(self, function: Any, parts: tuple[Any, ...], more: dict[str, Any]) -> None:
        key = hashlib.sha256(f"{function.cache_key} {parts[0]}".encode()).hexdigest()
        self._launches.append(
            Captured(
                key=key, kernel=function.__name__, grid=self._grid, parts=(function, parts, more)
            )
        )


def said_of(error: BaseException) -> str:
    """Return what a compiler said in one line: triton's errors have the reason in a field."""
    told = getattr(error, "error_message", None)
    return str(told) if told else reason(error)
