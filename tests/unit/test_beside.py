"""The dispatch beside a kernel: found, bound once, and of the code that it stands beside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import integer, leaf, manifest_of, split, tree

from codegen.beside import StaleError, check_source
from codegen.emit import module_text
from codegen.manifest import dump_manifest
from codegen.source_hash import source_sha256_of
from tuner.contract import breaches
from tuner.convert import convert_source

ROOT = Path(__file__).parents[2]
ORIGINAL = ROOT / "tests" / "cases" / "original" / "nearest"
RAW = """class ModelNew:
    def forward(self, n):
        BLOCK_M = 4
        return n // BLOCK_M
"""
BY_PATH = """
import importlib.util, sys

def by_path(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

"""
MISSING = (
    "ModuleNotFoundError: no impl_dispatch.py beside this file: "
    "`codegen emit manifest.json` writes it"
)


def converted(text: str) -> str:
    """Return `text` as `tuner convert` makes it, with a param BLOCK_M and an axis n."""
    return convert_source(
        text,
        name="impl.py",
        shape_expr="(n,)",
        config_param_names=("BLOCK_M",),
        launch_options=(),
    )


def kernel_in(directory: Path, *, threshold: int = 10) -> Path:
    """Write a converted kernel, its manifest and its dispatch to `directory`; return the kernel."""
    directory.mkdir(parents=True, exist_ok=True)
    impl = directory / "impl.py"
    impl.write_text(converted(RAW))
    plain = manifest_of(axes=[integer("n")], selector=tree(split("n", threshold, leaf(0), leaf(1))))
    source = {"file": "impl.py", "sha256": source_sha256_of(impl)}
    fields = plain.model_dump(by_alias=True, exclude_none=True)
    fields["kernel"] = {"name": "kernel", "source": source}
    manifest = type(plain).model_validate(fields)
    (directory / "manifest.json").write_text(dump_manifest(manifest))
    text = module_text(manifest, directory / "manifest.json", directory / "impl_dispatch.py")
    (directory / "impl_dispatch.py").write_text(text)
    return impl


def ran(
    code: str, directory: Path, *, mode: str | None = None, options: tuple[str, ...] = ()
) -> tuple[int, list[str], list[str]]:
    """Run `code` in `directory`, with tuned-dispatch at hand; return status, stdout, stderr."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("TUNED_DISPATCH", None)
    if mode is not None:
        environment["TUNED_DISPATCH"] = mode
    command = [sys.executable, *options, "-c", code]
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


def test_a_loose_file_loaded_by_its_path_finds_its_own_dispatch(tmp_path: Path) -> None:
    """Two kernels that are both called impl.py each get their own; a config of theirs pickles."""
    for name, threshold in (("one", 10), ("two", 1000)):
        kernel_in(tmp_path / name, threshold=threshold)
    (tmp_path / "elsewhere").mkdir()
    code = BY_PATH + (
        "import pickle\n"
        "one, two = (by_path(f'../{name}/impl.py', name) for name in ('one', 'two'))\n"
        "configs = [m._select_config((100,)) for m in (one, two)]\n"
        "assert configs[0] != configs[1]\n"
        "assert pickle.loads(pickle.dumps(configs)) == configs\n"
        "print(one._select_config.__module__, two._select_config.__module__)\n"
    )
    status, out, err = ran(code, tmp_path / "elsewhere")
    assert (status, out, err) == (0, ["one_dispatch two_dispatch"], [])


def test_a_member_of_a_package_imports_it_from_there(tmp_path: Path) -> None:
    """It is the module that anyone else imports by its full name."""
    kernel_in(tmp_path / "kernels")
    (tmp_path / "kernels" / "__init__.py").touch()
    code = (
        "from kernels import impl, impl_dispatch\n"
        "assert impl._select_config is impl_dispatch._select_config\n"
    )
    assert ran(code, tmp_path) == (0, [], [])


@pytest.mark.parametrize("name", ["impl", "kernels.impl"])
def test_without_a_dispatch_a_config_can_still_be_given(tmp_path: Path, name: str) -> None:
    """The import succeeds, an explicit config works, and only a choice says what is missing."""
    kernel_in(tmp_path / "kernels")
    (tmp_path / "kernels" / "__init__.py").touch()
    (tmp_path / "kernels" / "impl_dispatch.py").unlink()
    code = (
        f"from {name} import ModelNew\n"
        "class Config:\n    def param(self, name):\n        return 5\n"
        "print(ModelNew().forward(100, config=Config()))\n"
        "ModelNew().forward(100)\n"
    )
    directory = tmp_path if "." in name else tmp_path / "kernels"
    status, out, err = ran(code, directory, mode="strict")
    assert (status, out, err[-1]) == (1, ["20"], MISSING)


def test_a_broken_dispatch_is_not_taken_for_a_missing_one(tmp_path: Path) -> None:
    """Its syntax error is shown."""
    impl = kernel_in(tmp_path)
    impl.with_name("impl_dispatch.py").write_text("def\n")
    status, _, err = ran("import impl", tmp_path)
    assert status == 1
    assert err[-1].startswith("SyntaxError")


def test_a_dispatch_of_other_code_says_so_once(tmp_path: Path) -> None:
    """One warning at the import, whatever is selected afterwards; comments are no other code."""
    impl = kernel_in(tmp_path)
    code = "import impl\nfor n in (1, 100):\n    impl.ModelNew().forward(n)\n"
    impl.write_text("# A remark.\n" + impl.read_text())
    assert ran(code, tmp_path) == (0, [], [])
    impl.write_text(impl.read_text().replace("return n //", "return 1 + n //"))
    status, _, err = ran(code, tmp_path)
    assert status == 0
    said = [line for line in err if "Warning" in line]
    assert len(said) == 1
    assert "impl.py: the code is not what its dispatch was tuned for" in said[0]
    assert "tune it again and emit, or set TUNED_DISPATCH=off" in said[0]
    assert "TUNED_DISPATCH=strict makes this an error" in said[0]


def test_strict_makes_an_error_of_it_and_off_asks_nothing(tmp_path: Path) -> None:
    """The import fails in one line that says why; a word that is neither is refused."""
    impl = kernel_in(tmp_path)
    assert ran("import impl", tmp_path, mode="strict") == (0, [], [])
    impl.write_text(impl.read_text().replace("return n //", "return 1 + n //"))
    status, _, err = ran("import impl", tmp_path, mode="strict")
    assert status == 1
    assert err[-1].startswith("codegen.beside.StaleError: ")
    assert ran("import impl", tmp_path, mode="off") == (0, [], [])
    status, _, err = ran("import impl", tmp_path, mode="Strict")
    assert err[-1] == "ValueError: TUNED_DISPATCH='Strict': write strict, warn or off"


def test_production_needs_nothing_but_python(tmp_path: Path) -> None:
    """Without tuned-dispatch there is no check and no complaint, but strict cannot be promised."""
    kernel_in(tmp_path)
    code = "import sys\nsys.path.insert(0, '')\nimport impl\nprint(impl.ModelNew().forward(100))\n"
    alone = ("-S", "-I")
    status, out, err = ran(code, tmp_path, options=alone)
    assert (status, len(out), err) == (0, 1, [])
    code = "import os\nos.environ['TUNED_DISPATCH'] = 'strict'\n" + code
    status, _, err = ran(code, tmp_path, options=alone)
    assert (status, err[-1]) == (1, "RuntimeError: TUNED_DISPATCH=strict needs tuned-dispatch")


def test_code_that_cannot_be_told_is_an_error_for_strict_alone(tmp_path: Path) -> None:
    """No hash in the dispatch, or no source to compare with."""
    for sha256, words in ((None, "does not say which code"), ("0" * 64, "cannot be compared")):
        check_source(str(tmp_path / "gone.py"), sha256)
        with pytest.raises(StaleError, match=words):
            check_source(str(tmp_path / "gone.py"), sha256, "strict")


def test_changed_code_can_be_tuned_where_strict_is_set(tmp_path: Path) -> None:
    """The dispatch that is of other code by now is the reason to tune, no obstacle."""
    text = (ORIGINAL / "impl.py").read_text()
    sample = json.loads((ORIGINAL / "sample.json").read_text())
    shape_expr, names = sample["shape_expr"], tuple(sample["config_param_names"])
    impl = kernel_in(tmp_path)
    impl.write_text(
        convert_source(
            text,
            name="impl.py",
            shape_expr=shape_expr,
            config_param_names=names,
            launch_options=(),
        )
    )
    options = ["--impl", "impl.py", "--shapes", "8,100,4;16,200,4", "--kb", "kb.sqlite"]
    done = subprocess.run(
        [sys.executable, "-m", "tuner", "tune", str(ORIGINAL), *options, "-o", "out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TUNED_DISPATCH": "strict"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("_tuned_dispatch()._select_config\n", "lambda shape: None\n"),
        ("    return dispatch\n", "    dispatch._select_config = print\n    return dispatch\n"),
        ('if mode != "off"', 'if mode == "strict"'),
        ("except ImportError:\n\n", "except Exception:\n\n"),
    ],
)
def test_the_contract_knows_the_binding_by_its_every_word(
    tmp_path: Path, old: str, new: str
) -> None:
    """As `tuner convert` writes it, it is clean; changed, it is a breach."""
    impl = kernel_in(tmp_path)
    assert [str(breach) for breach in breaches(impl)] == []
    text = impl.read_text()
    assert text.count(old) == 1
    impl.write_text(text.replace(old, new))
    assert {"dispatch"} <= {breach.rule for breach in breaches(impl)}
