"""Pydantic's verdicts in our words: fact, value, dotted path, remedy, on one line."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from codegen.errors import ManifestError, shown

__all__ = ["first_error"]

# Type of error → what is wrong, and what to do. `{}` stands for the value.
_WORDS: dict[str, tuple[str, str]] = {
    "missing": ("missing field", "add it; `codegen schema` lists the fields"),
    "extra_forbidden": ("unknown key", "remove it, or put it under extras"),
    "literal_type": ("{} is not a known value", "see `codegen schema`"),
    "int_type": ("{} is not an integer", "write it without quotes or decimal point"),
    "bool_type": ("{} is not true or false", "write true or false"),
    "string_type": ("{} is not a string", 'write it in "quotes"'),
    "string_unicode": ("the string has a lone surrogate", "write text that UTF-8 can hold"),
    "float_type": ("{} is not a number", "write a number"),
    "list_type": ("{} is not an array", "write [ … ]"),
    "dict_type": ("{} is not an object", "write { … }"),
    "model_type": ("{} is not an object", "write { … }"),
    "model_attributes_type": ("{} is not an object", "write { … }"),
    "union_tag_not_found": ("has no kind", "add one; `codegen schema` lists them"),
    "keyword": ("{} is a Python keyword", "rename it"),
    "string_too_short": ("is an empty string", "write some text, or remove the key"),
    "too_short": ("is an empty array", "list at least one"),
    "leaf_and_split": ("is both a leaf and a split", "keep either config or feature, left, right"),
    "relative_file": (
        "{} is not a path below the manifest",
        "name a file beside or below it, with /",
    ),
    "param_value": ("{} cannot be a param", "use an integer, boolean, float, string or null"),
    "int64": ("{} does not fit in 64 bits", "write a smaller number"),
    "surrogate": ("{} has a lone surrogate", "write text that UTF-8 can hold"),
    "finite_number": ("{} is not finite", "write a finite number"),
}


def first_error(error: ValidationError, raw: Any, name: str) -> ManifestError:
    """Return the first verdict as an error of ours; `raw` is the value that was checked."""
    verdicts = error.errors(include_url=False)
    verdict = verdicts[0]
    fact, remedy = _fact_and_remedy(verdict["type"], verdict)
    path = _dotted(verdict["loc"], raw, missing=verdict["type"] == "missing")
    more = len(verdicts) - 1
    if more:
        remedy += f" (and {more} more fault{'s' if more > 1 else ''})"
    return ManifestError(fact, where=f"{name}: {path}" if path else name, remedy=remedy)


def _fact_and_remedy(kind: str, verdict: Any) -> tuple[str, str]:
    value, limits = shown(verdict["input"]), verdict.get("ctx", {})
    if kind in _WORDS:
        fact, remedy = _WORDS[kind]
        return fact.replace("{}", value), remedy
    match kind:
        case "greater_than_equal":
            return f"{value} is out of range", f"use {limits['ge']} or more"
        case "greater_than":
            return f"{value} is out of range", f"use more than {limits['gt']}"
        case "less_than_equal":
            return f"{value} is out of range", f"use {limits['le']} or less"
        case "string_too_long":
            return "is too long a string", f"use at most {limits['max_length']} characters"
        case "too_long":
            return "is too long an array", f"list at most {limits['max_length']}"
        case "literal_error":
            return f"{value} is not a known value", f"use {limits['expected']}"
        case "union_tag_invalid":
            return _unknown_kind(str(limits["tag"]), str(limits["expected_tags"]))
        case "string_pattern_mismatch" if "0-9a-f" in limits["pattern"]:
            return f"{value} is not a SHA-256", "write its 64 hexadecimal digits"
        case "string_pattern_mismatch":
            return f"{value} is not a name", "use ASCII letters, digits and _, a letter first"
    return f"{verdict['msg'].lower()}, got {value}", "see `codegen schema`"


def _unknown_kind(tag: str, expected: str) -> tuple[str, str]:
    """Word a tag that no member of a union has; those in <> are ours, for objects by their key."""
    names = sorted(name.strip(" '") for name in expected.split(","))
    if tag.startswith("<"):
        return f"a {tag.strip('<>')} cannot stand here", f"use {_either(names)}"
    return f"{shown(tag)} is not a known kind", f"use {_either(names)}"


def _either(names: list[str]) -> str:
    plain = [name.strip("<>") for name in names]
    return f"{', '.join(plain[:-1])} or {plain[-1]}" if len(plain) > 1 else plain[0]


def _dotted(loc: tuple[int | str, ...], raw: Any, *, missing: bool) -> str:
    """Return the path into `raw` of pydantic's `loc`, without the names of union members in it."""
    path, tagged = "", False
    for i, step in enumerate(loc):
        if isinstance(raw, dict) and not tagged and raw.get("kind") == step:
            tagged = True
        elif isinstance(raw, list) and isinstance(step, int) and step < len(raw):
            raw, path, tagged = raw[step], f"{path}[{step}]", False
        elif isinstance(raw, dict) and step in raw:
            raw, path, tagged = raw[step], f"{path}.{_key(str(step))}", False
        elif missing and i == len(loc) - 1:
            path = f"{path}.{step}"
    return path.removeprefix(".")


def _key(text: str) -> str:
    return text if text.isidentifier() and text.isascii() and len(text) <= 64 else shown(text)
