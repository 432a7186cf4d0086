"""The cases in `tests/cases`: their files fit each other, and their kernels compute what they say.

Triton's kernels run here in its interpreter, if it is installed; `tests/device` has a device.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.loading import (
    CASES,
    CONVERTED,
    HOSTILE,
    NUMPY_CASES,
    ORIGINAL,
    TRITON_CASES,
    candidates,
    config_of,
    load,
    load_converted,
    sample,
    tune,
)

from codegen.config import LAUNCH_OPTIONS, Config

RECORDED = Path(__file__).parents[1] / "data"
RECORDED_CASES = ("conv2d", "matmul", "softmax")
VERSIONS = {case: (ORIGINAL / case, CONVERTED / case / "impl.py") for case in CASES}
VERSIONS["hostile"] = (HOSTILE, HOSTILE / "impl.py")

each_case = pytest.mark.parametrize("case", CASES)
each_version = pytest.mark.parametrize("case", sorted(VERSIONS))


def definitions(path: Path) -> dict[str, ast.stmt]:
    """Return the functions and classes of the file at `path` by name."""
    body = ast.parse(path.read_text()).body
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def forward(path: Path, name: str) -> ast.arguments:
    """Return the parameters of `forward` of the class `name` in the file at `path`."""
    model = definitions(path)[name]
    assert isinstance(model, ast.ClassDef)
    (found,) = (n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "forward")
    return found.args


def names_of(parameters: ast.arguments) -> list[str]:
    """Return the names of positional parameters, `self` first."""
    return [parameter.arg for parameter in parameters.args]


def axes(case: str) -> list[str]:
    """Return what the case calls its axes."""
    told = sample(VERSIONS[case][0])
    found: list[str] = told.get("axis_names") or told["autotune"]["key"]
    return found


def static_shapes(path: Path) -> list[tuple[int, ...]]:
    """Return the literal `SHAPES` of a `base.py`, which is not run."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SHAPES":
            return [*ast.literal_eval(node.value)]
    raise AssertionError(f"{path} has no SHAPES")


def test_the_cases_are_those_that_are_listed() -> None:
    """Each directory is a case that the tests know, and each case has both its versions."""
    assert sorted(path.name for path in ORIGINAL.iterdir()) == [*CASES]
    assert sorted(path.name for path in CONVERTED.iterdir()) == [*CASES]


@each_version
def test_a_case_has_its_files_and_they_are_its_own(case: str) -> None:
    """`base.py`, `impl.py` and `sample.json` are there, the op is called as its directory is."""
    directory, converted = VERSIONS[case]
    assert all((directory / name).is_file() for name in ("base.py", "impl.py", "sample.json"))
    assert converted.is_file()
    assert sample(directory)["op_name"] == case


@each_version
def test_a_base_defines_what_a_case_is_made_of(case: str) -> None:
    """`base.py` has the model, its arguments, inputs of any shape, and of 6 to 12 mixed ones."""
    base = VERSIONS[case][0] / "base.py"
    wanted = {"Model", "get_init_inputs", "get_inputs_dyn_list", "get_inputs_for_shape"}
    assert wanted <= {*definitions(base)}
    shapes = static_shapes(base)
    assert 6 <= len(shapes) == len({*shapes}) <= 12
    assert {len(shape) for shape in shapes} == {len(axes(case))}
    assert any(size % 2 for shape in shapes for size in shape if size > 1)
    volumes = [int(np.prod(shape, dtype=object)) for shape in shapes]
    assert max(volumes) > 20 * min(volumes)


@each_case
def test_a_conversion_adds_the_config_and_changes_no_kernel(case: str) -> None:
    """The converted file has the original's functions, and in forward one parameter more."""
    original, converted = ORIGINAL / case / "impl.py", VERSIONS[case][1]
    old, new = forward(original, "ModelNew"), forward(converted, "ModelNew")
    assert names_of(new) == [*names_of(old), "config"]
    assert [ast.unparse(default) for default in new.defaults] == ["None"]
    assert not old.defaults
    before, after = definitions(original), definitions(converted)
    assert before.keys() == after.keys()
    kernels = [name for name in before if name != "ModelNew"]
    assert kernels
    for name in kernels:
        assert ast.dump(before[name]) == ast.dump(after[name])


