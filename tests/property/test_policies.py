"""Whatever a manifest decides, its module decides the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property.agreement import assert_agrees, assert_harmless
from property.strategies import examples, guarded, manifests, shapes
from support import emitted, integer, manifest_of

from codegen.errors import ManifestError
from codegen.manifest import parse_manifest, policy_of
from codegen.selectors import MAX_DEPTH


@pytest.mark.parametrize(
    ("kind", "number"), [("tree", 50), ("bucket", 25), ("table", 25), ("constant", 8)]
)
def test_a_module_agrees_with_its_policy(kind: str, number: int) -> None:
    """A module chooses as `evaluate` does for any shape, whatever the policy of that kind."""

    @given(st.data())
    @examples(number)
    def agrees(data: st.DataObject) -> None:
        raw: dict[str, Any] = data.draw(manifests(kinds=[kind]))
        manifest = parse_manifest(raw, name="test")
        text = emitted(manifest)
        more = data.draw(st.lists(shapes(raw["axes"]), max_size=20))
        assert_agrees(policy_of(manifest), text, more=more, limit=300)
        assert_harmless(text)

    agrees()


@given(st.data())
@examples(60)
def test_a_module_with_a_launch_grid_agrees(data: st.DataObject) -> None:
    """It never chooses a config that launches too many programs, and is as `evaluate` besides."""
    raw: dict[str, Any] = data.draw(guarded())
    try:
        manifest = parse_manifest(raw, name="test")
    except ManifestError as error:
        refused = error.fact
    else:
        refused = ""
    if refused:
        assert "on the exact shape" in refused
        return
    text = emitted(manifest)
    more = data.draw(st.lists(shapes(raw["axes"]), max_size=20))
    assert_agrees(policy_of(manifest), text, more=more, limit=300)
    assert_harmless(text)


@pytest.mark.parametrize("outside", ["default", "nearest", "raise"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_deepest_tree_is_emitted(side: str, outside: str) -> None:
    """A tree of as many splits in a row as may be gives a module that Python takes, and agrees."""
    node: dict[str, Any] = {"config": 1}
    for depth in range(MAX_DEPTH):
        axes = [f"A{(depth + i) % 32}" for i in range(2)]
        product = {"product": [{"axis": axis} for axis in axes]}
        sides = (node, {"config": depth % 3}) if side == "left" else ({"config": depth % 3}, node)
        node = {
            "feature": product if depth % 2 else {"axis": axes[0]},
            "threshold": 1000 - depth if side == "left" else 2 + depth,
            **dict(zip(("left", "right"), sides, strict=True)),
        }
    manifest = manifest_of(
        axes=[integer(f"A{i}", 1, 1000) for i in range(32)],
        selector={"kind": "tree", "payload": {"root": node}},
        outside=outside,
    )
    assert_agrees(policy_of(manifest), emitted(manifest), limit=300)
