"""Config: one way to launch a kernel, and the id by which it is known."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["LAUNCH_OPTIONS", "Config", "Value", "config_id"]

Value: TypeAlias = bool | int | float | str | None

# The launch options that every backend knows, in the order in which they are written.
LAUNCH_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Config:
    """The params and launch options of one kernel variant.

    Duck-compatible with `triton.Config` where a launch is concerned (`kwargs`, `num_warps`,
    `num_stages`, `num_ctas`, `maxnreg`, `pre_hook`, `all_kwargs()`), and with `config.param(name)`
    as a `ModelNew` calls it. Two configs are equal exactly when their ids are; the order of the
    params does not count, but is kept for the reader.
    """

    params: tuple[tuple[str, Value], ...]
    num_warps: int | None = None
    num_stages: int | None = None
    num_ctas: int | None = None
    maxnreg: int | None = None
    options: tuple[tuple[str, Value], ...] = ()
    id: str = field(init=False)

    def __post_init__(self) -> None:
        """Derive the id.

        Raises:
            ValueError: a name stands twice among params, options and launch options.
        """
        names = [name for name, _ in self.params + self.options]
        clash = sorted({name for name in names if names.count(name) > 1 or name in LAUNCH_OPTIONS})
        if clash:
            raise ValueError(f"a config names {', '.join(clash)} twice")
        object.__setattr__(self, "id", config_id(self))

    def __eq__(self, other: object) -> bool:
        """Compare by id."""
        return self.id == other.id if isinstance(other, Config) else NotImplemented

    def __hash__(self) -> int:
        """Hash by id."""
        return hash(self.id)

    def param(self, name: str) -> Value:
        """Return the param `name`; raises KeyError, naming those there are."""
        for known, value in self.params:
            if known == name:
                return value
        known_names = ", ".join(known for known, _ in self.params)
        raise KeyError(f"no param {name!r} in this config; it has {known_names}")

    @property
    def kwargs(self) -> dict[str, Value]:
        """The params as a new dict, as `triton.Config.kwargs`."""
        return dict(self.params)

    @property
    def pre_hook(self) -> None:
        """A config from a manifest never carries code."""
        return None

    def launch_options(self) -> tuple[tuple[str, int], ...]:
        """Return the launch options that are set, in the order of `LAUNCH_OPTIONS`."""
        pairs = ((name, getattr(self, name)) for name in LAUNCH_OPTIONS)
        return tuple((name, value) for name, value in pairs if value is not None)

    def all_kwargs(self) -> dict[str, Value]:
        """Return params, set launch options and backend options: what a launch is given."""
        return dict(self.params + self.launch_options() + self.options)


def config_id(config: Config) -> str:
    """Return the id of `config`: `BLOCK_M=64,SPLIT_K=1;num_warps=4;multibuffer=true`.

    Three parts in a fixed order, params, launch options and backend options, names sorted within
    a part and values as JSON; parts that are empty at the end are left out. Names are identifiers
    and strings are quoted, so the parts can be read back from the id: configs that differ in
    anything have different ids. The config without anything is called `default`.
    """
    parts = (config.params, config.launch_options(), config.options)
    texts = (",".join(_pair(*pair) for pair in sorted(part, key=_name)) for part in parts)
    return ";".join(texts).rstrip(";") or "default"


def _name(pair: tuple[str, Value]) -> str:
    return pair[0]


def _pair(name: str, value: Value) -> str:
    return f"{name}={json.dumps(value, allow_nan=False)}"
