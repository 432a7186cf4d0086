"""The contract: what it lets pass, and what it says, at which line, of what it does not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from cases.loading import CASES, CONVERTED, ORIGINAL

from codegen.command import exit_status
from tuner.contract import Breach, breaches
from tuner.contract_cli import contract
from tuner.errors import CaseError

ROOT = Path(__file__).parents[2]
IMPORT = """
try:
    from .impl_dispatch import _select_config
except ImportError:
    from impl_dispatch import _select_config
"""
LAZY = '''
def _select_config(shape):
    """Choose the config for `shape`."""
    global _select_config
    try:
        if __package__:
            from .impl_dispatch import _select_config
        else:
            from impl_dispatch import _select_config
    except ModuleNotFoundError as error:
        message = "no impl_dispatch beside this file"
        raise ModuleNotFoundError(message) from error
    return _select_config(shape)
'''
GOOD = f'''
import torch
import triton
import triton.language as tl
{IMPORT}

WARPS = 4


@triton.jit
def kernel(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr = 8):
    m = tl.program_id(0) * BLOCK_M
    n = tl.program_id(1) * BLOCK_N


class ModelNew(torch.nn.Module):
    SIZE = 64

    def forward(self, a, b, config=None):
        """The product."""
        M, K = a.shape
        N = b.shape[1]
        if config is None:
            config = _select_config((M, N, K))
        c = torch.empty((M, N))
        BLOCK_M = config.param("BLOCK_M")
        BLOCK_N = config.param("BLOCK_N")
        grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
        kernel[grid](
            a, b, c, M, N, K,
            BLOCK_M=BLOCK_M,
            BLOCK_N=BLOCK_N,
            num_warps=config.num_warps,
        )
        return c
'''
SAMPLE: dict[str, Any] = {
    "op_name": "matmul",
    "shape_expr": "(a.shape[0], b.shape[1], a.shape[1])",
    "config_param_names": ["BLOCK_M", "BLOCK_N"],
    "autotune": {
        "configs": [
            {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4},
            {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 8},
        ]
    },
}
SELECTION = """        if config is None:
            config = _select_config((M, N, K))
"""
CALL = "(M, N, K)"
LAUNCH = """        kernel[grid](
            a, b, c, M, N, K,
            BLOCK_M=BLOCK_M,
            BLOCK_N=BLOCK_N,
            num_warps=config.num_warps,
        )
