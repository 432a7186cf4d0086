"""What counts as the same kernel source, on every Python that we support."""

from __future__ import annotations

import ast
import io
import json
import os
import shutil
import subprocess
import sys
import tokenize
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.errors import SourceError
from codegen.source_hash import source_sha256, source_sha256_of

ROOT = Path(__file__).parents[2]
VECTORS = json.loads((ROOT / "tests/data/source_hash_vectors.json").read_text("ascii"))
SOURCES = [vector["source"] for vector in VECTORS]

# Pythons disagree on these: ast.unparse may not give back what they say.
UNDISPUTED = [v["source"] for v in VECTORS if not v["name"].startswith("f-strings: 3.1")]

RUNNER = """\
import json, os, sys, types
# The package without its __init__, which may need more than the standard library.
package = types.ModuleType("codegen")
package.__path__ = [os.path.join(os.environ["PYTHONPATH"], "codegen")]
sys.modules["codegen"] = package
from codegen.source_hash import source_sha256
print(json.dumps([source_sha256(source) for source in json.load(sys.stdin)]))
"""

KERNEL = '''"""Doc."""

import triton


@triton.jit
def kernel(x_ptr, n: "int", BLOCK: triton.language.constexpr = 64):
    """Add."""
    text = """two
lines"""
    return x_ptr + n * BLOCK
'''


