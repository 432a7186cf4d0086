"""Damaged manifests, a few hundred of them; `fuzz.py` tries as many as it is told to."""

from __future__ import annotations

from property.fuzz import run


def test_a_damaged_manifest_is_refused_or_emitted_right() -> None:
    """Damage ends in one clear line or in a module that agrees with `evaluate`, never otherwise."""
    kinds, faults = run(400, seed=0)
    assert faults == {}
    assert kinds["refused"] > 100
    assert kinds["emitted"] > 20
