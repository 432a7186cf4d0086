"""What an emitted module is measured against: the same tree by hand, and how others choose.

Each is a function of a shape that returns a config, restated here in as few steps as it can take.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from math import log2
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from stopwatch import Call, Loop

from codegen.axes import Shape
from codegen.decision import Choose, Decision, Split
from codegen.features import AxisTerm

__all__ = [
    "calling",
    "empty",
    "hand_written",
    "json_reader",
    "json_walker",
    "nearest_neighbour",
    "with_params",
]


def calling(function: Call) -> Loop:
    """Return a loop that calls `function` with each shape."""

    def loop(shapes: Sequence[Any]) -> None:
        for shape in shapes:
            function(shape)

    return _own(loop)


def with_params(select: Callable[[Any], Any]) -> Loop:
    """Return a loop that selects, and reads the three params that a kernel is launched with."""

    def loop(shapes: Sequence[Any]) -> None:
        for shape in shapes:
            config = select(shape)
            config.param("BLOCK_M")
            config.param("BLOCK_N")
            config.param("BLOCK_K")

    return _own(loop)


def _own(loop: FunctionType | Loop) -> Loop:
    """Return `loop` with code of its own: CPython specialises code for what it was seen to call."""
    assert isinstance(loop, FunctionType)
    code = loop.__code__.replace()
    return FunctionType(code, globals(), "loop", closure=loop.__closure__)


def empty(shape: Shape) -> None:
    """Do nothing."""


def hand_written(root: Decision, axes: Sequence[str]) -> Call:
    """Return `root` as the nested `if` that one would write by hand, and nothing else.

    The axes are cut by themselves alone; a leaf returns an object that is there already.
    """
    names = [axis.lower() for axis in axes]
    lines = ["def select(shape):", f"    {', '.join(names)} = shape", *_nested(root, "    ")]
    namespace: dict[str, Any] = {f"c{config}": object() for config in range(_highest(root) + 1)}
    exec("\n".join(lines), namespace)  # noqa: S102 (a few comparisons, written right here)
    select: Call = namespace["select"]
    return select


def _nested(node: Decision, pad: str) -> Iterator[str]:
    if isinstance(node, Choose):
        yield f"{pad}return c{node.config}"
        return
    axis, threshold = _question(node)
    yield f"{pad}if {axis.lower()} <= {threshold}:"
    yield from _nested(node.left, pad + "    ")
    yield f"{pad}else:"
    yield from _nested(node.right, pad + "    ")


def _question(node: Decision) -> tuple[str, int]:
    match node:
        case Split(AxisTerm(axis), threshold):
            return axis, threshold
        case _:
            raise TypeError(f"not a split on an axis: {node}")


def _highest(node: Decision) -> int:
    if isinstance(node, Choose):
        return node.config
    return max(_highest(node.left), _highest(node.right))


def _as_json(node: Decision) -> dict[str, Any]:
    if isinstance(node, Choose):
        return {"config": node.config}
    axis, threshold = _question(node)
    sides = {"left": _as_json(node.left), "right": _as_json(node.right)}
    return {"axis": axis, "threshold": threshold, **sides}


def _walked(root: dict[str, Any], axes: Sequence[str], shape: Shape) -> int:
    sizes = dict(zip(axes, shape, strict=True))
    node = root
    while "config" not in node:
        node = node["left"] if sizes[node["axis"]] <= node["threshold"] else node["right"]
    config: int = node["config"]
    return config


def json_walker(root: Decision, module: ModuleType) -> Call:
    """Return a selector that holds the tree as it stands in a JSON file, and walks it."""
    tree, configs, axes = _as_json(root), module.CONFIGS, module.AXIS_NAMES
    return lambda shape: configs[_walked(tree, axes, shape)]


def json_reader(root: Decision, module: ModuleType, path: Path) -> Call:
    """Return a selector that reads and parses the file `path` in each call, and walks the tree."""
    path.write_text(json.dumps(_as_json(root)))
    configs, axes = module.CONFIGS, module.AXIS_NAMES
    return lambda shape: configs[_walked(json.loads(path.read_text()), axes, shape)]


def nearest_neighbour(module: ModuleType, shapes: Sequence[Any]) -> Call:
    """Return a selector of the config of the nearest of `shapes`, by the logarithms of sizes."""
    dice = random.Random(0)  # noqa: S311 (which config a point has does not matter here)
    points = [(*map(log2, shape), dice.choice(module.CONFIGS)) for shape in shapes]

    def select(shape: Any) -> Any:
        m, n, k = map(log2, shape)
        nearest, chosen = float("inf"), None
        for x, y, z, config in points:
            distance = (m - x) ** 2 + (n - y) ** 2 + (k - z) ** 2
            if distance < nearest:
                nearest, chosen = distance, config
        return chosen

    return select
