"""The command `tuner harvest`: a kernel under @triton.autotune becomes a case."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from convert.fakes import config_of, ran, tensor

from codegen.command import exit_status
from tuner.cases import load_case
from tuner.contract import breaches
from tuner.convert import ConvertError, harvest_case
from tuner.convert_cli import convert, harvest

KERNEL = """import itertools

import torch
import triton
import triton.language as tl

SIZES = [64, 128]


@triton.autotune(configs={configs}, key={key})
@triton.jit
def scale_kernel(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr, UNROLL: tl.constexpr = 1):
    pass


"""
MODEL = """class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        M, N = x.shape
        grid = lambda meta: (triton.cdiv(M, meta["BLOCK"]), N)
        scale_kernel[grid](x, y, M, N)
        return y
"""
CONFIGS = '[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128}, num_warps=8)]'
BASE = """class Model:
    def forward(self, x):
        return x


def get_init_inputs():
    return []


def get_inputs_dyn_list():
    return []
"""


@pytest.fixture
def tuner(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `tuner` in this process and an empty directory."""
    monkeypatch.chdir(tmp_path)
    group = click.Group(commands={"convert": convert, "harvest": harvest})

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["tuner", *map(str, arguments)])
        status = exit_status(group, "tuner")
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def kernel_file(configs: str = CONFIGS, key: str = '["M", "N"]', rest: str = MODEL) -> Path:
    """Write a file with an autotuned kernel as `kernel.py`, and return its path."""
    path = Path("kernel.py")
    path.write_text(KERNEL.replace("{configs}", configs).replace("{key}", key) + rest)
    return path


def sample() -> Any:
    """Return what the new case's sample.json holds."""
    return json.loads(Path("case/sample.json").read_text())


def test_a_case_is_made_that_can_be_tuned(tuner: Any) -> None:
    """Its candidates, shape and axes are the decorator's, and its kernel keeps the contract."""
    Path("base.py").write_text(BASE)
    path = kernel_file()
    before = path.read_bytes()
    status, out, err = tuner("harvest", path, "-o", "case")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "case/base.py: written",
        "case/impl.py: written",
        "case/sample.json: written",
        "scale_kernel: 2 configs",
        "next: tuner tune case",
    ]
    assert sample() == {
        "op_name": "scale",
        "shape_expr": "(x.shape[0], x.shape[1])",
        "config_param_names": ["BLOCK"],
        "autotune": {
            "key": ["M", "N"],
            "configs": [
                {"BLOCK": 64, "num_warps": 4, "num_stages": 3},
                {"BLOCK": 128, "num_warps": 8, "num_stages": 3},
            ],
        },
    }
    assert path.read_bytes() == before
    case = load_case(Path("case"))
    assert (case.kernel, case.axis_names, len(case.space.configs)) == ("scale", ("M", "N"), 2)
    assert breaches(Path("case/impl.py"), case=Path("case")) == ()
    text = Path("case/impl.py").read_text()
    assert "autotune" not in text
    x = tensor(1000, 7)
    (launch,) = ran(text, x, config=case.space.configs[0]).launches
    assert ran(before.decode(), x).launches == [launch]
    assert tuner("harvest", path, "-o", "case")[1].splitlines()[1] == "case/impl.py: unchanged"
    assert tuner("convert", "case") == (0, "case/impl.py: unchanged\n", "")


def test_without_a_reference_there_is_one_to_be_filled_in(tuner: Any) -> None:
    """It says so, when it is made and when it is used."""
    _, out, _ = tuner("harvest", kernel_file(), "-o", "case")
    assert out.startswith("note: base.py is to be filled in: the reference, and the inputs")
    text = Path("case/base.py").read_text()
    assert "def forward(self, x) -> Any:" in text
    assert load_case(Path("case")).inputs == ("x",)
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102
    with pytest.raises(NotImplementedError, match="list the inputs of each shape"):
        names["get_inputs_dyn_list"]()


