"""What is not converted, and why: the line, and words that say what to change."""

from __future__ import annotations

import pytest

from tuner.convert import ConvertError, convert_source

# The body of forward begins in line 12.
HEAD = """import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, OTHER: tl.constexpr = 1):
    pass

TOP = 1
class ModelNew(torch.nn.Module):
    def forward(self, x):
"""
LAUNCH = "kernel[(triton.cdiv(x.numel(), BLOCK),)](x, x, x.numel(), BLOCK=BLOCK)"
LITERAL = "kernel[(triton.cdiv(x.numel(), 128),)](x, x, x.numel(), BLOCK=128)"


def refusal(
    text: str,
    params: tuple[str, ...] = ("BLOCK",),
    options: tuple[str, ...] = (),
    shape: str = "(x.numel(),)",
) -> str:
    """Return what is said of `text`, which must not be converted."""
    with pytest.raises(ConvertError, match=r"^(impl\.py|shape_expr)[: ].*; .*$") as caught:
        convert_source(
            text,
            name="impl.py",
            shape_expr=shape,
            config_param_names=params,
            launch_options=options,
        )
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        # bound in another way than by one constant
        (f"BLOCK = 128\nBLOCK *= 2\n{LAUNCH}", 14, "more than once, as BLOCK in lines 12, 13"),
        (f"if n:\n    BLOCK = 1\nelse:\n    BLOCK = 2\n{LAUNCH}", 16, "in lines 13, 15"),
        (f"for BLOCK in (64, 128):\n    {LAUNCH}", 12, "not set by a plain assignment"),
        (f"with open() as BLOCK:\n    {LAUNCH}", 12, "not set by a plain assignment"),
        (LAUNCH.replace("BLOCK),", "(BLOCK := 128)),"), 12, "not set by a plain assignment"),
        (f"BLOCK, n = sizes\n{LAUNCH}", 12, "not set by a plain assignment"),
        (f"BLOCK = 128\n{LAUNCH}\ndel BLOCK", 14, "BLOCK is deleted here"),
        (f"BLOCK = 128\nmatch n:\n    case BLOCK: pass\n{LAUNCH}", 15, "a case of a match"),
        (f"BLOCK = 128\ndef f():\n    nonlocal BLOCK\n    BLOCK = 2\n{LAUNCH}", 16, "lines 12, 15"),
        (f"BLOCK = OTHER = 128\n{LAUNCH}", 12, "assigned to several names"),
        # computed
        (f"BLOCK = min(128, x.numel())\n{LAUNCH}", 12, "computed, as min(128, x.numel())"),
        (f"BLOCK = triton.next_power_of_2(x.numel())\n{LAUNCH}", 12, "no free parameter"),
        (f"BLOCK = 128 if x.numel() > 9 else 64\n{LAUNCH}", 12, "computed"),
        (LITERAL.replace("=128", "=2 * TOP"), 12, "computed, as 2 * TOP"),
        (LITERAL.replace("=128", "=self.sizes[0]"), 12, "computed, as self.sizes[0]"),
        # two constants for one param, one for two
        (f"{LITERAL}\n{LITERAL.replace('128', '64')}", 13, "BLOCK is 64 here and 128 in line 12"),
        (f"BLOCK = 128\n{LAUNCH[:-1]}, OTHER=BLOCK)", 13, "kernel gets it as OTHER too"),
        # numbers that may repeat it
        (LITERAL.replace("triton.cdiv(x.numel(), 128)", "x.numel() // 128"), 12, "128 may stand"),
        (LITERAL.replace("triton.cdiv(x.numel(), 128)", "x.numel() >> 7"), 12, "7, by which"),
        (LITERAL.replace(", 128)", ", 2 * 64)"), 12, "2 * 64, by which the grid divides"),
        (f"t = 128\n{LITERAL.replace(', 128)', ', t)')}", 13, "t, by which the grid divides"),
        (f"y = torch.empty(128)\n{LITERAL}", 12, "128 may stand for BLOCK"),
        (f"BLOCK = 128\ny = torch.empty(triton.cdiv(n, 128))\n{LAUNCH}", 13, "128 may stand for"),
        (f"BLOCK = 128\n{LAUNCH.replace('triton.cdiv(x.numel(), BLOCK)', 'f(x, 128)')}", 13, "may"),
        (
            LITERAL.replace("(x.numel(), 128)", "(x.numel() // 2, 2)").replace("=128", "=2"),
            12,
            "2 may",
        ),
        # launches that cannot be seen
        ("getattr(self, name)[(1,)](x, BLOCK=128)", 12, "known only when it runs"),
        ("self.kernel[(1,)](x, BLOCK=128)", 12, "known only when it runs"),
        ("KERNELS['a'][(1,)](x, BLOCK=128)\nkernel", 12, "known only when it runs"),
        ("k = kernel if n else kernel\nk[(1,)](x, x, 1, BLOCK=128)", 12, "kernel is passed on"),
        ("run(kernel, x)", 12, "kernel is passed on or read here"),
        ("kernel.run(x, x, 1, grid=(1,), BLOCK=128)", 12, "kernel is passed on or read here"),
        ("kernel[(1,)](*args)", 12, "*args may hide BLOCK of kernel"),
        ("kernel[(1,)](x, x, 1, **options)", 12, "**options may hide BLOCK"),
        ("o = dict(BLOCK=1)\no['BLOCK'] = 2\nkernel[(1,)](x, x, 1, **o)", 14, "**o may hide BLOCK"),
        ("kernel[(1,)](x, x, 1)", 12, "kernel is launched without BLOCK"),
        (f"exec('BLOCK = 64')\n{LITERAL}", 12, "exec() reads or runs"),
        (f"{LITERAL}\nglobals()['TOP'] = 2", 13, "globals() reads or runs"),
        (f"{LITERAL}\nreturn eval('x')", 13, "eval() reads or runs"),
        # names that are taken
        (f"config = 1\n{LITERAL}", 12, "config has another meaning in forward"),
        (f"f = lambda config: config\n{LITERAL}", 12, "config has another meaning in forward"),
        (f"{LITERAL}\n_select_config = 1", 13, "_select_config is a name of this file already"),
    ],
)
def test_what_is_not_sure_in_forward_is_refused(body: str, line: int, words: str) -> None:
    """The message has the line and the reason."""
    text = HEAD + "".join(f"        {code}\n" for code in body.splitlines())
    said = refusal(text)
    assert said.startswith(f"impl.py:{line}: ")
    assert words in said


