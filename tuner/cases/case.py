"""A case: what its files say, checked against each other, with nothing of them run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codegen.errors import listed
from tuner.cases.files import exists, is_directory
from tuner.cases.sample import Sample, read_sample
from tuner.cases.search_space import sample_space, tuned_space
from tuner.cases.source import Base, Impl, read_base, read_impl
from tuner.cases.tune_yaml import TuneYaml, read_tune_yaml
from tuner.errors import CaseError
from tuner.expressions import ShapeExpr
from tuner.records import Shape
from tuner.space import Space

__all__ = ["Case", "load_case"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A kernel to tune.

    Attributes:
        base: the file of the reference `Model` and of the inputs.
        impl: the file of the kernel, `ModelNew`.
        source_sha256: of the code in `impl`, as `codegen hash` prints it.
        kernel: its name.
        axis_names: what the sizes of a shape are called.
        shape_expr: gives the shape of inputs.
        inputs: the names of the inputs, as `ModelNew.forward` takes them, in order.
        config_param_names: what the kernel asks of a config.
        space: the configs to try.
        shapes: to tune; None where they are those of the inputs that `base` lists.
        weights: how much a shape counts, where that is not 1.
        has_inputs_for_shape: `base` can make inputs for any shape.
    """

    directory: Path
    base: Path
    impl: Path
    source_sha256: str
    kernel: str
    axis_names: tuple[str, ...]
    shape_expr: ShapeExpr
    inputs: tuple[str, ...]
    config_param_names: tuple[str, ...]
    space: Space
    shapes: tuple[Shape, ...] | None
    weights: tuple[tuple[Shape, float], ...]
    has_inputs_for_shape: bool

    def weight_of(self, shape: Shape) -> float:
        """Return how much `shape` counts."""
        return dict(self.weights).get(shape, 1.0)


def load_case(directory: Path, *, impl: Path | None = None, space: Path | None = None) -> Case:
    """Return the case in `directory`.

    `impl` names another file than `impl.py` for the kernel, `space` another than `tune.yaml` for
    the search space. Nothing of the case is imported or run.

    Raises:
        CaseError: a file is missing or unsound, or the files do not fit each other.
        MissingError: there is a `tune.yaml` to be read, and no PyYAML.
    """
    if not is_directory(directory):
        fact = "is not a directory" if exists(directory) else "does not exist"
        remedy = "name the directory with base.py, impl.py and sample.json"
        raise CaseError(fact, where=str(directory), remedy=remedy)
    sample_file = directory / "sample.json"
    base_file, impl_file = directory / "base.py", impl or directory / "impl.py"
    sample, base, code = read_sample(sample_file), read_base(base_file), read_impl(impl_file)
    expression = _shape_expr(sample, base, code, impl_file)
    axis_names, notes = _axis_names(sample, expression)
    tune = _tune_yaml(directory, space)
    if tune:
        tune.check_axes(axis_names)
        found = tuned_space(sample, tune, axis_names)
    else:
        found = sample_space(sample)
    shapes = tune.shapes if tune else None
    if shapes is None and not base.has_inputs_dyn_list:
        fact = "has no get_inputs_dyn_list(), and tune.yaml lists no shapes"
        raise CaseError(fact, where=str(base_file), remedy="define it, or add shapes to tune.yaml")
    return Case(
        directory=directory,
        base=base_file,
        impl=impl_file,
        source_sha256=code.source_sha256,
        kernel=sample.kernel,
        axis_names=axis_names,
        shape_expr=expression,
        inputs=code.inputs,
        config_param_names=sample.names.params,
        space=found.noted(*notes),
        shapes=shapes,
        weights=tune.weights if tune else (),
        has_inputs_for_shape=base.has_inputs_for_shape,
    )


def _tune_yaml(directory: Path, space: Path | None) -> TuneYaml | None:
    path = space or directory / "tune.yaml"
    if space is None and not exists(path):
        misnamed = directory / "tune.yml"
        if exists(misnamed):
            raise CaseError("is not read", where=str(misnamed), remedy="call it tune.yaml")
        return None
    return read_tune_yaml(path)


def _shape_expr(sample: Sample, base: Base, code: Impl, impl: Path) -> ShapeExpr:
    """Return the expression over the inputs of ModelNew.forward, as which values are bound."""
    where = f"{sample.place}: shape_expr"
    if not code.inputs:
        remedy = "name its inputs in its signature"
        raise CaseError("ModelNew.forward names no inputs", where=str(impl), remedy=remedy)
    found = ShapeExpr.parse(sample.shape_expr, where=where)
    for name in found.names:
        if name in code.inputs:
            continue
        fact = f"{name} is not an input of ModelNew.forward in {impl.name}"
        remedy = f"its inputs are {listed(code.inputs, most=12)}"
        if name in base.inputs and base.inputs.index(name) < len(code.inputs):
            remedy = f"it is called {code.inputs[base.inputs.index(name)]} there"
        raise CaseError(fact, where=where, remedy=remedy)
    return found


def _axis_names(sample: Sample, expression: ShapeExpr) -> tuple[tuple[str, ...], list[str]]:
    """Return what the sizes are called, and a note if that was made up."""
    names, length = sample.axis_names, expression.length
    if names is not None:
        if length not in {None, len(names)}:
            fact = f"names {len(names)} axes, and shape_expr gives {length} sizes"
            where = f"{sample.place}: axis_names"
            raise CaseError(fact, where=where, remedy="name one axis a size")
        return names, []
    if sample.key is not None and length in {None, len(sample.key)}:
        return sample.key, []
    if length is None:
        fact = "gives as many sizes as the inputs have, and nothing names them"
        remedy = 'add "axis_names", one a size, to sample.json'
        raise CaseError(fact, where=expression.where, remedy=remedy)
    made_up = tuple(f"D{i}" for i in range(length))
    return made_up, [f"the axes are called {', '.join(made_up)}, as sample.json names no others"]