@pytest.mark.parametrize(
    ("configs", "blocks"),
    [
        ('[triton.Config({"BLOCK": b}) for b in (32, 64)]', [32, 64]),
        ("[triton.Config({'BLOCK': b}) for b in SIZES if b > 64]", [128]),
        ("[triton.Config(dict(BLOCK=2**k)) for k in range(4, 7)]", [16, 32, 64]),
        (
            "[triton.Config({'BLOCK': b * c}) for b, c in itertools.product(SIZES, (1, 4))]",
            [64, 256, 128, 512],
        ),
        (
            (
                "[triton.Config(kwargs={'BLOCK': b}) for b in SIZES]\n"
                "    + [triton.Config({'BLOCK': 1 << 9})]"
            ),
            [64, 128, 512],
        ),
        ("list(triton.Config({'BLOCK': s if s > 64 else 16}) for s in SIZES)", [16, 128]),
        (
            "[*[triton.Config({'BLOCK': max(SIZES)})], triton.Config({'BLOCK': len(SIZES)})]",
            [128, 2],
        ),
        ("[triton.Config({**{'BLOCK': 1}, 'BLOCK': SIZES[0]}, pre_hook=None)]", [64]),
        ("made()", [8, 9]),
        ("[triton.Config({'BLOCK': 64}), triton.Config({'BLOCK': 64})]", [64]),
    ],
)
def test_configs_are_read_as_they_are_written(tuner: Any, configs: str, blocks: list[int]) -> None:
    """Lists, comprehensions, products and constants are evaluated; nothing is run."""
    made = '''def made():
    """Return the configs."""
    low, high = 8, 10
    return [triton.Config({"BLOCK": b}) for b in range(low, high) if low <= b and not b == high]


'''
    assert tuner("harvest", kernel_file(configs, rest=made + MODEL), "-o", "case")[0] == 0
    assert [config["BLOCK"] for config in sample()["autotune"]["configs"]] == blocks


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ("CONFIGS", "CONFIGS is not a constant of this file"),
        ("[triton.Config({'BLOCK': b}) for b in sizes()]", "sizes() is not a call that is known"),
        ("[triton.Config({'BLOCK': 64 if torch.cuda else 32})]", "torch.cuda is not a constant"),
        ("[triton.Config({'BLOCK': b}) for b in range(10**7)]", "range(10 ** 7) is too long"),
        ("[triton.Config({'BLOCK': 9**9**9})]", "9 ** 9 ** 9 is too large"),
        ("[triton.Config({'BLOCK': 'a' * 10**9})]", "is not arithmetic on numbers"),
        ("[0] * 10**9", "is not arithmetic on numbers"),
        ("list(itertools.product(range(9999), range(9999)))", "has too many combinations"),
        (
            (
                "[triton.Config({'BLOCK': a + b + c}) for a in range(200) for b in range(200) "
                "for c in range(200)]"
            ),
            "takes too long to evaluate",
        ),
        ("(lambda: [])()", "is not a call that is known here"),
        ("__import__('os').listdir()", "is not a call that is known here"),
        ("[triton.Config({'BLOCK': (1).__class__})]", "is not a constant"),
        ("[triton.Config({'BLOCK': 64}, pre_hook=hook)]", "pre_hook of a triton.Config runs code"),
        ("[triton.Config({'BLOCK': 64}, speed=9)]", "has an argument speed that is not known"),
        ("[triton.Config({'BLOCK': 64}), triton.Config({'UNROLL': 2})]", "has no 'UNROLL', which"),
        ("[64]", "holds '64', which is no triton.Config"),
        ("[]", "[] is no list of configs"),
        ("[triton.Config({'BLOCK': SIZES[9]})]", "cannot be evaluated: list index out of range"),
        ("[triton.Config({'BLOCK': 1 // 0})]", "cannot be evaluated: integer"),
        ("[triton.Config({'BLOCK': loop})]", "takes too long to evaluate"),
    ],
)
def test_configs_that_are_no_constants_are_refused(tuner: Any, configs: str, words: str) -> None:
    """In one line, soon, and with nothing written."""
    path = kernel_file(configs, rest="loop = loop\n\n\n" + MODEL)
    status, out, err = tuner("harvest", path, "-o", "case")
    assert (status, out) == (2, "")
    assert err.startswith("tuner: kernel.py:")
    assert words in err
    assert err.count("\n") == 1
    assert not Path("case").exists()


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("M, N = x.shape\n", "(x.shape[0], x.shape[1])"),
        ("M, N = x.size(0), x.size(-1)\n", "(x.shape[0], x.shape[-1])"),
        ("M, N = x.numel(), x.shape[0] * 2 + 1\n", "(x.numel(), (x.shape[0] * 2) + 1)"),
        ("(M, N), z = x.size(), 3\n", "(x.shape[0], x.shape[1])"),
        ("y = torch.empty_like(x)\nM, N = y.numel(), y.shape[1]\n", "(x.numel(), x.shape[1])"),
        ("x = x.contiguous()\nM, N = x.shape\n", "(x.shape[0], x.shape[1])"),
        (
            "z = x.reshape(-1, x.shape[-1])\nM, N = z.shape\n",
            "(x.numel() // x.shape[-1], x.shape[-1])",
        ),
        ("z = torch.zeros((x.shape[1], 4))\nM, N = z.shape\n", "(x.shape[1], 4)"),
        ("M, N = x.shape\nM = M // 2\n", "(x.shape[0] // 2, x.shape[1])"),
        ("N, M = x.shape\nM, N = N, M\n", "(x.shape[0], x.shape[1])"),
    ],
)
def test_the_shape_is_followed_from_the_key_to_the_inputs(
    tuner: Any, body: str, shape: str
) -> None:
    """Through variables, views and tensors that are made alike."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    model = MODEL.replace("        M, N = x.shape\n", lines)
    assert tuner("harvest", kernel_file(rest=model), "-o", "case")[0] == 0
    assert sample()["shape_expr"] == shape


def test_what_a_variable_becomes_after_the_launch_does_not_count(tuner: Any) -> None:
    """The shape is that of the launch."""
    model = MODEL.replace("        return y", "        M = N\n        return y")
    assert tuner("harvest", kernel_file(rest=model), "-o", "case")[0] == 0
    assert sample()["shape_expr"] == "(x.shape[0], x.shape[1])"


def test_the_shape_is_followed_into_helpers(tuner: Any) -> None:
    """A param is what the only call gives for it."""
    model = """class ModelNew(torch.nn.Module):
    def _launch(self, a, rows):
        scale_kernel[lambda meta: (triton.cdiv(rows, meta["BLOCK"]),)](a, a, rows, a.shape[1])

    def forward(self, x):
        self._launch(x.float(), x.shape[0])
