"""Files: written whole or not at all, and never over what is not ours."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from codegen.errors import OutputError

__all__ = ["absolute", "exists", "read_bytes", "write_bytes", "write_text"]


def absolute(path: Path) -> Path:
    """Return `path` from the root, without `..`; symbolic links stay as they are written."""
    return Path(os.path.normpath(Path.cwd() / path))


def exists(path: Path) -> bool:
    """Say whether there is something at `path`; a path that cannot be is not there."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read_bytes(path: Path) -> bytes | None:
    """Return the content of the file `path`, None if there is no such file.

    Raises:
        OutputError: it is a directory, a device or a pipe, or may not be read.
    """
    try:
        if path.exists() and not path.is_file():
            raise OutputError(
                "is not a regular file", where=str(path), remedy="name a file, or one to be made"
            )
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        fact = f"cannot be read: {_reason(error)}"
        raise OutputError(fact, where=str(path), remedy="name a readable file") from None


def write_text(path: Path, text: str) -> bool:
    """Make `text`, as UTF-8, the content of `path`; see `write_bytes`."""
    return write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> bool:
    """Make `data` the content of `path`; say whether that changed anything.

    The data goes to a new file beside `path` that takes its place when it is on the disk: after a
    kill or on a full disk the old content is still there, whole. A symbolic link is followed, the
    file's permissions are kept.

    Raises:
        OutputError: the directory is missing or full, or may not be written to.
    """
    path = Path(os.path.realpath(path))
    try:
        if path.is_file() and path.read_bytes() == data:
            return False
        _replace(path, data)
    except (OSError, ValueError) as error:
        raise OutputError(
            f"cannot be written: {_reason(error)}",
            where=str(path),
            remedy="it is as it was; mend that, or name another place with -o",
        ) from None
    return True


def _replace(path: Path, data: bytes) -> None:
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
