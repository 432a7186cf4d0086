"""`tune_configs`: a model that is an object in this process, tuned in others."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tuning import CPU, MATMUL_TABLE, records_in

from codegen.config import Config
from tuner import Search, tune_configs
from tuner.errors import CaseError, DeviceError, TuneError
from tuner.home import knowledge_base
from tuner.records import Shape
from tuner.shipment import pickled_into, shipment

KERNEL = '''
"""Twice a vector."""

import numpy as np

try:
    from .twice_dispatch import _select_config
except ImportError:
    try:
        from twice_dispatch import _select_config
    except ImportError:
        _select_config = None


class Model:
    def forward(self, x):
        return 2 * x


class ModelNew:
    def __init__(self, factor=2):
        self.factor = factor
        self.extra = None

    def __call__(self, x, config=None):
        config = config or _select_config(x.shape)
        step = config.param("STEP")
        if step < 0:
            return 3 * x
        parts = [self.factor * x[i : i + step] for i in range(0, len(x), step)]
        return np.concatenate(parts)


def reference(x):
    return 2 * x


def inputs_of(shape):
    return [np.arange(shape[0], dtype=np.float32) + 1]
'''
SHAPES = [(4,), (40,), (400,)]
CONFIGS = [{"STEP": 1}, {"STEP": 1000}]


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a module with a kernel that lies in a file, imported by its name."""
    monkeypatch.setenv("TUNED_DISPATCH_HOME", str(tmp_path / "home"))
    (tmp_path / "twice.py").write_text(KERNEL)
    monkeypatch.syspath_prepend(tmp_path)
    import twice  # type: ignore[import-not-found]

    yield twice
    del sys.modules["twice"]


def tuned(kernel: Any, **changes: Any) -> Any:
    """Tune the kernel as a user would, but for `changes`."""
    arguments: dict[str, Any] = {
        "axis_names": ["N"],
        "shapes": SHAPES,
        "configs": CONFIGS,
        "module": kernel.ModelNew(),
        "inputs_by_shape": kernel.inputs_of,
        "reference": kernel.reference,
        "repeat": 5,
    }
    return tune_configs(**arguments | changes)


def test_an_object_is_tuned_and_its_manifest_lies_under_the_hash_of_its_source(
    kernel: Any, tmp_path: Path
) -> None:
    """Manifest, table and a copy of the source in one directory; the outcome selects."""
    outcome = tuned(kernel, cache_dir=tmp_path / "cache")
    manifest = outcome.manifest
    assert manifest.kernel.name == "twice"
    assert manifest.kernel.source.file == "twice.py"
    directory = tmp_path / "cache" / manifest.kernel.source.sha256[:16]
    assert outcome.manifest_path == directory / "manifest.json"
    assert sorted(p.name for p in directory.iterdir()) == [
        "latencies.json",
        "manifest.json",
        "twice.py",
    ]
    assert outcome.select((400,)).param("STEP") == 1000
    assert "outputs were verified against the reference" in manifest.tune_meta.notes
    assert len(records_in(tmp_path / "cache" / "kb.sqlite")) == 6
    assert not (tmp_path / "home").exists()


def test_without_a_directory_the_users_own_is_used(kernel: Any, tmp_path: Path) -> None:
    """Below TUNED_DISPATCH_HOME; what was measured once is not measured again."""
    outcome = tuned(kernel)
    assert outcome.manifest_path.is_relative_to(tmp_path / "home" / "kernels")
    assert len(records_in(knowledge_base())) == 6
    before = outcome.manifest_path.read_bytes()
    again = tuned(kernel)
    assert (again.measured.added, again.measured.resumed) == (0, 6)
    assert again.manifest_path.read_bytes() == before
    assert tuned(kernel, fresh=True).measured.added == 6


def test_all_kinds_of_configs(kernel: Any) -> None:
    """Ours, dicts, and what looks like triton's, launch options included."""
    triton_like = SimpleNamespace(
        kwargs={"STEP": 4}, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None
    )
    outcome = tuned(
        kernel, configs=[Config(params=(("STEP", 1),)), {"STEP": 2, "num_warps": 8}, triton_like]
    )
    assert [fate.config.id for fate in outcome.fates] == [
        "STEP=1",
        "STEP=2;num_warps=8",
        "STEP=4;num_ctas=1,num_stages=3,num_warps=4",
    ]


def test_a_search_measures_some(kernel: Any) -> None:
    """One of two configs on each shape, the same one."""
    outcome = tuned(kernel, search=Search(trials=1))
    assert len(outcome.measured.records) == 3
    assert len(outcome.fates) == 1


