"""Recipes: what the environment of a toolchain is made of, to the version.

triton-ascend is a whole `triton` of its own and cannot share an environment with that of GPUs; pip
does not notice. torch may bring a triton along: it comes first, and what it brought is replaced.
"""

from __future__ import annotations

from dataclasses import dataclass

from tuner.toolchains.targets import ToolchainName

__all__ = ["RECIPES", "Recipe"]

# Newer ones break triton-ascend's `range` over tensors' sizes.
_NUMPY = "numpy==2.2.6"
# As the extra `torch` of this package, with which kernels are tuned and tested.
_TORCH = "torch==2.13.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How an environment is made.

    Attributes:
        steps: arguments of pip, one call each, in order.
        pythons: the versions of CPython that its wheels are for; any of this package's if empty.
        compiler: the packages that decide a verdict, whose versions are part of the target.
        probe: a module that can be imported if all went well.
    """

    name: ToolchainName
    steps: tuple[tuple[str, ...], ...]
    pythons: tuple[tuple[int, int], ...]
    compiler: tuple[str, ...]
    probe: str

    @property
    def pins(self) -> tuple[str, ...]:
        """The packages by name and version, sorted."""
        return tuple(sorted(word for step in self.steps for word in step if "==" in word))


RECIPES: dict[ToolchainName, Recipe] = {
    "ascend": Recipe(
        name="ascend",
        steps=(
            ("install", _TORCH, _NUMPY, "pybind11==3.1.0"),
            ("uninstall", "--yes", "triton"),
            ("install", "--no-deps", "triton-ascend==3.2.0", "ascendnpu-ir==1.2.0"),
        ),
        pythons=((3, 11),),
        compiler=("ascendnpu-ir", "triton-ascend"),
        probe="triton.backends.ascend.compiler",
    ),
    "cuda": Recipe(
        name="cuda",
        steps=(("install", _TORCH, _NUMPY), ("install", "triton==3.9.0")),
        pythons=(),
        compiler=("triton",),
        probe="triton.backends.nvidia.compiler",
    ),
}