"""


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., tuple[Breach, ...]]:
    """Return a function that checks a text, beside a sample.json unless that is None."""

    def run(text: str, *, sample: dict[str, Any] | None = SAMPLE) -> tuple[Breach, ...]:
        (tmp_path / "impl.py").write_text(text)
        if sample is None:
            return breaches(tmp_path / "impl.py")
        (tmp_path / "sample.json").write_text(json.dumps(sample))
        return breaches(tmp_path / "impl.py", case=tmp_path)

    return run


def changed(old: str, new: str, text: str = GOOD) -> str:
    """Return the good file with `old`, which stands in it once, replaced."""
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the file"
    return text.replace(old, new)


def line_of(text: str) -> int:
    """Return the line that is marked with `#!`."""
    (line,) = (i for i, item in enumerate(text.splitlines(), 1) if "#!" in item)
    return line


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("with_case", [False, True])
def test_the_cases_that_were_converted_by_hand_keep_it(case: str, with_case: bool) -> None:
    """Each of them is clean, alone and compared with what is tuned."""
    place = ORIGINAL / case if with_case else None
    assert breaches(CONVERTED / case / "impl.py", case=place) == ()


@pytest.mark.parametrize("case", CASES)
def test_a_kernel_as_it_is_before_conversion_breaks_it(case: str) -> None:
    """A forward that takes no config is said to take none."""
    found = breaches(ORIGINAL / case / "impl.py")
    assert [breach.rule for breach in found] == ["signature"]
    assert "ModelNew.forward has no param config (its params are self, " in found[0].fact


# What is as good as the good file.
SAME = {
    "as it is": ("import torch\n", "import torch\n"),
    "loose": (IMPORT, "from impl_dispatch import _select_config\n"),
    "in a package": (IMPORT, "from .impl_dispatch import _select_config\n"),
    "by its full name": (IMPORT, "from kernels.impl_dispatch import _select_config\n"),
    "module not found": ("except ImportError:", "except (ImportError, ModuleNotFoundError):"),
    "at the first call": (IMPORT, LAZY),
    "by name only": ("a, b, config=None", "a, b, *, config=None"),
    "annotated": ("a, b, config=None", "a, b, config: object = None"),
    "assigned with a type": ("config = _select_config", "config: object = _select_config"),
    "sizes in place": (CALL, "(a.shape[0], b.shape[1], a.shape[1])"),
    "size()": (CALL, "(a.size(0), b.size(1), a.size(1))"),
    "len()": (CALL, "(len(a), N, int(K))"),
    "unpacked": (CALL, "(*a.shape[:1], b.shape[1], a.shape[-1])"),
    "a tuple of its own": (
        SELECTION,
        f"        shape = (M, N, K)\n{SELECTION.replace(CALL, 'shape')}",
    ),
    "sizes read again": ("        N = b.shape[1]\n", "        K, N = b.shape\n"),
    "contiguous first": (
        "        M, K = a.shape",
        "        a = a.contiguous()\n        M, K = a.shape",
    ),
    "all at once": (LAUNCH, "        kernel[grid](a, b, c, M, N, K, **config.all_kwargs())\n"),
    "spread": (
        LAUNCH,
        "        kernel[grid](a, b, c, M, N, K, num_warps=config.num_warps, **config.kwargs)\n",
    ),
    "by position": (
        LAUNCH,
        "        kernel[grid](a, b, c, M, N, K, BLOCK_M, BLOCK_N, num_warps=config.num_warps)\n",
    ),
    "from a mapping": ('BLOCK_M = config.param("BLOCK_M")', 'BLOCK_M = config.kwargs["BLOCK_M"]'),
    "the grid asks": (
        "(triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))",
        'lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))',
    ),
    "a grid that divides by something else": (
        "triton.cdiv(N, BLOCK_N))",
        "triton.cdiv(N, BLOCK_N) * (K // 128))",
    ),
    "another name": (LAUNCH, "        c2 = config\n" + LAUNCH.replace("config.num", "c2.num")),
    "in with": (
        SELECTION + "        c = torch.empty((M, N))\n",
        (
            "        with torch.no_grad():\n"
            "            if config is None:\n"
            "                config = _select_config((M, N, K))\n"
            "        c = torch.empty((M, N))\n"
        ),
    ),
    "heuristics": ("@triton.jit\n", '@triton.heuristics({"GROUP": lambda a: 4})\n@triton.jit\n'),
    "an else": (SELECTION, SELECTION + "        else:\n            assert config.kwargs\n"),
    "a constant that is not tuned": ("BLOCK_N=BLOCK_N,", "BLOCK_N=BLOCK_N, GROUP=4,"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_keeps_it_is_let_pass(check: Any, name: str) -> None:
    """Other ways to write the same are clean, with the case and without."""
    text = changed(*SAME[name])
    assert check(text) == ()
    assert check(text, sample=None) == ()


FUNCTION = f"""
import torch, triton
{IMPORT}

@triton.jit
def kernel(x, y, n, BLOCK): ...


def _launch(x, y, chosen):
    n = x.numel()
    kernel[(triton.cdiv(n, chosen.param("BLOCK")),)](x, y, n, **chosen.all_kwargs())


def double(x, *, out=None, config=None):
    if config is None:
        config = _select_config((x.numel(),))
    y = torch.empty_like(x) if out is None else out
    _launch(x, y, config)
    return y


class ModelNew:
    def forward(self, x, config=None):
        return double(x, config=config)