MODEL = """import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pass

"""


@pytest.mark.parametrize(
    ("rest", "line", "words"),
    [
        (  # an argument of __init__
            f"""class ModelNew:
    def __init__(self, block=128):
        self.block = block
    def forward(self, x):
        {LAUNCH.replace("BLOCK)", "self.block)")}
""",
            11,
            "an argument of __init__, block",
        ),
        (  # sizes a buffer
            f"""class ModelNew:
    def __init__(self):
        self.block = 128
        self.buffer = torch.empty(self.block)
    def forward(self, x):
        {LAUNCH.replace("BLOCK)", "self.block)").replace("=BLOCK", "=self.block")}
""",
            12,
            "block is used in __init__ for something else too",
        ),
        (  # set elsewhere
            f"""class ModelNew:
    block = 128
    def grow(self):
        self.block = 256
    def forward(self, x):
        {LAUNCH.replace("BLOCK)", "self.block)").replace("=BLOCK", "=self.block")}
""",
            14,
            "more than once, as block in lines 10, 12",
        ),
        (  # from outside
            f"""class ModelNew:
    block = 128
    def forward(self, x):
        {LAUNCH.replace("BLOCK)", "self.block)").replace("=BLOCK", "=self.block")}
model = ModelNew()
model.block = 64
""",
            14,
            "model.block may be the constant block",
        ),
        (  # anew in a class below
            f"""class ModelNew:
    block = 128
    def forward(self, x):
        {LAUNCH.replace("BLOCK)", "self.block)").replace("=BLOCK", "=self.block")}
class Large(ModelNew):
    block = 256
""",
            14,
            "Large sets block anew",
        ),
        (  # by name
            f"""class ModelNew:
    block = 128
    def size(self):
        return getattr(self, "block")
    def forward(self, x):
        {LAUNCH.replace("BLOCK)", "self.block)").replace("=BLOCK", "=self.block")}
""",
            12,
            "block is looked up by getattr()",
        ),
        (  # inherited
            f"""class Base:
    block = 128
class ModelNew(Base):
    def forward(self, x):
        {LAUNCH.replace("BLOCK)", "self.block)").replace("=BLOCK", "=self.block")}
""",
            13,
            "self.block, which ModelNew never sets",
        ),
        (  # a default
            (
                "BLOCK = 128\ndef size(n=BLOCK): pass\nclass ModelNew:\n"
                "    def forward(self, x):\n"
                f"        {LAUNCH}\n"
            ),
            10,
            "as a default",
        ),
        (  # exported
            (
                f'__all__ = ["BLOCK"]\nBLOCK = 128\nclass ModelNew:\n    def forward(self, x):\n'
                f"        {LAUNCH}\n"
            ),
            9,
            "BLOCK is exported by __all__",
        ),
        (  # another function
            (
                f"BLOCK = 128\ndef flops(n): return n * BLOCK\nclass ModelNew:\n"
                f"    def forward(self, x):\n        {LAUNCH}\n"
            ),
            10,
            "BLOCK is used in flops for something else too",
        ),
        (  # another constant
            (
                f"BLOCK = 128\nTWICE = 2 * BLOCK\nclass ModelNew:\n    def forward(self, x):\n"
                f"        {LAUNCH}\n"
            ),
            10,
            "BLOCK is used outside of a function",
        ),
        (  # the main program
            (
                f"BLOCK = 128\nclass ModelNew:\n    def forward(self, x):\n        {LAUNCH}\n"
                "if __name__ == '__main__':\n    print(BLOCK)\n"
            ),
            14,
            "BLOCK is used outside of a function",
        ),
        (  # a global of a kernel
            (
                "@triton.jit\ndef other(x_ptr):\n    tl.arange(0, BLOCK)\nBLOCK = 128\n"
                f"class ModelNew:\n    def forward(self, x):\n        {LAUNCH}\n"
            ),
            11,
            "the kernel other reads BLOCK as a global",
        ),
        (  # under a condition
            (
                f"if torch:\n    BLOCK = 128\nclass ModelNew:\n    def forward(self, x):\n"
                f"        {LAUNCH}\n"
            ),
            10,
            "BLOCK is set under a condition",
        ),
        (  # with another
            (
                f"BLOCK, SEED = 128, 3\nclass ModelNew:\n    def forward(self, x):\n"
                f"        {LAUNCH}\n        return SEED\n"
            ),
            9,
            "SEED is set together with BLOCK, and stays",
        ),
        (  # set by a function
            (
                f"BLOCK = 128\ndef grow():\n    global BLOCK\n    BLOCK = 256\nclass ModelNew:\n"
                f"    def forward(self, x):\n        {LAUNCH}\n"
            ),
            15,
            "more than once, as BLOCK in lines 9, 12",
        ),
        (  # from elsewhere
            (
                f"from sizes import BLOCK\nclass ModelNew:\n    def forward(self, x):\n"
                f"        {LAUNCH}\n"
            ),
            12,
            "BLOCK is imported",
        ),
        (
            (
                f"BLOCK = 128\nfrom sizes import *\nclass ModelNew:\n    def forward(self, x):\n"
                f"        {LAUNCH}\n"
            ),
            10,
            "from sizes import * may set BLOCK",
        ),
        (
            (
                "import os\nBLOCK = int(os.environ['BLOCK'])\nclass ModelNew:\n"
                f"    def forward(self, x):\n        {LAUNCH}\n"
            ),
            10,
            "computed, as int(os.environ['BLOCK'])",
        ),
        # functions that cannot be followed
        (
            (
                f"class ModelNew:\n    def _go(self, x):\n        {LITERAL}\n"
                "    def forward(self, x):\n        return checkpoint(self._go, x)\n"
            ),
            10,
            "ModelNew._go wants the config, and ModelNew.forward does not call it",
        ),
        (
            (
                f"def go(x):\n    {LITERAL}\nclass ModelNew:\n    def forward(self, x):\n"
                "        go(x)\n        return checkpoint(go, x)\n"
            ),
            14,
            "go needs the config, and is not called here but passed on",
        ),
        (
            (
                f"def go(x):\n    {LITERAL}\nclass ModelNew:\n    def forward(self, x):\n"
                "        go(x)\ndef main(x):\n    go(x)\n"
            ),
            15,
            "go needs the config, and this call has none",
        ),
        (
            (
                f"def go(x):\n    {LITERAL}\ndef go(x):\n    {LITERAL}\nclass ModelNew:\n"
                "    def forward(self, x):\n        go(x)\n"
            ),
            11,
            "go is defined more than once, in lines 9, 11",
        ),
        (
            (
                f"class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
                f"        {LITERAL}\nclass ModelNew:\n    def forward(self, x):\n"
                "        return F.apply(x)\n"
            ),
            11,
            "F.forward wants the config",
        ),
        (
            (
                f"def go(x, block):\n    {LAUNCH.replace('=BLOCK', '=block')}\nclass ModelNew:\n"
                "    def forward(self, x):\n        go(x, 128)\n        go(x, 64)\n"
            ),
            14,
            "BLOCK is 64 here and 128 in line 13",
        ),
        (
            (
                f"def go(x, block=128):\n    {LAUNCH.replace('BLOCK', 'block')[:-12]}BLOCK=block)\n"
                "class ModelNew:\n    def forward(self, x):\n        go(*x)\n"
            ),
            13,
            "*x may hide block, which is BLOCK",
        ),
        (
            (
                f"class ModelNew:\n    def _go(self, x):\n        {LITERAL}\n"
                "    def forward(self, x):\n        self._go(x)\n"
                "class Twice(ModelNew):\n    def more(self, x):\n        super()._go(x)\n"
            ),
            16,
            "_go needs the config, and is not called here but passed on",
        ),
        # what takes the config
        (f"class ModelNew:\n    def forward(self, *args):\n        {LITERAL}\n", 10, "takes *args"),
        (f"class ModelNew:\n    def forward(self, x, **o):\n        {LITERAL}\n", 10, "takes **o"),
        (
            f"class ModelNew:\n    def forward(self, x, config):\n        {LITERAL}\n",
            10,
            "has a param config already",
        ),
        (
            f"class ModelNew:\n    def forward(self, x, config=None):\n        {LITERAL}\n",
            10,
            "does not choose it by _select_config",
        ),
        (
            f"class ModelNew:\n    def forward(self, y):\n        {LITERAL}\n",
            10,
            "shape_expr names 'x', which ModelNew.forward does not take; its inputs are 'y'",
        ),
        (
            f"class ModelNew:\n    def forward(self, x, BLOCK=128):\n        {LAUNCH}\n",
            10,
            "BLOCK is an argument of forward",
        ),
        ("class ModelNew:\n    pass\n", 9, "ModelNew has no forward"),
        (f"def a(x):\n    {LITERAL}\ndef b(x):\n    {LITERAL}\n", 11, "'a', 'b' all launch"),
        (f"def a(y):\n    {LITERAL}\n", 9, "a has no params x, which shape_expr names"),
        (f"def _a(x):\n    {LITERAL}\n", 9, "_a wants the config, and no public function calls it"),
    ],
)
def test_what_is_not_sure_in_a_file_is_refused(rest: str, line: int, words: str) -> None:
    """The message has the line and the reason."""
    said = refusal(MODEL + rest)
    assert said.startswith(f"impl.py:{line}: "), said
    assert words in said


