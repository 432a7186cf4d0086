"""Text from outside never becomes code: it is refused in one line, or it stays text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from property.agreement import assert_agrees, assert_harmless
from property.strategies import HOSTILE, candidate, examples, hostile_texts, manifests
from support import category, emitted, integer, manifest_of

from codegen.config import Config
from codegen.errors import CodegenError
from codegen.manifest import parse_manifest, policy_of
from codegen.strict_json import parse_json

_NO_NAMES = [text for text in HOSTILE if not (text.isascii() and text.isidentifier())]
_CODE = "__import__('os').abort()"


def _assert_refused_or_harmless(raw: dict[str, Any]) -> bool:
    """Take `raw` as from a file; say whether it was emitted."""
    try:
        manifest = parse_manifest(parse_json(json.dumps(raw).encode(), name="test"), name="test")
        text = emitted(manifest)
    except CodegenError as error:
        refusal = error
    else:
        assert_harmless(text)
        assert_agrees(policy_of(manifest), text, limit=100)
        return True
    assert str(refusal).isprintable()
    assert refusal.remedy
    return False


def _raw(**fields: Any) -> dict[str, Any]:
    manifest = manifest_of(
        axes=[integer("M", 1, 64), category("dtype", "float16", "float32")],
        selector={
            "kind": "tree",
            "payload": {
                "root": {
                    "category": "dtype",
                    "values": ["float16"],
                    "left": {"config": 0},
                    "right": {"config": 1},
                }
            },
        },
    )
    return manifest.model_dump(exclude_defaults=True) | fields


def _with_config(raw: dict[str, Any], config: Config, *, reason: str | None = None) -> None:
    """Make `config` the default, or a candidate that was rejected for `reason`."""
    raw["candidates"].append(candidate(config, reason=reason))
    if reason is None:
        raw["default"] = config.id


def _everywhere(text: str) -> dict[str, Any]:
    """Return a manifest that holds `text` wherever any text may stand."""
    raw = _raw(
        kernel={"name": text, "dtype": text},
        target={"device": text, "arch": text, "toolchain": {text: text, f"a{text}"[:500]: "1"}},
        axes=[integer("M", 1, 64), category("dtype", text, f"{text}b"[-500:])],
        tune_meta={
            "path_used": text,
            "method": text,
            "notes": [text],
            "regret": {"basis": text, "shapes": 3, "geomean": 1.0, "p95": 1.0, "worst": 1.0},
        },
        extras={text: [text, {text: text}]},
    )
    raw["selector"]["runtime_deps"] = [text]
    raw["selector"]["payload"]["root"]["values"] = [text]
    _with_config(raw, Config(params=(("A", text),), options=(("B", text),)))
    _with_config(raw, Config(params=(("A", text), ("B", 2))), reason=text)
    return raw


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_text_stays_text_wherever_it_stands(text: str) -> None:
    """A hostile string in every free text at once is refused, or emitted as a literal."""
    emittable = "\ud800" not in text and len(text) <= 500
    assert _assert_refused_or_harmless(_everywhere(text)) == emittable


_VALUES = [text for text in HOSTILE if "\ud800" not in text and len(text) <= 500]


@pytest.mark.parametrize("text", _VALUES, ids=ascii)
@pytest.mark.parametrize("outside", ["default", "raise"])
def test_a_category_value_is_compared_as_it_is(text: str, outside: str) -> None:
    """A hostile string that is the value of a category is taken for itself and nothing else."""
    manifest = manifest_of(
        axes=[category("one", text), category("mixed", 1, text), integer("M", 1, 9)],
        selector={"kind": "constant", "payload": {"config": 1}},
        outside=outside,
    )
    near = text.replace(" in (", " not in (") + " "
    more = [(text, text, 1), (near, text, 1), (text, near, 1), (text, 1, 1), (text, "1", 1)]
    assert_agrees(policy_of(manifest), emitted(manifest), more=more)


def _axis(raw: dict[str, Any], text: str) -> None:
    raw["axes"][0]["name"] = text


def _param(raw: dict[str, Any], text: str) -> None:
    raw["candidates"][0]["params"] = {text: 1}
    raw["candidates"][0]["id"] = f"{text}=1;num_stages=3,num_warps=4"


def _option(raw: dict[str, Any], text: str) -> None:
    raw["candidates"][0]["options"] = {text: 1}


def _config_id(raw: dict[str, Any], text: str) -> None:
    raw["candidates"][0]["id"] = text


def _default(raw: dict[str, Any], text: str) -> None:
    raw["default"] = text


def _unknown_key(raw: dict[str, Any], text: str) -> None:
    raw[text] = 1


def _unknown_value(raw: dict[str, Any], text: str) -> None:
    raw["selector"]["payload"]["root"]["values"] = [text]


def _sha256(raw: dict[str, Any], text: str) -> None:
    raw["kernel"]["source"] = {"file": "impl.py", "sha256": text}


@pytest.mark.parametrize("text", [*_NO_NAMES, "", "M N", "lambda"], ids=ascii)
@pytest.mark.parametrize(
    "put", [_axis, _param, _option, _config_id, _default, _unknown_key, _unknown_value, _sha256]
)
def test_text_that_has_to_be_a_name_is_refused(
    put: Callable[[dict[str, Any], str], None], text: str
) -> None:
    """A hostile string where a name, an id or a hash belongs is refused in one line."""
    raw = _raw()
    put(raw, text)
    assert not _assert_refused_or_harmless(raw)


@pytest.mark.parametrize(
    "file",
    [
        *("/etc/passwd", "../impl.py", "a/../b.py", "./impl.py", "a//b.py", "a\\b.py", "C:impl.py"),
        *("impl\n.py", "impl\r.py", "impl\x00.py", "impl\x1b[31m.py", "\u202eimpl.py", "\ud800.py"),
        *("a/", "", "impl\u2028.py"),
    ],
    ids=ascii,
)
def test_a_source_file_that_is_no_plain_path_is_refused(file: str) -> None:
    """A source outside the manifest's directory, or with a control character, is refused."""
    raw = _raw(kernel={"name": "k", "source": {"file": file, "sha256": "0" * 64}})
    assert not _assert_refused_or_harmless(raw)


@given(manifests(texts=hostile_texts))
@examples(40)
def test_hostile_manifests_are_refused_or_harmless(raw: dict[str, Any]) -> None:
    """Hostile strings in any mixture of places are refused in one line, or stay text."""
    _assert_refused_or_harmless(raw)


def test_a_module_from_hostile_text_runs_nothing() -> None:
    """A module whose every text is a call neither calls it on import nor on selection."""
    assert _assert_refused_or_harmless(_everywhere(f"{_CODE}\n{_CODE}\r{_CODE}"))
    assert _assert_refused_or_harmless(_everywhere(f'"""\n{_CODE}\n"""'))
    assert _assert_refused_or_harmless(_everywhere(f"{{{{ {_CODE} }}}}{{% if 1 %}}"))
