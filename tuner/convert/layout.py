"""Params, arguments and lines that are added in the layout that is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import libcst as cst

__all__ = ["appended_arg", "appended_param", "comments", "merged", "trimmed", "without"]

_Item = TypeVar("_Item", cst.Arg, cst.Param)


def appended_arg(call: cst.Call, arg: cst.Arg) -> cst.Call:
    """Return `call` with `arg` behind its arguments."""
    return call.with_changes(args=_appended(call.args, arg, call.whitespace_before_args))


def appended_param(
    function: cst.FunctionDef, param: cst.Param, *, keyword: bool
) -> cst.FunctionDef:
    """Return `function` with `param` behind its params.

    With `keyword` it is one that is given by name alone where one before it has a default.
    """
    params = function.params
    before = function.whitespace_before_params
    if params.kwonly_params or isinstance(params.star_arg, cst.Param):
        # What stands before the first of them is the star, with a comma of its own.
        kwonly = _appended(params.kwonly_params, param, before)
        star = params.star_arg
        if not params.kwonly_params and isinstance(star, cst.Param):
            star = star.with_changes(comma=_comma())
        params = params.with_changes(kwonly_params=kwonly, star_arg=star)
    elif keyword and any(one.default for one in (*params.posonly_params, *params.params)):
        items = _appended(params.params, param, before)
        first = items[-2].with_changes(comma=_comma()) if len(items) > 1 else None
        params = params.with_changes(
            params=[*items[:-2], *([first] if first else [])],
            star_arg=cst.ParamStar(),
            kwonly_params=items[-1:],
        )
    else:
        items = _appended(params.params, param, before)
        ind = params.posonly_ind
        if params.posonly_params and not params.params and isinstance(ind, cst.ParamSlash):
            params = params.with_changes(posonly_ind=cst.ParamSlash(comma=_comma()))
        params = params.with_changes(params=items)
    return function.with_changes(params=params)


def _comma() -> cst.Comma:
    return cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


def _appended(
    items: Sequence[_Item], item: _Item, before: cst.BaseParenthesizableWhitespace
) -> list[_Item]:
    """Return `items` and `item`, which is set off as the last of them is."""
    if not items:
        return [item]
    *others, last = items
    gap = _gap([*others], before)
    comma = last.comma
    if isinstance(comma, cst.Comma):  # a trailing one: what follows it goes to the end
        kept = comma.with_changes(whitespace_after=_joined(comma.whitespace_after, gap))
        end = cst.Comma(whitespace_after=_plain(comma.whitespace_after))
        return [*others, last.with_changes(comma=kept), item.with_changes(comma=end)]
    name = "whitespace_after_arg" if isinstance(last, cst.Arg) else "whitespace_after_param"
    end_space = getattr(last, name)
    kept = cst.Comma(whitespace_after=_joined(end_space, gap))
    last = last.with_changes(comma=kept, **{name: cst.SimpleWhitespace("")})
    return [*others, last, item.with_changes(**{name: _plain(end_space)})]


def _gap(
    others: Sequence[cst.Arg | cst.Param], before: cst.BaseParenthesizableWhitespace
) -> cst.BaseParenthesizableWhitespace:
    """Return what stands between two items."""
    for other in reversed(others):
        if isinstance(other.comma, cst.Comma):
            return _plain(other.comma.whitespace_after)
    return _plain(before) if _is_broken(before) else cst.SimpleWhitespace(" ")


def _is_broken(space: cst.BaseParenthesizableWhitespace) -> bool:
    return isinstance(space, cst.ParenthesizedWhitespace)


def _plain(space: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """Return `space` without its comments and empty lines."""
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    line = space.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
    return space.with_changes(first_line=line, empty_lines=())


def _joined(
    space: cst.BaseParenthesizableWhitespace, gap: cst.BaseParenthesizableWhitespace
) -> cst.BaseParenthesizableWhitespace:
    """Return `gap` with the comments of `space`."""
    if not isinstance(space, cst.ParenthesizedWhitespace) or not comments(space):
        return gap
    if isinstance(gap, cst.ParenthesizedWhitespace):
        return gap.with_changes(first_line=space.first_line, empty_lines=space.empty_lines)
    return space


def comments(space: cst.CSTNode) -> bool:
    """Say whether there is a comment in `space`."""
    return isinstance(space, cst.Comment) or any(comments(inner) for inner in space.children)


def without(call: cst.Call, dropped: Sequence[int]) -> cst.Call:
    """Return `call` without the arguments at the indices `dropped`; the last stays."""
    args = [arg for i, arg in enumerate(call.args) if i not in dropped]
    return call.with_changes(args=args)


def trimmed(lines: Sequence[cst.EmptyLine]) -> tuple[cst.EmptyLine, ...]:
    """Return the comments directly above a statement, without what an empty line sets off."""
    found: list[cst.EmptyLine] = []
    for line in reversed(lines):
        if line.comment is None:
            break
        found.insert(0, line)
    return tuple(found)


def merged(
    above: Sequence[cst.EmptyLine], below: Sequence[cst.EmptyLine], *, first: bool
) -> tuple[cst.EmptyLine, ...]:
    """Return the lines over a statement of which what stood above it is gone.

    `above` are the lines over that, `below` its own; `first` if nothing is left before it.
    """
    if first:
        begin = next((i for i, line in enumerate(below) if line.comment), len(below))
        return (*above, *below[begin:])
    if not below:
        return tuple(above)
    return (*above, *below) if any(line.comment for line in above) else tuple(below)
