"""A tuned kernel's selector, found by the kernel itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codegen.errors import ManifestError, SourceError
from codegen.manifest import load_manifest, policy_of
from codegen.source_hash import source_sha256_of
from tuner import load_deployed_selector
from tuner.deploy import DeployedSelector, DeployError, directory_of

MANIFEST = Path(__file__).parents[1] / "golden" / "cases"
KERNEL = """
from tuner import load_deployed_selector


def selector(cache_dir=None):
    return load_deployed_selector(cache_dir)
"""


@pytest.fixture
def manifest() -> Path:
    """Return a manifest of a tree over integer axes."""
    return next(
        path
        for path in sorted(MANIFEST.glob("*/manifest.json"))
        if (found := load_manifest(path)).selector.kind == "tree"
        and all(axis.kind == "integer" for axis in found.axes)
    )


@pytest.fixture
def kernel(tmp_path: Path, manifest: Path) -> Path:
    """Return a kernel's file for which `manifest` is deployed in `cache`."""
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    deployed(path, tmp_path / "cache", manifest)
    return path


def deployed(kernel: Path, cache: Path, manifest: Path) -> Path:
    """Put `manifest` where it is looked for, and return its place."""
    place = directory_of(source_sha256_of(kernel), cache) / "manifest.json"
    place.parent.mkdir(parents=True)
    place.write_bytes(manifest.read_bytes())
    return place


def loaded(path: Path) -> Any:
    """Run the file as a module, and return its names."""
    names: dict[str, Any] = {"__name__": path.stem}
    exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102 (a test's own file)
    return names


def test_a_kernel_finds_its_selector_by_the_hash_of_its_own_file(
    kernel: Path, manifest: Path, tmp_path: Path
) -> None:
    """And gets the configs that the manifest means."""
    selector = loaded(kernel)["selector"](tmp_path / "cache")
    policy = policy_of(load_manifest(manifest))
    axes = load_manifest(manifest).axes
    for number in (1, 17, 64, 1000, 100_000):
        shape = (number,) * len(axes)
        found = selector(shape)
        assert found.all_kwargs() == policy.evaluate(shape).all_kwargs()
    assert selector.manifest == load_manifest(manifest)


def test_the_manifest_is_read_once(kernel: Path, tmp_path: Path) -> None:
    """It may be deleted afterwards, and later calls give the same object."""
    find = loaded(kernel)["selector"]
    first = find(tmp_path / "cache")
    (place,) = (tmp_path / "cache").rglob("manifest.json")
    place.unlink()
    assert find(tmp_path / "cache") is first
    assert find(str(tmp_path / "cache")) is first


def test_the_default_directory_is_the_users(
    kernel: Path, manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `tune_configs` writes it."""
    monkeypatch.setenv("TUNED_DISPATCH_HOME", str(tmp_path / "home"))
    deployed(kernel, tmp_path / "home" / "kernels", manifest)
    assert isinstance(loaded(kernel)["selector"](), DeployedSelector)


def test_changed_code_has_no_selector(kernel: Path, tmp_path: Path) -> None:
    """The error names the file, the hash, where it was looked for, and what to do."""
    kernel.write_text(KERNEL + "\nX = 1\n")
    match = (
        rf"kernel\.py: no manifest for the code as it is now, {source_sha256_of(kernel)[:16]}, "
        rf"under .*cache; tune it: tune_configs\(\.\.\.\), with the same cache_dir"
    )
    with pytest.raises(DeployError, match=match):
        loaded(kernel)["selector"](tmp_path / "cache")


def test_a_comment_changes_nothing(kernel: Path, tmp_path: Path) -> None:
    """The hash is of the code."""
    kernel.write_text("# a remark\n" + KERNEL)
    assert loaded(kernel)["selector"](tmp_path / "cache")


def test_another_file_may_be_named(kernel: Path, tmp_path: Path) -> None:
    """`source` is the kernel's file where the caller is not."""
    assert load_deployed_selector(tmp_path / "cache", source=kernel)
    assert load_deployed_selector(tmp_path / "cache", source=str(kernel))
    with pytest.raises(DeployError, match=r"none\.py: is not a file, so that it has no hash"):
        load_deployed_selector(tmp_path / "cache", source=tmp_path / "none.py")


def test_a_call_from_no_file_is_refused(tmp_path: Path) -> None:
    """Such as one that is typed in."""
    names: dict[str, Any] = {}
    exec(KERNEL, names)  # noqa: S102 (a test's own text)
    with pytest.raises(DeployError, match="<string>: is not a file, so that it has no hash"):
        names["selector"](tmp_path)


def test_a_damaged_manifest_is_said_to_be_one(kernel: Path, tmp_path: Path) -> None:
    """With its place and what is wrong."""
    (place,) = (tmp_path / "cache").rglob("manifest.json")
    place.write_text("{}")
    with pytest.raises(ManifestError, match=r"manifest\.json"):
        loaded(kernel)["selector"](tmp_path / "cache")


def test_a_source_that_is_no_code_is_said_to_be_none(kernel: Path, tmp_path: Path) -> None:
    """It has no hash to look for."""
    kernel.write_text("def\n")
    with pytest.raises(SourceError, match=r"kernel\.py:1"):
        load_deployed_selector(tmp_path / "cache", source=kernel)


def test_a_selector_is_called_with_one_value_an_axis(kernel: Path, tmp_path: Path) -> None:
    """Else it says how many there are to be."""
    selector = load_deployed_selector(tmp_path / "cache", source=kernel)
    with pytest.raises(ValueError, match="not enough values to unpack"):
        selector(())


def test_it_needs_neither_numpy_nor_torch(kernel: Path, tmp_path: Path) -> None:
    """A kernel in production takes what codegen takes."""
    code = (
        "import sys; sys.modules.update(numpy=None, torch=None, yaml=None, rich=None)\n"
        "from tuner import load_deployed_selector\n"
        f"print(callable(load_deployed_selector({str(tmp_path / 'cache')!r}, "
        f"source={str(kernel)!r})))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert (ran.stdout, ran.stderr) == ("True\n", "")


def test_a_config_is_duck_compatible(kernel: Path, manifest: Path, tmp_path: Path) -> None:
    """It offers what a kernel asks of one."""
    selector = load_deployed_selector(tmp_path / "cache", source=kernel)
    found = selector((64,) * len(load_manifest(manifest).axes))
    names = list(found.kwargs)
    assert found.param(names[0]) == found.kwargs[names[0]]
    assert set(found.all_kwargs()) >= set(names)