def _interpreter(version: str) -> str | None:
    own = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python"))
    return str(own[-1]) if own else shutil.which(f"python{version}")


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_vectors_hash_alike_on_every_python(version: str) -> None:
    """Every supported Python gives each vector the recorded hash."""
    python = _interpreter(version)
    if python is None:
        pytest.skip(f"Python {version} is neither in ~/.pyenv/versions nor on PATH")
    done = subprocess.run(
        [python, "-B", "-S", "-c", RUNNER],
        input=json.dumps(SOURCES),
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names = [vector["name"] for vector in VECTORS]
    expected = [vector["sha256"] for vector in VECTORS]
    assert dict(zip(names, json.loads(done.stdout), strict=True)) == dict(
        zip(names, expected, strict=True)
    )


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vector(vector: dict[str, str]) -> None:
    """A vector's hash stays what it is: a change of scheme raises the scheme's number."""
    assert source_sha256(vector["source"]) == vector["sha256"]


def test_vectors_differ() -> None:
    """No two vectors share a hash or a name."""
    for key in ("name", "sha256"):
        assert len({vector[key] for vector in VECTORS}) == len(VECTORS)


@pytest.mark.parametrize(
    "same",
    [
        pytest.param("# first\n" + KERNEL.replace('Add."""', 'Add."""  # c'), id="comments"),
        pytest.param("\n\n" + KERNEL.replace("\n\n", "\n  \n\n\t\n"), id="blank lines"),
        pytest.param(KERNEL.replace(":\n", ":   \n"), id="trailing space"),
        pytest.param(KERNEL.rstrip("\n"), id="no final newline"),
        pytest.param(KERNEL.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(KERNEL.replace("\n", "\r"), id="CR"),
        pytest.param("\ufeff" + KERNEL, id="BOM"),
        pytest.param(KERNEL.replace("n * BLOCK", "(n * (BLOCK))"), id="parentheses"),
        pytest.param(KERNEL.replace('"int"', "'int'"), id="quotes"),
        pytest.param(KERNEL.replace('"int"', "u'i' 'nt'"), id="joined strings"),
        pytest.param(KERNEL.replace("= 64", "= 0x4_0"), id="spelling of a number"),
        pytest.param(KERNEL.replace("    ", "\t"), id="indentation"),
        pytest.param(
            KERNEL.replace("import triton", "from __future__ import annotations\nimport triton"),
            id="future import",
        ),
    ],
)
def test_what_is_not_code_leaves_the_hash(same: str) -> None:
    """Comments, layout, line ends, spelling and future imports do not count."""
    assert same != KERNEL
    assert source_sha256(same) == source_sha256(KERNEL)
    assert source_sha256(same.encode()) == source_sha256(KERNEL)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("lines", [["# coding: {}"], ["# a kernel", "# -*- coding: {} -*-"]])
def test_encoding_leaves_the_hash(lines: list[str], ends: str) -> None:
    """The same text in another encoding, declared by PEP 263, is the same source."""
    text = ends.join([*lines, "x = 'é'  # encoding=enc", ""])
    plain = source_sha256("x = 'é'\n")
    for encoding in ("latin-1", "utf-8", "cp1252"):
        source = text.format(encoding)
        assert source_sha256(source.encode(encoding)) == plain
        assert source_sha256(source) == plain


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_line_ends_around_a_spelled_f_string_leave_the_hash(ends: str) -> None:
    """An f-string that counts as it is spelled is found, and hashed, under any line ends."""
    source = '# é\n\né = (\'é\',\n  f"""\n{\'#\'=}\n""")\n'
    assert source_sha256(source.replace("\n", ends)) == source_sha256(source)
    assert source_sha256(source.replace("\n", ends).encode()) == source_sha256(source)
    assert source_sha256(source.replace("'#'", "' #'")) != source_sha256(source)


def test_file_name_and_place_leave_the_hash(tmp_path: Path) -> None:
    """A file hashes as its text does, wherever it lies."""
    (tmp_path / "sub").mkdir()
    for place in ("impl.py", "sub/other.txt"):
        path = tmp_path / place
        path.write_bytes(KERNEL.encode())
        assert source_sha256_of(path) == source_sha256(KERNEL, filename="third.py")


# Each differs from every other: pairs that a careless serialisation takes for one.
DIFFERENT = [
    *("x = 1", "x = True", "x = 1.0", "x = '1'", "x = b'1'", "x = 1j", "x = 1.0 + 0j", "y = 1"),
    *("x = 0", "x = 0.0", "x = -0.0", "x = False", "x = None", "x = ...", "x = Ellipsis", "x = ''"),
    *("x = 1e999", "x = -1e999", "x = 0j", "x = -0j", "x = 'None'", "x = 'x'", "x = x"),
    *("f('ab', 'c')", "f('a', 'bc')", "f('abc')", "f(('a', 'bc'))", "f(['a', 'bc'])", "f(a='bc')"),
    *("x = '\\ud800'", "x = '\\udc00'", "x = '?'", "x = '\\\\ud800'"),
    *("x = 0x" + "f" * 5000, "x = 0x" + "f" * 4999 + "e"),
    *("f''", "f'a'", "'a'", "f'{a}'", "f'{a!r}'", "f'{a!s}'", "f'{a:r}'", "f'{a}' 'r'", "f'{a=}'"),
    *("f'{a=:}'", "f'{a =}'", "f'a={a!r}{b}'", "f'{a}{b}'", "f'{a:{b}}'", "f'{a, b}'", "f'{\"\"}'"),
    *("x: int", "(x): int", "x: str", "x: int = 1", "'x: int'", "x: 'int'"),
    *("def f(a): 0", "def f(*a): 0", "def f(**a): 0", "def f(*, a): 0", "def f(a, /): 0"),
    *("def f(a=1): 0", "def f(*, a=1): 0", "async def f(a): 0", "def f(a: 1): 0", "def f(a): 1"),
    *("def f(a) -> 1: 0", "@f\ndef f(a): 0", "def f(a):\n 'doc'\n 0", "class f: 0"),
    *("{**a}", "{a}", "{a: b}", "{None: a}", "{'a': b}", "{a: b, **c}", "{a: b, c: c}"),
    *("if a: b", "if a: b\nelse: c", "if a: b\nc", "while a: b", "if a:\n b\n c", "a if b else c"),
    *("if a: 0\nelif b: 0\nelse: 0", "if a: 0\nif b: 0\nelse: 0"),
    *("a + b + c", "a + (b + c)", "a - b + c", "a < b < c", "(a < b) < c", "a and b and c"),
    *("import a", "import a as b", "from a import b", "from .a import b", "from . import b"),
    *("x = y = 1", "x = 1\ny = 1", "x = (y, 1)", "x, y = 1", "x = y == 1", "x += 1"),
    *("match a:\n case None: 0", "match a:\n case _: 0", "match a:\n case b: 0"),
    *("match a:\n case True: 0", "match a:\n case 1: 0", "match a:\n case b.c: 0"),
    *("pass", "", "...", "()", "[]", "0", "from .__future__ import annotations"),
]


def test_different_code_differs() -> None:
    """Programs that differ in a type, a bracket or a place have different hashes."""
    hashes: dict[str, str] = {}
    for source in DIFFERENT:
        other = hashes.setdefault(source_sha256(source), source)
        assert other == source


@pytest.mark.parametrize(
    ("old", "new"),
    [("Add.", "Sum."), ('"int"', '"str"'), ("= 64", "= 65"), ("two\n", "two \n"), ("n *", "n +")],
)
def test_change_of_code_changes_the_hash(old: str, new: str) -> None:
    """A docstring, an annotation, a default, a string's inner space and an operator count."""
    assert source_sha256(KERNEL.replace(old, new)) != source_sha256(KERNEL)


PLAIN = "from k_dispatch import Config"
EITHER = (
    "try:\n    from .k_dispatch import _select_config\n"
    "except ImportError:\n    from k_dispatch import _select_config\n"
)


@pytest.mark.parametrize(
    "dispatch",
    [
        PLAIN,
        "from ._dispatch import _select_config, DEFAULT",
        "from ...pkg.k_dispatch import (AXIS_NAMES, CONFIGS, TARGET, SOURCE_SHA256)",
        "from pkg.k_dispatch import MANIFEST_SHA256",
        EITHER,
        EITHER.replace("ImportError", "ModuleNotFoundError"),
        EITHER.replace("try:\n", "try:\n    from .k_dispatch import DEFAULT\n"),
    ],
)
def test_dispatch_import_leaves_the_hash(dispatch: str) -> None:
    """The import of the dispatch module is left out at the module's level."""
    assert source_sha256(f"x = 1\n{dispatch}\ny = 2\n") == source_sha256("x = 1\ny = 2\n")


@pytest.mark.parametrize(
    "dispatch",
    [
        "from .k_dispatch import _select_config as cdiv",
        EITHER + "except Exception:\n    from a.k_dispatch import Config\n",
        EITHER.replace("ImportError", "ImportError as error"),
        EITHER.replace("ImportError", "(ImportError, ValueError)"),
        "def f():\n    from .k_dispatch import _select_config",
    ],
)
def test_an_import_that_may_do_more_is_code(dispatch: str) -> None:
    """Another name, another exception or another place than ours may change what the code does."""
    assert source_sha256(f"x = 1\n{dispatch}\ny = 2\n") != source_sha256("x = 1\ny = 2\n")


@pytest.mark.parametrize(
    "code",
    [
        "from my_dispatch import something_else",
        "from my_dispatch import Config, something_else",
        "from my_dispatch import *",
        "from my_dispatch.sub import Config",
        "from dispatch import Config",
        "from . import my_dispatch",
        "import my_dispatch",
        EITHER + "else: 0",
        EITHER + "finally: 0",
        EITHER + "except ValueError: 0",
        EITHER.replace(":\n", ":\n    0\n", 1),
        f"if 0: {PLAIN}",
        f"def f(): {PLAIN}",
        f"class A: {PLAIN}",
        f"with a: {PLAIN}",
    ],
)
def test_code_around_a_dispatch_import_stays(code: str) -> None:
    """What is not wholly the dispatch import counts, even a block left with nothing in it."""
    hashes = {source_sha256(source) for source in ("", "pass", "0", code)}
    assert len(hashes) == 4


def test_blocks_left_empty_differ() -> None:
    """Blocks that held nothing but the dispatch import keep what they are."""
    heads = ["if a", "if b", "while a", "for a in b", "with a", "def a()", "class a"]
    sources = [f"{head}: {body}" for head in heads for body in (PLAIN, "pass")]
    assert len({source_sha256(source) for source in sources}) == len(sources)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(b"x = 1\ndef f(:\n", r"^impl\.py:2: .*; correct the line", id="syntax"),
        pytest.param("if 1:\nx\n", r"^impl\.py:2: .*expected an indented block", id="indentation"),
        pytest.param(b"\nx = " + b"9" * 5000, r"^impl\.py:2: .*4300", id="decimal too long"),
        pytest.param(b"x = 1\n\0", r"^impl\.py: .*null bytes; save .*UTF-8", id="NUL"),
        pytest.param("x = 1\0", r"^impl\.py: .*null bytes; save .*UTF-8", id="NUL in text"),
        pytest.param(b"\n\n\nx = '\xff'", r"^impl\.py: .*0xff.*; save .*UTF-8", id="not UTF-8"),
        pytest.param(b"# coding: x\n", r"^impl\.py: .*unknown encoding: x; save", id="encoding"),
        pytest.param(b"# coding: hex\n", r"^impl\.py: .*not a text encoding", id="not of text"),
        pytest.param(b"\xef\xbb\xbf# coding: latin-1\n", r"^impl\.py: .*encoding", id="BOM"),
        pytest.param("x = '\ud800'", r"^impl\.py: .*surrogates not allowed", id="surrogate"),
        pytest.param("-" * 200_000 + "1", r"^impl\.py: .*too deeply .*; split", id="too deep"),
        pytest.param("(" * 500 + ")" * 500, r"^impl\.py:1: .*too many nested", id="parentheses"),
    ],
)
def test_what_is_not_python_is_said_in_one_line(source: bytes | str, message: str) -> None:
    """A source that cannot be parsed is a SourceError with place, fact and remedy."""
    with pytest.raises(SourceError, match=message) as caught:
        source_sha256(source, filename="impl.py")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["missing.py", "", "nul\0.py"])
