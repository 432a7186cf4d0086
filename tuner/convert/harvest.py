"""A kernel under `@triton.autotune` → a case: its candidates, its shape, and its converted file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst as cst

from codegen.config import LAUNCH_OPTIONS
from codegen.errors import listed
from codegen.files import write_bytes
from tuner.cases.files import exists, read_file
from tuner.convert.autotuned import check_autotune
from tuner.convert.candidates import sorted_options
from tuner.convert.case_files import sample_text, skeleton, with_model
from tuner.convert.convert import Conversion, convert
from tuner.convert.entries import find_entries
from tuner.convert.errors import ConvertError
from tuner.convert.files import read_text
from tuner.convert.functions import Functions
from tuner.convert.kernels import Kernel, find_kernels
from tuner.convert.keys import Sizes
from tuner.convert.launches import Launch, find_launches
from tuner.convert.plan import Options
from tuner.convert.source import Source, parse
from tuner.convert.static_values import TritonConfig, Values

__all__ = ["Harvest", "harvest_case"]

# What triton.Config takes for these where it is not told.
_DEFAULTS = {"num_warps": 4, "num_stages": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Harvest:
    """The files of a case, by name, and what a user is told of them."""

    kernel: str
    configs: int
    files: Mapping[str, bytes]
    notes: tuple[str, ...]

    def write(self, directory: Path, *, force: bool = False) -> list[tuple[Path, bool]]:
        """Write the files into `directory`; return each, and whether that changed it.

        Raises:
            ConvertError: one of them exists with another content, and there is no `force`.
            OutputError: one cannot be written.
        """
        for name, data in self.files.items():
            path = directory / name
            if not force and exists(path) and read_file(path, "a file of a case") != data:
                remedy = "name another directory with -o, or overwrite it with --force"
                raise ConvertError(
                    "exists, and holds something else", where=str(path), remedy=remedy
                )
        directory.mkdir(parents=True, exist_ok=True)
        return [
            (directory / name, write_bytes(directory / name, data))
            for name, data in self.files.items()
        ]


def harvest_case(
    path: Path, *, kernel: str | None = None, shape_expr: str | None = None
) -> Harvest:
    """Return the case that the file `path` makes.

    Args:
        path: a file with a kernel under `@triton.autotune`; nothing of it is run.
        kernel: its name, where there are several.
        shape_expr: the shape, where it cannot be seen from the decorator's `key`.

    Raises:
        ConvertError: the configs are not constants, the key is not that of the inputs, or the
            kernel cannot be converted for sure.
        CaseError: the file cannot be read.
    """
    before = read_text(path)
    source = parse(before.text, str(path))
    chosen = _chosen(source, kernel)
    check_autotune(source, chosen)
    values = Values(before.text, str(path))
    configs = _configs(source, values, chosen)
    key = values.strings(*_argument(source, chosen, "key", 1))
    params, entries = _candidates(source, chosen, configs)
    options = sorted_options(params, [[*entry] for entry in entries])
    entry = _entry(source, chosen, options)
    shape = shape_expr or _shape(source, chosen, entry, key)
    result = convert(before.text, name=str(path), stem="impl", shape_expr=shape, options=options)
    _same_configs(source, values, chosen, configs, result)
    text, inputs = with_model(source, entry, result.text)
    base = path.with_name("base.py")
    named = chosen.name.strip("_").removesuffix("_kernel") or chosen.name
    sample = sample_text(named, shape, params, key, entries)
    reference = read_file(base, "the reference") if exists(base) else skeleton(named, inputs)
    notes = [*result.notes, *_leftovers(source, chosen)]
    if not exists(base):
        notes.append("base.py is to be filled in: the reference, and the inputs of each shape")
    return Harvest(
        kernel=chosen.name,
        configs=len(entries),
        files={
            "base.py": reference,
            "impl.py": before.encoded(text, str(path)),
            "sample.json": sample.encode(),
        },
        notes=tuple(notes),
    )


def _chosen(source: Source, name: str | None) -> Kernel:
    tuned = [kernel for kernel in find_kernels(source) if kernel.autotune]
    names = listed(kernel.name for kernel in tuned).replace("'", "")
    if not tuned:
        remedy = "write a sample.json by hand, then: tuner convert"
        raise ConvertError("has no @triton.autotune", where=source.name, remedy=remedy)
    found = [kernel for kernel in tuned if name is None or kernel.name == name]
    if not found:
        fact = f"{name} is no kernel under @triton.autotune"
        raise ConvertError(fact, where=source.name, remedy=f"those are {names}")
    if len(found) > 1:
        fact = f"has several kernels under @triton.autotune: {names}"
        raise ConvertError(fact, where=source.name, remedy="name one with --kernel")
    return found[0]


def _argument(source: Source, kernel: Kernel, name: str, index: int) -> tuple[str, int]:
    """Return the code of an argument of the decorator, and its line."""
    assert kernel.autotune is not None  # noqa: S101 (it was chosen for that)
    call = kernel.autotune.decorator
    args = call.args if isinstance(call, cst.Call) else ()
    plain = [arg for arg in args if arg.keyword is None and not arg.star]
    named = [arg for arg in args if arg.keyword and arg.keyword.value == name]
    found = [*named, *plain[index : index + 1]]
    if not found:
        fact = f"@triton.autotune of {kernel.name} has no {name}"
        source.fail(kernel.autotune, fact, f"write {name}=[…]")
    value = found[0].value
    return source.module.code_for_node(value), source.place(value)[0]


def _configs(source: Source, values: Values, kernel: Kernel) -> tuple[TritonConfig, ...]:
    return values.configs(*_argument(source, kernel, "configs", 0))


def _candidates(
    source: Source, kernel: Kernel, configs: Sequence[TritonConfig]
) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Return the names of the params, and each config as sample.json writes it."""
    names = [*dict.fromkeys(name for config in configs for name in config.kwargs)]
    params = tuple(name for name in names if kernel.takes(name) and name not in LAUNCH_OPTIONS)
    for config in configs:
        missing = [name for name in params if name not in config.kwargs]
        if missing:
            raise ConvertError(
                f"a triton.Config of {kernel.name} has no {listed(missing)}, which others have",
                where=f"{source.name}:{config.line}",
                remedy="give it a value in each",
            )
    found = [_flat(config) for config in configs]
    return params, [entry for i, entry in enumerate(found) if entry not in found[:i]]