@each_version
def test_a_forward_takes_what_the_model_takes(case: str) -> None:
    """Model and ModelNew call their inputs alike, and `shape_expr` uses no other names."""
    directory, converted = VERSIONS[case]
    inputs = names_of(forward(directory / "base.py", "Model"))[1:]
    assert names_of(forward(converted, "ModelNew"))[1:-1] == inputs
    expression = ast.parse(sample(directory)["shape_expr"], mode="eval")
    used = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
    assert used
    assert used <= {*inputs}


@each_version
def test_a_candidate_gives_every_param_and_nothing_unknown(case: str) -> None:
    """Each candidate has exactly the params that are named, and launch options; no two are alike.

    A launch that says nothing of `num_warps` is given Triton's own default.
    """
    directory = VERSIONS[case][0]
    wanted = {*sample(directory)["config_param_names"]}
    found = candidates(directory)
    assert len(found) >= 6
    for candidate in found:
        assert {*candidate} - {*LAUNCH_OPTIONS} == wanted
    assert len({config_of(candidate).id for candidate in found}) == len(found)


@each_version
def test_a_conversion_asks_for_no_param_that_is_not_named(case: str) -> None:
    """`config.param` is asked for named params only, and every one of them reaches the kernel."""
    directory, converted = VERSIONS[case]
    text, named = converted.read_text(), sample(directory)["config_param_names"]
    asked = {
        ast.literal_eval(node.args[0])
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "config.param"
    }
    assert asked
    assert asked <= {*named}
    if case in TRITON_CASES:
        assert "**config.all_kwargs()" in text
        assert all(f" {name}: tl.constexpr" in text for name in named)
    else:
        assert asked == {*named}


@pytest.mark.parametrize("case", RECORDED_CASES)
def test_the_candidates_are_those_that_were_recorded(case: str) -> None:
    """The kernels of which there are recorded tables have the configs of these tables."""
    table = json.loads((RECORDED / f"h200_{case}.json").read_text())
    recorded = [{**config.pop("params"), **config} for config in table["configs"]]
    assert [*candidates(ORIGINAL / case)] == recorded
    assert axes(case) == table["axis_names"]


@pytest.mark.parametrize("case", RECORDED_CASES)
def test_the_shapes_to_tune_are_many_and_mixed(case: str) -> None:
    """`tune.yaml` lists 40 shapes, a good part of them odd, over three orders of magnitude."""
    shapes = [tuple(shape) for shape in tune(ORIGINAL / case)["shapes"]]
    assert len({*shapes}) == len(shapes) == 40
    assert {len(shape) for shape in shapes} == {len(axes(case))}
    assert sum(any(size % 2 for size in shape if size > 1) for shape in shapes) >= 15
    volumes = [int(np.prod(shape, dtype=object)) for shape in shapes]
    assert max(volumes) > 1000 * min(volumes)
    if case == "conv2d":
        assert {(1, side, side) for side in (224, 384, 512, 640)} <= {*shapes}


def test_a_space_of_parameters_holds_launch_options_too() -> None:
    """The space of rms_norm is a product over params and `num_warps`, with constraints on both."""
    space = tune(ORIGINAL / "rms_norm")
    assert {*space} == {"parameters", "constraints", "subspaces", "launch_grid"}
    assert [*space["parameters"]] == ["BLOCK_R", "BLOCK_C", "num_warps"]
    assert all("num_warps" in constraint for constraint in space["constraints"])


# numpy

NEAREST_SHAPES = ((1, 1, 1), (1, 9000, 3), (3, 7, 2), (33, 65, 17), (300, 20, 5), (9001, 2, 1))


def nearest(select: Any = None) -> tuple[Any, Any, Any]:
    """Return base, original kernel and converted kernel of `nearest`."""
    converted = load_converted(CONVERTED / "nearest/impl.py", select)
    return load(ORIGINAL / "nearest/base.py"), load(ORIGINAL / "nearest/impl.py"), converted


@pytest.mark.parametrize("shape", NEAREST_SHAPES)
def test_every_config_finds_the_nearest_centroid(shape: tuple[int, ...]) -> None:
    """Whatever the blocks, the indices are the Model's, to the last one."""
    base, original, converted = nearest()
    inputs = base.get_inputs_for_shape(shape)
    expected = base.Model(*base.get_init_inputs()).forward(*inputs)
    assert (expected.dtype, expected.shape) == (np.int64, shape[:1])
    outputs = [original.ModelNew().forward(*inputs)]
    outputs += [
        converted.ModelNew().forward(*inputs, config=config_of(candidate))
        for candidate in candidates(ORIGINAL / "nearest")
    ]
    assert len(outputs) == 9
    for output in outputs:
        assert output.dtype == np.int64
        np.testing.assert_array_equal(output, expected)


