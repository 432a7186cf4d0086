"""Text for people: of others, a kernel's or its compiler's, made safe to print; and numbers."""

from __future__ import annotations

__all__ = ["plural", "printable"]


def printable(text: str, *, limit: int | None = None) -> str:
    r"""Return `text` on one line, at most `limit` characters long and cut with an ellipsis.

    White space of any kind becomes a blank; what a terminal or a file in UTF-8 would choke on,
    control characters, lone surrogates, marks that turn the direction of writing, is escaped as
    `\x1b`.
    """
    if limit is not None:
        text = text[: 4 * limit]  # It may be as long as an array is.
    line = "".join(_escaped(character) for character in " ".join(text.split()))
    return line if limit is None or len(line) <= limit else f"{line[: limit - 1]}…"


def plural(count: int, noun: str) -> str:
    """Return `count` and the noun, in the plural unless it is one."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
