"""Conversion: what changes in a kernel's file, and that nothing else does."""

from __future__ import annotations

import difflib
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from convert.fakes import config_of, ran, tensor

from codegen.source_hash import source_sha256
from tuner.binding import binding
from tuner.contract import breaches
from tuner.convert import ConvertError, convert_source
from tuner.convert.convert import convert
from tuner.convert.plan import Options

KERNEL = '''"""Scale."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, UNROLL: tl.constexpr = 1):
    pass


'''
FORWARD = """class ModelNew(torch.nn.Module):
    def forward(self, x):
"""
PLAIN = f"""{FORWARD}        BLOCK = 128
        n = x.numel()
        scale_kernel[(triton.cdiv(n, BLOCK),)](x, x, n, BLOCK=BLOCK)
        return x
"""
HELPER = binding("impl") + "\n\n"
SELECTION = """        if config is None:
            config = _select_config((x.numel(),))
"""


def converted(
    text: str,
    *,
    params: tuple[str, ...] = ("BLOCK",),
    options: tuple[str, ...] = (),
    shape: str = "(x.numel(),)",
    name: str = "impl.py",
) -> str:
    """Return `text` converted."""
    return convert_source(
        text, name=name, shape_expr=shape, config_param_names=params, launch_options=options
    )


def changed(before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the lines that went and those that came, without those that always come."""
    lines = [*difflib.ndiff(before.splitlines(), after.replace(HELPER, "").splitlines())]
    usual = {f"+ {line}" for line in SELECTION.splitlines()}
    return (
        [line[2:].strip() for line in lines if line.startswith("- ")],
        [line[2:].strip() for line in lines if line.startswith("+ ") and line not in usual],
    )


def test_what_is_added_is_a_param_a_choice_and_one_function() -> None:
    """Apart from these a constant in forward changes in its own line alone."""
    assert converted(KERNEL + PLAIN) == (
        KERNEL
        + HELPER
        + PLAIN.replace("(self, x)", "(self, x, config=None)").replace(
            "        BLOCK = 128", f'{SELECTION}        BLOCK = config.param("BLOCK")'
        )
    )


@pytest.mark.parametrize(
    ("body", "gone", "come"),
    [
        (  # the launch's own literals, all at once
            (
                f"{FORWARD}        n = x.numel()\n"
                "        scale_kernel[(triton.cdiv(n, 128),)](x, x, n, BLOCK=128, num_warps=8)\n"
            ),
            ["scale_kernel[(triton.cdiv(n, 128),)](x, x, n, BLOCK=128, num_warps=8)"],
            [
                (
                    'scale_kernel[(triton.cdiv(n, config.param("BLOCK")),)]'
                    "(x, x, n, **config.all_kwargs())"
                )
            ],
        ),
        (  # by position
            (
                f"{FORWARD}        n = x.numel()\n"
                "        scale_kernel[(triton.cdiv(n, 128),)](x, x, n, 128, num_warps=8)\n"
            ),
            ["scale_kernel[(triton.cdiv(n, 128),)](x, x, n, 128, num_warps=8)"],
            [
                (
                    'scale_kernel[(triton.cdiv(n, config.param("BLOCK")),)]'
                    '(x, x, n, config.param("BLOCK"), num_warps=config.num_warps)'
                )
            ],
        ),
        (  # in the class
            (
                "class ModelNew(torch.nn.Module):\n    block = 128\n    warps = 8\n\n"
                "    def forward(self, x):\n        n = x.numel()\n"
                "        grid = (triton.cdiv(n, self.block),)\n"
                "        scale_kernel[grid](x, x, n, self.block, num_warps=self.warps)\n"
            ),
            [
                "block = 128",
                "warps = 8",
                "",
                "grid = (triton.cdiv(n, self.block),)",
                "scale_kernel[grid](x, x, n, self.block, num_warps=self.warps)",
            ],
            [
                'grid = (triton.cdiv(n, config.param("BLOCK")),)',
                'scale_kernel[grid](x, x, n, config.param("BLOCK"), num_warps=config.num_warps)',
            ],
        ),
        (  # in __init__, as an element of a tuple, from a constant of the module
            (
                "SIZE = 128\n\n\nclass ModelNew(torch.nn.Module):\n    def __init__(self):\n"
                "        super().__init__()\n        self.block, self.warps = SIZE, 8\n\n"
                "    def forward(self, x):\n        n = x.numel()\n"
                "        grid = lambda meta: (triton.cdiv(n, meta['BLOCK']),)\n"
                "        scale_kernel[grid](x, x, n, BLOCK=self.block, num_warps=self.warps)\n"
            ),
            [
                "SIZE = 128",
                "",
                "",
                "self.block, self.warps = SIZE, 8",
                "scale_kernel[grid](x, x, n, BLOCK=self.block, num_warps=self.warps)",
            ],
            ["scale_kernel[grid](x, x, n, **config.all_kwargs())"],
        ),
        (  # in a helper, which is handed the config
            (
                "def _launch(x, n):\n"
                "    scale_kernel[(triton.cdiv(n, 128),)](x, x, n, BLOCK=128)\n\n\n"
                f"{FORWARD}        _launch(x, x.numel())\n"
            ),
            [
                "def _launch(x, n):",
                "scale_kernel[(triton.cdiv(n, 128),)](x, x, n, BLOCK=128)",
                "_launch(x, x.numel())",
            ],
            [
                "def _launch(x, n, config):",
                (
                    'scale_kernel[(triton.cdiv(n, config.param("BLOCK")),)]'
                    "(x, x, n, **config.all_kwargs())"
                ),
                "_launch(x, x.numel(), config=config)",
            ],
        ),
        (  # in the call of a helper, or in its default
            (
                "def _launch(x, block, warps=8):\n    n = x.numel()\n"
                "    scale_kernel[(-(-n // block),)](x, x, n, block, num_warps=warps)\n\n\n"
                f"{FORWARD}        _launch(x, 128)\n"
            ),
            ["_launch(x, 128)"],
            ['_launch(x, config.param("BLOCK"), warps=config.num_warps)'],
        ),
        (  # in a dict
            (
                f"{FORWARD}        n = x.numel()\n        kwargs = dict(BLOCK=128, num_warps=8)\n"
                "        scale_kernel[((n + 127) // 128,)](x, x, n, **kwargs)\n"
            ),
            [
                "kwargs = dict(BLOCK=128, num_warps=8)",
                "scale_kernel[((n + 127) // 128,)](x, x, n, **kwargs)",
            ],
            [
                'kwargs = dict(BLOCK=config.param("BLOCK"), num_warps=config.num_warps)',
                (
                    'scale_kernel[((n + config.param("BLOCK") - 1) // config.param("BLOCK"),)]'
                    "(x, x, n, **kwargs)"
                ),
            ],
        ),
        (  # a launch that has a name
            (
                f"{FORWARD}        n = x.numel()\n"
                "        launch = scale_kernel[triton.cdiv(n, 128),]\n"
                "        launch(x, x, n, BLOCK=128)\n"
            ),
            ["launch = scale_kernel[triton.cdiv(n, 128),]", "launch(x, x, n, BLOCK=128)"],
            [
                'launch = scale_kernel[triton.cdiv(n, config.param("BLOCK")),]',
                "launch(x, x, n, **config.all_kwargs())",
            ],
        ),
    ],
)
def test_constants_are_found_wherever_they_are_kept(
    body: str, gone: list[str], come: list[str]
) -> None:
    """They follow the config, and so does a grid that repeats them."""
    text = converted(KERNEL + body, options=("num_warps",))
    lines = changed(KERNEL + body, text)
    assert "config=None" in "".join(lines[1])
    signature = "def forward(self, x):"
    assert [line for line in lines[0] if line != signature] == gone
    assert [line for line in lines[1] if "config=None" not in line] == come
    config = config_of(BLOCK=64, num_warps=2)
    (launch,) = ran(text, tensor(1000), config=config).launches
    assert launch[1] == (16,)
    assert {("BLOCK", 64), ("num_warps", 2)} <= {*launch[2]}


def test_the_default_of_the_kernel_is_replaced_in_the_launch() -> None:
    """The kernel itself is not touched."""
    kernel = KERNEL.replace("BLOCK: tl.constexpr,", "BLOCK: tl.constexpr = 128,")
    body = (
        f"{FORWARD}        n = x.numel()\n        scale_kernel[(triton.cdiv(n, 128),)](x, x, n)\n"
    )
    text = converted(kernel + body)
    assert text.startswith(kernel)
    (launch,) = ran(text, tensor(1000), config=config_of(BLOCK=64)).launches
    assert (launch[1], dict(launch[2])["BLOCK"]) == ((16,), 64)


def test_comments_go_where_the_constant_goes() -> None:
    """A constant of the module moves into forward with what is said of it."""
    top = "# Tuned by hand.\nBLOCK = 128  # elements\n\n# Not this one.\nUNROLL = 2\n\n\n"
    body = PLAIN.replace("        BLOCK = 128\n", "").replace(
        "BLOCK=BLOCK", "BLOCK=BLOCK, UNROLL=UNROLL"
    )
    text = converted(KERNEL + top + body)
    assert "\n# Not this one.\nUNROLL = 2\n" in text
    assert "# Tuned by hand.\nBLOCK" not in text
    assert (
        f"{SELECTION}        # Tuned by hand.\n"
        '        BLOCK = config.param("BLOCK")  # elements\n        n = x.numel()\n'
    ) in text


def test_a_comment_of_lines_that_stay_stays() -> None:
    """A heading is not taken from below itself."""
    top = "# Sizes.\nBLOCK = 128\nUNROLL = 2\n\n\n"
    body = PLAIN.replace("        BLOCK = 128\n", "")
    assert "\n# Sizes.\nUNROLL = 2\n" in converted(KERNEL + top + body)


def test_arguments_are_added_in_the_layout_that_is_there() -> None:
    """A line each where there is a line each, with a final comma where there is one."""
    body = """class ModelNew(torch.nn.Module):
    def forward(
        self,
        x,  # the input
    ):
        n = x.numel()
        scale_kernel[(triton.cdiv(n, 128),)](
            x,  # in
            x,  # out
            n,
            128,  # a block
        )
        self._twice(
            x, n
        )

    def _twice(self, x, n=None):
        scale_kernel[(triton.cdiv(n, 128),)](
            x, x, n, 128
        )
"""
    text = converted(KERNEL + body, options=("num_warps",))
    assert "        self,\n        x,  # the input\n        config=None,\n    ):\n" in text
    assert (
        "            x,  # in\n            x,  # out\n            n,\n"
        '            config.param("BLOCK"),  # a block\n'
        "            num_warps=config.num_warps,\n        )\n"
    ) in text
    assert "            x, n, config=config\n        )\n" in text
    assert "def _twice(self, x, n=None, *, config):" in text
    assert '            x, x, n, config.param("BLOCK"), num_warps=config.num_warps\n' in text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", ["    ", "\t", "  "])
def test_line_ends_and_indentation_are_those_of_the_file(newline: str, indent: str) -> None:
    """What is added is written as the rest is."""
    text = (KERNEL + PLAIN).replace("    ", indent).replace("\n", newline)
    result = converted(text)
    assert result.count("\n") == result.count(newline)
    begin = f"{newline}{indent}{indent}"
    assert f"{begin}if config is None:{begin}{indent}config = _select_config(" in result
    assert f"{newline}{indent}import importlib.util{newline}" in result
    assert converted(result) == result


def test_a_body_in_the_line_of_its_signature_gets_lines() -> None:
    """`def forward(self, x): …` becomes a block."""
    line = "scale_kernel[(triton.cdiv(5, 128),)](x, x, 5, BLOCK=128)"
    body = f"class ModelNew:\n    def forward(self, x): {line}; return x  # so\n"
    text = converted(KERNEL + body)
    assert text.endswith("(x, x, 5, **config.all_kwargs()); return x  # so\n")
    assert f"config=None):\n{SELECTION}        scale_kernel[" in text


def test_the_config_is_chosen_behind_the_checks_of_the_inputs() -> None:
    """What forward says of a wrong input is better than what the dispatch would."""
    checks = """        if x.dim() != 1:
            raise ValueError(f"x has {x.dim()} dimensions")
        n = x.numel()
        assert n
"""
    for body in (
        PLAIN.replace("        BLOCK = 128\n", f"{checks}        BLOCK = 128\n"),
        PLAIN.replace(
            "        BLOCK = 128\n", f'        """Doc."""\n{checks}        BLOCK = 128\n'
        ),
    ):
        assert f"{checks}{SELECTION}        BLOCK = config" in converted(KERNEL + body)


@pytest.mark.parametrize(
    "first",
    [
        "x = x.reshape(2, -1)",  # another shape than the input's
        "y = x.resize_(3)",
        "y = helper(x)",
        "BLOCK = 128",
        "for y in x: pass",
    ],
)
def test_the_config_is_chosen_for_the_inputs_as_they_are_given(first: str) -> None:
    """Not behind a line that may change one of them, or that needs the config."""
    checked = f"        {first}\n        assert x.dim() == 1\n"
    body = PLAIN.replace("        BLOCK = 128\n", checked)
    if first != "BLOCK = 128":
        body = body.replace("        n = ", "        BLOCK = 128\n        n = ")
    text = converted(KERNEL + body)
    assert text.index("if config is None") < text.index("assert x.dim()")


def test_a_plain_function_takes_the_config_as_its_last_param() -> None:
    """Where there is no ModelNew, the public function with the inputs of the shape does."""
    body = """def scale(x: torch.Tensor, y=None, *, out=None):
    \"\"\"Scale.\"\"\"
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 128),)](x, x, n, BLOCK=128)


