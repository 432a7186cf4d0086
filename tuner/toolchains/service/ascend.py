"""Ascend: triton-ascend down to linalg, then bishengir-compile as triton-ascend itself calls it.

What is called is triton-ascend 3.2.0's own code, so that the options are those of a real launch;
replaced is what asks a device: its name, and how a finished binary is read.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tuner.no_ops import without_no_ops
from tuner.toolchains.service.driver import Built, Captured, activate, grid_of
from tuner.toolchains.service.gpu import said_of

__all__ = ["Ascend"]


class Ascend:
    """Stands between `kernel[grid](…)` and the device: specialised as triton does it, not run."""

    def __init__(self, arch: str) -> None:
        ascendnpuir: Any = importlib.import_module("ascendnpuir")
        programs = Path(ascendnpuir.__file__).parent / "bin"
        os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"
        from triton.backends.ascend import compiler  # noqa: PLC0415
        from triton.backends.compiler import GPUTarget  # noqa: PLC0415
        from triton.runtime.jit import JITFunction  # noqa: PLC0415

        self._target = GPUTarget("npu", arch, 0)
        activate(self._target)
        self._compiler: Any = compiler
        self._backend: Any = compiler.AscendBackend(self._target)
        self._printed: list[str] = []
        self._run: Any = JITFunction.run
        self._launches: list[Captured] = []
        self._grid: tuple[int, ...] = ()
        self._stand_in(arch)
        launches = self

        def run(function: Any, *arguments: Any, grid: Any, warmup: bool, **options: Any) -> Any:
            launches._grid = () if warmup else grid_of(function, grid, arguments, options)
            return launches._run(function, *arguments, grid=grid, warmup=warmup, **options)

        # `run` asks it before it compiles, and lets it say that this is not to be done.
        def called(function: Any, *parts: Any, **more: Any) -> bool:  # noqa: ARG001 (triton's)
            launches._note(function, *parts)
            return True

        JITFunction.run = run
        JITFunction._call_hook = called  # noqa: SLF001

    def _stand_in(self, arch: str) -> None:
        """Replace what asks a device or CANN, and listen to what the compiler prints."""
        compiler = self._compiler
        compiler.NPUUtils = lambda: SimpleNamespace(get_arch=lambda: arch)
        # Each starts the compiler to read its help: once is enough.
        for name in ("_check_bishengir_api_change", "_check_bishengir_is_regbased"):
            setattr(compiler, name, functools.lru_cache(getattr(compiler, name)))
        compiler.subprocess = SimpleNamespace(
            run=self._listened, CalledProcessError=subprocess.CalledProcessError
        )

    def _listened(self, command: list[str], **options: Any) -> Any:
        ran = subprocess.run(  # noqa: PLW1510, S603 (triton-ascend's, which would have it raise)
            command, **{**options, "check": False}
        )
        self._printed.append(_text(ran.stderr) + _text(ran.stdout))
        if ran.returncode:
            raise subprocess.CalledProcessError(ran.returncode, command)
        return ran

    def options(self) -> tuple[str, ...]:
        """Return the fields of triton-ascend's options."""
        return tuple(field.name for field in dataclasses.fields(self._compiler.NPUOptions))

    def take(self) -> list[Captured]:
        """Return the launches since the last call."""
        taken, self._launches = self._launches, []
        return taken

    def build(self, launch: Captured) -> Built:
        """Lower to linalg, and let Ascend's compiler plan the memory."""
        function, signature, constants, options, attributes = launch.parts
        self._printed.clear()
        try:
            module = self._ttir(function, signature, constants, options, attributes)
            metadata = {"hash": launch.key, "target": self._target, **options.__dict__}
            module = self._compiler.make_ttir(module, metadata, options)
            if options.force_simt_only:
                return self._planned(self._compiler.ttir_to_npubin, module, metadata, options)
            lowered = self._compiler.ttir_to_linalg(module, metadata, options, named_ops=True)
        except subprocess.CalledProcessError as error:
            # The lowering is no plan of memory: whatever it says, the kernel is refused.
            return Built(text=self._last(), status=error.returncode, refused=True)
        except Exception as error:  # noqa: BLE001 (a compiler may raise anything)
            return Built(text=said_of(error), refused=True)
        plan = self._compiler.linalg_to_bin_enable_npu_compile_A2_A3
        return self._planned(plan, lowered, metadata, options)

    def _ttir(
        self, function: Any, signature: Any, constants: Any, options: Any, attributes: Any
    ) -> Any:
        from triton._C.libtriton import ir  # noqa: PLC0415 (a toolchain's)
        from triton.compiler import ASTSource  # noqa: PLC0415

        source = ASTSource(function, signature, constants, attributes)
        context = ir.context()
        ir.load_dialects(context)
        self._backend.load_dialects(context)
        functions = self._backend.get_codegen_implementation()
        return source.make_ir(options, functions, self._backend.get_module_map(), context)

    def _planned(self, step: Any, code: Any, metadata: Any, options: Any) -> Built:
        self._printed.clear()
        try:
            step(code, metadata, options)
        except subprocess.CalledProcessError as error:
            return Built(text=self._last(), status=error.returncode)
        except FileNotFoundError:  # It ended well, and its binary is called otherwise.
            return Built(text=self._last())
        except Exception as error:  # noqa: BLE001
            return Built(text=said_of(error), refused=True)
        return Built(text=self._last())

    def _last(self) -> str:
        return self._printed[-1] if self._printed else ""

    def _note(  # (the hook's arguments, in triton's order)
        self,
        function: Any,
        key: Any,  # noqa: ARG002
        signature: Any,
        device: Any,  # noqa: ARG002
        constants: Any,
        options: Any,
        configs: Any,
        *rest: Any,  # noqa: ARG002
    ) -> None:
        told = without_no_ops(options.__dict__, options.__dict__)
        parts = (function.cache_key, signature, constants, told, configs[0].to_dict())
        self._launches.append(
            Captured(
                key=hashlib.sha256(repr(parts).encode()).hexdigest(),
                kernel=function.__name__,
                grid=self._grid,
                parts=(function, signature, constants, options, configs[0]),
            )
        )


def _text(printed: Any) -> str:
    return printed.decode("utf-8", "replace") if isinstance(printed, bytes) else str(printed or "")
