"""A config as a case's files write it, in any of three forms.

    {"BLOCK_M": 64, "num_warps": 4}                               flat
    {"kwargs": {"BLOCK_M": 64}, "num_warps": 4}                   as triton.Config
    {"params": {"BLOCK_M": 64}, "options": {"multibuffer": true}} as a latency table

What a name is follows from the name: a launch option of `codegen.config.LAUNCH_OPTIONS`, a param
if `config_param_names` lists it, else an option of the backend.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection
from dataclasses import dataclass

from pydantic import ConfigDict, Field, ValidationError

from codegen.config import LAUNCH_OPTIONS, Config, Value
from codegen.errors import listed, shown
from codegen.fields import LaunchOption, ParamName, Strict, ValueField
from codegen.words import first_error
from tuner.cases.files import as_case_error
from tuner.errors import CaseError
from tuner.space import Values

__all__ = ["ConfigEntry", "Names", "single"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


class ConfigEntry(Strict):
    """A config of a file; names that are not listed here are values of the flat form."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)
    __pydantic_extra__: dict[str, ValueField] = Field(init=False)

    params: dict[ParamName, ValueField] | None = None
    kwargs: dict[ParamName, ValueField] | None = None
    options: dict[ParamName, ValueField] | None = None
    num_warps: LaunchOption | None = None
    num_stages: LaunchOption | None = None
    num_ctas: LaunchOption | None = None
    maxnreg: LaunchOption | None = None
    pre_hook: None = None

    def values(self, names: Names, where: str) -> dict[str, Value]:
        """Return all values by name.

        Raises:
            CaseError: a name stands twice, a param has no value, or `params` holds something else.
        """
        found = self._values(where)
        names.check(found, where)
        strange = [name for name in self.params or () if name not in names.params]
        if strange:
            raise CaseError(
                f"has a param {listed(strange)} that config_param_names does not list",
                where=where,
                remedy="list it there, or move it to options",
            )
        return found

    def _values(self, where: str) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for part in (self.params, self.kwargs, self.options, self.__pydantic_extra__):
            for name, value in (part or {}).items():
                _check_name(name, where)
                if name in found or name in LAUNCH_OPTIONS:
                    fact = f"{shown(name)} stands twice in one config"
                    if name not in found:
                        fact = f"{shown(name)} stands among the params, and is a launch option"
                    raise CaseError(fact, where=where, remedy="keep it beside them, once")
                found[name] = value
        launch = {name: getattr(self, name) for name in LAUNCH_OPTIONS}
        return found | {name: value for name, value in launch.items() if value is not None}


def single(name: str, value: Value, where: str) -> ConfigEntry:
    """Return the entry that holds nothing but `value`; raises CaseError if `name` is not that."""
    raw = {name: value}
    try:
        return ConfigEntry.model_validate(raw)
    except ValidationError as error:
        said = as_case_error(first_error(error, raw, where))
        raise CaseError(said.fact, where=where, remedy=said.remedy) from None


def _check_name(name: str, where: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        remedy = "use ASCII letters, digits and _, a letter first, at most 64"
        raise CaseError(f"{shown(name)} is not a name", where=where, remedy=remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What the names in a config are: `params` lists those that a kernel asks for."""

    params: tuple[str, ...]

    def check(self, given: Collection[str], where: str) -> None:
        """Raise CaseError where `given`, the names of a config, lack a param."""
        missing = [name for name in self.params if name not in given]
        if missing:
            raise CaseError(
                f"has no {listed(missing)}, which config_param_names lists",
                where=where,
                remedy="give each param a value, or list those that forward asks for",
            )

    def config(self, values: Values) -> Config:
        """Return the config of `values`, which have been checked; -0.0 is taken for 0.0."""
        even = {
            name: value + 0.0 if isinstance(value, float) else value
            for name, value in values.items()
        }
        launch = {name: even[name] for name in LAUNCH_OPTIONS if name in even}
        own = {*self.params, *LAUNCH_OPTIONS}
        options = tuple(pair for pair in even.items() if pair[0] not in own)
        params = tuple((name, even[name]) for name in self.params)
        return Config(params=params, options=options, **launch)  # type: ignore[arg-type]
