"""A Python file as text and back, byte for byte but for what was changed."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass
from pathlib import Path

from tuner.cases.files import read_file
from tuner.convert.errors import ConvertError

__all__ = ["Text", "read_text"]


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
