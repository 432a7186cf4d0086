"""The modules that eleven manifests give, whole, and what these modules choose."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from property.agreement import assert_agrees, assert_harmless

from codegen.emit import module_text
from codegen.manifest import load_manifest, policy_of

CASES = Path(__file__).parent / "cases"
ACCEPT = "pytest tests/golden --update-golden"
NAMES = sorted(path.parent.name for path in CASES.glob("*/manifest.json"))


def _paths(name: str) -> tuple[Path, Path]:
    return CASES / name / "manifest.json", CASES / name / f"{name}_dispatch.py"


def _emitted(name: str) -> str:
    manifest, module = _paths(name)
    return module_text(load_manifest(manifest), manifest, module)


def _difference(expected: str, text: str, module: Path) -> str:
    lines = (side.splitlines(keepends=True) for side in (expected, text))
    diff = "".join(
        difflib.unified_diff(*lines, f"expected/{module.name}", f"emitted/{module.name}")
    )
    return f"{diff}\n{module}\nis not what is emitted; to accept the new text, run: {ACCEPT}"


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_gives_the_module_beside_it(name: str, pytestconfig: pytest.Config) -> None:
    """A manifest gives, byte for byte, the module that stands beside it."""
    text = _emitted(name)
    module = _paths(name)[1]
    if pytestconfig.getoption("--update-golden"):
        module.write_bytes(text.encode())
    expected = module.read_bytes().decode() if module.exists() else ""
    if text != expected:
        pytest.fail(_difference(expected, text, module), pytrace=False)


@pytest.mark.parametrize("name", NAMES)
def test_a_module_agrees_with_its_policy_at_every_edge(name: str) -> None:
    """The module chooses as `evaluate` does at each threshold, edge and bound, and beside them."""
    manifest, module = _paths(name)
    policy = policy_of(load_manifest(manifest))
    asked = assert_agrees(policy, module.read_bytes().decode(), limit=6000)
    assert asked > 20


@pytest.mark.parametrize("name", NAMES)
def test_a_module_is_harmless(name: str) -> None:
    """The module holds nothing but literals, comparisons and the config class."""
    assert_harmless(_paths(name)[1].read_bytes().decode())


def test_a_mismatch_shows_the_difference_and_the_way_to_accept_it() -> None:
    """A mismatch prints a diff, the module's path, and the command that accepts the new text."""
    text = _difference("a\nb\n", "a\nc\n", Path("x/x_dispatch.py"))
    assert "-b\n+c\n" in text
    assert text.endswith(
        "\nx/x_dispatch.py\nis not what is emitted; "
        "to accept the new text, run: pytest tests/golden --update-golden"
    )
