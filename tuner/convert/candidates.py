"""Which options the candidates of a case set, whatever their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from codegen.config import LAUNCH_OPTIONS
from tuner.cases.files import exists
from tuner.cases.sample import Sample
from tuner.cases.tune_yaml import TuneYaml, read_tune_yaml
from tuner.convert.errors import ConvertError
from tuner.convert.plan import Options

__all__ = ["options_of", "sorted_options"]


def options_of(sample: Sample, directory: Path) -> Options:
    """Return what the configs of the case in `directory` hold.

    Those of a tune.yaml take the place of those of sample.json, as they do in tuning.

    Raises:
        CaseError: a file cannot be read.
        ConvertError: there are no candidates.
    """
    path = directory / "tune.yaml"
    candidates = _of_yaml(sample, read_tune_yaml(path)) if exists(path) else ()
    candidates = candidates or [[*values] for values in sample.candidates or ()]
    if not candidates:
        remedy = 'add "autotune": {"configs": […]} there, or parameters to a tune.yaml'
        raise ConvertError("lists no candidates", where=sample.place, remedy=remedy)
    return sorted_options(sample.names.params, candidates)


def _of_yaml(sample: Sample, tune: TuneYaml) -> Sequence[Sequence[str]]:
    """Return the names in each candidate of tune.yaml; all of a product have the same."""
    fields = tune.fields
    found = [[*fields.parameters]] if fields.parameters else []
    for i, entry in enumerate(fields.configs or ()):
        values: Mapping[str, object] = entry.values(sample.names, tune.where("configs", i))
        found.append([*values])
    return found


def sorted_options(params: Sequence[str], candidates: Sequence[Sequence[str]]) -> Options:
    """Return the options among the names that `candidates` set, each by its kind."""
    names = dict.fromkeys(name for candidate in candidates for name in candidate)
    options = [name for name in names if name not in params]
    return Options(
        params=tuple(params),
        launch=tuple(name for name in LAUNCH_OPTIONS if name in options),
        backend=tuple(name for name in options if name not in LAUNCH_OPTIONS),
        partial=tuple(name for name in options if any(name not in c for c in candidates)),
    )
