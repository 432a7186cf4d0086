"""What `@triton.autotune` may ask for besides trying configs, and what becomes of it."""

from __future__ import annotations

import libcst as cst

from tuner.convert.kernels import Kernel
from tuner.convert.source import Source, dotted

__all__ = ["check_autotune", "dropped_options"]

# What changes the data around a launch: nothing would do it any more.
_REFUSED = {
    "reset_to_zero": "zero the tensor in the function that launches, and remove reset_to_zero",
    "restore_value": "let the kernel write to a tensor of its own, and remove restore_value",
    "pre_hook": "do in the function that launches what the hook does, and remove it",
    "post_hook": "do in the function that launches what the hook does, and remove it",
}
_DROPPED = {
    "prune_configs_by": "what it leaves out is tried too; write constraints into tune.yaml",
    "warmup": "the tuner measures in a way of its own",
    "rep": "the tuner measures in a way of its own",
    "use_cuda_graph": "the tuner measures in a way of its own",
    "do_bench": "the tuner measures in a way of its own",
    "cache_results": "the knowledge base keeps every measurement",
}


def check_autotune(source: Source, kernel: Kernel) -> None:
    """Refuse a decorator that does more than to choose a config.

    Raises:
        ConvertError: with the line of the argument.
    """
    assert kernel.autotune is not None  # noqa: S101 (the caller has looked)
    for arg in _arguments(kernel.autotune):
        name = arg.keyword.value if arg.keyword else ""
        empty = isinstance(arg.value, cst.Name) and arg.value.value == "None"
        empty = empty or (isinstance(arg.value, cst.List | cst.Tuple) and not arg.value.elements)
        if name in _REFUSED and not empty:
            fact = f"{name} of @triton.autotune changes data around each launch of {kernel.name}"
            source.fail(arg, fact, _REFUSED[name])
    for node in source.within(source.module):  # the configs may stand elsewhere
        _refuse_hook(source, node)


def _refuse_hook(source: Source, node: cst.CSTNode) -> None:
    if not isinstance(node, cst.Call) or dotted(node.func).split(".")[-1] != "Config":
        return
    for arg in node.args:
        if arg.keyword and arg.keyword.value == "pre_hook" and source.code(arg.value) != "None":
            fact = "pre_hook of a triton.Config runs code before a launch, and a config has none"
            source.fail(arg, fact, _REFUSED["pre_hook"])


def dropped_options(kernel: Kernel) -> tuple[str, ...]:
    """Return what is said of the options that go with the decorator."""
    arguments = _arguments(kernel.autotune) if kernel.autotune else ()
    names = [arg.keyword.value for arg in arguments if arg.keyword]
    return tuple(
        f"{name} of @triton.autotune on {kernel.name} is dropped: {_DROPPED[name]}"
        for name in names
        if name in _DROPPED
    )


def _arguments(decorator: cst.Decorator) -> tuple[cst.Arg, ...]:
    call = decorator.decorator
    return tuple(call.args) if isinstance(call, cst.Call) else ()
