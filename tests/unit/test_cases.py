"""Cases: what is read of a directory, without running any of it, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codegen.config import Config
from codegen.source_hash import source_sha256_of
from tuner.cases import Case, load_case
from tuner.errors import CaseError, MissingError

BASE = """
raise SystemExit("base.py was run")


class Model:
    def forward(self, A, B): ...


def get_init_inputs():
    return []


def get_inputs_dyn_list():
    return []
"""
FOR_SHAPE = "\n\ndef get_inputs_for_shape(shape):\n    return []\n"
IMPL = """
raise SystemExit("impl.py was run")


class ModelNew:
    def forward(self, a, b, config=None): ...
"""
SAMPLE: dict[str, Any] = {
    "op_name": "matmul",
    "shape_expr": "(a.shape[0], b.shape[1], a.shape[1])",
    "config_param_names": ["BLOCK_M", "BLOCK_N"],
    "autotune": {
        "key": ["M", "N", "K"],
        "configs": [
            {"BLOCK_M": 16, "BLOCK_N": 32, "num_warps": 4},
            {"BLOCK_N": 64, "BLOCK_M": 128, "num_stages": 3, "multibuffer": True},
        ],
    },
}


class Files:
    """A sound case in a directory, of which a test changes a file."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.write("base.py", BASE)
        self.write("impl.py", IMPL)
        self.sample()

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file, and return its path."""
        path = self.directory / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def sample(self, **changes: Any) -> None:
        """Write sample.json with `changes`; a key that is changed to ... is left out."""
        fields = {name: value for name, value in (SAMPLE | changes).items() if value is not ...}
        self.write("sample.json", json.dumps(fields))

    def autotune(self, *configs: Any, **changes: Any) -> None:
        """Write sample.json with other candidates."""
        self.sample(autotune={"key": ["M", "N", "K"], "configs": [*configs], **changes})

    def tune(self, text: str) -> Path:
        """Write tune.yaml."""
        return self.write("tune.yaml", text)

    def load(self, **options: Path) -> Case:
        """Return the case."""
        return load_case(self.directory, **options)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Return a sound case."""
    return Files(tmp_path)


def ids(case: Case) -> list[str]:
    """Return the ids of the case's configs."""
    return [config.id for config in case.space.configs]


def refused(files: Files, match: str, where: str, **options: Path) -> CaseError:
    """Check that the case is refused in one line, at `where` in its directory."""
    with pytest.raises(CaseError, match=match) as caught:
        files.load(**options)
    found = caught.value.where.replace(f"{files.directory}{os.sep}", "")
    assert found == where
    assert "\n" not in str(caught.value)
    assert caught.value.remedy
    return caught.value


def test_a_case_is_read_and_nothing_of_it_is_run(files: Files) -> None:
    """Kernel, axes, shape, params and candidates are those of the files."""
    case = files.load()
    assert case.kernel == "matmul"
    assert case.directory == files.directory
    assert (case.base, case.impl) == (files.directory / "base.py", files.directory / "impl.py")
    assert case.source_sha256 == source_sha256_of(case.impl)
    assert case.axis_names == ("M", "N", "K")
    assert case.inputs == ("a", "b")
    assert case.config_param_names == ("BLOCK_M", "BLOCK_N")
    assert case.shape_expr.text == SAMPLE["shape_expr"]
    assert case.space.configs == (
        Config(params=(("BLOCK_M", 16), ("BLOCK_N", 32)), num_warps=4),
        Config(
            params=(("BLOCK_M", 128), ("BLOCK_N", 64)),
            num_stages=3,
            options=(("multibuffer", True),),
        ),
    )
    assert [name for name, _ in case.space.configs[1].params] == ["BLOCK_M", "BLOCK_N"]
    assert case.space.notes == ()
    assert case.shapes is None
    assert case.weights == ()
    assert case.weight_of((1, 2, 3)) == 1.0
    assert not case.has_inputs_for_shape


def test_the_shape_of_inputs_is_that_of_the_expression(files: Files) -> None:
    """The names are those of ModelNew.forward."""

    class Array:
        def __init__(self, *shape: int) -> None:
            self.shape = shape

    values = dict(zip(files.load().inputs, (Array(7, 9), Array(9, 8)), strict=True))
    assert files.load().shape_expr.shape_of(values) == (7, 8, 9)


def test_files_of_dynamic_tune_are_read_as_they_are(files: Files) -> None:
    """Its sweeps stand within autotune, and its files may hold more than ours."""
    files.write("impl.py", IMPL.replace("a, b,", "states,"))
    files.write(
        "sample.json",
        """{
  "op_name": "txa_scale",
  "shape_expr": "(int(states.shape[0]),)",
  "config_param_names": ["CHUNK"],
  "autotune": {"key": ["length"], "sweep_param": "CHUNK", "candidates": [512, 1024, 8192]},
  "verify": {"rtol": 1e-3}
}
""",
    )
    case = files.load()
    assert case.axis_names == ("length",)
    assert ids(case) == ["CHUNK=512", "CHUNK=1024", "CHUNK=8192"]


# The code that is looked at.


@pytest.mark.parametrize("name", ["base.py", "impl.py", "sample.json"])
def test_a_missing_file_is_named(files: Files, name: str) -> None:
    """Each of the three files has to be there, as a file."""
    (files.directory / name).unlink()
    refused(files, "cannot be read: no such file", name)
    (files.directory / name).mkdir()
    refused(files, "is a directory", name)
    (files.directory / name).rmdir()
    os.mkfifo(files.directory / name)
    refused(files, "is not a regular file", name)


