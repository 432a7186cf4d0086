"""What generated/ holds is what its manifests give, and belongs to the sources beside it."""

from __future__ import annotations

from pathlib import Path

from codegen.check import check_paths
from codegen.manifest import load_manifest

GENERATED = Path(__file__).parents[2] / "generated"
KERNELS = ["conv2d", "matmul", "relu", "rms_norm", "softmax", "vector_add"]


def test_no_module_in_generated_has_drifted_or_is_stale() -> None:
    """Each kernel's module is its manifest's, byte for byte, and its source is the tuned one."""
    verdicts = check_paths([GENERATED])
    assert [verdict.place.parent.name for verdict in verdicts] == KERNELS
    assert [verdict.faults for verdict in verdicts] == [()] * len(KERNELS)


def test_no_manifest_in_generated_holds_a_latency() -> None:
    """A manifest is reviewed as a choice: it records neither latencies nor speed-ups."""
    for path in sorted(GENERATED.glob("*/manifest.json")):
        load_manifest(path)
        text = path.read_text()
        assert "latency" not in text.replace("latencies.json", "")
        assert "speed" not in text
