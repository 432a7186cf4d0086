"""The kernels that clear the L2 cache: what Triton makes of them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tuner.devices.npu.markers import BETWEEN, CLEARS

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None or importlib.util.find_spec("triton") is None,
    reason="needs torch and triton",
)

_RUN = """
import torch
from tuner.devices.npu.clear_kernels import BETWEEN_KERNEL, BLOCK, CLEAR_KERNELS
for size in (1, BLOCK, 3 * BLOCK - 1, 9 * BLOCK + 5):
    for kernel in (*CLEAR_KERNELS, BETWEEN_KERNEL):
        buffer = torch.ones(size + 7, dtype=torch.int32)
        kernel[(4,)](buffer, size, BLOCK=BLOCK, PROGRAMS=4)
        print(int(buffer.sum()), end=" ")
"""
_NAMES = """
from tuner.devices.npu.clear_kernels import BETWEEN_KERNEL, CLEAR_KERNELS
print(*(kernel.fn.__name__ for kernel in (*CLEAR_KERNELS, BETWEEN_KERNEL)))
"""
_COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from tuner.devices.npu.clear_kernels import BETWEEN_KERNEL, BLOCK, CLEAR_KERNELS, PROGRAMS
for kernel in (*CLEAR_KERNELS, BETWEEN_KERNEL):
    signature = {"pointer": "*i32", "size": "i32", "BLOCK": "constexpr", "PROGRAMS": "constexpr"}
    source = ASTSource(kernel, signature, {"BLOCK": BLOCK, "PROGRAMS": PROGRAMS})
    print(triton.compile(source, target=GPUTarget("cuda", 90, 32)).metadata.name)
"""


def run(program: str, **environment: str) -> list[str]:
    """Return the words that `program` prints in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        cwd=Path(__file__).parents[2],
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def test_each_element_is_written_and_none_beyond() -> None:
    """Whatever the size; the seven elements behind it stay ones."""
    assert run(_RUN, TRITON_INTERPRET="1") == ["7"] * 16


def test_a_kernel_is_called_what_a_profile_is_divided_by() -> None:
    """A profile knows it by its name alone."""
    assert run(_NAMES) == [*CLEARS, BETWEEN]


def test_a_compiler_keeps_the_names(tmp_path: Path) -> None:
    """With a helper in them that is compiled into each."""
    assert run(_COMPILE, TRITON_CACHE_DIR=str(tmp_path)) == [*CLEARS, BETWEEN]
