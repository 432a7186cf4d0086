"""The tuner killed a few times; `kill_tuner.py` does it as often as it is told to."""

from __future__ import annotations

from pathlib import Path

import pytest
from property.kill_tuner import run

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")


@pytest.mark.parametrize("device", ["cpu", "replay"])
def test_nothing_is_lost_by_a_kill(device: str) -> None:
    """Resumed until it is done, a run that is killed knows what an undisturbed one knows."""
    report = run(device, count=4, seed=1)
    assert report.faults == []
    assert report.kills.total() == 4
    assert report.ends >= 1