def test_what_is_no_directory_is_no_case(files: Files) -> None:
    """A file, and nothing at all, are told apart."""
    with pytest.raises(CaseError, match=r"impl\.py: is not a directory; name the directory with"):
        load_case(files.directory / "impl.py")
    with pytest.raises(CaseError, match=r"gone: does not exist; name the directory with base\.py"):
        load_case(files.directory / "gone")
    for name in ("a\0b", "x" * 5000):
        with pytest.raises(CaseError, match="does not exist"):
            load_case(Path(name))


def test_another_implementation_can_be_named(files: Files) -> None:
    """A converted file elsewhere takes the place of impl.py, which is not looked at."""
    files.write("impl.py", "not Python at all")
    converted = files.write("converted.py", IMPL)
    case = files.load(impl=converted)
    assert case.impl == converted
    assert case.source_sha256 == source_sha256_of(converted)


@pytest.mark.parametrize(
    ("text", "match", "where"),
    [
        ("def (", "is not Python: ", "base.py:1"),
        ("x = 1\nclass Model\n", "is not Python: ", "base.py:2"),
        ("x = '\0'", "is not Python: ", "base.py"),
        (b"# coding: nonsense\n", "is not Python: ", "base.py"),
        (b"x = '\xff'\n", "is not Python: ", "base.py:1"),
        ("x = " + "-" * 200_000 + "1", "is nested too deeply|is not Python", "base.py"),
        (BASE.replace("class Model", "class Other"), "has no class Model; ", "base.py"),
        (BASE.replace("get_init_inputs", "other"), r"has no get_init_inputs\(\); ", "base.py"),
        (
            BASE.replace("get_inputs_dyn_list", "get_inputs"),
            r"has no get_inputs_dyn_list\(\) and no get_inputs_for_shape\(shape\); define one",
            "base.py",
        ),
    ],
)
def test_a_base_that_lacks_something_is_refused(
    files: Files, text: str | bytes, match: str, where: str
) -> None:
    """What is missing of the reference and of the inputs is said."""
    files.write("base.py", text)
    with pytest.raises(CaseError, match=match) as caught:
        files.load()
    assert caught.value.where.removeprefix(f"{files.directory}{os.sep}").startswith(where)


@pytest.mark.parametrize(
    "text",
    [
        "from reference import *\n",
        "from reference import Model, get_init_inputs, get_inputs_dyn_list\n",
        "import other as Model\nget_init_inputs = lambda: []\nget_inputs_dyn_list: object = 1\n",
        """
if True:
    class Model: ...
else:
    Model = None
try:
    def get_init_inputs(): ...
except ImportError:
    from x import get_init_inputs
finally:
    with x:
        def get_inputs_dyn_list(): ...
""",
    ],
)
def test_a_base_may_import_or_assign_what_it_defines(files: Files, text: str) -> None:
    """Whatever gives a name a value on import defines it."""
    files.write("base.py", text)
    assert files.load().kernel == "matmul"


def test_inputs_for_a_shape_are_seen(files: Files) -> None:
    """`get_inputs_for_shape` is enough if the shapes are listed, and not otherwise."""
    files.write("base.py", BASE + FOR_SHAPE)
    assert files.load().has_inputs_for_shape
    files.write("base.py", BASE.replace("get_inputs_dyn_list", "unused") + FOR_SHAPE)
    refused(files, r"has no get_inputs_dyn_list\(\), and tune.yaml lists no shapes", "base.py")
    files.tune("shapes: [[1, 2, 3]]")
    assert files.load().shapes == ((1, 2, 3),)


@pytest.mark.parametrize(
    ("text", "match", "where"),
    [
        ("", "has no class ModelNew; define it there", "impl.py"),
        ("def f():\n  class ModelNew: ...\n", "has no class ModelNew; ", "impl.py"),
        ("from x import ModelNew\n", "has no class ModelNew of its own; ", "impl.py"),
        ("class ModelNew(Base): ...\n", "ModelNew has no forward; .* --impl FILE", "impl.py:1"),
        (
            "\nclass ModelNew:\n  async def forward(self, config=None): ...\n",
            "ModelNew has no forward",
            "impl.py:2",
        ),
        (
            "class ModelNew:\n  x = 1\n  def forward(self, a, b): ...\n",
            r"ModelNew.forward has no param config \(its params are 'a', 'b'\); .* --impl FILE",
            "impl.py:3",
        ),
        (
            "class ModelNew:\n  def forward(self, config, a): ...\n",
            "has a param config without a default",
            "impl.py:2",
        ),
        (
            "class ModelNew:\n  def forward(self, a, *, config): ...\n",
            "has a param config without a default",
            "impl.py:2",
        ),
        (
            "class ModelNew:\n  def forward(self, a, config=None, /): ...\n",
            "has a param config that cannot be given by name",
            "impl.py:2",
        ),
        (
            "class ModelNew:\n  def forward(self, *inputs, **options): ...\n",
            r"has no param config \(its params are none\)",
            "impl.py:2",
        ),
        (
            "class ModelNew:\n  def forward(self, *inputs, config=None): ...\n",
            "ModelNew.forward names no inputs; name its inputs",
            "impl.py",
        ),
        ("class ModelNew:\n  def forward(\n", "is not Python: ", "impl.py:2"),
    ],
)
def test_an_impl_that_takes_no_config_is_refused(
    files: Files, text: str, match: str, where: str
) -> None:
    """The line, what is wrong with its signature and how to go on are said."""
    files.write("impl.py", text)
    refused(files, match, where)


