"""Emitted modules run on every Python from 3.8 on, and are what their callers may rely on."""

from __future__ import annotations

import ast
import builtins
import copy
import json
import pickle
import random
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import category, emitted, integer, leaf, load_module, manifest_of, split, tree

from codegen.axes import Shape
from codegen.manifest import Manifest, policy_of
from codegen.policy import Policy

ROOT = Path(__file__).resolve().parents[2]
RULES = ("default", "nearest", "raise")
AXES = (
    integer("M", 1, 4096),
    integer("N", 16),
    integer("K", None, 2**40),
    category("dtype", "float16", "bfloat16", "float32"),
    category("groups", 1, 2, 4),
)
SIZES = (-5, 0, 1, 2, 15, 16, 63, 64, 65, 128, 1000, 4096, 4097, 2**40, 2**40 + 1, 2**70)
BUILTINS = {
    *("AttributeError", "KeyError", "ValueError", "bool", "dict", "frozenset", "hash"),
    *("isinstance", "list", "object", "property", "str", "int", "tuple"),
}

# Reads {name: shapes}, imports each module, and writes {name: answers}.
RUNNER = """
import json, sys
sys.path.insert(0, sys.argv[1])
def answer(select, shape):
    try:
        config = select(tuple(shape))
    except ValueError:
        return "outside"
    return [list(pair) for pair in config.all_kwargs().items()]
asked = json.load(sys.stdin)
found = {
    name: [answer(__import__(name)._select_config, shape) for shape in shapes]
    for name, shapes in asked.items()
}
json.dump({"version": list(sys.version_info[:2]), "found": found}, sys.stdout)
"""


def _features() -> dict[str, Any]:
    """Return a raw tree that asks every kind of question."""
    m, n, k = ({"axis": name} for name in "MNK")
    ratio = {"ratio": {"product": [m, k]}, "over": n}
    remainder = split({"mod": "K", "by": 64}, 0, leaf(0), split("N", 64, leaf(1), leaf(2)))
    tiles = split(
        {"product": [{"cdiv": "M", "by": 64}, {"cdiv": "N", "by": 64}]}, 9, leaf(3), leaf(4)
    )
    wide = split(
        ratio, 7, split({"cdiv": "M", "by": 128}, 3, leaf(5), leaf(6)), tiles, denominator=2
    )
    groups = {"category": "groups", "values": [1, 4], "left": remainder, "right": wide}
    halves = {
        "category": "dtype",
        "values": ["float16", "bfloat16"],
        "left": groups,
        "right": leaf(7),
    }
    return tree(split({"product": [m, n, k]}, 2**21, halves, split("M", 128, leaf(8), halves)))


def _bucket() -> dict[str, Any]:
    dims = [{"axis": "M", "edges": [64, 1000]}, {"axis": "dtype"}, {"axis": "N", "edges": [128]}]
    return {"kind": "bucket", "payload": {"dims": dims, "cells": [i % 7 for i in range(18)]}}


def _table() -> dict[str, Any]:
    pinned = [
        [1, 16, 64, "float16", 1],
        [1, 16, 64, "float16", 2],
        *([size, 64, 64, "float32", 4] for size in SIZES[:9]),
    ]
    entries = [{"shape": shape, "config": 1 + i % 8} for i, shape in enumerate(pinned)]
    return {"kind": "table", "payload": {"entries": entries, "otherwise": _features()}}


SELECTORS = {
    "features": _features(),
    "bucket": _bucket(),
    "table": _table(),
    "constant": {"kind": "constant", "payload": {"config": 3}},
}


def _manifest(selector: str, rule: str) -> Manifest:
    return manifest_of(
        axes=AXES, selector=SELECTORS[selector], outside=rule, default=2, n_configs=9
    )


def _shapes(selector: str) -> list[Shape]:
    dice = random.Random(0)  # noqa: S311 (a sample, not a secret)
    dtypes, groups = ("float16", "bfloat16", "float32", "int8"), (1, 2, 4, 8)
    columns = (SIZES, SIZES, SIZES, dtypes, groups)
    entries = SELECTORS[selector]["payload"].get("entries", [])
    pinned = [tuple(entry["shape"]) for entry in entries]
    return [*pinned, *(tuple(map(dice.choice, columns)) for _ in range(300))]


