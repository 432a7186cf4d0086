"""The wheel, installed in an empty environment away from the checkout, emits."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / "tests" / "data" / "manifest_v1.json"


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of what is in the repository."""
    place = tmp_path_factory.mktemp("wheel")
    copy = place / "source"
    for name in ("codegen", "tuner", "templates"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    _run(sys.executable, "-m", "build", "--wheel", "--outdir", place, copy, cwd=place)
    return next(place.glob("*.whl"))


@pytest.fixture(scope="module")
def binaries(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, and the base dependencies alone, in an empty environment."""
    place = tmp_path_factory.mktemp("installed")
    _run(sys.executable, "-m", "venv", place / "venv", cwd=place)
    _run(place / "venv/bin/python", "-m", "pip", "install", "-q", wheel, cwd=place)
    return place / "venv" / "bin"


def test_the_wheel_holds_both_packages_and_the_templates(wheel: Path) -> None:
    """Nothing but the two packages is installed, and the templates are inside one of them."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"codegen", "tuner"}
    assert {f"codegen/_templates/{path.name}" for path in (ROOT / "templates").iterdir()} <= {
        *names
    }


def test_an_installed_wheel_emits_the_same_bytes_as_the_checkout(
    binaries: Path, tmp_path: Path
) -> None:
    """With only the base dependencies, outside the checkout, the module is the same."""
    shutil.copy(MANIFEST, tmp_path / "manifest.json")
    _run(binaries / "codegen", "emit", "manifest.json", cwd=tmp_path)
    _run(binaries / "codegen", "check", ".", cwd=tmp_path)
    installed = (tmp_path / "manifest_dispatch.py").read_bytes()
    _run(sys.executable, "-m", "codegen", "emit", "manifest.json", "--force", cwd=tmp_path)
    assert (tmp_path / "manifest_dispatch.py").read_bytes() == installed


def test_without_numpy_the_tuner_names_the_extra_to_install(binaries: Path, tmp_path: Path) -> None:
    """`tuner fit` in an environment without its extra is one clear line, not a traceback."""
    done = subprocess.run(
        [binaries / "tuner", "fit", "table.json", "-o", "manifest.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install numpy" in done.stderr
    assert "Traceback" not in done.stderr
