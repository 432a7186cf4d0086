"""What is known of the candidates of a case: their params, and what they set options to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.config import LAUNCH_OPTIONS, Value
from tuner.cases.files import exists
from tuner.cases.sample import Sample
from tuner.cases.tune_yaml import read_tune_yaml

__all__ = ["Candidates", "candidates_of", "without_case"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What the candidates hold.

    Attributes:
        params: the names of their params.
        settings: each option, of the launch or of a backend, and what they set it to, None where
            one does not set it; None without a case.
    """

    params: tuple[str, ...]
    settings: Mapping[str, frozenset[Value]] | None

    @property
    def launch_options(self) -> tuple[str, ...]:
        """The launch options that some of them set."""
        return tuple(name for name in LAUNCH_OPTIONS if name in (self.settings or {}))

    @property
    def backend_options(self) -> tuple[str, ...]:
        """The options of a backend that some of them set."""
        return tuple(sorted({*(self.settings or {})} - {*LAUNCH_OPTIONS}))


def without_case(reads: Sequence[str]) -> Candidates:
    """Return what is known of them where there is no case: the params that the file `reads`."""
    return Candidates(params=tuple(sorted(reads)), settings=None)


def candidates_of(sample: Sample, case: Path) -> Candidates:
    """Return what the candidates of `case` hold.

    Raises:
        CaseError: `tune.yaml` cannot be read, or has configs that are none.
        MissingError: it is to be read, and PyYAML is not installed.
    """
    params = sample.names.params
    rows = [*_rows(sample, case)]
    names = {name: None for row in rows for name in row if name not in params}
    settings = {
        name: frozenset(value for row in rows for value in row.get(name, (None,))) for name in names
    }
    return Candidates(params=params, settings=settings)


def _rows(sample: Sample, case: Path) -> Iterator[Mapping[str, Sequence[Value]]]:
    """Yield groups of candidates as the values of each name; those of `tune.yaml` come first."""
    file = case / "tune.yaml"
    own = False
    if exists(file):
        tune = read_tune_yaml(file)
        if tune.fields.parameters is not None:
            own = True
            yield tune.fields.parameters
        for i, entry in enumerate(tune.fields.configs or ()):
            own = True
            values = entry.values(sample.names, tune.where("configs", i))
            yield {name: (value,) for name, value in values.items()}
    for candidate in () if own else sample.candidates or ():
        yield {name: (value,) for name, value in candidate.items()}
