"""A kernel loaded from its files: what works, and one clear line for what does not."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codegen.config import Config
from tuner.devices.cpu import Cpu
from tuner.errors import CaseError
from tuner.worker.kernel import Kernel, load_kernel
from tuner.worker.messages import CaseKernel, ObjectKernel

BASE = """\
import numpy as np


class Model:
    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        return self.factor * x


def get_init_inputs():
    return [2]


def get_inputs_dyn_list():
    return [[np.zeros(4, np.float32)], [np.ones(8, np.float32)], [np.ones(4, np.float32)]]
"""
MAKER = """

def get_inputs_for_shape(shape):
    return [np.random.rand(*shape)]
"""
IMPL = """\
try:
    from .impl_dispatch import _select_config
except ImportError:
    from impl_dispatch import _select_config


class ModelNew:
    def __init__(self, factor):
        self.factor = factor

    def forward(self, x, config=None):
        if config is None:
            config = _select_config(x.shape)
        return self.factor * x
"""
FORWARD = "    def forward(self, x, config=None):"
CONFIG = Config(params=(("BLOCK", 64),))


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Leave no module and no path of one test to another."""
    modules, path = dict(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - set(modules):
        if name.split(".")[0] in {"_tuned", "impl_dispatch", "helper", "base", "impl", "kernels"}:
            del sys.modules[name]
    sys.path[:] = path


def case(directory: Path, base: str = BASE, impl: str = IMPL, **more: Any) -> CaseKernel:
    """Write a case, and return it as a worker is told of it."""
    (directory / "base.py").write_text(base)
    (directory / "impl.py").write_text(impl)
    fields = {"shape_expr": "x.shape", "axis_names": ("N",), **more}
    return CaseKernel(base=directory / "base.py", impl=directory / "impl.py", **fields)


def loaded(directory: Path, base: str = BASE, impl: str = IMPL, **more: Any) -> Kernel:
    """Write a case, and load it."""
    return load_kernel(case(directory, base, impl, **more), Cpu())


def refused(directory: Path, base: str = BASE, impl: str = IMPL, **more: Any) -> str:
    """Write a case that cannot be loaded, and return the line that says why."""
    with pytest.raises(CaseError) as caught:
        loaded(directory, base, impl, **more).inputs((4,))
    line = str(caught.value)
    assert "\n" not in line
    assert "\x1b" not in line
    return line.replace(str(directory), "DIR")


# ---- What works -----------------------------------------------------------------------------


def test_model_and_reference_are_made_with_the_same_arguments(tmp_path: Path) -> None:
    """They are called with the inputs; the kernel with a config by name."""
    kernel = loaded(tmp_path)
    assert kernel.reference is not None
    assert kernel.reference(np.ones(2)).tolist() == [2, 2]
    assert kernel.model(np.ones(2), config=CONFIG).tolist() == [2, 2]
    assert kernel.arguments() == "2"
    with pytest.raises(RuntimeError, match="no config was given for shape"):
        kernel.model(np.ones(2))


def test_listed_shapes_are_told_once_and_their_inputs_are_new_each_time(tmp_path: Path) -> None:
    """The first of a shape counts; who changes what he got changes nothing."""
    kernel = loaded(tmp_path)
    assert kernel.shapes() == ((4,), (8,))
    first = kernel.inputs((4,))
    assert first[0].tolist() == [0] * 4
    first[0][:] = 9
    assert kernel.inputs((4,))[0].tolist() == [0] * 4


def test_inputs_are_made_for_any_shape_where_the_case_can(tmp_path: Path) -> None:
    """The same shape gets the same random numbers."""
    kernel = loaded(tmp_path, BASE + MAKER)
    assert kernel.inputs((3,))[0].shape == (3,)
    assert kernel.inputs((3,))[0].tolist() == kernel.inputs((3,))[0].tolist()
    assert kernel.outline((5,))[0].shape == (5,)


@pytest.mark.parametrize(
    "head",
    [
        "from .impl_dispatch import _select_config\n",
        "from impl_dispatch import _select_config\n",
        "import impl_dispatch\n_select_config = impl_dispatch._select_config\n",
        "from __future__ import annotations\nfrom .impl_dispatch import _select_config\n",
        "from .impl_dispatch import AXIS_NAMES, CONFIGS, DEFAULT, TARGET, _select_config\n",
        "",
    ],
)
def test_the_dispatch_may_be_imported_in_any_way_or_none(tmp_path: Path, head: str) -> None:
    """One that lies there of an older tuning is not asked."""
    (tmp_path / "impl_dispatch.py").write_text("raise SystemExit('an older one was loaded')\n")
    impl = head + IMPL[IMPL.index("class ModelNew") :]
    kernel = loaded(tmp_path, impl=impl)
    assert kernel.model(np.ones(2), config=CONFIG).tolist() == [2, 2]
    if head:
        with pytest.raises(RuntimeError, match="no config was given"):
            kernel.model(np.ones(2))


def test_the_emitted_dispatch_answers_where_it_is_given(tmp_path: Path) -> None:
    """It may stand in another directory, and the kernel's own files are found all the same."""
    other = tmp_path / "out"
    other.mkdir()
    (other / "impl_dispatch.py").write_text("def _select_config(shape):\n    return shape[0]\n")
    (tmp_path / "helper.py").write_text("FACTOR = 5\n")
    impl = IMPL.replace("class ModelNew", "from .helper import FACTOR\n\n\nclass ModelNew").replace(
        "self.factor * x", "FACTOR * config * x"
    )
    kernel = loaded(tmp_path, impl=impl, dispatch=other / "impl_dispatch.py")
    assert kernel.model(np.ones(3)).tolist() == [15, 15, 15]


@pytest.mark.parametrize("line", ["from helper import F", "from .helper import F"])
def test_files_beside_the_kernel_can_be_imported(tmp_path: Path, line: str) -> None:
    """By both files of the case, each from its own directory, in either way."""
    for name in ("reference", "kernel"):
        (tmp_path / name).mkdir()
    (tmp_path / "kernel" / "helper.py").write_text("F = 3\n")
    (tmp_path / "reference" / "numbers_of_ours.py").write_text("G = 3\n")
    (tmp_path / "reference" / "base.py").write_text(
        "from numbers_of_ours import G\n" + BASE.replace("self.factor * x", "G * x")
    )
    (tmp_path / "kernel" / "impl.py").write_text(
        line + "\n" + IMPL.replace("self.factor * x", "F * x")
    )
    kernel = load_kernel(
        CaseKernel(
            base=tmp_path / "reference" / "base.py",
            impl=tmp_path / "kernel" / "impl.py",
            shape_expr="x.shape",
            axis_names=("N",),
        ),
        Cpu(),
    )
    assert kernel.reference is not None
    assert kernel.model(np.ones(1), config=CONFIG) == kernel.reference(np.ones(1))


def test_files_are_found_by_relative_paths_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And errors have their line all the same."""
    monkeypatch.chdir(tmp_path)
    case(tmp_path, impl=IMPL + "\n1 / 0\n")
    kernel = CaseKernel(
        base=Path("base.py"), impl=Path("impl.py"), shape_expr="x.shape", axis_names=("N",)
    )
    with pytest.raises(CaseError, match=r"^impl\.py:16: fails: ZeroDivisionError: division by zer"):
        load_kernel(kernel, Cpu())


def test_the_file_as_it_is_now_is_run_and_no_bytecode_of_an_older_one(tmp_path: Path) -> None:
    """Of one second and one size as well; and none is written beside it."""
    import os

    first = loaded(tmp_path)
    stamp = (tmp_path / "impl.py").stat().st_mtime
    second = IMPL.replace("self.factor * x", "self.factor + x")
    (tmp_path / "impl.py").write_text(second)
    os.utime(tmp_path / "impl.py", (stamp, stamp))
    again = load_kernel(
        CaseKernel(
            base=tmp_path / "base.py",
            impl=tmp_path / "impl.py",
            shape_expr="x.shape",
            axis_names=("N",),
        ),
        Cpu(),
    )
    assert first.model(np.ones(1), config=CONFIG) == 2
    assert again.model(np.ones(1), config=CONFIG) == 3
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.parametrize(
    "forward",
    [
        "    def forward(self, x, *, config=None):",
        "    def forward(self, x, config=None, **options):",
        "    def forward(self, x, other=3, config=None):",
        "    def forward(self, x, /, config=None):",
        "    def __call__(self, x, config=None):",
    ],
)
def test_a_config_may_be_taken_in_any_way_that_has_a_name(tmp_path: Path, forward: str) -> None:
    """By keyword only, before more options, or by a model that is called itself."""
    kernel = loaded(tmp_path, impl=IMPL.replace(FORWARD, forward))
    assert kernel.shapes() == ((4,), (8,))
    assert kernel.model(*kernel.inputs((8,)), config=CONFIG).tolist() == [2] * 8


def test_the_models_may_be_functions_that_make_them(tmp_path: Path) -> None:
    """Whatever is called with the arguments and gives something with a forward."""
    impl = (
        IMPL.replace("class ModelNew:", "class Kernel:")
        + "\n\ndef ModelNew(n):\n    return Kernel(n)\n"
    )
    assert loaded(tmp_path, impl=impl).model(np.ones(1), config=CONFIG) == 2


@pytest.mark.parametrize(
    "body",
    [
        "    return ([np.ones(n, np.float32)] for n in (4, 8))",
        "    yield [np.ones(4, np.float32)]\n    yield (np.ones(8, np.float32),)",
        "    return ((np.ones(4, np.float32),), (np.ones(8, np.float32),))",
    ],
)
def test_inputs_may_come_in_tuples_and_generators(tmp_path: Path, body: str) -> None:
    """What can be looped over once is."""
    base = BASE[: BASE.index("def get_inputs_dyn_list")] + f"def get_inputs_dyn_list():\n{body}\n"
    kernel = loaded(tmp_path, base)
    assert kernel.shapes() == ((4,), (8,))
    assert kernel.inputs((8,))[0].tolist() == [1] * 8


def test_what_the_files_print_is_of_no_matter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Much of it neither."""
    kernel = loaded(tmp_path, "print('x' * 10**6)\n" + BASE, "print('y' * 10**6)\n" + IMPL)
    assert kernel.shapes() == ((4,), (8,))
    assert len(capsys.readouterr().out) > 2 * 10**6


# ---- What does not --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "impl", "line"),
    [
        (
            BASE + "\n1 / 0\n",
            IMPL,
            "DIR/base.py:19: fails: ZeroDivisionError: division by zero; mend",
        ),
        (
            BASE,
            IMPL + "\n1 / 0\n",
            "DIR/impl.py:16: fails: ZeroDivisionError: division by zero; mend",
        ),
        (BASE, "x = 1\ny = (\n", "DIR/impl.py:2: fails: SyntaxError: '(' was never closed"),
        (BASE, IMPL + "\nraise SystemExit(3)\n", "DIR/impl.py:16: fails: SystemExit: 3; mend"),
        (BASE, "import sys\nsys.exit()\n", "DIR/impl.py:2: fails: SystemExit; mend"),
        (BASE, "raise KeyboardInterrupt\n", "DIR/impl.py:1: fails: KeyboardInterrupt; mend"),
        (BASE, "import no_such_thing\n", "DIR/impl.py:1: fails: ModuleNotFoundError: No module na"),
        (BASE, "from . import nothing\n", "DIR/impl.py:1: fails: ImportError: cannot import name"),
        (BASE, "from ..x import y\n", "DIR/impl.py:1: fails: ImportError: attempted relative"),
        (BASE, "def f():\n    f()\nf()\n", "DIR/impl.py:2: fails: RecursionError: maximum recur"),
        (BASE, "raise ValueError('\\x1b[31m' + 'x\\n' * 9)\n", "ValueError: \\x1b[31mx x x"),
        (BASE, "x = 1\n", "DIR/impl.py: defines no ModelNew; define it there"),
        ("x = 1\n", IMPL, "DIR/base.py: defines no get_init_inputs; define it there"),
        (BASE.replace("class Model", "class M"), IMPL, "DIR/base.py: defines no Model; define"),
        (
            BASE.replace("[2]", "None"),
            IMPL,
            "get_init_inputs() gives None, not a list; return a li",
        ),
        (BASE.replace("[2]", "{'a': 1}"), IMPL, "get_init_inputs() gives a dict, not a list"),
        (BASE.replace("[2]", "[2, 3]"), IMPL, "fails: TypeError: Model.__init__() takes 2 posit"),
        (BASE, IMPL.replace("(self, factor):", "(self):"), "DIR/impl.py: fails: TypeError: Model"),
        (BASE, IMPL.replace("def forward", "def other"), "DIR/impl.py: ModelNew has no forward;"),
        (BASE.replace("def forward", "def other"), IMPL, "DIR/base.py: Model has no forward; def"),
        (BASE.replace("np.zeros(4", "np.zeros(-4"), IMPL, "DIR/base.py:17: fails: ValueError: neg"),
        (BASE.replace("[[np", "[None, [np"), IMPL, "get_inputs_dyn_list()[0] gives None, not a l"),
        (
            BASE.replace("[[np", "[np.ones(3), [np"),
            IMPL,
            "get_inputs_dyn_list()[0] gives a ndarray",
        ),
        (BASE.replace("return [[", "return {}\n    return [["), IMPL, "gives a dict, not a list"),
        (
            BASE.replace("return [[", "return []\n    return [["),
            IMPL,
            "get_inputs_dyn_list() is empt",
        ),
        (BASE.replace("_dyn_list", "_list"), IMPL, "DIR/base.py: lists no shapes; define get_inp"),
        (
            BASE.replace("np.zeros(4", "np.zeros(5"),
            IMPL.replace("x,", "y,"),
            "shape_expr: x has no value",
        ),
        (
            BASE.replace("[[np", "[[3, 4, np"),
            IMPL,
            "DIR/base.py: gives 3 inputs, and ModelNew.forward takes 1 without its config; let",
        ),
        (
            BASE.replace("float32)], [", "float32), 3], ["),
            IMPL.replace("x, config=None)", "x, config=None, n=3)"),
            "DIR/base.py: gives 2 inputs, and ModelNew.forward takes 1 without its config; let",
        ),
        (
            BASE.replace("np.zeros(4", "np.zeros((4, 4)"),
            IMPL,
            "sample.json: shape_expr gives 2 size",
        ),
        (
            BASE + MAKER.replace("*shape", "7"),
            IMPL,
            "gives inputs whose shape is (7,) by 'x.shape'",
        ),
        (BASE + MAKER.replace("[np", "np").replace(")]", ")"), IMPL, "gives a ndarray, not a list"),
        (
            BASE + MAKER.replace("np.random", "nq.random"),
            IMPL,
            "DIR/base.py:21: fails: NameError: ",
        ),
        (BASE + MAKER.replace("return", "exit(5)\n    return"), IMPL, "fails: SystemExit: 5; mend"),
    ],
)
def test_a_case_that_does_not_load_is_refused_with_its_line(
    tmp_path: Path, base: str, impl: str, line: str
) -> None:
    """File and line, what was raised, and what to do."""
    assert line in refused(tmp_path, base, impl)


