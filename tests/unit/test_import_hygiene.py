"""What is imported, and when: nothing heavy by any of codegen, nothing slow by `--help`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

_HEAVY = {"numpy", "torch", "triton", "tuner", "pandas", "scipy", "sklearn"}
_SLOW = {"pydantic", "pydantic_core", "black", "jinja2"}

_EVERY_MODULE = """
import importlib, json, pkgutil, sys
import codegen
names = [info.name for info in pkgutil.walk_packages(codegen.__path__, "codegen.")]
names.remove("codegen.__main__")
for name in names:
    importlib.import_module(name)
print(json.dumps([names, sorted({name.partition(".")[0] for name in sys.modules})]))
"""

_COMMAND = """
import json, sys
sys.argv = ["codegen", *sys.argv[1:]]
from codegen.cli import main
try:
    main()
except SystemExit as end:
    print(json.dumps([end.code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def _last_line(program: str, *arguments: str) -> list[object]:
    command = [sys.executable, "-c", program, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[object] = json.loads(ran.stdout.splitlines()[-1])
    return found


def test_no_module_of_codegen_needs_a_device_library() -> None:
    """Importing every module of codegen imports no numpy, torch, triton or tuner."""
    names, imported = _last_line(_EVERY_MODULE)
    assert {"codegen.cli", "codegen.emit", "codegen.plan.program", "codegen.selectors.tree"} <= {
        *names
    }
    assert not _HEAVY & {*imported}


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("emit", "--help")])
def test_help_does_not_wait_for_what_it_does_not_need(arguments: tuple[str, ...]) -> None:
    """`codegen --help` and its like import neither pydantic nor black nor jinja2."""
    status, imported = _last_line(_COMMAND, *arguments)
    assert status == 0
    assert not (_HEAVY | _SLOW) & {*imported}


@pytest.mark.parametrize("command", ["schema", "hash", "show"])
def test_a_command_that_emits_nothing_needs_no_formatter(command: str) -> None:
    """`schema`, `hash` and `show` import no black."""
    arguments = {
        "schema": ("schema",),
        "hash": ("hash", __file__),
        "show": ("show", "tests/golden/cases/constant/manifest.json", "--shape", "1,1"),
    }
    status, imported = _last_line(_COMMAND, *arguments[command])
    assert status == 0
    assert "black" not in imported