@pytest.mark.parametrize(
    "text",
    [
        "class ModelNew:\n  def forward(self, a, b, *, config=None): ...\n",
        "class ModelNew:\n  def forward(self, a, b, config=DEFAULT): ...\n",
        "class ModelNew:\n  @torch.no_grad()\n  def forward(self, a, /, b, config=None): ...\n",
        "if x:\n  class ModelNew:\n    def forward(self, a, b, config=None): ...\n",
        """
try:
    import triton

    class ModelNew:
        def forward(self, a, b, config=None): ...
except ImportError:
    class ModelNew: ...
""",
        "if x: ...\n"
        + "elif x: ...\n" * 500
        + "else:\n  class ModelNew:\n    def forward(self, a, b, config=None): ...\n",
        "class ModelNew: ...\n\nclass ModelNew:\n  def forward(self, a, b, config=None): ...\n",
        "class ModelNew:\n  if x:\n    def forward(self, a, b, config=None): ...\n",
    ],
)
def test_a_config_may_be_taken_in_many_ways(files: Files, text: str) -> None:
    """Keyword-only, decorated, under an if or a try: what takes a config will do."""
    files.write("impl.py", text)
    assert files.load().inputs == ("a", "b")


# sample.json.


@pytest.mark.parametrize(
    "entry",
    [
        {"BLOCK_M": 16, "BLOCK_N": 32, "num_warps": 4, "buffers": 2},
        {"kwargs": {"BLOCK_M": 16, "BLOCK_N": 32, "buffers": 2}, "num_warps": 4, "num_ctas": None},
        {"kwargs": {"BLOCK_M": 16, "BLOCK_N": 32}, "num_warps": 4, "buffers": 2, "pre_hook": None},
        {"params": {"BLOCK_N": 32, "BLOCK_M": 16}, "num_warps": 4, "options": {"buffers": 2}},
        {"BLOCK_N": 32, "BLOCK_M": 16, "num_warps": 4, "options": {"buffers": 2}},
    ],
)
def test_a_config_is_read_in_any_of_its_forms(files: Files, entry: dict[str, Any]) -> None:
    """Flat, as triton.Config and as a latency table, a name means the same."""
    files.autotune(entry)
    wanted = Config(
        params=(("BLOCK_M", 16), ("BLOCK_N", 32)), num_warps=4, options=(("buffers", 2),)
    )
    assert files.load().space.configs == (wanted,)


@pytest.mark.parametrize(
    ("entry", "match", "where"),
    [
        ({"BLOCK_M": 1}, "has no 'BLOCK_N', which config_param_names lists", ""),
        ({}, "has no 'BLOCK_M', 'BLOCK_N', which config_param_names lists", ""),
        ([], "an array is not an object", ""),
        (64, "64 is not an object", ""),
        ({"BLOCK_M": [1], "BLOCK_N": 1}, "an array cannot be a param", ".BLOCK_M"),
        ({"BLOCK_M": 1, "BLOCK_N": {"a": 1}}, "an object cannot be a param", ".BLOCK_N"),
        ({"BLOCK_M": 1, "BLOCK_N": 2**63}, "does not fit in 64 bits", ".BLOCK_N"),
        ({"BLOCK_M": 1, "BLOCK_N": 1, "num_warps": "4"}, "'4' is not an integer", ".num_warps"),
        ({"BLOCK_M": 1, "BLOCK_N": 1, "num_warps": True}, "true is not an int", ".num_warps"),
        ({"BLOCK_M": 1, "BLOCK_N": 1, "num_warps": 4.0}, "4.0 is not an int", ".num_warps"),
        ({"BLOCK_M": 1, "BLOCK_N": 1, "num_warps": 0}, "0 is out of range", ".num_warps"),
        ({"BLOCK_M": 1, "BLOCK_N": 1, "a b": 1}, "'a b' is not a name", ""),
        ({"BLOCK_M": 1, "BLOCK_N": 1, "if": 1}, "'if' is not a name", ""),
        ({"BLOCK_M": 1, "BLOCK_N": 1, "x" * 65: 1}, "is not a name", ""),
        ({"BLOCK_M": 1, "BLOCK_N": 1, "kwargs": {"BLOCK_M": 2}}, "'BLOCK_M' stands twice", ""),
        (
            {"kwargs": {"BLOCK_M": 1, "BLOCK_N": 1, "num_warps": 1}},
            "'num_warps' stands among the params, and is a launch option",
            "",
        ),
        (
            {"params": {"BLOCK_M": 1, "BLOCK_N": 1, "BLOCK_K": 1}},
            "has a param 'BLOCK_K' that config_param_names does not list",
            "",
        ),
        ({"params": [1]}, "an array is not an object", ".params"),
        ({"BLOCK_M": 1, "BLOCK_N": 1, "pre_hook": "f"}, "'f'", ".pre_hook"),
    ],
)
def test_a_bad_config_is_named_by_its_place(
    files: Files, entry: Any, match: str, where: str
) -> None:
    """Which of the configs it is, and which value, stands in the path."""
    files.autotune(SAMPLE["autotune"]["configs"][0], entry)
    refused(files, match, f"sample.json: autotune.configs[1]{where}")