def other(z):
    return scale(z)
"""
    text = converted(KERNEL + body)
    assert "def scale(x: torch.Tensor, y=None, *, out=None, config=None):" in text
    assert '"""Scale."""\n    if config is None:\n' in text
    assert "def other(z):\n    return scale(z)\n" in text
    result = ran(text, tensor(1000), entry="other", selected=config_of(BLOCK=100))
    assert (result.launches[0][1], result.asked) == ((10,), [(1000,)])


def test_types_are_written_where_the_file_has_them() -> None:
    """With `Any` imported, the new param has it; otherwise it has no type."""
    body = PLAIN.replace("(self, x)", "(self, x: torch.Tensor) -> torch.Tensor")
    assert "x: torch.Tensor, config=None) -> torch.Tensor:" in converted(KERNEL + body)
    typed = "from typing import Any\n" + (KERNEL + body).partition("\n\n")[2]
    text = converted(typed)
    assert "x: torch.Tensor, config: Any = None) -> torch.Tensor:" in text
    assert "def _select_config(shape: tuple[int, ...]) -> Any:" in text


@pytest.mark.parametrize("around", ["if True:", "try:"])
def test_a_nested_class_is_converted_and_the_function_stands_outside(around: str) -> None:
    """The other branch, if it has no kernel, stays as it is."""
    inner = "".join(f"    {line}\n" for line in PLAIN.splitlines())
    other = "else:\n" if around == "if True:" else "except ImportError:\n"
    rest = f"{other}    class ModelNew:\n        def forward(self, x):\n            return x\n"
    text = converted(KERNEL + f"{around}\n{inner}{rest}")
    assert f"{HELPER}{around}\n" in text
    assert text.endswith(rest)
    (launch,) = ran(text, tensor(1000), config=config_of(BLOCK=500)).launches
    assert launch[1] == (2,)


def test_launches_of_several_kernels_take_one_config() -> None:
    """An option is given to the launches that gave it, or to all if none did."""
    kernels = KERNEL + KERNEL.partition("\n\n\n")[2].replace("scale_kernel", "shift_kernel")
    launch = "{}_kernel[(triton.cdiv(n, BLOCK),)](x, x, n, BLOCK=BLOCK{})\n"
    body = PLAIN.partition("        scale_kernel")[0]
    options = ("num_warps", "num_stages")
    first = launch.format("scale", ", num_warps=8")
    text = converted(
        f"{kernels}{body}        {first}        {launch.format('shift', '')}", options=options
    )
    assert "BLOCK=BLOCK, num_warps=config.num_warps, num_stages=config.num_stages)" in text
    assert "shift_kernel[(triton.cdiv(n, BLOCK),)](x, x, n, BLOCK=BLOCK, num_stages=" in text


def test_options_of_a_backend_come_with_all_others() -> None:
    """A config tells them by all_kwargs() alone, and then the launch gives nothing twice."""
    body = PLAIN.replace("BLOCK=BLOCK)", "BLOCK=BLOCK, num_warps=8, multibuffer=True)")
    text = converted(KERNEL + body, options=("num_warps", "multibuffer"))
    assert "scale_kernel[(triton.cdiv(n, BLOCK),)](x, x, n, **config.all_kwargs())" in text


def test_an_option_that_only_some_candidates_set_comes_with_all_others() -> None:
    """`num_warps=None` means nothing to a Triton of some age."""
    options = Options(params=("BLOCK",), launch=("num_warps",), partial=("num_warps",))
    text = convert(
        KERNEL + PLAIN, name="impl.py", stem="impl", shape_expr="(x.numel(),)", options=options
    ).text
    assert "(x, x, n, **config.all_kwargs())" in text


def test_autotune_goes_and_heuristics_stay() -> None:
    """The launch takes all of the config; what is computed from it still is."""
    decorators = """# The kernel.
