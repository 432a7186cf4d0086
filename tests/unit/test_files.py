"""Files: written whole or not at all, read as they are."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from codegen.errors import OutputError
from codegen.files import read_bytes, write_bytes, write_text


def test_a_file_is_written_and_read_back(tmp_path: Path) -> None:
    """What is written is read back as it was, with the line ends it had."""
    path = tmp_path / "x.py"
    assert write_text(path, "é\r\nb\n")
    assert path.read_bytes() == read_bytes(path) == "é\r\nb\n".encode()


def test_an_unchanged_file_is_not_touched(tmp_path: Path) -> None:
    """A file that has the text already keeps its inode and its time."""
    path = tmp_path / "x.py"
    write_text(path, "a\n")
    os.utime(path, (1, 1))
    before = path.stat()
    assert not write_text(path, "a\n")
    assert (path.stat().st_ino, path.stat().st_mtime) == (before.st_ino, 1)


def test_a_change_of_a_byte_is_written(tmp_path: Path) -> None:
    """A file that differs in its line ends alone is written again."""
    path = tmp_path / "x.py"
    path.write_bytes(b"a\r\n")
    assert write_text(path, "a\n")
    assert path.read_bytes() == b"a\n"


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o444])
def test_a_file_keeps_its_permissions(mode: int, tmp_path: Path) -> None:
    """A file that is replaced has the permissions it had."""
    path = tmp_path / "x.py"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    """A file that is new has the permissions that the umask leaves, and the umask stays."""
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "x.py", "new")
        assert stat.S_IMODE((tmp_path / "x.py").stat().st_mode) == 0o640
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


def test_a_link_is_followed(tmp_path: Path) -> None:
    """A symbolic link stays one, and the file behind it is replaced."""
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "x.py", tmp_path / "x.py"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["x.py"]


def test_a_link_to_nowhere_makes_the_file(tmp_path: Path) -> None:
    """A symbolic link whose file is missing leads to the new file."""
    (tmp_path / "x.py").symlink_to(tmp_path / "y.py")
    write_text(tmp_path / "x.py", "new")
    assert (tmp_path / "y.py").read_text() == "new"


def test_nothing_is_left_beside_the_file(tmp_path: Path) -> None:
    """No temporary file is left after writing."""
    for text in ("a", "b", "b"):
        write_text(tmp_path / "x.py", text)
    assert [path.name for path in tmp_path.iterdir()] == ["x.py"]


@pytest.mark.parametrize("interrupt", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file(
    interrupt: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that does not come to its end leaves the old file and no other."""
    path = tmp_path / "x.py"
    path.write_text("old")

    def fail(_: int) -> None:
        raise interrupt

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises((OutputError, KeyboardInterrupt), match=r"^$|cannot be written: full; "):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["x.py"]


def test_a_text_is_on_the_disk_before_it_takes_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new file is synced before it replaces the old one."""
    steps: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        steps.append("sync")
        sync(descriptor)

    def replaced(self: Path, target: Path) -> Path:
        steps.append("replace")
        return replace(self, target)

    monkeypatch.setattr("os.fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    write_text(tmp_path / "x.py", "new")
    assert steps[:2] == ["sync", "replace"]


@pytest.mark.parametrize("name", ["nowhere/x.py", "file/x.py", "folder", "x" * 300])
def test_a_place_that_cannot_be_written_is_told(name: str, tmp_path: Path) -> None:
    """A missing directory, a directory and an overlong name are errors with path and remedy."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r": cannot be written: .+; it is as it was; ") as it:
        write_text(tmp_path / name, "new")
    assert it.value.where == str(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_missing_file_has_no_text(tmp_path: Path) -> None:
    """A file that is not there reads as None, and so does one behind a broken link."""
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert read_bytes(tmp_path / "nowhere") is None
    assert read_bytes(tmp_path / "link") is None


def test_a_directory_has_no_text(tmp_path: Path) -> None:
    """A directory is an error with its path."""
    with pytest.raises(
        OutputError, match=r": is not a regular file; name a file, or one to be made$"
    ):
        read_bytes(tmp_path)


def test_bytes_are_kept_as_they_are(tmp_path: Path) -> None:
    """What is not UTF-8 is written too, and the second time nothing changes."""
    path = tmp_path / "latin.py"
    assert write_bytes(path, b"# caf\xe9\r\n")
    assert path.read_bytes() == b"# caf\xe9\r\n"
    assert not write_bytes(path, b"# caf\xe9\r\n")
    assert [file.name for file in tmp_path.iterdir()] == ["latin.py"]
