"""A Python file as text and back, byte for byte but for what was changed."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path

from codegen.errors import OutputError
from codegen.files import read_bytes
from tuner.cases.files import read_file
from tuner.convert.errors import ConvertError

__all__ = ["Text", "read_text", "write_bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A file's text, and how it is encoded; line ends are kept in it."""

    text: str
    encoding: str

    def encoded(self, text: str, name: str) -> bytes:
        """Return `text` in the encoding of the file; raises ConvertError if that cannot hold it."""
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError:
            fact = f"its encoding, {self.encoding}, cannot hold what the conversion adds"
            raise ConvertError(fact, where=name, remedy="save it as UTF-8") from None


def read_text(path: Path) -> Text:
    """Return the Python file `path`.

    Raises:
        CaseError: it cannot be read.
        ConvertError: it is not in the encoding that it names.
    """
    data = read_file(path, "a kernel's Python file")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return Text(text=data.decode(encoding), encoding=encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        fact = f"cannot be decoded: {getattr(error, 'msg', None) or error}"
        raise ConvertError(fact, where=str(path), remedy="save it as UTF-8") from None


def write_bytes(path: Path, data: bytes) -> bool:
    """Make `data` the content of `path`, at once and whole; say whether that changed anything.

    Raises:
        OutputError: the directory is missing or full, or may not be written to.
    """
    if read_bytes(path) == data:
        return False
    path = Path(os.path.realpath(path))
    temporary: Path | None = None
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else None
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode if mode is not None else 0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                temporary.unlink()
        fact = f"cannot be written: {(error.strerror or str(error)).lower()}"
        remedy = "it is as it was; mend that, or name another place with -o"
        raise OutputError(fact, where=str(path), remedy=remedy) from None
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