def _wanted(policy: Policy, shape: Shape) -> Any:
    try:
        return [list(pair) for pair in policy.evaluate(shape).all_kwargs().items()]
    except ValueError:
        return "outside"


@pytest.fixture(scope="module")
def manifests() -> dict[str, Manifest]:
    """Return a manifest for each kind of selector and each rule for the outside."""
    return {f"{kind}_{rule}": _manifest(kind, rule) for kind in SELECTORS for rule in RULES}


@pytest.fixture(scope="module")
def package(manifests: dict[str, Manifest], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory that holds all the modules."""
    directory = tmp_path_factory.mktemp("modules")
    (directory / "__init__.py").write_text('"""Emitted modules."""\n')
    for name, manifest in manifests.items():
        (directory / f"{name}.py").write_text(emitted(manifest))
    return directory


@pytest.fixture(scope="module")
def module() -> ModuleType:
    """Return one module, loaded in this process."""
    return load_module(emitted(_manifest("features", "raise")))


def _interpreter(version: str) -> str | None:
    """Return a Python of `version`, preferably one that pyenv keeps."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(kept[-1]) if kept else shutil.which(f"python{version}")


def _pythons() -> list[Any]:
    others = [f"3.{minor}" for minor in range(8, 15) if minor != sys.version_info.minor]
    return [pytest.param(sys.executable, id="this"), *others]


@pytest.mark.parametrize("python", _pythons())
def test_every_python_chooses_what_the_policy_chooses(
    python: str, manifests: dict[str, Manifest], package: Path
) -> None:
    """From 3.8 on, bare and isolated, with nothing but the module itself."""
    executable = python if python == sys.executable else _interpreter(python)
    if executable is None:
        pytest.skip(f"Python {python} is not installed, neither by pyenv nor on PATH")
    asked = {name: _shapes(name.split("_")[0]) for name in manifests}
    command = [executable, "-B", "-S", "-I", "-c", RUNNER, str(package)]
    ran = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    if executable.endswith(f"python{python}") and "pyenv" in ran.stderr:
        pytest.skip(f"python{python} on PATH is a shim of pyenv for a version that it lacks")
    assert ran.returncode == 0, ran.stderr
    answers = json.loads(ran.stdout)
    assert python in (sys.executable, ".".join(map(str, answers["version"])))
    for name, shapes in asked.items():
        policy = policy_of(manifests[name])
        assert answers["found"][name] == [_wanted(policy, shape) for shape in shapes], name


def test_the_shapes_reach_every_config_and_the_outside(manifests: dict[str, Manifest]) -> None:
    """The comparison above is of many answers, not of one many times."""
    policy = policy_of(manifests["features_raise"])
    answers = {str(_wanted(policy, shape)) for shape in _shapes("features")}
    assert len(answers) > 6
    assert "outside" in answers


def test_modules_import_nothing_and_name_few_builtins(package: Path) -> None:
    """A module's only names from elsewhere are these builtins."""
    for path in package.glob("*_*_*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        assert not [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        assert {name for name in names if hasattr(builtins, name)} <= BUILTINS


def test_modules_pass_ruff(package: Path) -> None:
    """Modules pass this repository's own list of rules."""
    options = [
        "check",
        "--no-cache",
        "--output-format=concise",
        "--config",
        str(ROOT / "pyproject.toml"),
    ]
    _passes("ruff", *options, str(package))


def test_modules_pass_mypy(package: Path) -> None:
    """Modules are typed to mypy's strict taste."""
    _passes(
        "mypy", "--strict", "--config-file=", "--cache-dir", str(package / ".mypy"), str(package)
    )


def _passes(*command: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("name", ["num_warps", "_params", "kwargs", "pre_hook", "brand_new"])
def test_configs_are_immutable(module: ModuleType, name: str) -> None:
    """Nothing of a config can be set or deleted, for it is shared by all who asked."""
    config = module.CONFIGS[0]
    with pytest.raises(AttributeError, match=f"a tuned config is immutable: {name}"):
        setattr(config, name, 1)
    with pytest.raises(AttributeError, match=f"a tuned config is immutable: {name}"):
        delattr(config, name)


def test_configs_survive_pickle_and_copy(module: ModuleType) -> None:
    """A config that went to another process, or was copied, is the one it was."""
    for config in module.CONFIGS:
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(config, protocol)) == config  # noqa: S301 (our own)
        assert copy.deepcopy(config) == config == copy.copy(config)
        assert copy.deepcopy(config).num_warps == config.num_warps == 4


def test_configs_are_equal_by_value_and_hash_alike(module: ModuleType) -> None:
    """Any value counts, and so does its type."""
    params, launch = {"BLOCK_M": 16, "BLOCK_N": 32}, {"num_warps": 4}
    config = module.Config(params, launch)
    same = module.Config({**params}, {**launch})
    assert (config, hash(config)) == (same, hash(same))
    assert config != module.Config(params, {"num_warps": 8})
    assert config != module.Config({**params, "BLOCK_M": 32}, launch)
    assert config != module.Config({**params, "BLOCK_M": 16.0}, launch)
    assert config != module.Config({"BLOCK_M": 16}, {"BLOCK_N": 32, "num_warps": 4})
    assert config != config.all_kwargs()
    assert len({*module.CONFIGS, *copy.deepcopy(module.CONFIGS)}) == len(module.CONFIGS)


def test_configs_give_fresh_dictionaries(module: ModuleType) -> None:
    """A caller may change what it was given, and changes nothing but that."""
    config = module.CONFIGS[0]
    params = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 64}
    config.kwargs.clear()
    config.all_kwargs().clear()
    assert config.kwargs == params
    assert config.all_kwargs() == {**params, "num_warps": 4, "num_stages": 3}


def test_configs_offer_what_a_launch_reads(module: ModuleType) -> None:
    """Launch options that were not set are None, as in `triton.Config`."""
    config = module.CONFIGS[0]
    assert (config.num_warps, config.num_stages) == (4, 3)
    assert (config.num_ctas, config.maxnreg, config.pre_hook, config.ir_override) == (None,) * 4
    assert [config.param(name) for name in config.kwargs] == [16, 16, 64]


def test_an_unknown_param_is_named_beside_those_there_are(module: ModuleType) -> None:
    """The message has all that is needed to mend the call."""
    with pytest.raises(
        KeyError, match=r"no param 'SPLIT_K' in \['BLOCK_M', 'BLOCK_N', 'BLOCK_K'\]"
    ):
        module.DEFAULT.param("SPLIT_K")


@pytest.mark.parametrize("length", [0, 1, 4, 6])
def test_a_shape_of_another_rank_is_an_error(module: ModuleType, length: int) -> None:
    """One value too many or too few never gets a config."""
    with pytest.raises(ValueError, match="values to unpack"):
        module._select_config((64, 64, 64, "float16", 1, 1)[:length])


def test_a_shape_outside_is_named_beside_the_envelope(module: ModuleType) -> None:
    """The error of `outside: raise` shows the shape and where the manifest holds."""
    with pytest.raises(
        ValueError, match=r"shape \(0, 64, 64, 'float16', 1\) lies outside .* M <= 4096"
    ):
        module._select_config((0, 64, 64, "float16", 1))


def test_exact_shapes_of_many_axes_do_not_nest_too_deeply() -> None:
    """Exact shapes are asked one after the other where CPython could not nest them."""
    shapes = [[0] * k + [x] + [1] * (19 - k) for x in range(1, 40) for k in range(20)]
    shapes = [list(shape) for shape in dict.fromkeys(map(tuple, shapes))]
    entries = [{"shape": shape, "config": i % 3 + 1} for i, shape in enumerate(shapes)]
    otherwise = {"kind": "constant", "payload": {"config": 0}}
    payload = {"entries": entries, "otherwise": otherwise}
    axes = [integer(f"A{i}") for i in range(20)]
    manifest = manifest_of(axes=axes, selector={"kind": "table", "payload": payload})
    module, policy = load_module(emitted(manifest)), policy_of(manifest)
    for shape in [*map(tuple, shapes), (0,) * 20, (7,) * 20]:
        wanted = policy.evaluate(shape).all_kwargs()
        assert module._select_config(shape).all_kwargs() == wanted