def test_a_config_that_stands_twice_counts_once(files: Files) -> None:
    """It is no fault, and it is said; -0.0 is 0.0."""
    files.sample(config_param_names=["X"])
    files.autotune({"BLOCK_M": 1, "BLOCK_N": 0.0}, {"BLOCK_N": -0.0, "BLOCK_M": 1})
    case = files.load()
    assert ids(case) == ["BLOCK_M=1,BLOCK_N=0.0"]
    assert case.space.notes == (
        "1 config stands more than once and is tried once: 'BLOCK_M=1,BLOCK_N=0.0'",
    )


def test_a_sweep_may_stand_beside_autotune(files: Files) -> None:
    """One name with a list of values makes a config of each, of a launch option too."""
    sweep = {"sweep_param": "BLOCK", "candidates": [64, 128]}
    files.sample(**sweep, autotune=..., config_param_names=["BLOCK"])
    assert ids(files.load()) == ["BLOCK=64", "BLOCK=128"]
    files.sample(**sweep, autotune={"key": ["A", "B", "C"]}, config_param_names=["BLOCK"])
    assert files.load().axis_names == ("A", "B", "C")
    sweep = {"sweep_param": "num_warps", "candidates": [1, 2]}
    files.sample(**sweep, autotune=..., config_param_names=[])
    assert ids(files.load()) == [";num_warps=1", ";num_warps=2"]


@pytest.mark.parametrize(
    ("changes", "match", "where"),
    [
        ({"sweep_param": "B"}, "stands without candidates", "sweep_param"),
        ({"candidates": [1]}, "stands without sweep_param", "candidates"),
        (
            {"autotune": {"sweep_param": "B"}},
            "stands without candidates",
            "autotune.sweep_param",
        ),
        (
            {"sweep_param": "B", "candidates": [1]},
            "lists candidates twice, the second time under candidates",
            "autotune.configs",
        ),
        (
            {"autotune": ..., "sweep_param": "BLOCK_M", "candidates": [1]},
            "has no 'BLOCK_N'",
            "candidates[0]",
        ),
        ({"autotune": ..., "sweep_param": "B", "candidates": []}, "is an empty", "candidates"),
        ({"autotune": ..., "sweep_param": "B", "candidates": 5}, "5 is not an array", "candidates"),
        (
            {"autotune": ..., "sweep_param": "num_warps", "candidates": [4, 0]},
            "0 is out of range",
            "candidates[1]",
        ),
        ({"autotune": ..., "sweep_param": "a b", "candidates": [1]}, "'a b'", "sweep_param"),
        ({"autotune": {"configs": []}}, "is an empty array", "autotune.configs"),
        ({"autotune": {"configs": {}}}, "an object is not an array", "autotune.configs"),
        ({"autotune": {"config": []}}, "unknown key; remove it", "autotune.config"),
        ({"autotune": []}, "an array is not an object", "autotune"),
        ({"autotune": {"key": "M"}}, "'M' is not an array", "autotune.key"),
        ({"op_name": ...}, "missing field; add it", "op_name"),
        ({"op_name": 5}, "5 is not a string", "op_name"),
        ({"op_name": ""}, "is an empty string", "op_name"),
        ({"shape_expr": ...}, "missing field; add it", "shape_expr"),
        ({"shape_expr": ["a"]}, "an array is not a string", "shape_expr"),
        ({"config_param_names": ...}, "missing field; add it", "config_param_names"),
        ({"config_param_names": ["B"] * 101}, "too long an array", "config_param_names"),
        ({"config_param_names": "B"}, "'B' is not an array", "config_param_names"),
        ({"config_param_names": ["B", 1]}, "1 is not a string", "config_param_names[1]"),
        ({"config_param_names": ["B.C"]}, "'B.C' is not a name", "config_param_names[0]"),
        ({"config_param_names": ["B", "B"]}, "lists 'B' twice", "config_param_names"),
        (
            {"config_param_names": ["num_warps"]},
            "lists the launch option num_warps; remove it: a kernel reads it as config.num_warps",
            "config_param_names",
        ),
        ({"axis_names": ["M", "N"]}, "names 2 axes, and shape_expr gives 3 sizes", "axis_names"),
        ({"axis_names": ["M", "N", "M"]}, "lists 'M' twice", "axis_names"),
        ({"axis_names": ["M", "N", "a b"]}, "'a b' is not a name", "axis_names[2]"),
        ({"axis_names": []}, "is an empty array", "axis_names"),
        (
            {"shape_expr": "(a.shape[0], c.shape[1], 1)"},
            "c is not an input of ModelNew.forward in impl.py; its inputs are 'a', 'b'",
            "shape_expr",
        ),
        (
            {"shape_expr": "(A.shape[0], B.shape[1], 1)"},
            "A is not an input of ModelNew.forward in impl.py; it is called a there",
            "shape_expr",
        ),
        ({"shape_expr": "config.shape"}, "config is not an input", "shape_expr"),
        ({"shape_expr": "self.shape"}, "self is not an input", "shape_expr"),
        ({"shape_expr": "a.shap"}, "a.shap is not allowed", "shape_expr"),
        ({"shape_expr": "a" * 10**7}, "has 10000000 characters, more than 1000", "shape_expr"),
    ],
)
def test_a_bad_sample_is_refused(
    files: Files, changes: dict[str, Any], match: str, where: str
) -> None:
    """The dotted path, the value and the remedy are said in the words of the other files."""
    files.sample(**changes)
    error = refused(files, match, f"sample.json: {where}")
    assert "codegen" not in str(error)
    assert "manifest" not in str(error)


