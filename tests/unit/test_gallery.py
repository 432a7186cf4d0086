"""The kernels of the gallery: they take their config as they should, and are right by themselves.

They run in Triton's interpreter, on the CPU, each choosing by the module beside it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tuner.contract import breaches

GALLERY = Path(__file__).parents[2] / "generated"
ORIGINAL = Path(__file__).parents[1] / "cases" / "original"
KERNELS = sorted(path.parent.name for path in GALLERY.glob("*/impl_dispatch.py"))
SHAPES = {
    "conv2d": [(1, 9, 11), (2, 32, 5)],
    "matmul": [(1, 16, 64), (17, 33, 40)],
    "relu": [(1,), (1000,)],
    "rms_norm": [(3, 100), (16, 64)],
    "softmax": [(3, 100), (16, 64)],
    "vector_add": [(1,), (1000,)],
}
RUN = """
import importlib.util, json, sys
import torch

def by_path(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

case, kernel, shapes, dtype = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]
dtype = getattr(torch, dtype)
base = by_path("base", f"{case}/base.py")
sys.path.insert(0, kernel)
impl = by_path("impl", f"{kernel}/impl.py")
arguments = base.get_init_inputs()
torch.manual_seed(0)
model, reference = impl.ModelNew(*arguments), base.Model(*arguments)
model.load_state_dict(reference.state_dict())
model, reference = model.to(dtype), reference.to(dtype)
for shape in map(tuple, shapes):
    inputs = [x.to(dtype) for x in base.get_inputs_for_shape(shape)]
    torch.testing.assert_close(model(*inputs), reference(*inputs), rtol=1e-2, atol=1e-2)
    print(shape)
"""


def test_the_gallery_has_what_the_tests_know() -> None:
    """Each has the shapes that it is tried on below."""
    assert KERNELS
    assert {*KERNELS} == {*SHAPES}


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_takes_its_config_as_the_contract_says(kernel: str) -> None:
    """`tuner contract` finds nothing, what sample.json says of params included."""
    found = breaches(GALLERY / kernel / "impl.py", case=ORIGINAL / kernel)
    assert [str(breach) for breach in found] == []


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_is_right_with_the_config_that_its_dispatch_chooses(
    kernel: str, dtype: str
) -> None:
    """On small shapes, with no config given."""
    for name in ("torch", "triton"):
        if not importlib.util.find_spec(name):
            pytest.skip(f"needs {name}: pip install -e '.[torch]'")
    command = [sys.executable, "-c", RUN, str(ORIGINAL / kernel), str(GALLERY / kernel)]
    ran = subprocess.run(
        [*command, json.dumps(SHAPES[kernel]), dtype],
        env={**os.environ, "TRITON_INTERPRET": "1", "TUNED_DISPATCH": "strict"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [str(shape) for shape in SHAPES[kernel]]