"""
ONE_SIZE = {
    "op_name": "double",
    "shape_expr": "x.numel()",
    "config_param_names": ["BLOCK"],
    "sweep_param": "BLOCK",
    "candidates": [64, 128],
}


@pytest.mark.parametrize("statement", ["try:\n{}\nexcept ImportError:\n    raise", "if True:\n{}"])
def test_a_nested_model_is_found(check: Any, statement: str) -> None:
    """ModelNew may stand in a try or an if of the module."""
    start = GOOD.index("class ModelNew")
    body = "".join(f"    {line}" for line in GOOD[start:].splitlines(keepends=True))
    text = GOOD[:start] + statement.format(body)
    assert check(text) == ()
    wrong = check(changed("if config is None:", "if not config:", text))
    assert [breach.rule for breach in wrong] == ["selection"]


@pytest.mark.parametrize("start", ["double", "ModelNew"])
def test_a_function_may_choose_for_a_model_and_hand_its_config_on(check: Any, start: str) -> None:
    """The config is followed through calls, methods and other names within the file."""
    text = FUNCTION if start == "ModelNew" else FUNCTION[: FUNCTION.index("class ModelNew")]
    assert check(text, sample=ONE_SIZE) == ()
    assert check(text, sample=None) == ()
    wrong = changed('chosen.param("BLOCK")', 'chosen.param("SIZE")', text)
    facts = [breach.fact for breach in check(wrong, sample=ONE_SIZE)]
    assert "reads the param SIZE, which config_param_names does not list" in facts


@pytest.mark.parametrize(
    ("code", "shape_expr"),
    [
        ("(x.numel(),)", "x.numel()"),
        ("x.shape", "x.shape"),
        ("tuple(x.shape)", "(x.shape[0], x.shape[1])"),
        ("(x.shape[0], x.shape[1])", "x.shape"),
        ("x.shape[:2]", "(x.shape[0], x.shape[1])"),
        ("(x.shape[0] * x.shape[1],)", "(x.size(1) * x.size(0),)"),
        ("(x.numel() // x.shape[-1], x.shape[-1])", "(x.numel() // x.shape[-1], x.shape[-1])"),
    ],
)
def test_the_shape_is_compared_by_what_it_is(check: Any, code: str, shape_expr: str) -> None:
    """`x.size(0)` and `x.shape[0]` are the same; one size is a tuple of one."""
    text = changed("(x.numel(),)", code, FUNCTION)
    names = ["A"] if code in {"(x.numel(),)", "(x.shape[0] * x.shape[1],)"} else ["A", "B"]
    assert check(text, sample={**ONE_SIZE, "shape_expr": shape_expr, "axis_names": names}) == ()


# rule, what is changed to what (the line of the breach is marked), a part of the fact.
WRONG: dict[str, tuple[str, str, str, str]] = {
    "no model": ("class ModelNew", "class Model", "entry", "neither a class ModelNew nor"),
    "no forward": ("def forward", "def other", "entry", "ModelNew has no forward"),
    "no config": ("b, config=None):", "b):  #!", "signature", "has no param config"),
    "no default": ("b, config=None):", "b, config):  #!", "signature", "without a default"),
    "a default": ("config=None", "config=1", "signature", "whose default is not None"),
    "by place": ("config=None):", "config=None, /):  #!", "signature", "cannot be given by name"),
    "not config": ("if config is None:", "if not config:", "selection", "test `not config`"),
    "equals": ("if config is None:", "if config == None:", "selection", "test `config == None`"),
    "inverted": ("config is None:", "config is not None:", "selection", "`config is not None`"),
    "and": ("config is None:", "config is None and M:", "selection", "`config is None and M`"),
    "always": (SELECTION, f"        config = _select_config({CALL})  #!\n", "selection", "may be"),
    "or": (
        SELECTION,
        f"        config = config or _select_config({CALL})  #!\n",
        "selection",
        "`config or _select_config((M, N, K))`, in which a config may count as false",
    ),
    "before": (
        SELECTION,
        (
            f"        chosen = _select_config({CALL})  #!\n"
            "        if config is None:\n            config = chosen\n"
        ),
        "selection",
        "a config is selected although one may be given",
    ),
    "dropped": (
        "config = _select_config((M, N, K))",
        "_select_config((M, N, K))  #!",
        "selection",
        "is not assigned to config",
    ),
    "never": (SELECTION, "", "selection", "selects no config when it is given none"),
    "nothing": (
        "            config = _select_config((M, N, K))",
        "            pass",
        "selection",
        "nothing is selected when config is None",
    ),
    "another": (
        "config = _select_config((M, N, K))",
        "config = default()  #!",
        "selection",
        "is not selected by _select_config",
    ),
    "twice": (SELECTION, SELECTION + SELECTION, "selection", "a second time"),
    "nested": (
        SELECTION,
        (
            "        if M > 1:\n            if config is None:  #!\n"
            "                config = _select_config((M, N, K))\n"
        ),
        "selection",
        "may be passed over",
    ),
    "early": (
        SELECTION,
        '        M = M * config.param("BLOCK_M")  #!\n' + SELECTION,
        "selection",
        "config is used before it is selected",
    ),
    "other module": (
        IMPORT,
        "from .other_dispatch import _select_config  #!\n",
        "dispatch",
        "from .other_dispatch, which is not the dispatch of this file",
    ),
    "above": (IMPORT, "from ..impl_dispatch import _select_config  #!", "dispatch", "beside this"),
    "renamed": (
        IMPORT,
        "from .impl_dispatch import _select_config as _select_config_  #!",
        "dispatch",
        "imports _select_config as _select_config_",
    ),
    "not imported": (IMPORT, "", "dispatch", "which is not defined in this file"),
    "imported now and then": (
        IMPORT,
        "if torch.cuda.is_available():\n    from .impl_dispatch import _select_config  #!\n",
        "dispatch",
        "may be passed over",
    ),
    "any exception": ("except ImportError:", "except Exception:", "dispatch", "may be passed over"),
    "a stub": (IMPORT, "def _select_config(shape):  #!\n    pass\n", "dispatch", "has no code"),
    "dots": (IMPORT, "def _select_config(shape):  #!\n    ...\n", "dispatch", "has no code"),
    "a docstring": (
        IMPORT,
        'def _select_config(shape):  #!\n    """Later."""\n',
        "dispatch",
        "has no code",
    ),
    "a choice of its own": (
        IMPORT,
        "def _select_config(shape):\n    return CONFIGS[shape[0] > 64]  #!\n",
        "dispatch",
        "does more than ask the dispatch",
    ),
    "another shape": (
        IMPORT,
        LAZY.replace("return _select_config(shape)", "return _select_config(shape[:2])  #!"),
        "dispatch",
        "does more than ask the dispatch",
    ),
    "a lambda": (
        IMPORT,
        "_select_config = lambda shape: CONFIGS[0]  #!\n",
        "dispatch",
        "is assigned, and is not the dispatch's",
    ),
    "a method that is not there": (
        "_select_config((M, N, K))",
        "self._select_config((M, N, K))  #!",
        "dispatch",
        "calls self._select_config, which is not defined in this file",
    ),
    "a list": (CALL, "[M, N, K]", "shape", "`[M, N, K]` is no tuple"),
    "a size alone": (CALL, "a.numel()", "shape", "`a.numel()` is no tuple"),
    "a tensor": (CALL, "a", "shape", "a is a tensor"),
    "a tensor in it": (CALL, "(M, N, a)", "shape", "a is a tensor"),
    "three values": (CALL, "M, N, K", "shape", "`_select_config(M, N, K)`"),
    "a float": (CALL, "(M, N, K / 2)", "shape", "`K / 2` is a float"),
    "a literal float": (CALL, "(M, N, 2.0)", "shape", "`2.0` is no integer"),
    "a dtype": (CALL, "(M, N, a.dtype)", "shape", "`a.dtype` is a dtype"),
    "an item": (CALL, "(M, N, a.max().item())", "shape", "item() waits for the device"),
    "another order": (CALL, "(M, K, N)", "shape", "`(M, K, N)`, and shape_expr is `(a.shape[0]"),
    "fewer": (CALL, "(M, N)", "shape", "`(M, N)`, and shape_expr is"),
    "a changed size": (
        "        N = b.shape[1]\n",
        "        N = b.shape[1]\n        N += 1\n",
        "shape",
        "and shape_expr is",
    ),
    "a changed input": (
        "        M, K = a.shape",
        "        a = a.view(-1, 4)\n        M, K = a.shape",
        "shape",
        "and shape_expr is",
    ),
    "unused": (
        GOOD[GOOD.index("        BLOCK_M = config") :],
        "        return c\n",
        "config",
        "takes a config and uses none of it",
    ),
    "bound again": (
        "        c = torch.empty((M, N))\n",
        "        config = dict(config.kwargs)  #!\n",
        "config",
        "config is assigned to a second time",
    ),
    "deleted": ("        return c\n", "        del config  #!\n", "config", "assigned to a second"),
    "changed": (
        "        return c\n",
        "        config.num_warps = 8  #!\n        return c\n",
        "config",
        "`config.num_warps` is assigned",
    ),
    "not offered": ("config.num_warps", "config.options", "config", "reads config.options, which"),
    "a mapping": ('config.param("BLOCK_M")', 'config["BLOCK_M"]', "config", "for a mapping"),
    "not a literal": (
        'config.param("BLOCK_M")',
        'config.param("BLOCK_" + "M")',
        "param",
        "does not say which param it reads",
    ),
    "not a name": ('config.param("BLOCK_M")', "config.param(0)", "param", "does not say which"),
    "a default value": (
        'config.param("BLOCK_M")',
        'config.param("BLOCK_M", 64)',
        "param",
        "does not say which param it reads",
    ),
    "a method kept": (
        "        c = torch.empty((M, N))\n",
        "        read = config.param  #!\n",
        "param",
        "is not called where it stands",
    ),
    "not listed": ('param("BLOCK_M")', 'param("NOPE")', "param", "reads the param NOPE, which"),
    "not read": ('config.param("BLOCK_M")', "64", "param", "no line reads the param 'BLOCK_M'"),
    "grid fixed": (
        "(triton.cdiv(M, BLOCK_M),",
        "(triton.cdiv(M, 64),",
        "grid",
        "divides by 64, fixed, and the kernel takes its block BLOCK_M of the config",
    ),
    "grid of a constant": (
        "(triton.cdiv(M, BLOCK_M),",
        "(triton.cdiv(M, self.SIZE),",
        "grid",
        "the grid divides by 64, fixed",
    ),
    "grid of the same name": (
        "        grid = (triton.cdiv(M, BLOCK_M),",
        "        _block_m = 64\n        grid = (triton.cdiv(M, _block_m),\n",
        "grid",
        "the grid takes _block_m, fixed at 64",
    ),
    "grid wholly fixed": (
        "        grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))",
        "        grid = lambda meta: ((M + 127) // 128,)  #!",
        "grid",
        "the grid divides by 128, fixed",
    ),
    "grid of a method": (
        "        grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))\n" + LAUNCH,
        (
            "        return self.launch(a, b, c, M, N, K, config)\n\n"
            "    def programs(self, M, N, cfg):\n"
            '        return (triton.cdiv(M, 64), triton.cdiv(N, cfg.param("BLOCK_N")))  #!\n\n'
            "    def launch(self, a, b, c, M, N, K, chosen):\n"
            "        kernel[self.programs(M, N, chosen)](a, b, c, M, N, K, **chosen.all_kwargs())\n"
        ),
        "grid",
        "divides by 64, fixed, and the kernel takes its block BLOCK_M of the config",
    ),
    "kernel fixed": ("BLOCK_M=BLOCK_M,", "BLOCK_M=64,  #!", "grid", "and the kernel 64, fixed"),
    "kernel without": ("            BLOCK_M=BLOCK_M,\n", "", "grid", "gives the kernel none"),
    "crossed": ("BLOCK_M=BLOCK_M,", "BLOCK_M=BLOCK_N,  #!", "launch", "BLOCK_N of the config as"),
    "two configs": (
        "num_warps=config.num_warps",
        'num_warps=self.best.num_warps, GROUP=other.param("GROUP")',
        "launch",
        "takes values of other, which is not the config of this call",
    ),
    "warps fixed": ("config.num_warps", "4", "launch", "launched with num_warps=4, which"),
    "warps of a constant": ("config.num_warps", "WARPS", "launch", "launched with num_warps=4"),
    "no warps": (
        "            num_warps=config.num_warps,\n",
        "",
        "launch",
        "launched without num_warps, which the candidates set",
    ),
    "twice given": (
        "num_warps=config.num_warps",
        "**config.all_kwargs()",
        "launch",
        "is given BLOCK_M twice: it is among the config's params",
    ),
    "warps twice": (
        LAUNCH,
        "        kernel[grid](a, b, c, M, N, K, num_warps=4, **config.all_kwargs())  #!\n",
        "launch",
        "is given num_warps twice",
    ),
    "autotuned": (
        "@triton.jit\n",
        '@triton.autotune(configs=[], key=["M"])  #!\n@triton.jit\n',
        "autotune",
        "kernel is tuned by Triton when it is launched",
    ),
    "autotuned by hand": (
        "        c = torch.empty((M, N))\n",
        "        kernel = triton.autotune(configs=[], key=[])(kernel_)  #!\n",
        "autotune",
        "kernel is tuned by Triton when it is launched",
    ),
    "a heuristic": (
        "@triton.jit\n",
        '@triton.heuristics({"BLOCK_M": lambda args: 64})  #!\n@triton.jit\n',
        "autotune",
        "a heuristic of kernel sets BLOCK_M, whatever the config holds",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_breaks_it_is_said_at_its_line(check: Any, name: str) -> None:
    """A change of the good file is found, under its rule, with what is wrong and what to do."""
    old, new, rule, fact = WRONG[name]
    text = changed(old, new)
    found = check(text)
    match = [breach for breach in found if breach.rule == rule and fact in breach.fact]
    assert match, [str(breach) for breach in found]
    breach = match[0]
    if "#!" in text:
        assert breach.line == line_of(text)
    assert str(breach) == f"{breach.file}:{breach.line}: {breach.fact}; {breach.remedy}"
    assert "\n" not in str(breach)
    assert breach.remedy


# What cannot be seen in the file alone.
NEED_A_CASE = {"another order", "fewer", "a changed size", "a changed input", "not listed"} | {
    *("not read", "warps fixed", "warps of a constant", "no warps", "warps twice", "twice given")
}


@pytest.mark.parametrize("name", sorted({*WRONG} - NEED_A_CASE))
def test_most_is_seen_without_a_case(check: Any, name: str) -> None:
    """Without a sample.json a breach is found unless it is one of what that says."""
    old, new, rule, _ = WRONG[name]
    assert rule in {breach.rule for breach in check(changed(old, new), sample=None)}


@pytest.mark.parametrize("name", sorted(NEED_A_CASE - {"twice given"}))
def test_what_only_a_case_tells_is_not_guessed(check: Any, name: str) -> None:
    """Without a sample.json what it would say is not held against the file."""
    old, new, rule, _ = WRONG[name]
    found = check(changed(old, new), sample=None)
    assert [breach for breach in found if breach.rule == rule] == []


def test_options_of_a_backend_reach_the_launch(check: Any) -> None:
    """A candidate with an option of its own needs `**config.all_kwargs()`."""
    configs = [{"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "multibuffer": True}]
    sample = {**SAMPLE, "autotune": {"configs": configs}}
    (breach,) = check(GOOD, sample=sample)
    assert breach.fact.startswith("kernel is launched without 'multibuffer', an option of")
    assert check(changed(*SAME["all at once"]), sample=sample) == ()


def test_a_launch_option_that_all_candidates_share_may_be_fixed(check: Any) -> None:
    """`num_warps=4` is as good as the config's where every candidate says 4."""
    configs = [{"BLOCK_M": size, "BLOCK_N": 64, "num_warps": 4} for size in (64, 128)]
    sample = {**SAMPLE, "autotune": {"configs": configs}}
    assert check(changed("config.num_warps", "4"), sample=sample) == ()