@pytest.mark.parametrize(
    ("text", "match", "where"),
    [
        ("", "is empty; write it again", "sample.json:1"),
        ("{", "is not JSON", "sample.json:1"),
        ("[]", "an array is not an object", "sample.json"),
        ('{"op_name": "a",\n "op_name": "b"}', "key 'op_name' stands twice", "sample.json"),
        ('{"a": NaN}', "NaN is not a JSON number", "sample.json:1"),
        ("[" * 300, "is nested more than 200 levels deep; make it shallower", "sample.json:1"),
        (b'{"a": "\xff"}', "byte 7 is not UTF-8", "sample.json:1"),
    ],
)
def test_a_sample_that_is_no_json_is_refused(
    files: Files, text: str | bytes, match: str, where: str
) -> None:
    """It is read as mercilessly as everything from outside."""
    files.write("sample.json", text)
    refused(files, match, where)


def test_axes_are_named_by_the_key_where_it_fits(files: Files) -> None:
    """A key of another length, or of what is no name, names no axes: they are D0, D1, D2."""
    files.sample(axis_names=["X", "Y", "Z"])
    assert files.load().axis_names == ("X", "Y", "Z")
    for key in (["M", "N"], ["M", "M", "N"], ["M", "N", "x.dtype"], ["M", "N", "if"]):
        files.autotune(*SAMPLE["autotune"]["configs"], key=key)
        case = files.load()
        assert case.axis_names == ("D0", "D1", "D2")
        assert case.space.notes == (
            "the axes are called D0, D1, D2, as sample.json names no others",
        )


def test_a_shape_of_unknown_length_takes_its_axes_from_the_key(files: Files) -> None:
    """Whether the number fits is seen when there are inputs; without a key it cannot be."""
    files.sample(shape_expr="a.shape")
    assert files.load().axis_names == ("M", "N", "K")
    files.sample(shape_expr="a.shape", axis_names=["M"])
    assert files.load().axis_names == ("M",)
    files.sample(shape_expr="a.shape", autotune={"configs": SAMPLE["autotune"]["configs"]})
    refused(files, 'nothing names them; add "axis_names"', "sample.json: shape_expr")


def test_without_candidates_there_is_nothing_to_tune(files: Files) -> None:
    """A sample may leave them to tune.yaml, which then has to have some."""
    files.sample(autotune={"key": ["M", "N", "K"]})
    refused(files, "lists no candidates; add autotune.configs, or parameters", "sample.json")
    files.tune("shapes: [[1, 2, 3]]")
    refused(files, "lists no candidates", "sample.json")
    files.tune("parameters: {BLOCK_M: [1], BLOCK_N: [2]}")
    assert ids(files.load()) == ["BLOCK_M=1,BLOCK_N=2"]


# tune.yaml.


def test_a_space_is_written_as_yaml(files: Files) -> None:
    """Product, configs, constraints, subspaces, shapes and weights are all read."""
    files.tune(
        """# A comment, and everything that may stand in the file.
parameters:
  BLOCK_M: [16, 64]
  BLOCK_N: [32]
  num_warps: [4, null]
  multibuffer: [true]
configs:
  - {BLOCK_M: 256, BLOCK_N: 256, num_warps: 8}
  - kwargs: {BLOCK_M: 16, BLOCK_N: 32}
    num_stages: 2
constraints:
  - BLOCK_M * BLOCK_N <= 65536 and (multibuffer == None or multibuffer)
  - >-
    BLOCK_M
    <= M * 2
subspaces:
  - when: {M: [100, null], N: [null, 7]}
    parameters: {num_warps: [8, 4]}
    constraints: ["num_warps == 8"]
shapes:
  - [8, 1, 1]
  - [100, 7, 1]
weights:
  - {shape: [8, 1, 1], weight: 3}
"""
    )
    case = files.load()
    assert ids(case) == [
        "BLOCK_M=16,BLOCK_N=32;num_warps=4;multibuffer=true",
        "BLOCK_M=16,BLOCK_N=32;;multibuffer=true",
        "BLOCK_M=64,BLOCK_N=32;num_warps=4;multibuffer=true",
        "BLOCK_M=64,BLOCK_N=32;;multibuffer=true",
        "BLOCK_M=256,BLOCK_N=256;num_warps=8",
        "BLOCK_M=16,BLOCK_N=32;num_stages=2",
    ]
    assert case.shapes == ((8, 1, 1), (100, 7, 1))
    assert case.weights == (((8, 1, 1), 3.0),)
    assert (case.weight_of((8, 1, 1)), case.weight_of((100, 7, 1))) == (3.0, 1.0)
    assert case.space.allowed({"M": 8, "N": 1, "K": 1}) == (0, 1, 5)
    assert case.space.allowed({"M": 100, "N": 8, "K": 1}) == (0, 1, 2, 3, 5)
    assert case.space.allowed({"M": 200, "N": 7, "K": 1}) == (4,)
    place = files.directory
    assert case.space.notes == (
        "the constraints leave no config at (100, 7, 1)",
        f"the candidates are those of {place / 'tune.yaml'}, not of {place / 'sample.json'}",
    )


