"""The manifest: read strictly, written in one form, and sound once it is read."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support import category, configs, integer, manifest_of

from codegen.axes import CategoryAxis, IntegerAxis
from codegen.config import Config
from codegen.errors import CodegenError, ManifestError
from codegen.manifest import (
    SCHEMA_VERSION,
    Candidate,
    Manifest,
    digest,
    dump_manifest,
    load_manifest,
    parse_manifest,
    policy_of,
)

GOLDEN = sorted(Path(__file__).parents[1].glob("golden/cases/*/manifest.json"))


def _manifest(**fields: Any) -> Manifest:
    manifest = manifest_of(
        axes=[integer("M", 1, 64), integer("N"), category("dtype", "float16", 8)],
        selector={"kind": "constant", "payload": {"config": 2}},
        default=1,
    )
    raw = manifest.model_dump(exclude_defaults=True) | fields
    return parse_manifest(raw, name="test")


def test_a_manifest_becomes_a_policy() -> None:
    """A manifest's axes, configs, default and rule become those of its policy."""
    policy = policy_of(_manifest(outside="nearest"))
    assert policy.axes == (
        IntegerAxis(name="M", low=1, high=64),
        IntegerAxis(name="N"),
        CategoryAxis(name="dtype", values=("float16", 8)),
    )
    assert policy.configs == configs(4)
    assert policy.default == configs(4)[1]
    assert policy.outside == "nearest"
    assert policy.selector.kind == "constant"


def test_configs_are_in_the_order_of_config_ids() -> None:
    """Payloads index into `config_ids`, whatever the order of the candidates."""
    manifest = _manifest()
    raw = manifest.model_dump(exclude_defaults=True)
    raw["selector"]["config_ids"].reverse()
    policy = policy_of(parse_manifest(raw, name="test"))
    assert policy.configs == configs(4)[::-1]


def test_the_default_need_not_be_a_choice_of_the_selector() -> None:
    """A default that the selector never names is as good as any kept candidate."""
    manifest = _manifest()
    raw = manifest.model_dump(exclude_defaults=True)
    raw["selector"]["config_ids"] = raw["selector"]["config_ids"][2:]
    raw["selector"]["payload"]["config"] = 0
    policy = policy_of(parse_manifest(raw, name="test"))
    assert policy.default == configs(4)[1]
    assert policy.default not in policy.configs


def test_a_candidate_stands_for_its_config() -> None:
    """A config that is made a candidate and read back is the same, order included."""
    config = Config(
        params=(("B", 1.5), ("A", None)), num_warps=4, options=(("z", True), ("y", "s"))
    )
    candidate = Candidate.of(config)
    assert candidate.status == "kept"
    assert candidate.config() == config
    assert list(candidate.config().all_kwargs()) == ["B", "A", "num_warps", "z", "y"]


def test_a_rejected_candidate_keeps_its_reason() -> None:
    """A candidate made with a reason is a rejected one."""
    candidate = Candidate.of(configs(1)[0], reason="ub overflow")
    assert (candidate.status, candidate.reason) == ("rejected", "ub overflow")


def test_a_manifest_is_frozen() -> None:
    """What has been read cannot be changed."""
    with pytest.raises(ValueError, match="frozen"):
        _manifest().default = "x"  # type: ignore[misc]


def test_defaults_are_not_written() -> None:
    """A field that holds its default does not stand in the file."""
    raw = json.loads(dump_manifest(_manifest(tune_meta={}, extras={})))
    assert list(raw) == [
        "schema_version",
        "kernel",
        "target",
        "axes",
        "candidates",
        "default",
        "outside",
        "selector",
    ]
    assert raw["axes"][1] == {"name": "N", "kind": "integer"}
    assert raw["schema_version"] == SCHEMA_VERSION


def test_an_absent_field_and_its_default_are_one() -> None:
    """A manifest that spells its defaults out has the digest of one that does not."""
    plain = _manifest()
    spelled = _manifest(kernel={"name": "kernel", "dtype": None, "source": None}, extras={})
    assert digest(spelled) == digest(plain)