def test_an_input_for_a_shape_that_is_not_listed_is_missed_by_name(tmp_path: Path) -> None:
    """The remedy names both ways to have it."""
    kernel = loaded(tmp_path)
    for ask in (kernel.inputs, kernel.outline):
        with pytest.raises(CaseError, match=r"no inputs for shape \(5,\); list them in get_inputs"):
            ask((5,))


@pytest.mark.parametrize("name", ["base.py", "impl.py"])
def test_a_file_that_has_gone_is_missed(tmp_path: Path, name: str) -> None:
    """Between its being read and being loaded."""
    told = case(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(CaseError, match=f"{name}: fails: FileNotFoundError"):
        load_kernel(told, Cpu())


# ---- With torch -----------------------------------------------------------------------------

TORCH_BASE = """\
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)


def get_init_inputs():
    return []


def get_inputs_for_shape(shape):
    return [torch.randn(*shape, 4)]
"""
TORCH_IMPL = """\
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.randn(3)
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x, config=None):
        return self.layer(x)
"""


def test_the_kernel_has_the_weights_of_the_reference(tmp_path: Path) -> None:
    """Whatever random numbers each drew; both are ready to be run for their output alone."""
    torch = pytest.importorskip("torch")
    kernel = loaded(tmp_path, TORCH_BASE, TORCH_IMPL, shape_expr="x.shape[:1]")
    assert kernel.reference is not None
    (x,) = kernel.inputs((3,))
    assert torch.equal(kernel.model(x, config=CONFIG), kernel.reference(x))
    assert not kernel.model(x, config=CONFIG).requires_grad


def test_an_outline_costs_no_memory_and_leaves_none_without(tmp_path: Path) -> None:
    """A table that the case keeps between calls is real where inputs are."""
    torch = pytest.importorskip("torch")
    base = TORCH_BASE + (
        "\n\nTABLE = []\n\n\ndef get_inputs_for_shape(shape):\n"
        "    if not TABLE:\n        TABLE.append(torch.ones(4))\n"
        "    return [torch.randn(*shape, 4) * TABLE[0]]\n"
    )
    kernel = loaded(tmp_path, base, TORCH_IMPL, shape_expr="x.shape[:1]")
    (outline,) = kernel.outline((2**40,))
    assert outline.shape == (2**40, 4)
    (x,) = kernel.inputs((3,))
    assert x.device.type == "cpu"
    assert torch.isfinite(x).all()


def test_an_outline_is_made_for_real_where_it_needs_values(tmp_path: Path) -> None:
    """A size that is read from a tensor cannot be had without memory."""
    pytest.importorskip("torch")
    base = TORCH_BASE.replace("shape, 4)", "shape, int(torch.ones(4).sum().item()))")
    kernel = loaded(tmp_path, base, TORCH_IMPL, shape_expr="x.shape[:1]")
    assert kernel.outline((3,))[0].shape == (3, 4)


def test_inputs_without_memory_are_refused(tmp_path: Path) -> None:
    """As where a case names that device."""
    pytest.importorskip("torch")
    base = TORCH_BASE.replace("shape, 4)", "shape, 4, device='meta')")
    kernel = loaded(tmp_path, base, TORCH_IMPL, shape_expr="x.shape[:1]")
    with pytest.raises(CaseError, match="gives an input on the device meta, which has no memory"):
        kernel.inputs((3,))


# ---- Objects of another process -------------------------------------------------------------

KERNELS = """\
class Doubled:
    factor = 2

    def forward(self, x, config=None):
        return self.factor * x


class Reference:
    def __call__(self, x):
        return x + x
"""


def pickled(
    directory: Path, module_name: str, monkeypatch: pytest.MonkeyPatch, source: str = KERNELS
) -> ObjectKernel:
    """Return a kernel as `tune_configs` hands it over, its classes being of `module_name`."""
    path = directory / "kernels.py"
    path.write_text(source)
    scope: Any = type(sys)(module_name)
    exec(compile(KERNELS, str(path), "exec"), scope.__dict__)  # noqa: S102
    monkeypatch.setitem(sys.modules, module_name, scope)
    model, reference = pickle.dumps(scope.Doubled()), pickle.dumps(scope.Reference())
    monkeypatch.undo()
    (directory / "0.pickle").write_bytes(pickle.dumps([np.ones(4)]))
    return ObjectKernel(
        source=path,
        module_name=module_name,
        model=model,
        reference=reference,
        shapes=((4,),),
        inputs=directory,
        search_path=(str(directory), *sys.path),
    )


@pytest.mark.parametrize("module_name", ["__main__", "kernels"])
def test_an_object_is_built_again_from_the_file_of_its_class(
    tmp_path: Path, module_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script's own class as well, which is of `__main__` there and not here."""
    kernel = load_kernel(pickled(tmp_path, module_name, monkeypatch), Cpu())
    assert kernel.shapes() == ((4,),)
    assert kernel.reference is not None
    (x,) = kernel.inputs((4,))
    assert kernel.model(x, config=CONFIG).tolist() == kernel.reference(x).tolist() == [2] * 4
    assert kernel.arguments().startswith("model ")
    with pytest.raises(CaseError, match=r"no inputs for shape \(5,\)"):
        kernel.inputs((5,))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("1 / 0\n", "kernels.py:1: fails: ZeroDivisionError: division by zero"),
        ("x = 1\n", "the model cannot be built again in another process: AttributeError"),
        ("class Doubled:\n    pass\n", "the model is a Doubled, which cannot be called; give it a"),
        ("import sys\nsys.exit()\n", "kernels.py:2: fails: SystemExit"),
    ],
)
def test_an_object_that_cannot_be_built_again_is_refused_in_one_line(
    tmp_path: Path, source: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the file of its class, and what to do."""
    told = pickled(tmp_path, "__main__", monkeypatch, source)
    with pytest.raises(CaseError) as caught:
        load_kernel(told, Cpu())
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_tensors_come_out_of_a_pickle_as_they_went_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views keep their strides."""
    torch = pytest.importorskip("torch")
    told = pickled(tmp_path, "kernels", monkeypatch)
    base = torch.arange(12.0).reshape(3, 4)
    (tmp_path / "0.pickle").write_bytes(pickle.dumps([base, base[:, :2]]))
    whole, part = load_kernel(told, Cpu()).inputs((4,))
    assert torch.equal(whole, base)
    assert part.stride() == (4, 1)
    assert torch.equal(part, whole[:, :2])