def test_a_long_list_of_values_is_said_of_a_product_alone(files: Files) -> None:
    """More than 5 values of a parameter are worth a note; configs written out are no product."""
    files.tune("parameters: {BLOCK_M: [1, 2, 3, 4, 5, 6], BLOCK_N: [1, 2]}")
    assert "BLOCK_M has 6 values, more than 5" in load_case(files.directory).space.notes
    files.tune("configs: [" + ", ".join(f"{{BLOCK_M: {i}, BLOCK_N: 1}}" for i in range(7)) + "]")
    assert not [note for note in load_case(files.directory).space.notes if "more than" in note]


def test_constraints_apply_to_the_candidates_of_the_sample(files: Files) -> None:
    """A tune.yaml without parameters or configs keeps them."""
    files.tune("constraints: [BLOCK_M < 100]")
    case = files.load()
    assert ids(case) == ["BLOCK_M=16,BLOCK_N=32;num_warps=4"]
    assert case.space.notes == ("constraints leave out 1 of 2 configs",)


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n", "{}", "null\n", "constraints:\n  # all\nshapes:\n"]
)
def test_an_empty_file_says_nothing(files: Files, text: str) -> None:
    """All keys are optional."""
    files.tune(text)
    assert len(files.load().space.configs) == 2


def test_another_space_can_be_named(files: Files) -> None:
    """A file elsewhere takes the place of tune.yaml, which is not looked at."""
    files.tune("no such key: 1")
    other = files.write("other.yaml", "configs: [{BLOCK_M: 1, BLOCK_N: 1}]")
    assert ids(files.load(space=other)) == ["BLOCK_M=1,BLOCK_N=1"]
    gone = files.directory / "gone.yaml"
    refused(files, "cannot be read: no such file", "gone.yaml", space=gone)


def test_a_file_under_another_ending_is_not_passed_over(files: Files) -> None:
    """tune.yml would be ignored, and so would what it says."""
    files.write("tune.yml", "constraints: [BLOCK_M < 100]")
    refused(files, "is not read; call it tune.yaml", "tune.yml")
    files.tune("{}")
    assert len(files.load().space.configs) == 2


