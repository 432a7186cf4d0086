"""The packages of the tuner's extra, asked for by name before one is missed."""

from __future__ import annotations

from importlib.util import find_spec

from tuner.errors import MissingError

__all__ = ["need"]

_DISTRIBUTIONS = {"yaml": "pyyaml"}


def need(*modules: str) -> None:
    """Check that each of `modules` can be imported.

    Raises:
        MissingError: one is not installed.
    """
    for module in modules:
        if find_spec(module) is None:
            name = _DISTRIBUTIONS.get(module, module)
            raise MissingError(
                "is not installed",
                where=name,
                remedy=f"install it: pip install {name}, or all that the tuner needs with the "
                "extra tuned-dispatch[tuner]",
            )