def test_unreadable_file_is_said_in_one_line(tmp_path: Path, name: str) -> None:
    """A file that is missing, a directory or of an impossible name is a SourceError."""
    with pytest.raises(SourceError, match=r": cannot read the kernel's source: .+; give the path"):
        source_sha256_of(tmp_path / name)


def test_file_is_named_in_the_error(tmp_path: Path) -> None:
    """The error of a file points to its path and line."""
    path = tmp_path / "impl.py"
    path.write_text("x = 1\ny = = 2\n", "utf-8")
    with pytest.raises(SourceError, match=r"impl\.py:2: ") as caught:
        source_sha256_of(path)
    assert caught.value.where == f"{path}:2"


def test_warning_is_no_error() -> None:
    """An invalid escape warns nobody, not even where warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert source_sha256(r"x = '\d'") == source_sha256(r"x = '\\d'")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("x = " + "+".join(["a"] * 2500), id="sum"),
        pytest.param("if a: 0\n" + "elif a: 0\n" * 2500, id="elif"),
        pytest.param("x = a" + ".b" * 2500, id="attributes"),
    ],
)
def test_long_chain_is_hashed(source: str) -> None:
    """A chain of thousands, as deep as it is long, hashes under the usual recursion limit."""
    assert sys.getrecursionlimit() <= 1000
    assert source_sha256(source) != source_sha256(source.replace("a", "c", 1))


def _line_ends(source: str) -> list[int]:
    """Return the numbers of the lines that end outside of any string, from 0."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token.start[0] - 1 for token in tokens if token.type in (tokenize.NEWLINE, tokenize.NL)]