@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=4) for b in (64, 128)],
    key=["n"],
    warmup=5,
)
# How it is unrolled.
@triton.heuristics({"UNROLL": lambda args: args["BLOCK"] // 32})
@triton.jit"""
    raw = KERNEL.replace("@triton.jit", decorators).replace(" = 1)", ")")
    body = (
        f"{FORWARD}        n = x.numel()\n"
        '        scale_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, x, n)\n'
    )
    options = Options(params=("BLOCK",), launch=("num_warps", "num_stages"))
    result = convert(
        raw + body, name="impl.py", stem="impl", shape_expr="(x.numel(),)", options=options
    )
    assert "# The kernel.\n# How it is unrolled.\n@triton.heuristics(" in result.text
    assert "autotune" not in result.text
    assert result.autotuned == ("scale_kernel",)
    (note,) = result.notes
    assert note.startswith("warmup of @triton.autotune on scale_kernel is dropped")
    x = tensor(1000)
    own = config_of(BLOCK=64, num_warps=4, num_stages=3)
    assert ran(result.text, x, config=own).launches == ran(raw + body, x).launches


def test_the_constants_that_were_are_told() -> None:
    """So that they can be written down as a candidate."""
    body = PLAIN.replace("BLOCK=BLOCK)", "BLOCK=BLOCK, num_warps=8)")
    options = Options(params=("BLOCK",), launch=("num_warps",))
    result = convert(
        KERNEL + body, name="impl.py", stem="impl", shape_expr="(x.numel(),)", options=options
    )
    assert result.constants == (("BLOCK", 128), ("num_warps", 8))


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        ("x.numel()", "(x.numel(),)"),
        ("x.shape", "x.shape"),
        ("x.shape[:2]", "x.shape[:2]"),
        ("x.shape[-1]", "(x.shape[-1],)"),
        ("x.size()", "x.size()"),
        ("[x.shape[0], 3]", "(x.shape[0], 3)"),
        ("x.shape[0], x.shape[1]", "(x.shape[0], x.shape[1])"),
        ("(x.shape[0],  # rows\n x.numel())", "(x.shape[0], x.numel())"),
        ("(*x.shape[:1], x.numel() // 2)", "(*x.shape[:1], x.numel() // 2)"),
        ("x.shape[:1] + x.shape[2:]", "x.shape[:1] + x.shape[2:]"),
        ("x.shape[0] * 2", "(x.shape[0] * 2,)"),
        ("max(x.shape)", "(max(x.shape),)"),
        ("tuple(x.shape)", "tuple(x.shape)"),
    ],
)
def test_the_dispatch_is_asked_for_a_tuple(shape: str, code: str) -> None:
    """A single size becomes one, and nothing of the text but the expression reaches the file."""
    assert f"config = _select_config({code})\n" in converted(KERNEL + PLAIN, shape=shape)


def test_the_dispatch_is_that_of_the_file_that_is_written() -> None:
    """It stands beside the file, under its name."""
    text = converted(KERNEL + PLAIN, name="kernels/scale.py")
    assert "from . import scale_dispatch as dispatch" in text
    assert "import scale_dispatch as dispatch" in text


def test_an_import_of_the_dispatch_that_is_there_is_used() -> None:
    """The README's form is not written twice."""
    top = """try:
    from .impl_dispatch import _select_config
except ImportError:
    from impl_dispatch import _select_config


"""
    text = converted(KERNEL + top + PLAIN)
    assert text.count("_select_config") == 3
    assert "_tuned_dispatch" not in text
    assert breaches_of(text) == []


def breaches_of(text: str, directory: Path | None = None) -> list[str]:
    """Return what `tuner contract` finds in `text`."""
    import tempfile

    with tempfile.TemporaryDirectory(dir=directory) as name:
        path = Path(name) / "impl.py"
        path.write_text(text)
        return [str(breach) for breach in breaches(path)]


def test_the_second_conversion_changes_nothing() -> None:
    """Nor does a conversion by hand get a second choice; the hash of the code stays."""
    once = converted(KERNEL + PLAIN)
    assert converted(once) == once
    assert converted(once, params=("OTHER",), shape="(z.numel(),)") == once
    assert source_sha256(converted(once)) == source_sha256(once)
    for path in sorted(Path("tests/cases/converted").glob("*/impl.py")):
        assert converted(path.read_text()) == path.read_text()


def test_the_dispatch_is_bound_once_and_its_absence_says_what_to_do(tmp_path: Path) -> None:
    """In a package and as a loose file: the second call is the dispatch's own function."""
    text = (
        "class ModelNew:\n    def forward(self, n):\n        BLOCK = 4\n        return n // BLOCK\n"
    )
    package = tmp_path / "kernels"
    package.mkdir()
    (package / "__init__.py").touch()
    for directory in (tmp_path, package):
        (directory / "impl.py").write_text(converted(text, shape="(n,)"))
    dispatch = (
        "class Config:\n    def param(self, name):\n        return 5\n\n\n"
        "def _select_config(shape):\n    return Config()\n"
    )
    run = (
        "from {0} import impl\nmodel = impl.ModelNew()\nprint(model.forward(100))\n"
        "print(impl._select_config.__module__)\n"
    )
    for place, directory in (("kernels", package), ("", tmp_path)):
        code = run.format(place) if place else run.replace("from {0} ", "")
        missing = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert missing.stderr.splitlines()[-1] == (
            "ModuleNotFoundError: no impl_dispatch.py beside this file: "
            "`codegen emit manifest.json` writes it"
        )
        (directory / "impl_dispatch.py").write_text(dispatch)
        found = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        module = f"{place}.impl_dispatch".removeprefix(".")
        assert found.stdout.split() == ["20", module]


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="tracing needs torch")
def test_a_converted_kernel_can_be_traced_whole() -> None:
    """torch.compile breaks the graph neither at the choice nor at its first call."""
    import torch

    text = converted(
        "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
        "        BLOCK = 4\n        return x * BLOCK\n",
        shape="(x.shape[0],)",
    )
    dispatch, module = ModuleType("impl_dispatch"), ModuleType("converted_and_traced")
    code = (
        "class Config:\n    def __init__(self, value):\n        self.value = value\n"
        "    def param(self, name):\n        return self.value\n\n\n"
        "SMALL, LARGE = Config(2), Config(3)\n\n\n"
        "def _select_config(shape):\n    return SMALL if shape[0] < 10 else LARGE\n"
    )
    exec(code, vars(dispatch))  # noqa: S102
    vars(module)["__package__"] = ""
    sys.modules.update({"impl_dispatch": dispatch, "converted_and_traced": module})
    try:
        exec(compile(text, "converted.py", "exec"), vars(module))  # noqa: S102
        traced = torch.compile(module.ModelNew(), backend="eager", fullgraph=True, dynamic=True)
        assert [traced(torch.ones(n))[0].item() for n in (3, 30, 4, 40)] == [2, 3, 2, 3]
        assert module._select_config is dispatch._select_config
    finally:
        del sys.modules["impl_dispatch"], sys.modules["converted_and_traced"]


def test_what_a_user_sees_of_an_error_is_one_line() -> None:
    """The place, the fact with the value, the remedy."""
    body = PLAIN.replace("BLOCK = 128", "BLOCK = triton.next_power_of_2(x.shape[-1])")
    with pytest.raises(ConvertError) as caught:
        converted(KERNEL + body, name="kernels/impl.py")
    assert str(caught.value) == (
        "kernels/impl.py:15: BLOCK is computed, as triton.next_power_of_2(x.shape[-1]): it is no "
        "free parameter; take it out of config_param_names, or set it to a constant"
    )
