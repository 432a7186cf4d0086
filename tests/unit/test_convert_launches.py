"""A converted kernel launches what the raw one did, and what a config says when it is given one.

Files are put together at random, converted, and both forms are run with modules that stand in for
Triton and torch and write launches down.
"""

from __future__ import annotations

from convert.fakes import config_of, ran, tensor
from convert.modules import PARAMS, VALUES, Form, forms, is_told_apart, text_of
from hypothesis import given
from hypothesis import strategies as st

from tuner.convert import ConvertError, convert_source

X = tensor(1000, 77)
SHAPE = "(x.shape[0], x.shape[1])"


def converted(text: str, form: Form) -> str:
    """Return `text`, a file of `form`, converted."""
    return convert_source(
        text,
        name="impl.py",
        shape_expr=SHAPE,
        config_param_names=PARAMS[: len(form.places)],
        launch_options=["num_warps"] if form.warps else [],
    )


def attempt(text: str, form: Form) -> tuple[str, str]:
    """Return what comes of `text`, and why nothing does."""
    try:
        return converted(text, form), ""
    except ConvertError as error:
        return "", str(error)


@st.composite
def values(draw: st.DrawFn) -> dict[str, int]:
    """Return values of all params and of num_warps."""
    chosen = {name: draw(st.sampled_from(VALUES)) for name in PARAMS}
    return {**chosen, "num_warps": draw(st.sampled_from((1, 2, 4, 8)))}


@given(form=forms(), own=values(), other=values())
def test_the_launches_are_those_of_the_config(
    form: Form, own: dict[str, int], other: dict[str, int]
) -> None:
    """With its own constants it does what it did; with others, what the file would with those."""
    raw = text_of(form, own)
    text, refusal = attempt(raw, form)
    if refusal:
        assert not is_told_apart(form, own), f"{refusal}\n{raw}"
        assert "may stand for" in refusal
        return
    names = [*PARAMS[: len(form.places)], *(["num_warps"] if form.warps else [])]
    for chosen in (own, other):
        config = config_of(**{name: chosen[name] for name in names})
        expected = ran(text_of(form, chosen), X).launches
        assert ran(text, X, config=config).launches == expected, text
        selected = ran(text, X, selected=config)
        assert (selected.launches, selected.asked) == (expected, [(1000, 77)])
    assert converted(text, form) == text