"""
    assert tuner("harvest", kernel_file(rest=model), "-o", "case")[0] == 0
    assert sample()["shape_expr"] == "(x.shape[0], x.shape[1])"
    assert "self._launch(x.float(), x.shape[0], config=config)" in Path("case/impl.py").read_text()


@pytest.mark.parametrize(
    ("key", "body"),
    [
        ('["M", "dtype"]', "M, N = x.shape\n"),
        ('["M", "N"]', "M, N = sizes(x)\n"),
        ('["M", "N"]', "M, N = x.shape\n        if M > 5:\n            M = 5\n"),
        ('["M", "N"]', "M, N = x.permute(1, 0).shape\n"),
        ("[]", "M, N = x.shape\n"),
    ],
)
def test_a_key_that_is_not_seen_through_can_be_told(tuner: Any, key: str, body: str) -> None:
    """It is refused with the option that helps, and then taken as it is told."""
    model = MODEL.replace("M, N = x.shape\n", body)
    path = kernel_file(key=key, rest=model)
    status, _, err = tuner("harvest", path, "-o", "case")
    assert status == 2
    assert "kernel.py:10: " in err
    assert err.endswith("; say what the shape is with --shape-expr, over the inputs of forward\n")
    told = ("--shape-expr", "x.shape")
    assert tuner("harvest", path, "-o", "case", *told)[0] == 0
    assert sample()["shape_expr"] == "x.shape"


def test_a_plain_function_gets_a_model_that_calls_it(tuner: Any) -> None:
    """The tuner calls `ModelNew`; the function stays what it was for all others."""
    function = """def scale(x, factor=2, *, out=None):
    M, N = x.shape
    scale_kernel[lambda meta: (triton.cdiv(M, meta["BLOCK"]),)](x, out, M, N)