def test_the_candidates_may_be_those_of_a_tune_yaml(check: Any, tmp_path: Path) -> None:
    """What `tune.yaml` lists takes the place of what `sample.json` does."""
    (tmp_path / "tune.yaml").write_text(
        "parameters:\n  BLOCK_M: [64]\n  BLOCK_N: [64]\n  num_warps: [4]\n  num_stages: [2, 3]\n"
    )
    (breach,) = check(GOOD)
    assert breach.fact == "kernel is launched without num_stages, which the candidates set"


def test_params_that_the_kernel_lacks_cannot_all_be_given(check: Any) -> None:
    """`**config.all_kwargs()` gives the kernel every param, so it has to take each."""
    sample = {**SAMPLE, "config_param_names": ["BLOCK_M", "BLOCK_N", "SPLIT"]}
    configs = [{"BLOCK_M": 64, "BLOCK_N": 64, "SPLIT": 2}]
    (breach,) = check(
        changed(*SAME["all at once"]), sample={**sample, "autotune": {"configs": configs}}
    )
    assert breach.fact == "kernel has no param 'SPLIT', which it is given with all others"


def test_a_model_for_want_of_triton_needs_no_config(check: Any) -> None:
    """Of several definitions those that launch a kernel, and one at least, take a config."""
    other = "\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, a, b):\n        "
    start = GOOD.index("class ModelNew")
    body = "".join(f"    {line}" for line in GOOD[start:].splitlines(keepends=True))
    otherwise = "".join(
        f"    {line}" for line in f"{other}return a @ b\n".splitlines(keepends=True)
    )
    text = f"{GOOD[:start]}if triton:\n{body}\nelse:\n{otherwise}"
    assert check(text) == ()
    launching = text.replace("return a @ b", "kernel[(1,)](a, b)")
    assert [breach.rule for breach in check(launching)] == ["signature"]


