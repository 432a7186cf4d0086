"""The file `tune.yaml` of a case: its search space, the shapes to tune and what they count.

    parameters:                   # name → values; the space is their product
      BLOCK_M: [32, 64, 128]
      num_warps: [4, 8]
    configs:                      # alternatively or besides: written out
      - {BLOCK_M: 16, num_warps: 1}
    constraints:                  # what does not meet them is left out
      - BLOCK_M <= M * 2
    subspaces:                    # fewer configs in a range of shapes, both ends inclusive
      - when: {M: [1, 64]}
        parameters: {BLOCK_M: [16, 32]}
        constraints: [num_warps <= 4]
    launch_grid: cdiv(M, BLOCK_M) # programs launched; where a target has a limit it is kept below
    launch_grid_limit: 65535      # an NPU's, if none is given
    shapes:                       # instead of those of get_inputs_dyn_list()
      - [128, 4096, 4096]
    weights:                      # 1 where none is given
      - {shape: [128, 4096, 4096], weight: 3}

All of it is optional. Without `parameters` and `configs` the candidates are those of sample.json.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import Field, ValidationError

from codegen.errors import listed, shown
from codegen.fields import Count, Identifier, ParamName, Positive, Strict, ValueField
from codegen.words import first_error
from tuner.cases.entry import ConfigEntry
from tuner.cases.files import as_case_error, read_file
from tuner.errors import CaseError, MissingError
from tuner.records import Shape

if TYPE_CHECKING:
    from tuner.cases.strict_yaml import Document

__all__ = ["SubspaceField", "TuneFile", "TuneYaml", "read_tune_yaml"]

_Values: TypeAlias = Annotated[list[ValueField], Field(min_length=1, max_length=10_000)]
_Parameters: TypeAlias = Annotated[dict[ParamName, _Values], Field(min_length=1)]
_Condition: TypeAlias = Annotated[str, Field(min_length=1)]
_Conditions: TypeAlias = Annotated[list[_Condition], Field(max_length=1_000)]
_Range: TypeAlias = list[Count | None]
_Sizes: TypeAlias = Annotated[list[Count], Field(min_length=1, max_length=32)]


class SubspaceField(Strict):
    """An item of `subspaces`."""

    when: Annotated[dict[Identifier, _Range], Field(min_length=1)]
    parameters: _Parameters | None = None
    constraints: _Conditions = Field(default=[])


class WeightField(Strict):
    """An item of `weights`."""

    shape: _Sizes
    weight: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class TuneFile(Strict):
    """The file's fields."""

    parameters: _Parameters | None = None
    configs: Annotated[list[ConfigEntry], Field(min_length=1)] | None = None
    constraints: _Conditions = Field(default=[])
    subspaces: Annotated[list[SubspaceField], Field(max_length=1_000)] = Field(default=[])
    launch_grid: Annotated[str, Field(min_length=1)] | None = None
    launch_grid_limit: Positive | None = None
    shapes: Annotated[list[_Sizes], Field(min_length=1, max_length=100_000)] | None = None
    weights: list[WeightField] = Field(default=[])


