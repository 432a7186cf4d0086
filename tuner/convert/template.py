"""The text that a conversion adds to a kernel's file, all of it."""

from __future__ import annotations

from codegen.config import LAUNCH_OPTIONS

__all__ = ["ALL_KWARGS", "CONFIG", "SELECT", "accessor", "selection", "selector", "wrapper"]

CONFIG = "config"
SELECT = "_select_config"
ALL_KWARGS = f"{CONFIG}.all_kwargs()"

# The function takes itself off: from the second call on its name is the dispatch's own function.
# The test of __package__ can be traced by torch.compile, other than a failing import.
_SELECTOR = '''\
def _select_config({parameter}){result}:
    """Choose the config for `shape`; the tuned dispatch takes this function's place."""
    global _select_config
    try:
        if __package__:
            from .{module} import _select_config
        else:
            from {module} import _select_config
    except ModuleNotFoundError as error:
        message = "no {module} beside this file: `codegen emit manifest.json` writes it"
        raise ModuleNotFoundError(message) from error
    return _select_config(shape)
'''

_WRAPPER = '''\
class ModelNew:
    """`{function}`, as the tuner calls it."""

    def forward(self, {parameters}, config=None):
        return {function}({arguments}, config=config)
'''


def selector(stem: str, *, annotated: bool) -> str:
    """Return the function that gets a config from the dispatch of the file `stem`.py.

    With `annotated` its param and result have types, of which `Any` is to be imported.
    """
    return _SELECTOR.format(
        module=f"{stem}_dispatch",
        parameter="shape: tuple[int, ...]" if annotated else "shape",
        result=" -> Any" if annotated else "",
    )


def selection(shape: str) -> str:
    """Return the statement that asks the dispatch for `shape`, unless a config is given."""
    return f"if {CONFIG} is None:\n    {CONFIG} = {SELECT}({shape})\n"


def accessor(name: str) -> str:
    """Return the expression of the config's value `name`, a param or a launch option."""
    return f"{CONFIG}.{name}" if name in LAUNCH_OPTIONS else f'{CONFIG}.param("{name}")'


def wrapper(function: str, parameters: str, arguments: str) -> str:
    """Return a `ModelNew` that calls the plain `function`."""
    return _WRAPPER.format(function=function, parameters=parameters, arguments=arguments)