"""
    assert tuner("harvest", kernel_file(rest=function), "-o", "case")[0] == 0
    text = Path("case/impl.py").read_text()
    assert "def scale(x, factor=2, *, out=None, config=None):" in text
    assert text.endswith(
        'class ModelNew:\n    """`scale`, as the tuner calls it."""\n\n'
        "    def forward(self, x, factor=2, *, out=None, config=None):\n"
        "        return scale(x, factor, out=out, config=config)\n"
    )
    assert breaches(Path("case/impl.py"), case=Path("case")) == ()
    config = config_of(BLOCK=10, num_warps=4, num_stages=3)
    for call in ({"config": config}, {"selected": config}):
        assert ran(text, tensor(50, 2), **call).launches[0][1] == (5,)
    Path("case/base.py").write_text(BASE)
    assert load_case(Path("case")).inputs[:2] == ("x", "factor")


def test_options_of_a_backend_are_kept(tuner: Any) -> None:
    """What the kernel does not take is an option, and comes with all others."""
    configs = '[triton.Config({"BLOCK": 64, "waves_per_eu": 2}, num_ctas=2, maxnreg=None)]'
    assert tuner("harvest", kernel_file(configs), "-o", "case")[0] == 0
    assert sample()["config_param_names"] == ["BLOCK"]
    (config,) = load_case(Path("case")).space.configs
    assert config.options == (("waves_per_eu", 2),)
    assert (config.num_warps, config.num_stages, config.num_ctas) == (4, 3, 2)
    assert breaches(Path("case/impl.py"), case=Path("case")) == ()


def test_what_is_dropped_and_left_over_is_told(tuner: Any) -> None:
    """An option of the decorator that has no place here, and names that only it used."""
    path = kernel_file("[triton.Config({'BLOCK': b}) for b in SIZES]")
    path.write_text(
        path.read_text().replace('"N"])', '"N"], prune_configs_by={"top_k": 2}, rep=9)')
    )
    _, out, _ = tuner("harvest", path, "-o", "case")
    notes = [line for line in out.splitlines() if line.startswith("note: ")]
    assert notes[0].startswith("note: prune_configs_by of @triton.autotune on scale_kernel is dr")
    assert notes[1].startswith("note: rep of @triton.autotune on scale_kernel is dropped")
    assert notes[2] == "note: SIZES, line 7 of kernel.py, is not used any more"


def test_of_several_kernels_one_is_named(tuner: Any) -> None:
    """Two that share names of params are tuned as one, if they have the same configs."""
    path = kernel_file()
    second = path.read_text().partition("\n\n\n")[2].partition("\n\n\n")[0] + "\n\n\n"
    both = MODEL.replace("        return", "        other_kernel[grid](y, y, M, N)\n        return")
    other = second.replace("scale_kernel", "other_kernel")
    path = kernel_file(rest=other + both)
    status, _, err = tuner("harvest", path, "-o", "case")
    assert (status, err) == (
        2,
        (
            "tuner: kernel.py: has several kernels under @triton.autotune: scale_kernel, "
            "other_kernel; "
            "name one with --kernel\n"
        ),
    )
    assert "none is no kernel under" in tuner("harvest", path, "--kernel", "none", "-o", "case")[2]
    assert tuner("harvest", path, "--kernel", "scale_kernel", "-o", "case")[0] == 0
    assert breaches(Path("case/impl.py"), case=Path("case")) == ()
    path = kernel_file(rest=other.replace("128}", "256}") + both)
    status, _, err = tuner("harvest", path, "--kernel", "scale_kernel", "-o", "new")
    assert status == 2
    assert "other_kernel and scale_kernel are tuned apart, and share names of params" in err
    assert not Path("new").exists()


def test_files_that_stand_there_are_not_overwritten(tuner: Any) -> None:
    """All are looked at before the first is written."""
    Path("case").mkdir()
    Path("case/sample.json").write_text("{}")
    status, _, err = tuner("harvest", kernel_file(), "-o", "case")
    assert status == 2
    assert err == (
        "tuner: case/sample.json: exists, and holds something else; name another directory with "
        "-o, or overwrite it with --force\n"
    )
    assert [path.name for path in Path("case").iterdir()] == ["sample.json"]
    assert tuner("harvest", "kernel.py", "-o", "case", "--force")[0] == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "has no @triton.autotune; write a sample.json by hand"),
        ("def f(:\n", "kernel.py:1: is not Python"),
        (
            "@triton.autotune\n@triton.jit\ndef k(x): pass\n",
            "kernel.py:1: @triton.autotune of k has",
        ),
        ("@triton.autotune(key=[])\n@triton.jit\ndef k(x): pass\n", "of k has no configs"),
    ],
)
def test_a_file_without_a_kernel_to_harvest_is_refused(tuner: Any, text: str, words: str) -> None:
    """In one line."""
    Path("kernel.py").write_text(text)
    status, _, err = tuner("harvest", "kernel.py", "-o", "case")
    assert status == 2
    assert words in err
    assert err.count("\n") == 1


def test_the_same_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files by name, and what a user is told, with nothing written."""
    monkeypatch.chdir(tmp_path)
    found = harvest_case(kernel_file())
    assert (found.kernel, found.configs) == ("scale_kernel", 2)
    assert [*found.files] == ["base.py", "impl.py", "sample.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["kernel.py"]
    with pytest.raises(ConvertError, match=r"nothing is no kernel under @triton\.autotune"):
        harvest_case(Path("kernel.py"), kernel="nothing")
