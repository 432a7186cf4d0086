"""A kernel with fixed constants → the same kernel, which takes them from the dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.config import LAUNCH_OPTIONS, Value
from codegen.errors import InternalError
from tuner.convert.autotuned import dropped_options
from tuner.convert.edits import carried_out
from tuner.convert.entries import takes_config
from tuner.convert.errors import ConvertError
from tuner.convert.functions import Functions
from tuner.convert.kernels import find_kernels
from tuner.convert.names import refuse_select
from tuner.convert.plan import Options
from tuner.convert.planner import make_plan
from tuner.convert.shape import shape_of
from tuner.convert.source import check_python, parse

__all__ = ["Conversion", "convert", "convert_source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What came of a file.

    Attributes:
        constants: what the file had in place of each of the config's values, as far as it had it.
        notes: what a user is told of.
        autotuned: the kernels that are not under `@triton.autotune` any more.
    """

    text: str
    constants: tuple[tuple[str, Value], ...]
    notes: tuple[str, ...]
    autotuned: tuple[str, ...]


def convert_source(
    text: str,
    *,
    name: str,
    shape_expr: str,
    config_param_names: Sequence[str],
    launch_options: Sequence[str],
) -> str:
    """Return the kernel's file `text` with its constants taken from the tuned dispatch.

    A text that takes them from there already is returned as it is.

    Args:
        text: the file.
        name: its name, for messages; the dispatch is imported from `<stem>_dispatch`.
        shape_expr: the shape, an expression over the inputs, as in sample.json.
        config_param_names: the constants that the config gives.
        launch_options: the options of a launch that some candidate sets.

    Raises:
        ConvertError: it cannot be done for sure; with file:line.
    """
    known = tuple(option for option in LAUNCH_OPTIONS if option in launch_options)
    backend = tuple(option for option in launch_options if option not in known)
    options = Options(params=tuple(config_param_names), launch=known, backend=backend)
    return convert(
        text, name=name, stem=Path(name).stem, shape_expr=shape_expr, options=options
    ).text


def convert(text: str, *, name: str, stem: str, shape_expr: str, options: Options) -> Conversion:
    """Return what comes of the file `name`; its dispatch is to be imported from `stem`_dispatch.

    Raises:
        ConvertError: as `convert_source`.
    """
    source = parse(text, name)
    functions = Functions(source, find_kernels(source))
    if takes_config(source, functions):
        return Conversion(text=text, constants=(), notes=(), autotuned=())
    shape = shape_of(shape_expr)
    if not stem.isidentifier():
        fact = f"{stem!r} is not the name of a module"
        remedy = "rename the file, with letters, digits and _ alone"
        raise ConvertError(fact, where=name, remedy=remedy)
    try:
        refuse_select(source, stem)
        plan = make_plan(source, functions, options, shape.names)
        result = carried_out(source, plan, shape.code, stem)
    except RecursionError:
        remedy = "split its longest expression or elif chain into several statements"
        raise ConvertError("is nested too deeply", where=name, remedy=remedy) from None
    _check(result, name)
    values = plan.tracer.values
    return Conversion(
        text=result,
        constants=tuple((key, value) for key, (value, _) in values.items()),
        notes=tuple(note for kernel in plan.autotuned for note in dropped_options(kernel)),
        autotuned=tuple(kernel.name for kernel in plan.autotuned),
    )


def _check(text: str, name: str) -> None:
    """Read the result again: what is not Python any more is a fault of ours."""
    try:
        check_python(text, name)
    except ConvertError as error:
        message = f"the conversion of {name} is not Python: {error}"
        raise InternalError(message) from error
