"""The only door from data to code: identifiers, literals and comments.

Whatever a manifest says reaches the emitted module through one of these functions, and each
returns text that can be nothing else than what it is meant to be.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Collection, Sequence
from hashlib import sha256

from codegen.config import Config, Value
from codegen.errors import InternalError

__all__ = ["comment", "config_names", "free_name", "literal", "readable"]

_NAME_LENGTH = 60
_DIGITS = 6
_SHORT = {"num_warps": "W", "num_stages": "S", "num_ctas": "C", "maxnreg": "R"}
# ASCII without #, Latin, Greek, Cyrillic, kana, CJK ideographs, Hangul; without the soft hyphen.
_READABLE = re.compile(
    '[ -"$-~\u00a1-\u00ac\u00ae-\u024f\u0370-\u03ff\u0400-\u04ff'
    "\u3041-\u3096\u30a1-\u30fe\u4e00-\u9fff\uac00-\ud7a3]"
)
# What a local had better not be called. A list of our own: Python's grows with its versions, and
# the bytes we emit must not.
_BUILTINS = frozenset(
    """
    abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod
    compile complex copyright credits delattr dict dir divmod enumerate eval exec exit filter float
    format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter
    len license list locals map max memoryview min next object oct open ord pow print property quit
    range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars
    zip
    """.split()  # noqa: SIM905
)
_NAMELESS = re.compile(r"[^A-Za-z0-9]+")


def literal(value: Value) -> str:
    """Return `value` as a Python literal of ASCII characters; strings in double quotes.

    Raises:
        InternalError: `value` is of another type, or a float that has no literal.
    """
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float) and value - value == 0:
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    raise InternalError(f"no literal for a {type(value).__name__}")


def _quoted(text: str) -> str:
    """Return what `ascii` gives, turned to double quotes where that needs no more escapes."""
    plain = ascii(text)
    return (
        f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in plain and "\\'" not in plain else plain
    )


def comment(text: str) -> str:
    """Return `text` for use behind a `#`: letters of the common scripts stay, the rest is escaped.

    Nothing that ends a line or turns the reading direction can stay, nor a `#`, which would begin
    a directive to some tool. The list is our own, since what Python calls printable grows with
    each of its versions.
    """
    return "".join(c if _READABLE.match(c) else _escaped(c) for c in text)


def readable(text: str) -> bool:
    """Say whether `text` holds nothing but what a comment can show as it is, and `#`."""
    return all(c == "#" or _READABLE.match(c) for c in text)


def _escaped(character: str) -> str:
    """Return the escape that stands for `character` in a string; those of ASCII have one, too."""
    return ascii(character)[1:-1] if character != "#" else "\\x23"


def free_name(wanted: str, taken: Collection[str]) -> str:
    """Return `wanted`, with as many `_` behind it as make it differ from all that is taken.

    Raises:
        InternalError: `wanted` is not an ASCII identifier.
    """
    if not (wanted.isidentifier() and wanted.isascii()):
        raise InternalError(f"{wanted!a} is not an identifier")
    while wanted in taken or keyword.iskeyword(wanted) or wanted in _BUILTINS:
        wanted += "_"
    return wanted


def config_names(configs: Sequence[Config], taken: Collection[str]) -> tuple[str, ...]:
    """Return a constant's name for each of `configs` that says what the config is.

    `BLOCK_M=64, BLOCK_N=128, num_warps=4` is called `M64_N128_W4`. A name depends on its own
    config alone, so that a change elsewhere leaves it as it is; only configs whose names would be
    equal, or taken, or too long, carry six digits of the hash of their id besides.
    """
    plain = [_spelled(config) for config in configs]
    counts = Counter(plain)
    names = [
        name if counts[name] == 1 and name not in taken and len(name) <= _NAME_LENGTH else ""
        for name in plain
    ]
    for i, config in enumerate(configs):
        names[i] = names[i] or _numbered(
            plain[i][: _NAME_LENGTH - _DIGITS - 1], config, {*taken, *names}
        )
    return tuple(names)


def _numbered(name: str, config: Config, taken: Collection[str]) -> str:
    """Return `name` with as many digits of the config's hash, six at least, as make it new."""
    digits = sha256(config.id.encode()).hexdigest().upper()
    return next(n for i in range(_DIGITS, 65) if (n := f"{name}_{digits[:i]}") not in taken)


def _spelled(config: Config) -> str:
    names = [name for name, _ in config.params]
    params = [(_short(name, names), value) for name, value in config.params]
    launch = [(_SHORT[n], v) for n, v in config.launch_options() if (n, v) != ("num_ctas", 1)]
    parts = [_part(name, value) for name, value in [*params, *launch, *config.options]]
    name = "_".join(part for part in parts if part)
    return name if name[:1].isalpha() else f"CONFIG_{name}".rstrip("_")


def _short(name: str, names: Sequence[str]) -> str:
    """Return `name` without `BLOCK_`, unless another of `names` is called that."""
    short = name.removeprefix("BLOCK_")
    return short if short[:1].isalpha() and (short == name or short not in names) else name


def _part(name: str, value: Value) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    word = str(value).replace("-", "NEG").replace(".", "P") if number else str(value)
    name, word = name.strip("_"), _NAMELESS.sub("_", word).strip("_")
    glue = "" if number and not name[-1:].isdigit() else "_"
    return f"{name}{glue}{word}".upper()
