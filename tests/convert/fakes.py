"""Modules that stand in for Triton and torch, and write down each launch instead of making it.

A launch is written down as the kernel's name, the grid, what each param of the kernel is given, and
the launch options. A kernel's body is never run.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from types import ModuleType
from typing import Any, TypeAlias

from codegen.config import Config

__all__ = ["Launched", "Ran", "Tensor", "config_of", "ran", "tensor"]

Launched: TypeAlias = tuple[str, tuple[int, ...], tuple[tuple[str, Any], ...]]

_LAUNCH = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_THIS: list[list[Launched]] = []


@dataclass(frozen=True)
class Tensor:
    """A tensor without contents."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    device: str = "cpu"

    def numel(self) -> int:
        """Return how many elements it has."""
        return prod(self.shape)

    def size(self, axis: int | None = None) -> Any:
        """Return its sizes, or one of them."""
        return self.shape if axis is None else self.shape[axis]

    def dim(self) -> int:
        """Return how many sizes it has."""
        return len(self.shape)

    def contiguous(self) -> Tensor:
        """Return it as it is."""
        return self

    def is_contiguous(self) -> bool:
        """Say that it is."""
        return True

    def stride(self, axis: int | None = None) -> Any:
        """Return its strides, or one of them."""
        strides = tuple(prod(self.shape[i + 1 :]) for i in range(len(self.shape)))
        return strides if axis is None else strides[axis]

    def reshape(self, *shape: int) -> Tensor:
        """Return it in another shape, of which one size may be -1."""
        known = prod(size for size in shape if size != -1)
        return Tensor(tuple(self.numel() // known if size == -1 else size for size in shape))

    view = reshape


def tensor(*shape: int) -> Tensor:
    """Return a tensor of this shape."""
    return Tensor(shape)


class Kernel:
    """A kernel that writes its launches down."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = function.__name__
        self.fixed: Mapping[str, Any] = {}
        self.computed: Mapping[str, Callable[..., Any]] = {}

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return lambda *args, **kwargs: self.launch(grid, args, kwargs)

    def launch(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Bind the arguments as Python does, compute the grid, and write both down."""
        kwargs = {**kwargs, **self.fixed}
        signature = inspect.signature(self.function)
        options = {name: kwargs.pop(name) for name in [*kwargs] if name not in signature.parameters}
        for name in options:
            assert name in _LAUNCH or name.startswith("backend"), f"unknown option {name}"
        bound = signature.bind_partial(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        for name, compute in self.computed.items():
            given[name] = compute({**given, **options})
        assert given.keys() == signature.parameters.keys(), given
        sizes = grid({**given, **options}) if callable(grid) else grid
        sizes = sizes if isinstance(sizes, tuple) else (sizes,)
        seen = {**given, **{name: value for name, value in options.items() if value is not None}}
        _THIS[-1].append((self.name, sizes, tuple(sorted(seen.items(), key=lambda pair: pair[0]))))


class TritonConfig:
    def __init__(self, kwargs: Any, num_warps: int = 4, num_stages: int = 3, **more: Any) -> None:
        self.kwargs = {**kwargs, "num_warps": num_warps, "num_stages": num_stages, **more}


def _jit(function: Any = None, **_: Any) -> Any:
    return Kernel if function is None else Kernel(function)


def _autotune(configs: Any, **_: Any) -> Callable[[Kernel], Kernel]:
    def tuned(kernel: Kernel) -> Kernel:
        kernel.fixed = configs[0].kwargs
        return kernel

    return tuned


def _heuristics(values: Mapping[str, Any]) -> Callable[[Kernel], Kernel]:
    def computed(kernel: Kernel) -> Kernel:
        kernel.computed = values
        return kernel

    return computed


def _empty(*shape: Any, **_: Any) -> Tensor:
    return Tensor(tuple(shape[0]) if isinstance(shape[0], tuple) else shape)


class Module:
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)  # type: ignore[attr-defined]


def _modules() -> dict[str, ModuleType]:
    triton, language = ModuleType("triton"), ModuleType("triton.language")
    torch, nn = ModuleType("torch"), ModuleType("torch.nn")
    vars(language).update(constexpr=int)
    vars(triton).update(
        jit=_jit,
        autotune=_autotune,
        heuristics=_heuristics,
        Config=TritonConfig,
        cdiv=lambda a, b: -(-a // b),
        next_power_of_2=lambda n: 1 << (n - 1).bit_length(),
        language=language,
    )
    vars(nn).update(Module=Module)
    vars(torch).update(
        nn=nn, empty=_empty, zeros=_empty, empty_like=lambda x: Tensor(x.shape), Tensor=Tensor
    )
    return {"triton": triton, "triton.language": language, "torch": torch, "torch.nn": nn}


@contextmanager
def _in_place(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module


@dataclass(kw_only=True)
class Ran:
    """What a call did: its launches, and the shapes that the dispatch was asked for."""

    launches: list[Launched]
    asked: list[Any] = field(default_factory=list)


def ran(
    text: str,
    *inputs: Any,
    entry: str = "ModelNew",
    init: tuple[Any, ...] = (),
    config: Config | None = None,
    selected: Config | None = None,
) -> Ran:
    """Run the module `text`: make its `ModelNew`, or take the function `entry`, and call it.

    With `config` that is given to the call; `selected` is what the dispatch answers without one.
    """
    result = Ran(launches=[])

    def select(shape: Any) -> Any:
        result.asked.append(tuple(shape))
        assert selected is not None, "the dispatch was asked"
        return selected

    dispatch = ModuleType("impl_dispatch")
    vars(dispatch).update(_select_config=select)
    module = ModuleType("impl")
    module.__package__ = ""
    _THIS.append(result.launches)
    try:
        with _in_place({**_modules(), "impl_dispatch": dispatch}):
            exec(compile(text, "impl.py", "exec", dont_inherit=True), vars(module))  # noqa: S102
            made = vars(module)[entry]
            call = made(*init) if isinstance(made, type) else made
            call = call if callable(call) else call.forward
            call(*inputs, **({} if config is None else {"config": config}))
    finally:
        _THIS.pop()
    return result


def config_of(**values: Any) -> Config:
    """Return the config of these params and launch options."""
    launch = {name: values.pop(name) for name in [*values] if name in _LAUNCH}
    return Config(params=tuple(values.items()), **launch)