def test_a_name_that_is_found_nowhere_is_told_with_those_that_are() -> None:
    """A misspelt name is not passed over."""
    text = HEAD + f"        {LITERAL}\n"
    said = refusal(text, params=("BLOCK", "BLOCK_SIZE"))
    assert "no constant BLOCK_SIZE is found" in said
    assert "'BLOCK', 'OTHER'" in said
    assert "no constant called, 'SIZE'" in refusal(text, params=("SIZE",))


def test_a_number_that_may_be_either_of_two_constants_is_refused() -> None:
    """They are tuned apart, and the grid would follow one of them."""
    launch = LITERAL.replace("BLOCK=128", "BLOCK=128, OTHER=128")
    said = refusal(HEAD + f"        {launch}\n", params=("BLOCK", "OTHER"))
    assert said.startswith("impl.py:12: 128 may stand for BLOCK or OTHER here")


def test_true_is_not_one() -> None:
    """A config value has one type."""
    launch = "kernel[(1,)](x, x, 1, BLOCK={})"
    body = f"        {launch.format(1)}\n        {launch.format(True)}\n"
    assert "BLOCK is true here and 1 in line 12" in refusal(HEAD + body)


def test_a_dict_of_the_module_is_not_seen_through() -> None:
    """It is made before there is a config, and others may change it."""
    top = HEAD.replace("TOP = 1", "TOP = {'BLOCK': 128}")
    said = refusal(f"{top}        kernel[(1,)](x, x, 1, **TOP)\n")
    assert said.startswith("impl.py:12: **TOP may hide BLOCK of kernel")