def test_breaches_come_in_the_order_of_their_lines(check: Any) -> None:
    """Several are listed from top to bottom, each once."""
    text = changed("if config is None:", "if not config:")
    text = changed("config.num_warps", "config.options", text)
    text = changed("@triton.jit\n", "@triton.autotune([], [])\n@triton.jit\n", text)
    lines = [breach.line for breach in check(text)]
    assert len(lines) > 2
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"def f(:\n", r"impl.py:1: is not Python: invalid syntax; correct the line"),
        (b"x = '\x00'", r"impl.py(:1)?: is not Python: .*null bytes"),
        (b"\xff\xfe", r"impl.py(:1)?: is not Python: "),
        (b"x = " + b"(" * 400 + b")" * 400, r"impl.py(:1)?: is (not Python|nested)"),
        (b"x = " + b"-" * 20_000 + b"1", r"is nested too deeply; split its longest expression"),
    ],
)
def test_what_cannot_be_read_is_bad_input(tmp_path: Path, content: bytes, match: str) -> None:
    """A file that is not Python is an error and no breach."""
    (tmp_path / "impl.py").write_bytes(content)
    with pytest.raises(CaseError, match=match):
        breaches(tmp_path / "impl.py")


def test_a_deep_but_sound_file_is_judged_or_refused_and_not_more(tmp_path: Path) -> None:
    """A long sum, which is a deep tree, does no harm."""
    line = "        grid = (" + " + ".join(["BLOCK_M"] * 600) + ",)\n"
    start = GOOD.index("        grid = ")
    end = GOOD.index("\n", start) + 1
    (tmp_path / "impl.py").write_text(GOOD[:start] + line + GOOD[end:])
    assert breaches(tmp_path / "impl.py") == ()


