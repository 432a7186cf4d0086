"""What is to be changed in a file."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from tuner.convert.functions import CallSite
from tuner.convert.kernels import Kernel
from tuner.convert.launches import Launch
from tuner.convert.repeats import Repeat
from tuner.convert.trace import Tracer
from tuner.convert.uses import Uses

__all__ = ["Options", "Plan", "Tuned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a config holds.

    Attributes:
        params: that a kernel or forward asks for.
        launch: the launch options that some candidate sets.
        backend: the options of a backend that some candidate sets.
        partial: those among both that some candidate does not set.
    """

    params: tuple[str, ...]
    launch: tuple[str, ...]
    backend: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tuned:
    """A launch that gets values of the config.

    Attributes:
        added: the names that it gets besides what it is given already.
        whole: it gets all of the config at once, by `**config.all_kwargs()`.
        dropped: what it is given itself and the config gives then.
    """

    launch: Launch
    added: tuple[str, ...]
    whole: bool
    dropped: tuple[cst.Arg, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """All changes.

    Attributes:
        entries: get a param `config=None`, and choose it.
        helpers: get a param `config`.
        handed: the calls that hand it on.
        autotuned: the kernels that lose their decorator.
    """

    entries: tuple[cst.FunctionDef, ...]
    helpers: tuple[cst.FunctionDef, ...]
    handed: tuple[CallSite, ...]
    tuned: tuple[Tuned, ...]
    tracer: Tracer
    uses: Uses
    repeats: tuple[Repeat, ...]
    autotuned: tuple[Kernel, ...]