def test_an_option_with_two_values_or_one_that_is_computed_is_refused() -> None:
    """One config cannot give both, and what is computed would be given for nothing."""
    launch = LITERAL[:-1] + ", num_warps={})"
    two = f"        {launch.format(4)}\n        {launch.format(8)}\n"
    said = refusal(HEAD + two, options=("num_warps",))
    assert said.startswith("impl.py:13: num_warps is 8 here and 4 in line 12")
    computed = f"        warps = 8 if x.numel() > 5 else 4\n        {launch.format('warps')}\n"
    said = refusal(HEAD + computed, options=("num_warps",))
    assert said.startswith("impl.py:12: num_warps is computed")


def test_options_of_a_backend_need_a_launch_that_takes_the_whole_config() -> None:
    """A config tells them by all_kwargs() alone, which holds the params by name."""
    launch = LITERAL.replace("BLOCK=128", "128")
    said = refusal(f"{HEAD}        {launch}\n", options=("multibuffer",))
    assert "multibuffer reaches a launch by **config.all_kwargs() alone" in said


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("reset_to_zero=['y_ptr']", "zero the tensor in the function that launches"),
        ("restore_value=['x_ptr']", "let the kernel write to a tensor of its own"),
        ("pre_hook=lambda *a: None", "do in the function that launches what the hook does"),
        ("post_hook=lambda *a: None", "do in the function that launches what the hook does"),
    ],
)
def test_an_autotuner_that_does_more_than_to_choose_is_refused(argument: str, words: str) -> None:
    """What it does to the data is not done without it."""
    decorator = f"@triton.autotune(configs=[], key=[], {argument})\n@triton.jit"
    text = MODEL.replace("@triton.jit", decorator)
    launch = LITERAL.replace(", BLOCK=128", "")
    text += f"class ModelNew:\n    def forward(self, x):\n        {launch}\n"
    said = refusal(text)
    assert said.startswith("impl.py:5: ")
    assert words in said
    assert "empty" not in said