def test_a_tie_goes_to_the_lowest_index_in_every_block() -> None:
    """Of centroids that are equally near the first is found, in one block or over many."""
    base, _, converted = nearest()
    x = np.zeros((5, 2), dtype=np.float32)
    c = np.array([[3, 0], [0, 1], [1, 0], [0, 1], [-1, 0], [2, 0]], dtype=np.float32)
    assert base.Model().forward(x, c).tolist() == [1] * 5
    for block in (1, 2, 3, 4, 100):
        config = Config(params=(("BLOCK_M", 2), ("BLOCK_N", block)))
        assert converted.ModelNew().forward(x, c, config=config).tolist() == [1] * 5


def test_a_kernel_without_a_config_asks_the_dispatch_for_its_shape() -> None:
    """With no config given, the forward asks once, with the shape in the order of the axes."""
    asked: list[tuple[int, ...]] = []

    def select(shape: tuple[int, ...]) -> Config:
        asked.append(shape)
        return Config(params=(("BLOCK_M", 16), ("BLOCK_N", 16)))

    base, _, converted = nearest(select)
    converted.ModelNew().forward(*base.get_inputs_for_shape((5, 40, 3)))
    assert asked == [(5, 40, 3)]
    assert axes("nearest") == ["M", "N", "K"]


@pytest.mark.parametrize("directory", [ORIGINAL / "nearest", HOSTILE], ids=["nearest", "hostile"])
def test_numpy_inputs_are_new_at_each_call(directory: Path) -> None:
    """Two calls give values that differ, of the shapes that are listed, in float32."""
    base = load(directory / "base.py")
    listed = base.get_inputs_dyn_list()
    assert len(listed) == len(base.SHAPES)
    for shape, inputs in zip(base.SHAPES, listed, strict=True):
        again = base.get_inputs_for_shape(shape)
        assert [value.shape for value in inputs] == [value.shape for value in again]
        assert all(value.dtype == np.float32 for value in inputs)
        assert any((old != new).any() for old, new in zip(inputs, again, strict=True))


def test_only_numpy_is_needed_for_a_numpy_case() -> None:
    """Importing the files of the numpy cases imports neither torch nor triton."""
    program = (
        "import sys\n"
        "from cases.loading import CONVERTED, HOSTILE, ORIGINAL, load, load_converted\n"
        "for case in sys.argv[1:]:\n"
        "    load(ORIGINAL / case / 'base.py'), load(ORIGINAL / case / 'impl.py')\n"
        "    load_converted(CONVERTED / case / 'impl.py', None)\n"
        "load(HOSTILE / 'base.py'), load_converted(HOSTILE / 'impl.py', None)\n"
        "print(sorted({'numpy', 'torch', 'triton'} & {*sys.modules}))\n"
    )
    command = [sys.executable, "-c", program, *NUMPY_CASES]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    assert ran.stdout == "['numpy']\n"


# The hostile case

ENDS = {  # how the process ends, and what it said after forward was called
    "abort": (-6, ""),
    "segfault": (-11, ""),
    "exit": (3, ""),
    "sys_exit": (0, ""),
    "interrupt": (-2, ""),
    "good": (0, "returned\n"),
}
HOSTILE_PROGRAM = """
import sys
import numpy as np
from cases.loading import HOSTILE, config_of, load_converted
model = load_converted(HOSTILE / "impl.py", None).ModelNew()
print("called", flush=True)
model.forward(np.ones(4, np.float32), config=config_of({"MODE": sys.argv[1]}))
print("returned", flush=True)
"""