def test_inputs_may_be_a_mapping(kernel: Any) -> None:
    """By shape; all shapes have to be in it."""
    inputs = {shape: kernel.inputs_of(shape) for shape in SHAPES}
    assert tuned(kernel, inputs_by_shape=inputs).measured.added == 6
    del inputs[(40,)]
    with pytest.raises(CaseError, match=r"inputs_by_shape: has no inputs for shape \(40,\); add"):
        tuned(kernel, inputs_by_shape=inputs)


def test_a_wrong_config_is_rejected_by_the_reference(kernel: Any) -> None:
    """And without a reference it is not; the manifest says which it was."""
    configs = [*CONFIGS, {"STEP": -1}]
    outcome = tuned(kernel, configs=configs)
    assert set(outcome.measured.rejected) == {"STEP=-1"}
    # It was found wrong, and stays so; another source starts anew.
    Path(kernel.__file__).write_text(KERNEL + "\nX = 1\n")
    outcome = tuned(kernel, configs=configs, reference=None)
    assert outcome.measured.rejected == {}
    assert "outputs were not verified: there was no reference" in outcome.manifest.tune_meta.notes


def test_the_arguments_of_the_model_are_part_of_what_is_measured(kernel: Any) -> None:
    """Another object of the same class is other work."""
    assert tuned(kernel).measured.added == 6
    other = kernel.ModelNew(factor=2)
    other.extra = "something else"
    assert tuned(kernel, module=other).measured.added == 6


def test_sizes_may_be_any_integers(kernel: Any) -> None:
    """Those of numpy too; a single size need not be in a tuple."""
    outcome = tuned(kernel, shapes=[np.int64(4), [np.int32(40)], np.array([400])])
    assert [work.shape for work in outcome.measured.works] == SHAPES


def test_a_sanity_shape_is_tried_first(kernel: Any) -> None:
    """It has to be one of those that are tuned."""
    assert tuned(kernel, sanity_shape=(40,)).measured.added == 6
    with pytest.raises(CaseError, match=r"sanity_shape: \(5\) is not one of the shapes"):
        tuned(kernel, sanity_shape=(5,))


def test_weights_reach_the_table(kernel: Any) -> None:
    """By shape, 1 where none is given."""
    outcome = tuned(kernel, weights={(40,): 3})
    assert '"weights": [1.0, 3.0, 1.0]' in outcome.table_path.read_text()