@pytest.mark.parametrize(
    "fields",
    [
        {"kernel": {"name": "other"}},
        {"outside": "raise"},
        {"extras": {"a": 1}},
        {"extras": {"a": None}},
        {"tune_meta": {"notes": ["a"]}},
        {"default": configs(4)[0].id},
    ],
)
def test_a_difference_changes_the_digest(fields: dict[str, Any]) -> None:
    """Manifests that say different things have different digests."""
    assert digest(_manifest(**fields)) != digest(_manifest())


def test_the_digest_is_that_of_the_text() -> None:
    """The digest is the SHA-256 of the manifest as it is written."""
    manifest = _manifest()
    assert digest(manifest) == sha256(dump_manifest(manifest).encode()).hexdigest()


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parent.name)
def test_what_is_written_can_be_read_in_a_diff(path: Path) -> None:
    """A manifest is written in ASCII lines of at most 100 characters, but for long strings."""
    text = dump_manifest(load_manifest(path))
    assert text.isascii()
    assert text.endswith("}\n")
    for line in text.splitlines():
        assert len(line) <= 100 or '"id":' in line or line.lstrip().startswith('"'), line
    again = parse_manifest(json.loads(text), name="test")
    assert dump_manifest(again) == text


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parent.name)
def test_a_file_and_its_value_are_read_alike(path: Path) -> None:
    """`load_manifest` of a file is `parse_manifest` of what the file holds."""
    assert load_manifest(path) == parse_manifest(json.loads(path.read_bytes()), name="x")


def test_an_error_carries_its_parts() -> None:
    """An error keeps fact, place and remedy apart, and its message joins them."""
    with pytest.raises(
        ManifestError, match=r"^test: outside: 'x' is not a known value; use "
    ) as it:
        _manifest(outside="x")
    error = it.value
    assert isinstance(error, CodegenError)
    assert (error.where, error.fact) == ("test: outside", "'x' is not a known value")
    assert error.remedy == "use 'default', 'nearest' or 'raise'"
    assert str(error) == f"{error.where}: {error.fact}; {error.remedy}"


def test_more_faults_are_counted() -> None:
    """The first fault is told, with the number of those behind it."""
    with pytest.raises(ManifestError, match=r"; .* \(and 2 more faults\)$"):
        _manifest(outside="x", extras=[], default=1)


def test_a_path_is_not_led_astray_by_a_key_called_like_a_kind() -> None:
    """A stray key that is called like the selector's kind changes nothing of the message."""
    stray = {"payload": {"entries": []}}
    selector = {
        "kind": "table",
        "table": stray,
        "payload": {
            "entries": [{"shape": [1, 1, 8], "config": "0"}],
            "otherwise": {"kind": "constant", "payload": {"config": 0}},
        },
        "config_ids": [config.id for config in configs(4)],
    }
    where = r"^test: selector\.payload\.entries\[0\]\.config: '0' is not an integer; "
    with pytest.raises(ManifestError, match=where):
        _manifest(selector=selector)


def test_a_schema_describes_every_field() -> None:
    """The JSON Schema names the manifest's fields and requires those without a default."""
    schema = Manifest.model_json_schema()
    assert set(schema["properties"]) == set(Manifest.model_fields)
    assert set(schema["required"]) == {
        *("schema_version", "kernel", "target", "axes", "candidates", "default", "outside"),
        "selector",
    }
    assert schema["additionalProperties"] is False


def test_the_schema_accepts_what_we_accept() -> None:
    """The golden manifests of this version are valid against the printed schema."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = Manifest.model_json_schema()
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    faults = {
        path.parent.name: [fault.message for fault in validator(schema).iter_errors(raw)]
        for path in GOLDEN
        if (raw := json.loads(path.read_bytes()))["schema_version"] == SCHEMA_VERSION
    }
    assert len(faults) >= 9
    assert not any(faults.values()), faults
