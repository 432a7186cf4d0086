"""Kernels' files put together at random, of the forms in which constants are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import indent
from typing import Literal, TypeAlias

from hypothesis import strategies as st

__all__ = ["Form", "forms", "is_told_apart", "text_of"]

Place: TypeAlias = Literal[
    "local",  # BLOCK_M = 64 in the function that launches
    "alias",  # block_m = 64 there
    "module",  # BLOCK_M = 64 at the top of the file
    "class",  # the same in the class's body
    "init",  # self.BLOCK_M = 64
    "literal",  # 64 in the launch, by keyword
    "default",  # the default of the kernel's own param
    "argument",  # the param of a helper, given by forward
    "helper_default",  # the default of that
]
Grid: TypeAlias = Literal["inline", "variable", "lambda", "function", "helper", "floor"]
Launcher: TypeAlias = Literal["forward", "method", "static", "function"]

PARAMS = ("BLOCK_M", "BLOCK_N", "BLOCK_K")
VALUES = (16, 32, 64, 128, 256, 512)
_NAMELESS = frozenset({"literal", "default", "helper_default"})


@dataclass(frozen=True, kw_only=True)
class Form:
    """How a file is written, whatever the values of its constants.

    Attributes:
        places: where the constant of each param is kept.
        positional: give the kernel its constants by position, as far as they are given.
        warps: where num_warps is kept; None if it is not given.
        kernels: how many kernels are launched, one after the other, with the same constants.
        around: what the class stands in.
    """

    places: tuple[Place, ...]
    grid: Grid
    launcher: Launcher
    positional: bool
    warps: Place | None
    kernels: int
    around: Literal["", "if True:", "try:"]
    guard: bool
    docstring: bool
    broken: bool


def _usable(form: Form) -> bool:
    """Say whether the parts of a form go together."""
    on_self = {"class", "init"} & {*form.places, form.warps}
    if form.launcher in {"static", "function"} and (on_self or form.grid == "helper"):
        return False
    if form.launcher == "forward" and {"argument", "helper_default"} & {*form.places, form.warps}:
        return False
    if form.grid == "helper" and {"local", "alias", "argument", "helper_default"} & {*form.places}:
        return False
    # The grid's `meta` has what the launch gives, and defaults only in part of the Tritons.
    return not (form.grid in {"lambda", "function"} and "default" in form.places)


def forms() -> st.SearchStrategy[Form]:
    """Return forms of all kinds."""
    places: list[Place] = [
        *("local", "alias", "module", "class", "init", "literal", "default", "argument"),
        "helper_default",
    ]
    warps: list[Place | None] = [
        *(None, "local", "module", "class", "init", "literal", "argument", "helper_default")
    ]
    return st.builds(
        Form,
        places=st.lists(st.sampled_from(places), min_size=1, max_size=3).map(tuple),
        grid=st.sampled_from(["inline", "variable", "lambda", "function", "helper", "floor"]),
        launcher=st.sampled_from(["forward", "method", "static", "function"]),
        positional=st.booleans(),
        warps=st.sampled_from(warps),
        kernels=st.integers(1, 2),
        around=st.sampled_from(["", "if True:", "try:"]),
        guard=st.booleans(),
        docstring=st.booleans(),
        broken=st.booleans(),
    ).filter(_usable)


def is_told_apart(form: Form, values: Mapping[str, int]) -> bool:
    """Say whether each number that has no name can stand for one constant alone."""
    places = zip(PARAMS, form.places, strict=False)
    for name, place in places:
        others = [values[other] for other in PARAMS[: len(form.places)] if other != name]
        if place in _NAMELESS and values[name] in others:
            return False
    return True


def text_of(form: Form, values: Mapping[str, int]) -> str:
    """Return the file of `form` whose constants have these values."""
    return _Writer(form, values).text()


class _Writer:
    def __init__(self, form: Form, values: Mapping[str, int]) -> None:
        self.form, self.values = form, values
        self.params = PARAMS[: len(form.places)]
        self.place: dict[str, Place] = dict(zip(self.params, form.places, strict=True))
        if form.warps:
            self.place["num_warps"] = form.warps

    def name(self, param: str) -> str:
        """What the constant is called where it has a name."""
        written = "NUM_WARPS" if param == "num_warps" else param
        return written.lower() if self.place[param] == "alias" else written

    def read(self, param: str) -> str:
        """How the function that launches reads it."""
        place = self.place[param]
        if place in {"literal", "default"}:
            return str(self.values[param])
        return f"self.{self.name(param)}" if place in {"class", "init"} else self.name(param)

    def at(self, *places: Place) -> list[str]:
        return [param for param, place in self.place.items() if place in places]

    def text(self) -> str:
        model = self.model()
        if self.form.around == "if True:":
            model = f"if True:\n\n{indent(model, '    ')}"
        elif self.form.around == "try:":
            caught = "except ImportError:\n    raise"
            model = f"try:\n\n{indent(model, '    ')}\n\n{caught}"
        top = [f"{self.name(p)} = {self.values[p]}  # kept: {p}" for p in self.at("module")]
        helper = self.launcher() if self.form.launcher == "function" else ""
        parts = ["import torch", "import triton", "import triton.language as tl", "", *top, ""]
        return "\n".join([*parts, self.kernels(), "", helper, "", model, ""])

    def kernels(self) -> str:
        lines = []
        for i in range(self.form.kernels):
            constants = []
            plain = [p for p in self.params if self.place[p] != "default"]
            for param in [*plain, *self.at("default")]:
                default = f" = {self.values[param]}" if self.place[param] == "default" else ""
                constants.append(f"{param}: tl.constexpr{default}")
            lines += [
                "@triton.jit",
                f"def kernel_{i}(x_ptr, y_ptr, M, N, {', '.join(constants)}):",
                "    tl.store(y_ptr, tl.load(x_ptr))",
                "",
            ]
        return "\n".join(lines)

    def model(self) -> str:
        body = [f"{self.name(p)} = {self.values[p]}" for p in self.at("class")]
        init = [f"self.{self.name(p)} = {self.values[p]}" for p in self.at("init")]
        if init:
            body += ["", "def __init__(self):", *(f"    {line}" for line in init)]
        if self.form.grid == "helper":
            body += ["", "def _grid(self, M, N):", f"    return ({self.sizes()},)"]
        if self.form.launcher == "static":
            body += ["", "@staticmethod"]
        if self.form.launcher in {"method", "static"}:
            body += ["", *self.launcher().splitlines()]
        body += ["", *self.forward()]
        text = "class ModelNew(torch.nn.Module):\n" + indent("\n".join(body), "    ")
        return text.replace("@staticmethod\n\n", "@staticmethod\n")

    def head(self) -> list[str]:
        lines = ['"""Compute."""'] if self.form.docstring else []
        if self.form.guard:
            lines += ["if x.dim() != 2:", "    raise ValueError(x.shape)"]
        return lines

    def forward(self) -> list[str]:
        lines = ["y = torch.empty_like(x)", "M, N = x.shape"]
        if self.form.launcher == "forward":
            lines += self.launch()
        else:
            owner = "" if self.form.launcher == "function" else "self."
            given = self.at("argument")
            lines += [f"chosen_{i} = {self.values[p]}" for i, p in enumerate(given) if i % 2]
            values = [f"chosen_{i}" if i % 2 else str(self.values[p]) for i, p in enumerate(given)]
            lines.append(f"{owner}_launch({', '.join(['x', 'y', 'M', 'N', *values])})")
        lines.append("return y")
        return ["def forward(self, x):", *(f"    {line}" for line in [*self.head(), *lines])]

    def launcher(self) -> str:
        first = ["self"] if self.form.launcher == "method" else []
        given = [self.name(p) for p in self.at("argument")]
        defaults = [f"{self.name(p)}={self.values[p]}" for p in self.at("helper_default")]
        params = ", ".join([*first, "x", "y", "M", "N", *given, *defaults])
        return "\n".join([f"def _launch({params}):", *(f"    {line}" for line in self.launch())])

    def sizes(self) -> str:
        axes = zip(("M", "N"), self.params, strict=False)
        if self.form.grid == "floor":
            terms = [f"({axis} + {self.read(p)} - 1) // {self.read(p)}" for axis, p in axes]
        elif self.form.grid in {"lambda", "function"}:
            terms = [f'triton.cdiv({axis}, meta["{p}"])' for axis, p in axes]
        else:
            terms = [f"triton.cdiv({axis}, {self.read(p)})" for axis, p in axes]
        return ", ".join(terms)

    def launch(self) -> list[str]:
        lines = [f"{self.name(p)} = {self.values[p]}" for p in self.at("local", "alias")]
        grid = f"({self.sizes()},)" if self.form.grid != "helper" else "self._grid(M, N)"
        if self.form.grid in {"variable", "floor"}:
            lines.append(f"grid = {grid}")
        elif self.form.grid == "lambda":
            lines.append(f"grid = lambda meta: {grid}")
        elif self.form.grid == "function":
            lines += ["def grid(meta):", f"    return {grid}"]
        if self.form.grid in {"variable", "floor", "lambda", "function"}:
            grid = "grid"
        for i in range(self.form.kernels):
            lines += self.call(f"kernel_{i}[{grid}]")
        return lines

    def call(self, kernel: str) -> list[str]:
        given = [p for p in self.params if self.place[p] != "default"]
        if self.form.positional:
            args = [self.read(p) for p in given]
        else:
            args = [f"{p}={self.read(p)}" for p in given]
        if "num_warps" in self.place:
            args.append(f"num_warps={self.read('num_warps')}")
        args = ["x", "y", "M", "N", *args]
        if self.form.broken:
            return [f"{kernel}(", *(f"    {arg},  # {i}" for i, arg in enumerate(args)), ")"]
        return [f"{kernel}({', '.join(args)})"]