def environment() -> dict[str, str]:
    """Return an environment in which a new Python finds what these tests find."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def hostile(mode: str, x: np.ndarray) -> Any:
    """Return what the hostile kernel makes of `x` in `mode`."""
    model = load_converted(HOSTILE / "impl.py", None).ModelNew()
    return model.forward(x, config=config_of({"MODE": mode}))


def vector(size: int) -> np.ndarray:
    """Return the input of the hostile case for a length."""
    (x,) = load(HOSTILE / "base.py").get_inputs_for_shape((size,))
    return x


def test_the_hostile_modes_are_the_candidates() -> None:
    """Each candidate of the hostile case is a mode that its kernel knows, and there is no other."""
    modes = [candidate["MODE"] for candidate in candidates(HOSTILE)]
    assert modes == [*load_converted(HOSTILE / "impl.py", None).KERNELS]


@pytest.mark.parametrize("mode", ["good", "better", "in_place", "odd"])
def test_a_right_mode_doubles_the_vector(mode: str) -> None:
    """The modes that are right give what the Model gives; one of them changes its input too."""
    x = vector(64)
    before = x.copy()
    y = hostile(mode, x)
    np.testing.assert_array_equal(y, load(HOSTILE / "base.py").Model().forward(before))
    assert (x == before).all() == (mode != "in_place")


def test_a_wrong_mode_returns_other_values() -> None:
    """`wrong` has no element right, `hole` has all right but the last, which it never writes."""
    x = vector(64)
    assert (hostile("wrong", x) != 2 * x).all()
    np.testing.assert_array_equal(hostile("hole", x)[:-1], 2 * x[:-1])
    # `hole` writes 63 of 64 elements: into memory that is known, the last stays as it was.
    y = np.full_like(x, 7)
    module = load_converted(HOSTILE / "impl.py", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.np, "empty_like", lambda _: y)
        assert hostile("hole", x)[-1] == 7


@pytest.mark.parametrize(
    ("mode", "error", "words"),
    [
        ("raise", ValueError, r"no such tile\nfor this shape"),
        ("memory", MemoryError, "Unable to allocate"),
        ("odd", ValueError, "length 7 is odd"),
    ],
)
def test_a_raising_mode_raises(mode: str, error: type[Exception], words: str) -> None:
    """The modes that raise do so with an ordinary exception, `odd` for an odd length only."""
    with pytest.raises(error, match=words):
        hostile(mode, vector(7))


@pytest.mark.parametrize("mode", ENDS)
def test_an_ending_mode_ends_its_process(mode: str, tmp_path: Path) -> None:
    """The modes that end the process do so by signal or by status, before forward returns."""
    command = [sys.executable, "-c", HOSTILE_PROGRAM, mode]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(), cwd=tmp_path
    )
    status, said = ENDS[mode]
    assert (ran.returncode, ran.stdout) == (status, f"called\n{said}")


def test_a_looping_mode_never_returns(tmp_path: Path) -> None:
    """`loop` is still running a while after it was called."""
    command = [sys.executable, "-c", HOSTILE_PROGRAM, "loop"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment(), cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "called\n"
            with pytest.raises(subprocess.TimeoutExpired, match="timed out"):
                process.wait(timeout=0.5)
        finally:
            process.kill()


# Torch and Triton


@pytest.mark.parametrize("case", TRITON_CASES)
def test_the_context_decides_where_inputs_are_made(case: str) -> None:
    """Under `torch.device`, inputs of any shape are on that device, in the case's dtype."""
    torch = pytest.importorskip("torch", reason="the inputs are torch's", exc_type=ImportError)
    base = load(ORIGINAL / case / "base.py")
    with torch.device("meta"):
        listed = base.get_inputs_dyn_list()
    assert len(listed) == len(base.SHAPES)
    tensors = [tensor for inputs in listed for tensor in inputs]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    dtype = torch.float32 if case == "vector_add" else torch.float16
    assert {tensor.dtype for tensor in tensors} == {dtype}


@pytest.mark.parametrize("case", TRITON_CASES)
def test_torch_inputs_are_new_at_each_call(case: str) -> None:
    """Two calls give values that differ, and a Model keeps their dtype."""
    torch = pytest.importorskip("torch", reason="the inputs are torch's", exc_type=ImportError)
    base = load(ORIGINAL / case / "base.py")
    shape = (3, 5, 7)[: len(base.SHAPES[0])]
    old, new = base.get_inputs_for_shape(shape), base.get_inputs_for_shape(shape)
    assert not any(torch.equal(*pair) for pair in zip(old, new, strict=True))
    with torch.no_grad():
        output = base.Model(*base.get_init_inputs())(*old)
    assert output.dtype == old[0].dtype
    assert output.isfinite().all()


@pytest.mark.parametrize("case", TRITON_CASES)
def test_a_kernel_computes_what_its_model_does(case: str, tmp_path: Path) -> None:
    """In Triton's interpreter, the original and three configs match the Model on odd shapes."""
    for package in ("torch", "triton"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"Triton's interpreter needs {package}, which is not installed")
    program = ORIGINAL.parent / "interpreted.py"
    command = [sys.executable, str(program), case]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    runs = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [run for run in runs if run["wrong"]] == []
    assert len(runs) == 3 * (1 + 3 + 1) + 1