@pytest.mark.parametrize(
    ("text", "match", "where"),
    [
        ("paramters: {}", "unknown key; remove it", ":1: paramters"),
        ("\n- 1", "an array is not an object", ":2"),
        ("text", "'text' is not an object", ":1"),
        ("\nparameters:\n  BLOCK_M: 16", "16 is not an array", ":3: parameters.BLOCK_M"),
        ("paramters:", "unknown key; remove it", ":1: paramters"),
        ("parameters: {}", "is empty; list at least one", ":1: parameters"),
        ("parameters:\n  BLOCK_M: []", "is empty; list at least one", ":2: parameters.BLOCK_M"),
        (
            "parameters:\n  BLOCK_M:\n    - 1\n    - [2]",
            "an array cannot be a param",
            ":4: parameters.BLOCK_M[1]",
        ),
        (
            "parameters:\n  BLOCK_M: [1, .inf]",
            "'.inf' is read in several ways",
            ":2",
        ),
        ("parameters:\n  BLOCK_M: [1]", "has no 'BLOCK_N', which", ":1: parameters"),
        ("parameters:\n  1x: [1]", "'1x' is not a name", ":2: parameters.'1x'"),
        (
            "parameters: {BLOCK_M: [1], BLOCK_N: [1],\n  num_warps: [4, 0]}",
            "0 is out of range; use 1 or more",
            ":2: parameters.num_warps[1]",
        ),
        (
            "parameters: {BLOCK_M: [1], BLOCK_N: [1],\n  num_warps: ['4']}",
            "'4' is not an integer",
            ":2: parameters.num_warps[0]",
        ),
        ("configs:\n  - {BLOCK_M: 1}", "has no 'BLOCK_N'", ":2: configs[0]"),
        ("configs: []", "is empty", ":1: configs"),
        ("configs: [1]", "1 is not an object", ":1: configs[0]"),
        (
            "constraints:\n  - BLOCK_M < 999\n  - BLOCK_X < 1",
            "BLOCK_X is not known here; the names are 'BLOCK_M', 'BLOCK_N', 'num_warps', .*, 'K'",
            ":3: constraints[1]",
        ),
        ("constraints: BLOCK_M < 1", "'BLOCK_M < 1' is not an array", ":1: constraints"),
        ("constraints: [1]", "1 is not a string", ":1: constraints[0]"),
        ("constraints: [true]", "true is not a string", ":1: constraints[0]"),
        ("constraints:\n  - {BLOCK_M: 1}", "an object is not a string", ":2: constraints[0]"),
        ("constraints: [BLOCK_M > 999]", "leaves no config", ":1: constraints[0]"),
        ("constraints: [BLOCK_M]", "neither true nor false", ":1: constraints[0]"),
        ("constraints: [num_warps > 1]", "asks whether null is less", ":1: constraints[0]"),
        (
            "shapes: [[1, 2, 3]]\nconstraints: [BLOCK_M // (M - 1) < 9]",
            "divides by zero .* for BLOCK_M=16,.* at M=1, N=2, K=3",
            ":2: constraints[0]",
        ),
        ("subspaces: [{parameters: {BLOCK_M: [16]}}]", "missing", ":1: subspaces[0].when"),
        (
            "subspaces:\n  - when: {Z: [1, 2]}\n    constraints: [BLOCK_M == 16]",
            "'Z' is not an axis; the axes are 'M', 'N', 'K'",
            ":2: subspaces[0].when.Z",
        ),
        ("subspaces: [{when: {M: [1, 2]}}]", "restricts nothing", ":1: subspaces[0]"),
        (
            "subspaces: [{when: {M: [2, 1]}, constraints: [BLOCK_M > 1]}]",
            r"\[2, 1\] holds no size",
            ":1: subspaces[0].when.M",
        ),
        ("subspaces: [{when: {M: [1]}}]", "has 1 ends, not 2; write", ":1: subspaces[0].when.M"),
        ("subspaces: [{when: {M: [1, 2, 3]}}]", "has 3 ends", ":1: subspaces[0].when.M"),
        ("subspaces: [{when: {M: 5}}]", "5 is not an array", ":1: subspaces[0].when.M"),
        ("subspaces: [{when: {M: [-1, 5]}}]", "-1 is out of", ":1: subspaces[0].when.M[0]"),
        ("subspaces: [{when: {}}]", "is empty", ":1: subspaces[0].when"),
        (
            "subspaces:\n  - when: {M: [1, 2]}\n    parameters: {BLOCK_M: [16, 32]}",
            "no config has BLOCK_M 32; it takes 16, 128; add it to parameters",
            ":3: subspaces[0].parameters.BLOCK_M[1]",
        ),
        (
            "subspaces:\n  - when: {M: [1, 2]}\n    parameters: {BLOCK_X: [16]}",
            "'BLOCK_X' is no param or option of a config; there are 'BLOCK_M',",
            ":3: subspaces[0].parameters.BLOCK_X[0]",
        ),
        (
            "subspaces: [{when: {M: [1, 2]}, constraints: [X == 1]}]",
            "X is not known here",
            ":1: subspaces[0].constraints[0]",
        ),
        ("shapes: []", "is empty", ":1: shapes"),
        ("shapes:\n- [1, 2]", r"\(1, 2\) has 2 sizes for the axes M, N, K", ":2: shapes[0]"),
        ("shapes: [[1, 2, 3],\n [1, 2, 3]]", "stands twice; remove one", ":2: shapes[1]"),
        ("shapes: [[1, 2, -3]]", "-3 is out of range", ":1: shapes[0][2]"),
        ("shapes: [[1, 2, true]]", "true is not an integer", ":1: shapes[0][2]"),
        ("shapes: [[1, 2, 3.0]]", "3.0 is not an integer", ":1: shapes[0][2]"),
        ("shapes: [1, 2, 3]", "1 is not an array", ":1: shapes[0]"),
        ("weights: [{shape: [1, 2], weight: 1}]", "has 2 sizes", ":1: weights[0]"),
        ("weights: [{shape: [1, 2, 3], weight: 0}]", "0 is out", ":1: weights[0].weight"),
        ("weights: [{shape: [1, 2, 3], weight: -1}]", "-1 is out", ":1: weights[0].weight"),
        ("weights: [{shape: [1, 2, 3]}]", "missing field", ":1: weights[0].weight"),
        (
            "shapes: [[1, 1, 1]]\nweights: [{shape: [1, 2, 3], weight: 2}]",
            r"weighs \(1, 2, 3\), which is not among the shapes",
            ":2: weights[0]",
        ),
        (
            "weights:\n- {shape: [1, 2, 3], weight: 2}\n- {shape: [1, 2, 3], weight: 3}",
            "stands twice",
            ":3: weights[1]",
        ),
    ],
)
def test_a_bad_tune_yaml_is_refused(files: Files, text: str, match: str, where: str) -> None:
    """File, line, dotted path, value and remedy are said."""
    files.tune(text)
    error = refused(files, match, f"tune.yaml{where}")
    assert "codegen" not in str(error)
    assert "manifest" not in str(error)


@pytest.mark.parametrize(
    ("text", "match", "where"),
    [
        ("parameters: {\n", "is not YAML: ", ":2"),
        ("a: b: c", "is not YAML: ", ":1"),
        ("\tparameters: {}", "is not YAML: ", ":1"),
        ("shapes: []\nshapes: []", "key 'shapes' stands twice; keep one", ":2"),
        (
            "configs:\n- {BLOCK_M: 1,\n   BLOCK_M: 2}",
            "key 'BLOCK_M' stands twice; keep one",
            ":3",
        ),
        ("shapes: !!python/object/apply:os.system ['x']", "the tag '.*' is not taken", ":1"),
        ("shapes: !!str 5", "the tag 'tag:yaml.org,2002:str' is not taken", ":1"),
        ("!mine\nshapes: []", "the tag '!mine' is not taken", ":1"),
        ("a: &x [1]\nb: *x", "anchors and aliases are not taken; write the value out", ":1"),
        ("a: 1\nb: *x", "anchors and aliases are not taken", ":2"),
        ("&x a: 1", "a key is not plain text", ":1"),
        ("? [a]\n: 1", "a key is not plain text", ":1"),
        ("a: 1\n---\nb: 2", "a second document begins here; keep one in a file", ":2"),
        ("\n" + "[" * 100, "is nested more than 20 levels deep", ":2"),
        ("a:\n  b: \x00", "is not YAML: ", ""),
        (b"# \xff", "byte 2 is not UTF-8", ":1"),
        ("#" * (2**20 + 1), "has 1048577 bytes, more than 1048576", ""),
        ("shapes: [[1, 2, " + "9" * 200 + "]]", "an integer of 200 digits", ":1"),
    ],
)
def test_what_is_not_plain_yaml_is_refused(
    files: Files, text: str | bytes, match: str, where: str
) -> None:
    """Tags, anchors, duplicate keys and several documents have no place in a search space."""
    files.write("tune.yaml", text)
    refused(files, match, f"tune.yaml{where}")


