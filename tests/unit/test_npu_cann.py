"""CANN, found by its environment and read from its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.devices.npu.cann import find_cann


def test_the_environment_names_it_before_the_usual_places(tmp_path: Path) -> None:
    """ASCEND_HOME_PATH first; a directory that is not there is passed over."""
    for name in ("home", "toolkit", "root/cann"):
        (tmp_path / name).mkdir(parents=True)
    environment = {
        "ASCEND_HOME_PATH": str(tmp_path / "home"),
        "ASCEND_TOOLKIT_HOME": str(tmp_path / "toolkit"),
    }
    root = tmp_path / "root"
    found = [find_cann(environment, root=root)]
    environment["ASCEND_HOME_PATH"] = str(tmp_path / "none")
    found.append(find_cann(environment, root=root))
    found.append(find_cann({}, root=root))
    assert [one and one.home.name for one in found] == ["home", "toolkit", "cann"]
    assert [one and one.by for one in found][:2] == ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"]
    assert find_cann({}, root=tmp_path / "none") is None


@pytest.mark.parametrize(
    ("file", "text", "version"),
    [
        ("version.cfg", "# cfg\ntoolkit_running_version=[7.7.T20.0.B210:8.1.RC1]\n", "8.1.RC1"),
        ("version.cfg", "runtime_running_version=[7.8:8.5.0]\n", "8.5.0"),
        ("x86_64-linux/ascend_toolkit_install.info", "name=a\nversion=8.5.0\npath=b\n", "8.5.0"),
        ("aarch64-linux/ascend_ops_install.info", "version=8.3.RC1\n", "8.3.RC1"),
        ("version.info", "Version=8.0.0\n", "8.0.0"),
        ("version.cfg", "toolkit_running_version=8.1\n", None),
        ("version.cfg", "\0" * 100, None),
        ("readme", "version=1.0", None),
    ],
)
def test_the_version_is_read_from_whichever_file_has_it(
    tmp_path: Path, file: str, text: str, version: str | None
) -> None:
    """Versions of CANN differ in where they say so; none tells nothing."""
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    found = find_cann({"ASCEND_HOME_PATH": str(tmp_path)})
    assert found is not None
    assert found.version == version


def test_a_file_that_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    """A directory in its place, and bytes that are no text."""
    (tmp_path / "version.cfg").mkdir()
    (tmp_path / "version.info").write_bytes(b"\xff\xfeVersion=1\nVersion=8.0.0")
    found = find_cann({"ASCEND_HOME_PATH": str(tmp_path)})
    assert found is not None
    assert found.version == "8.0.0"
