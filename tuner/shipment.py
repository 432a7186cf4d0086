"""What workers are to have of this process: a model and its inputs, pickled.

Inputs are made, pickled into a file of their own and let go, shape by shape: this process holds
those of one shape at a time. The files are gone when the run ends; where it was killed, the next
run removes them.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pickle
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from codegen.errors import OutputError
from tuner.errors import CaseError
from tuner.printable import printable

__all__ = ["pickled", "pickled_into", "shipment"]

_PREFIX = "tuned-dispatch-"
_LOCK = "lock"


@contextlib.contextmanager
def shipment() -> Iterator[Path]:
    """Make a directory for pickled inputs, and remove it at the end.

    Raises:
        OutputError: it cannot be made.
    """
    _clear_stale()
    try:
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    except OSError as error:
        raise _unwritable(Path(tempfile.gettempdir()), error) from None
    try:
        with (directory / "unlocked").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Under its name only when it is held: nobody takes it for one that was left behind.
            (directory / "unlocked").rename(directory / _LOCK)
            yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _clear_stale() -> None:
    """Remove the directories of runs that were killed: nobody holds their locks."""
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            about = directory.lstat()
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid():
                with (directory / _LOCK).open("rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(directory, ignore_errors=True)


def pickled(value: Any, what: str) -> bytes:
    """Return `value` pickled; raises CaseError, with `what` it is, if it cannot be."""
    file = io.BytesIO()
    _pickle(value, file, what)
    return file.getvalue()


def pickled_into(path: Path, value: Any, what: str) -> None:
    """Write `value` to `path`, pickled.

    Raises:
        CaseError: it cannot be pickled; `what` it is.
        OutputError: the file cannot be written.
    """
    try:
        with path.open("wb") as file:
            _pickle(value, file, what)
    except OSError as error:
        raise _unwritable(path.parent, error) from None


class _Pickler(pickle.Pickler):
    """Takes tensors off any device but the first: a worker sees its own device as the first."""

    def reducer_override(self, value: Any, /) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and type(value) is torch.Tensor and value.device.index:
            return value.detach().cpu().__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return NotImplemented


def _pickle(value: Any, file: IO[bytes], what: str) -> None:
    try:
        _Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 (pickling runs the user's code)
        raise CaseError(
            f"cannot be pickled for the worker process: {printable(str(error), limit=200)}",
            where=what,
            remedy="define its class at the top level of a file, and keep no lambdas in it",
        ) from None


def _unwritable(directory: Path, error: OSError) -> OutputError:
    return OutputError(
        f"the inputs cannot be written: {(error.strerror or str(error)).lower()}",
        where=str(directory),
        remedy="let the variable TMPDIR name a directory with more space",
    )
