"""Hash a kernel's source as code, so that a manifest can be tied to what was tuned.

Covered: the syntax tree of the one file given. Docstrings and annotations are part of it,
and so is the text that f"{x = }" prints.

Left out, so that the hash stays: comments, layout, quotes, redundant parentheses, the
spelling of a literal (0x10, 16), line ends, the file's encoding and name; `from __future__`
lines; the import of the dispatch module, which deploying adds: at the module's level, under the
names it has, alone or in a `try` that an `except ImportError` ends.

Not covered, and not known here: helpers imported from other files, the versions of Python,
Triton and torch, the device, the environment.

Python 3.10 to 3.13 hash the same source alike. Their trees differ in what is absent (a field
that a later version adds, empty) and in how an f-string is cut into pieces; both are evened
out. The few f-strings that these versions understand differently count as they are spelled,
see `_DISPUTED`; in them, and in them alone, layout counts.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import EllipsisType
from typing import Any

from codegen.errors import InternalError, SourceError

__all__ = ["source_sha256", "source_sha256_of"]

# Raise the number when the same code no longer gives the same bytes below.
_SCHEME = b"tuned-dispatch source 1\n"

# ctx follows from the position, kind is the u of u"", the other two are comments.
_NOT_CODE = frozenset({"ctx", "kind", "type_comment", "type_ignores"})

_DISPATCH_SUFFIX = "_dispatch"
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})
_DISPATCH_NAMES = frozenset(
    {
        "AXIS_NAMES",
        "CONFIGS",
        "Config",
        "DEFAULT",
        "MANIFEST_SHA256",
        "SOURCE_SHA256",
        "TARGET",
        "_select_config",
        "early_config_prune",
    }
)

# The f-strings that Pythons read differently, with CPython's issue. The pattern takes in some
# that are not disputed, and misses none that a fuzzer found.
_BRACES = rb"\{(?:[^{}]|\{[^{}]*\})*\}"
_DISPUTED = re.compile(
    rb"#.*=\s*[!:}]"  # f"{'#'=}": its text is cut at the # (137182)
    rb"|(?:[rR][fF]|[fF][rR])['\"][^:]*:[^\\]*\\"  # rf"{x:\n}": its format is not raw (137314)
    # f"{x:{y}{{z}}}", f"{x:{y}{z=}}": what follows {y} is not read as a format (157491)
    rb"|(?<!\{)(?:\{\{)*\{(?:[^{}:]|" + _BRACES + rb")*:(?:[^{}]*" + _BRACES + rb")+"
    rb"[^{}]*\{(?:\{|(?:[^{}]|" + _BRACES + rb")*=\s*[!:}])",
    re.DOTALL,
)


def source_sha256_of(path: Path) -> str:
    """Return the hash of the Python file at `path`, as 64 hex digits.

    Raises:
        SourceError: the file cannot be read, or is not Python.
    """
    try:
        source = _content(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path itself
        raise SourceError(
            f"cannot read the kernel's source: {_reason(error)}",
            where=str(path),
            remedy="give the path of a readable Python file",
        ) from error
    return source_sha256(source, filename=str(path))


def _content(path: Path) -> bytes:
    if path.exists() and not path.is_file():  # Reading a pipe or a device may never end.
        raise OSError(None, "is not a regular file")
    return path.read_bytes()


def source_sha256(source: bytes | str, *, filename: str = "<source>") -> str:
    """Return the hash of Python `source`, as 64 hex digits; `filename` is for messages.

    Raises:
        SourceError: `source` is not Python, or nested too deeply for this Python.
    """
    digest = hashlib.sha256(_SCHEME)
    for chunk in _chunks(_parse(source, filename)):
        digest.update(chunk)
    return digest.hexdigest()


def _parse(source: bytes | str, filename: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            # Under -W error an invalid escape would otherwise be a syntax error.
            warnings.simplefilter("ignore")
            text = _text(source)
            tree = ast.parse(text)
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError) as error:
        raise _unparsed(error, filename) from error
    _spell_out(tree, text.encode().split(b"\n"))
    return tree


def _text(source: bytes | str) -> str:
    """Return `source` decoded, its line ends all alike and without a BOM."""
    if isinstance(source, str):
        return source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    # Line ends first: the coding line of a file with bare CRs is not found otherwise.
    return importlib.util.decode_source(source.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


def _unparsed(error: Exception, filename: str) -> SourceError:
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    fact = f"{version} cannot parse the kernel's source: {_reason(error)}"
    where = filename
    # Without a line the fault is the whole file's: its encoding, a NUL byte.
    remedy = "save the file as Python source in UTF-8, without a coding line"
    if isinstance(error, RecursionError | MemoryError):
        fact = f"code nested too deeply for the parser of {version}"
        remedy = "split its longest expression or elif chain into several statements"
    elif isinstance(error, SyntaxError) and error.lineno:
        where = f"{filename}:{error.lineno}"
        remedy = "correct the line, or run the Python version that it is written for"
    return SourceError(fact, where=where, remedy=remedy)


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or getattr(error, "msg", None) or str(error)
    return " ".join(str(text).split())


def _spell_out(tree: ast.Module, lines: list[bytes]) -> None:
    """Replace the pieces of every disputed f-string by its spelling, as bytes."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if not isinstance(node, ast.JoinedStr):
            stack.extend(ast.iter_child_nodes(node))
        # Not descended into: before 3.12 an f-string within another has no true position.
        elif _DISPUTED.search(spelling := _spelling(node, lines)):
            node.values = [ast.Constant(spelling)]