class TuneYaml:
    """What the file says, and where in it."""

    __slots__ = ("_document", "fields")

    def __init__(self, fields: TuneFile, document: Document) -> None:
        """Keep the two."""
        self.fields, self._document = fields, document

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return self._document.name

    def where(self, *path: str | int) -> str:
        """Return file, line and dotted path of what stands at `path`."""
        return self._document.where(path)

    @property
    def shapes(self) -> tuple[Shape, ...] | None:
        """The shapes to tune; None where the file lists none."""
        listed = self.fields.shapes
        return None if listed is None else tuple(tuple(shape) for shape in listed)

    @property
    def weights(self) -> tuple[tuple[Shape, float], ...]:
        """How much a shape counts, of those for which the file says it."""
        return tuple((tuple(item.shape), item.weight) for item in self.fields.weights)

    def check_axes(self, axis_names: tuple[str, ...]) -> None:
        """Check what is said of shapes; raises CaseError."""
        shapes = self.fields.shapes or []
        weights = [weight.shape for weight in self.fields.weights]
        self._check_shapes(shapes, axis_names, ("shapes",))
        self._check_shapes(weights, axis_names, ("weights",))
        known = {tuple(shape) for shape in shapes}
        for i, shape in enumerate(weights):
            if known and tuple(shape) not in known:
                fact = f"weighs {tuple(shape)}, which is not among the shapes"
                raise CaseError(fact, where=self.where("weights", i), remedy="add it to shapes")
        for i, subspace in enumerate(self.fields.subspaces):
            self._check_subspace(subspace, axis_names, ("subspaces", i))

    def _check_shapes(
        self, shapes: list[list[int]], axis_names: tuple[str, ...], path: tuple[str | int, ...]
    ) -> None:
        seen: set[tuple[int, ...]] = set()
        for i, shape in enumerate(shapes):
            where = self.where(*path, i)
            if len(shape) != len(axis_names):
                axes = ", ".join(axis_names)
                fact = f"{tuple(shape)} has {len(shape)} sizes for the axes {axes}"
                raise CaseError(fact, where=where, remedy="give one size an axis")
            if tuple(shape) in seen:
                raise CaseError(f"{tuple(shape)} stands twice", where=where, remedy="remove one")
            seen.add(tuple(shape))

    def _check_subspace(
        self, subspace: SubspaceField, axis_names: tuple[str, ...], path: tuple[str | int, ...]
    ) -> None:
        for axis, ends in subspace.when.items():
            where = self.where(*path, "when", axis)
            if len(ends) != 2:
                remedy = "write [smallest, largest], null for no end"
                raise CaseError(f"has {len(ends)} ends, not 2", where=where, remedy=remedy)
            least, most = ends
            if axis not in axis_names:
                remedy = f"the axes are {listed(axis_names, most=12)}"
                raise CaseError(f"{shown(axis)} is not an axis", where=where, remedy=remedy)
            if least is not None and most is not None and least > most:
                fact = f"[{least}, {most}] holds no size"
                raise CaseError(fact, where=where, remedy="write the smaller end first")
        if not (subspace.parameters or subspace.constraints):
            remedy = "add parameters or constraints, or remove it"
            raise CaseError("restricts nothing", where=self.where(*path), remedy=remedy)


def read_tune_yaml(path: Path) -> TuneYaml:
    """Return what the file `path` says.

    Raises:
        CaseError: it cannot be read, is not YAML as we take it, or is not of the format.
        MissingError: PyYAML is not installed.
    """
    data = read_file(path, "a YAML file such as tune.yaml")
    try:
        from tuner.cases.strict_yaml import parse_yaml  # noqa: PLC0415 (most cases need no YAML)
    except ImportError:
        remedy = "install it: pip install pyyaml"
        raise MissingError("is not installed", where="pyyaml", remedy=remedy) from None
    document = parse_yaml(data, name=str(path))
    value = document.value
    if isinstance(value, dict):  # a key of which all is commented out says nothing
        known = TuneFile.model_fields
        value = {key: part for key, part in value.items() if part is not None or key not in known}
    try:
        return TuneYaml(TuneFile.model_validate(value), document)
    except ValidationError as error:
        raise _named(error, document) from None


def _named(error: ValidationError, document: Document) -> CaseError:
    """Return the first fault with the line at which it stands."""
    said = as_case_error(first_error(error, document.value, ""))
    path = _path(error.errors(include_url=False)[0]["loc"], document.value)
    _, _, dotted = said.where.partition(": ")
    where = f"{document.line(path)}{': ' if dotted else ''}{dotted}"
    fact = "is empty" if said.fact == "is an empty array" else said.fact  # or a mapping
    return CaseError(fact, where=where, remedy=said.remedy)


def _path(loc: tuple[str | int, ...], value: Any) -> tuple[str | int, ...]:
    """Return the steps of pydantic's `loc` that lead into `value`, as far as they do."""
    path: list[str | int] = []
    for step in loc:
        below = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if below or (isinstance(value, dict) and step in value):
            path.append(step)
            value = value[step]
    return tuple(path)
