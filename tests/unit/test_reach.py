"""Shapes are found on which a manifest chooses what it chooses on none of those known."""

from __future__ import annotations

from support import category, configs, integer, leaf, manifest_of, split, tree

from codegen.manifest import policy_of
from tuner.reach import choice, shapes_reaching


def test_a_leaf_between_the_known_shapes_is_reached() -> None:
    """By a shape between two of them, or at its thresholds."""
    root = split("M", 100, leaf(0), split("M", 101, leaf(1), split("N", 50, leaf(2), leaf(3))))
    policy = policy_of(
        manifest_of(axes=[integer("M", 1, 1000), integer("N", 1, 1000)], selector=tree(root))
    )
    known = [(1, 1), (1000, 1000)]
    found = shapes_reaching(policy, known)
    assert [config.id for config in found] == [config.id for config in configs(4)[1:3]]
    for config, shape in found.items():
        assert shape
        assert choice(policy, shape) == config
    assert shapes_reaching(policy, known) == found


def test_what_nothing_leads_to_is_said() -> None:
    """A leaf behind a contradiction has no shape; with categories none is made up."""
    root = split("M", 100, split("M", 200, leaf(0), leaf(1)), leaf(2))
    policy = policy_of(manifest_of(axes=[integer("M", 1, 1000)], selector=tree(root)))
    (only,) = shapes_reaching(policy, [(1,), (1000,)]).items()
    assert only == (configs(4)[1], None)
    mixed = manifest_of(
        axes=[integer("M", 1, 1000), category("dtype", "a", "b")],
        selector=tree(split("M", 100, leaf(0), leaf(1))),
    )
    assert shapes_reaching(policy_of(mixed), []) == dict.fromkeys(configs(4)[:2])


def test_exact_shapes_are_their_own() -> None:
    """A config that a table pins is reached by the shape pinned."""
    payload = {
        "entries": [{"shape": [7], "config": 2}],
        "otherwise": {"kind": "constant", "payload": {"config": 0}},
    }
    selector = {"kind": "table", "payload": payload}
    policy = policy_of(manifest_of(axes=[integer("M", 1, 1000)], selector=selector))
    assert shapes_reaching(policy, [(1,)]) == {configs(4)[2]: (7,)}