def test_names_that_grow_at_each_line_are_not_followed_for_ever(check: Any) -> None:
    """A shape made of sums of sums is found to be another, soon."""
    lines = "".join(f"        s{i + 1} = s{i} + s{i}\n" for i in range(40))
    text = changed(SELECTION, f"        s0 = M\n{lines}{SELECTION.replace(CALL, '(s40, N, K)')}")
    assert [breach.rule for breach in check(text)] == ["shape"]


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf# a comment\r\n", b"x = 1\r"])
def test_a_file_without_a_kernel_is_a_breach(tmp_path: Path, content: bytes) -> None:
    """An empty file, and one with a byte order mark or other line ends, has no entry."""
    (tmp_path / "impl.py").write_bytes(content)
    (breach,) = breaches(tmp_path / "impl.py")
    assert (breach.line, breach.rule) == (1, "entry")


def test_a_file_with_other_line_ends_is_judged_alike(tmp_path: Path) -> None:
    """CRLF changes neither what is found nor the line."""
    text = changed(SELECTION, SELECTION.replace("is None:", "== 0:").replace("K))", "K))  #!"))
    (tmp_path / "impl.py").write_bytes(text.replace("\n", "\r\n").encode())
    (breach,) = breaches(tmp_path / "impl.py")
    assert breach.line == line_of(text)


