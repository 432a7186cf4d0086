"""Run an entry of the corpus in Triton's interpreter, on the CPU, and compare what it computes.

    python tests/corpus/interpreted.py NAME…             as it is, with its reference
    python tests/corpus/interpreted.py NAME=FILE…        FILE, its converted form, with both

Prints one line of JSON a run: what was run, and what is wrong with it or null.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it when a kernel is defined.
sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import torch
import triton
from cases.loading import config_of
from codegen.config import Config
from corpus.loading import ENTRIES, Entry
from tuner.cases.sample import read_sample


class FirstConfig:
    """A kernel under `triton.autotune`, which without a device to time it on cannot choose."""

    def __init__(self, kernel: Any, config: triton.Config) -> None:
        self.kernel = kernel
        self.config = config

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Return what launches the kernel with its first config."""
        return lambda *args, **kwargs: self.kernel[grid](
            *args, **kwargs, **self.config.all_kwargs()
        )


def main(names: list[str]) -> int:
    """Run each entry of `names`."""
    vars(triton)["autotune"] = lambda configs, **_: lambda kernel: FirstConfig(kernel, configs[0])
    entries = {entry.name: entry for entry in ENTRIES}
    torch.set_num_threads(1)
    for name in names:
        entry, file = name.partition("=")[::2]
        with torch.no_grad():
            run(entries[entry], Path(file) if file else None)
    return 0


def run(entry: Entry, file: Path | None) -> None:
    """Run `entry` on its inputs, and its converted form if there is one."""
    inputs = load(entry.directory / "inputs.py", f"{entry.name}_inputs", None)
    raw = callee(load(entry.impl, f"{entry.name}_raw", None), inputs)
    asked: list[tuple[int, ...]] = []
    configs = [config_of(candidate) for candidate in entry.candidates]

    def select(shape: tuple[int, ...]) -> Any:
        asked.append(shape)
        return configs[0]

    converted = None
    if file is not None:
        configs = configs or harvested(file)
        converted = callee(load(file, f"{entry.name}_converted", select), inputs)
    for number, arguments in enumerate(inputs.get_inputs()):
        expected = inputs.reference(*arguments)
        own, wrong = outcome(raw, arguments, {}, expected, close)
        say(entry, number, "raw", wrong)
        if converted is None:
            continue
        for config in configs:
            # The first config is what the kernel had: not a bit may differ.
            same, like = (identical, own) if config is configs[0] else (close, expected)
            _, wrong = outcome(converted, arguments, {"config": config}, like, same)
            say(entry, number, config.id, wrong)
        _, wrong = outcome(converted, arguments, {}, own, identical)
        say(entry, number, "selected", wrong)
    if converted is not None:
        fine = len(asked) == len(inputs.get_inputs()) and all(map(is_shape, asked))
        say(entry, None, "asked", None if fine else f"the dispatch for {asked}")


def harvested(file: Path) -> list[Config]:
    """Return the candidates in the `sample.json` beside `file`."""
    sample = read_sample(file.with_name("sample.json"))
    return [sample.names.config(values) for values in sample.candidates or ()]


def is_shape(shape: object) -> bool:
    """Say whether `shape` is what a dispatch takes."""
    return isinstance(shape, tuple) and all(type(size) is int for size in shape)


def load(path: Path, package: str, select: Callable[..., Any] | None) -> ModuleType:
    """Return the module at `path`, in a package of its own, with `select` as its dispatch."""
    package = f"_corpus_{package}"
    sys.modules[package] = ModuleType(package)
    sys.modules[package].__path__ = [str(path.parent)]
    if select is not None:
        dispatch = ModuleType(f"{package}.{path.stem}_dispatch")
        vars(dispatch)["_select_config"] = select
        sys.modules[dispatch.__name__] = dispatch
    return importlib.import_module(f"{package}.{path.stem}")


def callee(module: ModuleType, inputs: ModuleType) -> Callable[..., Any]:
    """Return what computes the entry's operation: a `ModelNew`, or the function that is named."""
    entry = getattr(inputs, "ENTRY", None)
    found = getattr(module, entry) if entry else module.ModelNew(*inputs.get_init_inputs())
    assert callable(found), found
    return found


def outcome(
    function: Callable[..., Any],
    arguments: list[Any],
    options: Mapping[str, Any],
    expected: Any,
    same: Callable[[Any, Any], None],
) -> tuple[Any, str | None]:
    """Return what `function` computes, and what is wrong with that, in words."""
    try:
        actual = function(*arguments, **options)
        same(actual, expected)
    except Exception as error:  # noqa: BLE001 (the others are still to be tried)
        return None, f"{type(error).__name__}: {error}"
    return actual, None


def close(actual: Any, expected: Any) -> None:
    """Compare up to the rounding of another order of summation."""
    torch.testing.assert_close(actual, expected, rtol=2e-3, atol=2e-3)


def identical(actual: Any, expected: Any) -> None:
    """Compare bit for bit."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)


def say(entry: Entry, inputs: int | None, what: str, wrong: str | None) -> None:
    """Print one line of JSON."""
    line = {"entry": entry.name, "inputs": inputs, "what": what, "wrong": wrong}
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