@given(st.data())
def test_insertions_at_line_ends_leave_the_hash(data: st.DataObject) -> None:
    """Comments, spaces and blank lines put anywhere between tokens do not count."""
    source = data.draw(st.sampled_from(SOURCES))
    lines = source.split("\n")
    endings = st.sampled_from(
        ["", " ", "\t", "\f", "  # why", "#", "\n", "\n\n# c\n", " #{x=}'\"\\"]
    )
    for number in _line_ends(source):
        lines[number] += data.draw(endings)
    assert source_sha256("\n".join(lines)) == source_sha256(source)


@pytest.mark.parametrize("source", UNDISPUTED)
def test_unparsed_source_hashes_alike(source: str) -> None:
    """What ast.unparse prints, all layout its own, is the same source."""
    assert source_sha256(ast.unparse(ast.parse(source))) == source_sha256(source)


def _other(value: object) -> Any:
    match value:
        case bool():
            return not value
        case str():
            return value + "x"
        case bytes():
            return value + b"x"
        case complex():
            return value + 1j
    return 7  # A number that no vector holds.


@given(st.data())
def test_change_of_a_constant_changes_the_hash(data: st.DataObject) -> None:
    """Every constant counts, wherever in the tree it stands."""
    tree = ast.parse(data.draw(st.sampled_from([s for s in UNDISPUTED if s])))
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    before = source_sha256(ast.unparse(tree))
    if constants:
        constant = data.draw(st.sampled_from(constants))
        constant.value = _other(constant.value)
        assert source_sha256(ast.unparse(tree)) != before