def test_names_from_the_file_are_escaped(check: Any) -> None:
    """What a file is called by its author cannot take over a terminal."""
    text = changed('"BLOCK_" + "M"', '"\\x1b[2J"', changed(*WRONG["not a literal"][:2]))
    lines = "".join(map(str, check(text)))
    assert lines
    assert lines.isprintable()


# The command


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs the command in this process and an empty directory."""
    monkeypatch.chdir(tmp_path)
    group = click.Group(commands={"contract": contract})

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["tuner", "contract", *map(str, arguments)])
        status = exit_status(group, "tuner")
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_the_command_lists_breaches_and_fails(command: Any) -> None:
    """A line for each breach, `ok` for a file without, and exit status 1 if there is any."""
    Path("impl.py").write_text(GOOD)
    Path("sample.json").write_text(json.dumps(SAMPLE))
    assert command("impl.py") == (0, "impl.py: ok\n", "")
    assert command("impl.py", "--case", ".") == (0, "impl.py: ok\n", "")
    Path("other").mkdir()
    Path("other/impl.py").write_text(changed("config.num_warps", "4"))
    assert command("other/impl.py")[0] == 0
    status, out, err = command("impl.py", "other/impl.py", "--case", ".")
    assert (status, err) == (1, "")
    line = next(i for i, item in enumerate(GOOD.splitlines(), 1) if "num_warps=" in item)
    assert out == (
        "impl.py: ok\n"
        f"other/impl.py:{line}: kernel is launched with num_warps=4, which candidates vary; write "
        "num_warps=config.num_warps\n"
    )


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ([], "Missing argument 'FILE…'"),
        (["none.py"], "none.py: cannot be read: no such file"),
        (["."], ".: is a directory; name a Python file"),
        (["impl.py", "--case", "none"], "none/sample.json: cannot be read: no such file"),
        (["impl.py", "--case", "empty"], "empty/sample.json: op_name: missing field"),
        (["impl.py", "--case", "bad"], "bad/sample.json: shape_expr: "),
    ],
)
def test_bad_usage_is_one_line_and_status_2(command: Any, arguments: list[str], match: str) -> None:
    """What cannot be read is said without a traceback."""
    Path("impl.py").write_text(GOOD)
    for name, sample in (("empty", {}), ("bad", {**SAMPLE, "shape_expr": "__import__('os')"})):
        Path(name).mkdir()
        (Path(name) / "sample.json").write_text(json.dumps(sample))
    status, out, err = command(*arguments)
    assert (status, out) == (2, "")
    assert match in err
    assert err.count("\n") == 1


def test_help_waits_for_nothing() -> None:
    """Importing the command imports neither pydantic nor numpy, nor the contract itself."""
    program = "import sys, tuner.contract_cli, tuner.contract; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {*ran.stdout.split()}
    assert "tuner.contract_cli" in loaded
    assert not {"pydantic", "numpy", "yaml", "tuner.contract.check"} & loaded