@pytest.mark.parametrize(
    "word",
    ["on", "off", "yes", "No", "010", "1_000", "1e3", "1.5e3", "1:30", "2024-01-01", "0x10", "="],
)
def test_a_word_that_yaml_readers_dispute_is_refused(files: Files, word: str) -> None:
    """`on` is true to some readers and text to others, `010` is 8 or 10: neither is guessed."""
    files.tune(f"\nconfigs: [{{BLOCK_M: {word}, BLOCK_N: 1}}]")
    refused(files, f"'{word}' is read in several ways; write .* or put it in quotes", "tune.yaml:2")
    files.tune(f"configs: [{{BLOCK_M: '{word}', BLOCK_N: 1}}]")
    assert files.load().space.configs[0].param("BLOCK_M") == word


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("-0", 0),
        ("+5", 5),
        ("-7", -7),
        ("0.5", 0.5),
        ("1.0e+3", 1000.0),
        (".5", 0.5),
        ("-0.0", 0.0),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("text", "text"),
        ("y", "y"),
        ("16x16", "16x16"),
        ("'16'", "16"),
        ('"true"', "true"),
    ],
)
def test_a_word_is_what_every_reader_takes_it_for(files: Files, word: str, value: Any) -> None:
    """Numbers, booleans, null and text keep their kind."""
    files.tune(f"configs: [{{BLOCK_M: {word}, BLOCK_N: 1}}]")
    found = files.load().space.configs[0].param("BLOCK_M")
    assert found == value
    assert type(found) is type(value)
    assert str(found) == str(value)


def test_too_many_combinations_are_refused_before_they_are_made(files: Files) -> None:
    """The number is said."""
    values = list(range(1000))
    files.tune(f"parameters:\n  BLOCK_M: {values}\n  BLOCK_N: {values}\n  X: {values}")
    refused(files, "has 1,000,000,000 combinations, more than 200,000", "tune.yaml:1: parameters")


def test_an_axis_that_is_called_as_a_param_cannot_be_meant(files: Files) -> None:
    """A constraint that uses the name is refused; what does not use it stands."""
    files.sample(axis_names=["M", "BLOCK_N", "K"])
    files.tune("constraints: [BLOCK_M <= M]")
    assert len(files.load().space.constraints) == 1
    files.tune("constraints: [BLOCK_N <= M]")
    refused(files, "BLOCK_N is an axis and a param of a config too", "tune.yaml:1: constraints[0]")


def test_a_subspace_restricts_the_param_that_an_axis_is_called_as(files: Files) -> None:
    """Under `parameters` a name is that of a param."""
    files.sample(axis_names=["M", "BLOCK_N", "K"])
    files.tune("subspaces: [{when: {BLOCK_N: [1, 9]}, parameters: {BLOCK_N: [32]}}]")
    case = files.load()
    assert case.space.allowed({"M": 1, "BLOCK_N": 5, "K": 1}) == (0,)
    assert case.space.allowed({"M": 1, "BLOCK_N": 10, "K": 1}) == (0, 1)


def test_a_path_with_a_colon_is_named_whole(tmp_path: Path) -> None:
    """What looks like a place in a file may stand in a directory's name."""
    directory = tmp_path / "a: b:1"
    directory.mkdir()
    odd = Files(directory)
    odd.tune("shapes: [1]")
    refused(odd, "1 is not an array", "tune.yaml:1: shapes[0]")


def test_an_axis_may_be_called_on(files: Files) -> None:
    """A key keeps its text, whatever YAML makes of it."""
    files.sample(axis_names=["on", "N", "K"])
    files.tune("subspaces: [{when: {on: [1, 2]}, constraints: [BLOCK_M == 16]}]")
    assert files.load().space.allowed({"on": 1, "N": 1, "K": 1}) == (0,)


def test_without_pyyaml_the_error_says_what_to_install(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a case with a tune.yaml needs the package."""
    monkeypatch.delitem(sys.modules, "tuner.cases.strict_yaml", raising=False)
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert files.load().kernel == "matmul"
    files.tune("{}")
    with pytest.raises(MissingError, match="pyyaml: is not installed; install it: pip install py"):
        files.load()


def test_nothing_heavy_is_imported_before_a_case_is_loaded() -> None:
    """`import tuner.cases` is cheap; loading a case imports neither torch nor numpy nor triton."""
    check = (
        "import sys, tuner.cases\n"
        "assert not {'numpy', 'torch', 'pydantic', 'yaml'} & {*sys.modules}\n"
        "tuner.cases.load_case\n"
        "assert not {'numpy', 'torch', 'triton', 'yaml'} & {*sys.modules}\n"
        "assert {*tuner.cases.__all__} <= {*dir(tuner.cases)}\n"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_an_unknown_name_of_the_package_is_an_attribute_error() -> None:
    """The lazy names do not hide a slip."""
    import tuner.cases

    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tuner.cases.nothing  # noqa: B018
