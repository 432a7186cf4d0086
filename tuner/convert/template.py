"""The text that a conversion adds to a kernel's file, all of it."""

from __future__ import annotations

from codegen.config import LAUNCH_OPTIONS
from tuner.binding import SELECT

__all__ = ["ALL_KWARGS", "CONFIG", "accessor", "selection", "wrapper"]

CONFIG = "config"
ALL_KWARGS = f"{CONFIG}.all_kwargs()"

_WRAPPER = '''\
class ModelNew:
    """`{function}`, as the tuner calls it."""

    def forward(self, {parameters}, config=None):
        return {function}({arguments}, config=config)
'''


def selection(shape: str) -> str:
    """Return the statement that asks the dispatch for `shape`, unless a config is given."""
    return f"if {CONFIG} is None:\n    {CONFIG} = {SELECT}({shape})\n"


def accessor(name: str) -> str:
    """Return the expression of the config's value `name`, a param or a launch option."""
    return f"{CONFIG}.{name}" if name in LAUNCH_OPTIONS else f'{CONFIG}.param("{name}")'


def wrapper(function: str, parameters: str, arguments: str) -> str:
    """Return a `ModelNew` that calls the plain `function`."""
    return _WRAPPER.format(function=function, parameters=parameters, arguments=arguments)