def _spelling(node: ast.expr, lines: list[bytes]) -> bytes:
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    within = b"\n".join(lines[first:last])
    after = len(lines[last - 1]) - (node.end_col_offset or 0)
    return within[node.col_offset : len(within) - after]


def _chunks(tree: ast.Module) -> Iterator[bytes]:
    """Yield the tree in prefix order, each piece tagged and sized, hence unambiguous."""
    # A stack of our own: a chain a + b + c + ... is as deep as it is long.
    stack: list[object] = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, ast.AST):
            fields = _fields(item)
            yield _sized("node", type(item).__name__.encode()) + _count(fields)
            stack.extend(part for field in reversed(fields) for part in reversed(field))
        elif isinstance(item, list):
            yield b"list " + _count(item)
            stack.extend(reversed(item))
        else:
            yield _atom(item)


def _fields(node: ast.AST) -> list[tuple[str, object]]:
    """Return what `node` holds; None and [] read as absent, as in a Python without the field."""
    named = [(name, _even(node, name, value)) for name, value in ast.iter_fields(node)]
    return [
        (name, value)
        for name, value in named
        if name not in _NOT_CODE and value is not None and value != []
    ]


def _even(node: ast.AST, name: str, value: Any) -> object:
    """Return a field's value without what is not code or differs between Pythons."""
    if isinstance(node, ast.JoinedStr):
        return _merged(value)
    # The format is an f-string too. 3.13 may leave its text bare; 3.12 keeps an empty one.
    if isinstance(node, ast.FormattedValue) and name == "format_spec" and value is not None:
        return _merged(value.values if isinstance(value, ast.JoinedStr) else [value])
    if isinstance(node, ast.Module) and name == "body":
        return [item for item in value if not _is_left_out(item)]
    return value


def _merged(pieces: list[ast.expr]) -> list[object]:
    """Return an f-string's pieces, neighbouring text joined and empty text left out."""
    merged: list[object] = []
    for piece in pieces:
        text = piece.value if isinstance(piece, ast.Constant) else None
        if not isinstance(text, str):
            merged.append(piece)
        elif merged and isinstance(merged[-1], str):
            merged[-1] += text
        elif text:
            merged.append(text)
    return merged


def _is_left_out(item: object) -> bool:
    # "Package or loose file": try the relative import, except ImportError the absolute.
    if isinstance(item, ast.Try) and not item.orelse and not item.finalbody:
        bodies = [item.body, *(handler.body for handler in item.handlers)]
        imports = all(_is_dispatch_import(stmt) for body in bodies for stmt in body)
        return imports and all(_catches_import_error(handler) for handler in item.handlers)
    return _is_future_import(item) or _is_dispatch_import(item)


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    return handler.name is None and isinstance(caught, ast.Name) and caught.id in _IMPORT_ERRORS


def _is_future_import(item: object) -> bool:
    return isinstance(item, ast.ImportFrom) and item.module == "__future__" and not item.level


def _is_dispatch_import(item: object) -> bool:
    return (
        isinstance(item, ast.ImportFrom)
        and (item.module or "").endswith(_DISPATCH_SUFFIX)
        and all(alias.name in _DISPATCH_NAMES and not alias.asname for alias in item.names)
    )


def _atom(value: object) -> bytes:
    match value:
        case None | bool() | EllipsisType():
            payload = repr(value).encode()
        case int():  # hex, unlike repr, has no limit of 4300 digits
            payload = hex(value).encode()
        case float():
            payload = value.hex().encode()
        case complex():
            payload = f"{value.real.hex()} {value.imag.hex()}".encode()
        case str():
            payload = value.encode("utf-8", "surrogatepass")
        case bytes():
            payload = value
        case _:
            msg = f"a syntax tree holds a {type(value).__name__}"
            raise InternalError(msg)
    return _sized(type(value).__name__, payload)


def _sized(tag: str, payload: bytes) -> bytes:
    return f"{tag} {len(payload)}:".encode() + payload


def _count(items: Sequence[object]) -> bytes:
    return b"%d:" % len(items)