def test_a_device_is_shared_by_two_workers(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command line refuses for cpu, a test may do."""
    monkeypatch.setattr("tuner.api.parse_devices", lambda _: (CPU, CPU))
    assert tuned(kernel).measured.devices == 2


def test_a_replay_needs_no_inputs(kernel: Any) -> None:
    """It answers from its table; the table has to be of the same axes."""
    with pytest.raises(CaseError, match="is a table over 'M', 'N', 'K', and the case's axes are"):
        tuned(kernel, device=f"replay:{MATMUL_TABLE}")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"axis_names": []}, "axis_names: names no axis"),
        ({"axis_names": ["N", "N"]}, r"axis_names\[1\]: axis N stands twice"),
        ({"axis_names": ["a b"]}, r"axis_names\[0\]: 'a b' is not a name"),
        ({"axis_names": "N"}, "axis_names: 'N' is one string"),
        ({"shapes": []}, "shapes: is empty; give one shape at least"),
        ({"shapes": [(4, 5)]}, r"shapes\[0\]: has 2 sizes for 1 axes, N"),
        ({"shapes": [(4,), (-1,)]}, r"shapes\[1\]: -1 is not a size"),
        ({"shapes": [(4.0,)]}, r"shapes\[0\]: 4.0 is not a size"),
        ({"shapes": [(True,)]}, r"shapes\[0\]: true is not a size"),
        ({"configs": []}, "configs: lists no config"),
        ({"configs": [7]}, r"configs\[0\]: int is not a config; use Config, triton.Config or"),
        ({"configs": [{"STEP": (1, 2)}]}, r"configs\[0\]: "),
        ({"configs": [{"STEP": float("nan")}]}, r"configs\[0\]: cannot be written down"),
        ({"configs": [{"STEP": 1, "num_warps": "4"}]}, r"configs\[0\]: '4' is not an integer"),
        ({"configs": [{"not a name": 1}]}, r"configs\[0\]: "),
        ({"configs": [{1: 1}]}, r"configs\[0\]: 1 is not a name"),
        (
            {"configs": [SimpleNamespace(kwargs={"STEP": 1}, pre_hook=print)]},
            r"configs\[0\]: has a pre_hook, and a manifest holds no code",
        ),
        ({"selector": "forest"}, "selector: 'forest' is not known; use 'tree', 'bucket'"),
        ({"outside": "clamp"}, "outside: 'clamp' is not known; use 'default', 'nearest', 'raise'"),
        ({"repeat": 0}, "repeat: 0 is out of range; use an integer, 1 or more"),
        ({"warmup": -1}, "warmup: -1 is out of range"),
        ({"timeout_s": 0}, "timeout_s: 0 is out of range; use a number greater than 0"),
        ({"timeout_s": float("inf")}, "timeout_s: inf is out of range"),
        ({"tolerance": "1"}, "tolerance: '1' is out of range"),
        ({"budget_s": -1}, "budget_s: -1 is out of range"),
        ({"search": True}, r"search: bool is not a Search; pass Search\(trials=64\)"),
        ({"search": Search(trials=0)}, "search.trials: 0 is out of range; use an integer, 1"),
        ({"search": Search(seed=-1)}, "search.seed: -1 is out of range; use an integer, 0"),
        ({"search": Search(sampler="luck")}, "search.sampler: 'luck' is not known; use "),
        ({"weights": {(5,): 1}}, r"weights: \(5,\) is not one of the shapes"),
        ({"weights": {(4,): 0}}, "weights: 0 is out of range"),
        ({"inputs_by_shape": 7}, "inputs_by_shape: int is neither a mapping nor a function"),
        ({"inputs_by_shape": lambda _: None}, r"has no inputs for shape \(4,\)"),
        ({"inputs_by_shape": lambda _: 7}, r"gives int for shape \(4,\), and not a list; give"),
        ({"reference": lambda x: 2 * x}, "reference: cannot be pickled for the worker process"),
        ({"inputs_by_shape": lambda s: [lambda: s]}, r"inputs of shape \(4,\): cannot be pickled"),
        ({"module": 7}, "module: the class int comes from no file; define it in a file"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    kernel: Any, tmp_path: Path, changes: dict[str, Any], match: str
) -> None:
    """Before anything is measured or written."""
    with pytest.raises(CaseError, match=match) as caught:
        tuned(kernel, **changes)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.rglob("manifest.json"))


def test_a_lambda_in_the_model_is_a_clear_error(kernel: Any) -> None:
    """A worker could not be given it."""
    module = kernel.ModelNew()
    module.extra = lambda x: x
    with pytest.raises(CaseError, match=r"module: cannot be pickled .*; define its class at the"):
        tuned(kernel, module=module)


def test_a_class_inside_a_function_is_a_clear_error(kernel: Any) -> None:
    """It cannot be found by its name."""

    class Local:
        def __call__(self, *inputs: Any, config: Any) -> Any:
            return inputs, config

    with pytest.raises(CaseError, match="module: cannot be pickled for the worker process: "):
        tuned(kernel, module=Local())


def test_no_such_device(kernel: Any) -> None:
    """As on the command line."""
    with pytest.raises(DeviceError, match="'tpu' is not a device"):
        tuned(kernel, device="tpu")


def test_when_no_config_is_right_the_error_says_so(kernel: Any) -> None:
    """As on the command line."""
    with pytest.raises(TuneError, match="twice: the only candidate is rejected: STEP=-1: wrong"):
        tuned(kernel, configs=[{"STEP": -1}])


# ---- Scripts ----------------------------------------------------------------------------------


SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from tuner import load_deployed_selector, tune_configs

class Reference:
    def __call__(self, x):
        return 2 * x

class ModelNew:
    def __call__(self, x, config=None):
        step = config.param("STEP")
        return np.concatenate([2 * x[i : i + step] for i in range(0, len(x), step)])

def inputs_of(shape):
    return [np.ones(shape, dtype=np.float32)]

def main():
    outcome = tune_configs(
        axis_names=["N"], shapes=[(4,), (400,)], configs=[{"STEP": 1}, {"STEP": 1000}],
        module=ModelNew(), inputs_by_shape=inputs_of, reference=Reference(), repeat=5,
        cache_dir=Path(__file__).with_name("cache"),
    )
    print(outcome.select((400,)).param("STEP"), outcome.measured.added)
    print(load_deployed_selector(Path(__file__).with_name("cache"))((400,)).param("STEP"))

"""


def script(tmp_path: Path, ending: str) -> subprocess.CompletedProcess[str]:
    """Run the script with that ending."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT + ending)
    environment = {k: v for k, v in os.environ.items() if k != "TUNED_DISPATCH_WORKER"}
    return subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
        timeout=120,
    )


def test_a_model_of_a_script_is_found_by_the_workers(tmp_path: Path) -> None:
    """Model, reference and inputs are defined in the script that is run."""
    ran = script(tmp_path, 'if __name__ == "__main__":\n    main()\n')
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == ["1000 4", "1000"]


def test_a_script_without_the_guard_is_told_of_it(tmp_path: Path) -> None:
    """Its workers run it as well, and would tune without end."""
    ran = script(tmp_path, "main()\n")
    assert ran.returncode != 0
    last = ran.stderr.splitlines()[-1]
    assert "tune_configs: was called while the file was loaded by a worker process; put" in last
    assert 'if __name__ == "__main__":' in last


# ---- The inputs on their way -------------------------------------------------------------------


def test_inputs_are_made_one_shape_at_a_time(kernel: Any) -> None:
    """None is alive when the next is made; nothing is left of them afterwards."""
    made: list[Shape] = []

    class Inputs(list[Any]):
        """Inputs that know how many of them there are."""

        alive = 0

        def __del__(self) -> None:
            Inputs.alive -= 1

    def make(shape: Shape) -> list[Any]:
        assert Inputs.alive == 0
        Inputs.alive += 1
        made.append(shape)
        return Inputs(kernel.inputs_of(shape))

    before = set(Path(tempfile.gettempdir()).glob("tuned-dispatch-*"))
    tuned(kernel, inputs_by_shape=make)
    assert made == SHAPES
    assert set(Path(tempfile.gettempdir()).glob("tuned-dispatch-*")) <= before


def test_what_a_killed_run_left_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what a run that lives holds is not."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        "import sys, tempfile; tempfile.tempdir = sys.argv[1]\n"
        "from tuner.shipment import shipment\n"
        "with shipment() as directory:\n"
        "    (directory / '0.pickle').write_bytes(b'x')\n"
        "    print('there', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout
    assert other.stdout.readline() == "there\n"
    (theirs,) = tmp_path.iterdir()
    with shipment() as ours:
        assert {theirs, ours} == set(tmp_path.iterdir())
    other.send_signal(signal.SIGKILL)
    other.communicate()
    assert list(tmp_path.iterdir()) == [theirs]
    with shipment() as ours:
        assert list(tmp_path.iterdir()) == [ours]
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_the_place_of_a_directory_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write to the directory for temporary files must not have us remove others'."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "lock").write_text("precious")
    (tmp_path / "tmp" / "tuned-dispatch-x").symlink_to(tmp_path / "mine")
    with shipment():
        pass
    assert (tmp_path / "mine" / "lock").read_text() == "precious"


def test_pickled_inputs_come_back_as_they_were(tmp_path: Path) -> None:
    """Arrays of any layout, and anything else."""
    value = [np.arange(6).reshape(2, 3).T, 3, None, {"a": [1.5]}]
    pickled_into(tmp_path / "x", value, "x")
    back = pickle.loads((tmp_path / "x").read_bytes())  # noqa: S301 (our own)
    assert back[1:] == value[1:]
    assert back[0].tolist() == value[0].tolist()
    assert back[0].strides == value[0].strides


class Tensor:
    """Passes for a tensor of torch on a device with that number."""

    def __init__(self, index: int | None, data: list[int]) -> None:
        self.device, self.data = SimpleNamespace(type="cuda", index=index), data

    def detach(self) -> Tensor:
        """Return the tensor itself."""
        return self

    def cpu(self) -> Tensor:
        """Return it as it is on the host."""
        return Tensor(None, self.data)


@pytest.mark.parametrize(("index", "stays"), [(None, None), (0, 0), (1, None), (3, None)])
def test_a_tensor_on_another_device_than_the_first_is_taken_off_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: int | None, stays: int | None
) -> None:
    """A worker sees its own device alone, as number 0; its inputs are moved there."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor))
    pickled_into(tmp_path / "x", [Tensor(index, [1, 2])], "x")
    (back,) = pickle.loads((tmp_path / "x").read_bytes())  # noqa: S301 (our own)
    assert (back.data, back.device.index) == ([1, 2], stays)


@pytest.mark.parametrize(
    ("inputs", "device"),
    [([3, None], ""), ([3, Tensor(None, [])], "cuda"), ([Tensor(2, []), Tensor(0, [])], "cuda:2")],
)
def test_the_device_is_that_of_the_first_input_that_has_one(inputs: list[Any], device: str) -> None:
    """Unless it is named."""
    from tuner.api import _device

    assert _device(inputs) == device
