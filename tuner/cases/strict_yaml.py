"""YAML from outside, of which only the part is taken that everybody reads alike.

Refused are tags, anchors, aliases, a key that stands twice, several documents, and plain words that
YAML 1.1 and 1.2 understand differently: `on`, `yes`, `010`, `1_000`, `1e3`, `1:30`, a date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import yaml

from codegen.errors import shown
from tuner.errors import CaseError

__all__ = ["Document", "parse_yaml"]

_MAX_BYTES = 2**20  # PyYAML reads some 200 kB a second
_MAX_NESTING = 20
_Path: TypeAlias = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"(?:[-+]?[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# What is a number to YAML 1.2 and, as it has no sign in its exponent or no point, not to 1.1.
_NUMBER_1_2 = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A YAML document: its value, of dicts, lists and scalars, and where each part stands.

    Attributes:
        name: the file's.
        lines: the line of each key and item, by its path.
    """

    name: str
    value: Any
    lines: dict[_Path, int] = field(repr=False)

    def line(self, path: _Path) -> str:
        """Return `file:line` of what stands at `path`, or would."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.name}:{self.lines[path]}" if path in self.lines else self.name

    def where(self, path: _Path) -> str:
        """Return `file:line: dotted path` of what stands at `path`, or would."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        dotted = "".join(steps).removeprefix(".")
        return f"{self.line(path)}{': ' if dotted else ''}{dotted}"


def parse_yaml(data: bytes, *, name: str) -> Document:
    """Return the document that the YAML text `data` is; an empty one is an empty mapping.

    Raises:
        CaseError: with `name` and the line.
    """
    if len(data) > _MAX_BYTES:
        fact = f"has {len(data)} bytes, more than {_MAX_BYTES}"
        raise CaseError(fact, where=name, remedy="write a smaller file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fact = f"byte {error.start} is not UTF-8"
        raise CaseError(fact, where=f"{name}:{line}", remedy="save it as UTF-8") from None
    reader = _Reader(name, yaml.parse(text, Loader=yaml.SafeLoader))
    try:
        value = reader.document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{name}:{mark.line + 1}" if mark else name
        fact = f"is not YAML: {error.problem or error.context}"
        raise CaseError(fact, where=where, remedy="correct the line") from None
    except yaml.YAMLError as error:  # a character that YAML does not allow; it has no line
        fact = f"is not YAML: {' '.join(str(error).split())}"
        raise CaseError(fact, where=name, remedy="remove it") from None
    return Document(name=name, value=value, lines=reader.lines)


class _Reader:
    """Builds the value from PyYAML's events."""

    def __init__(self, name: str, events: Iterator[yaml.Event]) -> None:
        self._name, self._events = name, events
        self.lines: dict[_Path, int] = {}

    def document(self) -> Any:
        next(self._events)  # the stream's start
        event = next(self._events)
        if isinstance(event, yaml.StreamEndEvent):
            return {}
        value = self._value(next(self._events), ())
        next(self._events)  # the document's end
        event = next(self._events)
        if not isinstance(event, yaml.StreamEndEvent):
            self._refuse(event, "a second document begins here", "keep one in a file")
        return {} if value is None else value

    def _value(self, event: yaml.Event, path: _Path) -> Any:
        self.lines.setdefault(path, _line(event))
        if getattr(event, "anchor", None) is not None:  # an alias has one, too
            self._refuse(event, "anchors and aliases are not taken", "write the value out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._refuse(event, f"the tag {shown(tag)} is not taken", "remove it")
        if len(path) > _MAX_NESTING:
            fact = f"is nested more than {_MAX_NESTING} levels deep"
            self._refuse(event, fact, "make it shallower")
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path)
        return self._mapping(path)

    def _sequence(self, path: _Path) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(event, (*path, len(items))))
        return items

    def _mapping(self, path: _Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            # A key keeps its text: `N:` and `on:` are axes.
            if not isinstance(event, yaml.ScalarEvent) or event.anchor or event.tag:
                self._refuse(event, "a key is not plain text", "write a name")
            key = str(event.value)
            if key in found:
                self._refuse(event, f"key {shown(key)} stands twice", "keep one")
            below = (*path, key)
            self.lines[below] = _line(event)
            found[key] = self._value(next(self._events), below)
        return found

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text = str(event.value)
        if event.style is not None:  # quoted, or a block of text
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return self._integer(event, text)
        if _FLOAT.fullmatch(text):
            return float(text)
        if _is_disputed(text):
            remedy = "write true or false, a number in plain digits, or put it in quotes"
            self._refuse(event, f"{shown(text)} is read in several ways", remedy)
        return text

    def _integer(self, event: yaml.Event, text: str) -> int:
        if len(text) > 100:
            fact = f"an integer of {len(text)} digits"
            self._refuse(event, fact, "write one that fits in 64 bits")
        return int(text)

    def _refuse(self, event: yaml.Event, fact: str, remedy: str) -> NoReturn:
        raise CaseError(fact, where=f"{self._name}:{_line(event)}", remedy=remedy)


def _line(event: yaml.Event) -> int:
    mark = event.start_mark
    return mark.line + 1 if mark else 1


def _is_disputed(text: str) -> bool:
    """Say whether plain `text`, no integer and no float of ours, is text to one YAML only."""
    loader = yaml.SafeLoader("")
    tag = loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return tag != "tag:yaml.org,2002:str" or bool(_NUMBER_1_2.fullmatch(text))
