"""The NPU itself: what its profiler says of a kernel, and a case tuned on it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tuner.cases import run_case
from tuner.devices import DeviceName, open_device

HERE = Path(__file__).resolve().parent
CASES = HERE.parent / "cases"


def without_a_device() -> str | None:
    """Say why nothing can be measured here, None if it can."""
    for name in ("torch", "torch_npu", "triton"):
        if importlib.util.find_spec(name) is None:
            return f"needs {name}, which is not installed"
    try:
        import torch
        import torch_npu  # noqa: F401
    except Exception as error:  # noqa: BLE001 (without CANN an import may raise anything)
        return f"needs an NPU: {error}"
    return None if torch.npu.is_available() else "needs an NPU, and torch_npu sees none"


LACK = without_a_device()
pytestmark = [pytest.mark.device, pytest.mark.skipif(LACK is not None, reason=LACK or "")]


def test_the_profiler_times_each_launch_and_agrees_with_the_work() -> None:
    """One capture of all; eight times the elements take longer, the same take the same."""
    import torch

    device = open_device(DeviceName("npu", 0))
    with device.creating():
        small, large = torch.ones(2**23), torch.ones(2**26)
    times = device.time([lambda: small.add_(1), lambda: large.add_(1)] * 10)
    assert device.method.startswith("torch_npu profiler, ")
    assert "captures of at most" not in device.method
    assert len(times.us) == 20
    first, second = sorted(times.us[0::2])[5], sorted(times.us[1::2])[5]
    assert 4 * first < second < 16 * first


def test_a_case_is_right_end_to_end(tmp_path: Path) -> None:
    """Tuned, emitted and imported, forward without a config is right on tuned shapes and others."""
    report = run_case(
        CASES / "original" / "vector_add",
        device="npu:0",
        impl=CASES / "converted" / "vector_add" / "impl.py",
        output=tmp_path,
        kb=tmp_path / "kb.sqlite",
        shapes=((1,), (1000,), (65536,), (1_000_003,)),
    )
    assert report.right
    assert all(row["dispatch_us"] > 0 for row in report.summary["shapes"])