def test_an_autotuned_kernel_that_is_launched_elsewhere_too_is_refused() -> None:
    """That launch would miss what the autotuner gave it."""
    decorator = "@triton.autotune(configs=[], key=[])\n@triton.jit"
    launch = LITERAL.replace(", BLOCK=128", "")
    said = refusal(
        MODEL.replace("@triton.jit", decorator)
        + f"class ModelNew:\n    def forward(self, x):\n        {launch}\n"
        + f"def bench(x):\n    {launch}\n"
    )
    assert said.startswith("impl.py:14: kernel is autotuned, and launched by what takes no config")


def test_what_heuristics_compute_is_no_free_parameter() -> None:
    """They would overrule the config."""
    decorator = "@triton.heuristics({'BLOCK': lambda a: 128})\n@triton.jit"
    body = f"class ModelNew:\n    def forward(self, x):\n        {LITERAL}\n"
    said = refusal(MODEL.replace("@triton.jit", decorator) + body)
    assert "BLOCK is computed by @triton.heuristics" in said


@pytest.mark.parametrize(
    "shape",
    [
        "__import__('os')",
        "x",
        "(x.shape[0], lambda: 1)",
        "x.__class__",
        "",
        "(",
        "x.shape[0]) + f(",
    ],
)
def test_a_shape_that_is_none_reaches_no_file(shape: str) -> None:
    """The expression is checked before it is written as code."""
    assert refusal(f"{HEAD}        {LITERAL}\n", shape=shape).startswith("shape_expr: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:\n", "impl.py:1: is not Python"),
        ("x = '\\ud800'\n\x00", "is not Python"),
        ("x = " + "(" * 500 + ")" * 500, "impl.py:1: "),
        ("x = " + "-" * 5000 + "1", "nested too deeply"),
        ("x = " + "+".join(["1"] * 50_000), "nested too deeply"),
        ("x = " + "[" * 90 + "]" * 90 + "\nprint(x)\n", "no launch with"),
        ("x = 1\n" * 400_000, "characters, more than"),
        ("", "no launch with"),
    ],
)
def test_hostile_texts_are_refused_in_words(text: str, words: str) -> None:
    """No traceback, no crash of the parser, no long wait."""
    assert words in refusal(text)


def test_a_file_that_is_no_module_has_no_dispatch() -> None:
    """The dispatch is imported by a name made of the file's."""
    with pytest.raises(ConvertError, match=r"'my-kernel' is not the name of a module; rename"):
        convert_source(
            f"{HEAD}        {LITERAL}\n",
            name="my-kernel.py",
            shape_expr="(x.numel(),)",
            config_param_names=["BLOCK"],
            launch_options=[],
        )