def _flat(config: TritonConfig) -> dict[str, Any]:
    given = {**_DEFAULTS, **config.given}
    launch = {name: given[name] for name in LAUNCH_OPTIONS if given.get(name) is not None}
    return {**config.kwargs, **launch}


def _entry(source: Source, kernel: Kernel, options: Options) -> cst.FunctionDef:
    """Return the function whose inputs the shape is of."""
    kernels = find_kernels(source)
    functions = Functions(source, kernels)
    hosts = [launch.host for launch in find_launches(source, kernels) if launch.name == kernel.name]
    return find_entries(
        source, functions, (), lambda host: any(host is one for one in hosts), options.params
    )[0]


def _shape(source: Source, kernel: Kernel, entry: cst.FunctionDef, key: Sequence[str]) -> str:
    """Return the `shape_expr` of the decorator's `key`."""
    kernels = find_kernels(source)
    functions = Functions(source, kernels)
    sizes = Sizes(source, functions, entry)
    launches = [x for x in find_launches(source, kernels) if x.name == kernel.name]
    remedy = "say what the shape is with --shape-expr, over the inputs of " + entry.name.value
    if not key:
        assert kernel.autotune is not None  # noqa: S101 (it was chosen for that)
        source.fail(kernel.autotune, f"the key of {kernel.name} is empty", remedy)
    found: list[str] = []
    for name in key:
        size = next(_sizes(launches, sizes, name), None)
        if size is None:
            assert kernel.autotune is not None  # noqa: S101 (it was chosen for that)
            fact = f"key {name} of {kernel.name} is not a size of the inputs, as far as can be seen"
            source.fail(kernel.autotune, fact, remedy)
        found.append(size)
    return f"({', '.join(found)}{',' if len(found) == 1 else ''})"


def _sizes(launches: Sequence[Launch], sizes: Sizes, name: str) -> Iterator[str]:
    for launch in launches:
        argument = launch.arguments.get(name)
        size = sizes.size(argument.value) if argument else None
        if size is not None:
            yield size


def _same_configs(
    source: Source,
    values: Values,
    chosen: Kernel,
    configs: Sequence[TritonConfig],
    result: Conversion,
) -> None:
    """Refuse a file in which another kernel lost its decorator and had other configs."""
    ours = [_flat(config) for config in configs]
    for kernel in find_kernels(source):
        if kernel.name == chosen.name or kernel.name not in result.autotuned:
            continue
        check_autotune(source, kernel)
        if [_flat(config) for config in _configs(source, values, kernel)] != ours:
            fact = f"{kernel.name} and {chosen.name} are tuned apart, and share names of params"
            remedy = "put them into files of their own, or rename the params of one"
            source.fail(kernel.node, fact, remedy)


def _leftovers(source: Source, kernel: Kernel) -> Iterator[str]:
    """Yield what the file keeps of the decorator and does not need any more."""
    assert kernel.autotune is not None  # noqa: S101 (it was chosen for that)
    inside = {id(node) for node in source.within(kernel.autotune)}
    found: dict[str, int] = {}
    for node in source.within(kernel.autotune):
        for binding in source.bindings(node):
            elsewhere = any(id(access.node) not in inside for access in binding.references)
            bound = getattr(binding, "node", None)
            if not elsewhere and bound is not None and id(bound) not in inside:
                found[binding.name] = source.place(bound)[0]
    for name, line in found.items():
        yield f"{name}, line {line} of {Path(source.name).name}, is not used any more"
