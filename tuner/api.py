"""`tune_configs`: tune a model that is an object in this process, from Python."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, get_args

from codegen.policy import Outside
from codegen.source_hash import source_sha256_of
from tuner.arguments import (
    axes_of,
    check_one_of,
    config_of,
    inputs_of,
    limits_of,
    search_of,
    shapes_of,
    source_of,
    weights_of,
)
from tuner.crew import Replay, Workers
from tuner.deploy import directory_of
from tuner.devices.names import parse_devices
from tuner.errors import CaseError
from tuner.fit import KINDS, KindName
from tuner.home import knowledge_base
from tuner.kb import KnowledgeBase
from tuner.measured import Task
from tuner.measuring import measure
from tuner.outcome import Delivery, TuneOutcome, check_delivery, deliver
from tuner.progress import Quiet, Reporter
from tuner.records import Shape
from tuner.search import Search
from tuner.shipment import pickled, pickled_into, shipment
from tuner.space import Space
from tuner.worker.messages import ObjectKernel

__all__ = ["tune_configs"]

InputsByShape: TypeAlias = Mapping[Shape, Sequence[Any]] | Callable[[Shape], Sequence[Any]]

_KB_NAME = "kb.sqlite"


def tune_configs(
    *,
    axis_names: Sequence[str],
    shapes: Sequence[Sequence[int]],
    configs: Sequence[Any],
    module: Any,
    inputs_by_shape: InputsByShape,
    cache_dir: Path | str | None = None,
    selector: KindName = "tree",
    device: str | None = None,
    warmup: int = 1,
    repeat: int | None = None,
    sanity_shape: Sequence[int] | None = None,
    reference: Any = None,
    source: Path | str | None = None,
    outside: Outside = "default",
    timeout_s: float = 60.0,
    tolerance: float | None = None,
    budget_s: float | None = None,
    weights: Mapping[Shape, float] | None = None,
    kb: Path | str | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    search: Search | None = None,
    reporter: Reporter | None = None,
) -> TuneOutcome:
    """Measure `configs` on `shapes`, fit a selector, and write its manifest under `cache_dir`.

    The work is done in worker processes: `module`, `reference` and the inputs are pickled, and a
    script that calls this needs `if __name__ == "__main__":`. What was measured before is not
    measured again. Compile the manifest with `codegen emit`, or use it by
    `load_deployed_selector(cache_dir)`.

    Args:
        axis_names: what the sizes of a shape are called.
        shapes: one size an axis each.
        configs: `Config`, `triton.Config`, or dicts with params and launch options by name.
        module: called as `module(*inputs, config=config)`.
        inputs_by_shape: a mapping from shape to inputs, or a function of the shape.
        cache_dir: where manifest and table go, in a directory named by the source's hash, and
            the knowledge base beside it; the user's data directory if None.
        selector: `tree`, `bucket` or `constant`.
        device: as the command line's `--device`; where the first input is, if None.
        warmup: untimed rounds ahead of the timed ones.
        repeat: the most timed launches of a config on a shape; by default 64 on CUDA, else 15.
        sanity_shape: on which every config is tried first, besides the smallest and others.
        reference: called as `reference(*inputs)`, gives the right outputs; without it outputs are
            not verified.
        source: the kernel's file, if it is not the one that defines the module's class.
        outside: what a shape outside the tuned range gets: `default`, `nearest` or `raise`.
        timeout_s: the longest that compiling and running a config once may take.
        tolerance: by how much an output may differ, relative; by dtype if None.
        budget_s: begin no shape after so many seconds; what is being measured then gets a tenth of
            that more.
        weights: how much a shape counts in the fit; 1 where it is not named.
        kb: the knowledge base, if it is to be another.
        fresh: measure all again.
        retry_failed: try again what failed before.
        search: measure some of the configs only, chosen as results come, such as
            `Search(trials=64, seed=0)`.
        reporter: who shows progress; nobody if None.

    Raises:
        CaseError: the arguments do not fit each other.
        DeviceError: a device is not there.
        SourceError: the source cannot be read.
        TuneError: no config is left.
        FitError: no selector can be fitted.
        KbError, OutputError: a file cannot be read or written.
    """
    if os.environ.get("TUNED_DISPATCH_WORKER"):
        raise CaseError(
            "was called while the file was loaded by a worker process",
            where="tune_configs",
            remedy='put the call under if __name__ == "__main__":',
        )
    check_one_of("selector", selector, KINDS)
    check_one_of("outside", outside, get_args(Outside))
    axes = axes_of(axis_names)
    tuned = shapes_of(shapes, axes)
    counts = weights_of(weights, axes, tuned)
    limits, budget = limits_of(
        timeout_s=timeout_s,
        warmup=warmup,
        repeat=repeat,
        tolerance=tolerance,
        budget_s=budget_s,
    )
    path = Path(source) if source is not None else source_of(module)
    sha256 = source_sha256_of(path)
    root = Path(cache_dir) if cache_dir is not None else None
    delivery = Delivery(
        directory=directory_of(sha256, root), source=path, selector=selector, outside=outside
    )
    check_delivery(delivery)
    task = Task(
        kernel=type(module).__name__ if path.stem == "__init__" else path.stem,
        source_sha256=sha256,
        axis_names=axes,
        space=Space.of(tuple(config_of(config, i) for i, config in enumerate(configs))),
        source=path,
        shapes=tuned,
        sanity=None if sanity_shape is None else shapes_of([sanity_shape], axes, "sanity_shape")[0],
        budget_s=budget,
        fresh=fresh,
        retry_failed=retry_failed,
        search=search_of(search),
    )
    base = Path(kb) if kb is not None else (root / _KB_NAME if root else knowledge_base())
    shows = reporter or Quiet()
    with KnowledgeBase.open(base) as known:
        named = parse_devices(device) if device is not None else None
        if named and named[0].kind == "replay":
            measured = measure(task, Replay(named[0].table or Path(), axes), known, shows)
        else:
            with shipment() as directory:
                kernel, found = _kernel(
                    module, reference, inputs_by_shape, tuned, source=path, directory=directory
                )
                crew = Workers(kernel, named or parse_devices(found), limits)
                with contextlib.closing(crew):
                    measured = measure(task, crew, known, shows)
    return deliver(measured, delivery, limits, weights=counts)


def _kernel(
    module: Any,
    reference: Any,
    inputs_by_shape: InputsByShape,
    shapes: Sequence[Shape],
    *,
    source: Path,
    directory: Path,
) -> tuple[ObjectKernel, str]:
    """Return the kernel for workers, its inputs in `directory`, and the device that they are on."""
    kernel = ObjectKernel(
        source=source.resolve(),
        module_name=type(module).__module__,
        model=pickled(module, "module"),
        reference=pickled(reference, "reference") if reference is not None else None,
        shapes=tuple(shapes),
        inputs=directory,
        search_path=tuple(sys.path),
    )
    device = ""
    for i, shape in enumerate(shapes):
        values = inputs_of(inputs_by_shape, shape)
        device = device or _device(values)
        pickled_into(directory / f"{i}.pickle", values, f"the inputs of shape {shape}")
    return kernel, device or "cpu"


def _device(values: Sequence[Any]) -> str:
    """Return the device of the first of `values` that has one, empty if none has."""
    for value in values:
        device = getattr(value, "device", None)
        if kind := getattr(device, "type", None):
            index = getattr(device, "index", None)
            return f"{kind}:{index}" if index else str(kind)
    return ""
