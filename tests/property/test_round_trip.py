"""One manifest, one text: whatever is written is read back, and gives the same bytes anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property.strategies import configs, examples, hostile_texts, manifests
from support import emitted

from codegen.config import Config, config_id
from codegen.manifest import Manifest, digest, dump_manifest, parse_manifest
from codegen.strict_json import parse_json

_encodable = hostile_texts.filter(lambda text: "\ud800" not in text and len(text) <= 500)

# What another process is given to run: it prints a hash of each manifest's dump and module.
_DIGESTS = """
import sys
from hashlib import sha256
from pathlib import Path
from codegen.emit import emission
from codegen.manifest import dump_manifest
for name in sys.argv[1:]:
    made = emission(Path(name))
    print(sha256((dump_manifest(made.manifest) + made.text).encode()).hexdigest())
"""


def _read(text: str) -> Manifest:
    return parse_manifest(parse_json(text.encode(), name="test"), name="test")


@given(manifests(texts=_encodable))
@examples(60)
def test_a_manifest_is_read_back_as_it_was_written(raw: dict[str, Any]) -> None:
    """A dumped manifest parses to an equal one, with the same digest and the same dump."""
    raw["kernel"].pop("source", None)
    manifest = parse_manifest(raw, name="test")
    text = dump_manifest(manifest)
    again = _read(text)
    assert again == manifest
    assert dump_manifest(again) == text
    assert digest(again) == digest(manifest) == sha256(text.encode()).hexdigest()


@given(manifests(), st.integers(0, 4))
@examples(60)
def test_the_layout_of_the_file_does_not_count(raw: dict[str, Any], indent: int) -> None:
    """A manifest with other spaces, and its outer keys in another order, has the same digest."""
    turned = dict(reversed(raw.items()))
    assert digest(_read(json.dumps(turned, indent=indent))) == digest(_read(json.dumps(raw)))


@given(manifests())
@examples(10)
def test_a_manifest_gives_the_same_bytes_twice(raw: dict[str, Any]) -> None:
    """The same manifest is emitted as the same bytes, also after a round trip."""
    manifest = parse_manifest(raw, name="test")
    assert emitted(manifest) == emitted(_read(dump_manifest(manifest)))


@pytest.mark.parametrize("seed", ["1", "4242"])
def test_another_process_emits_the_same_bytes(seed: str, tmp_path: Path) -> None:
    """A process with another hash seed gives the same manifests and modules."""
    cases = sorted(Path(__file__).parents[1].glob("golden/cases/*/manifest.json"))

    @given(manifests())
    @examples(12)
    def add(raw: dict[str, Any]) -> None:
        raw["kernel"].pop("source", None)
        cases.append(tmp_path / f"{len(cases)}.json")
        cases[-1].write_text(json.dumps(raw))

    add()
    command = [sys.executable, "-c", _DIGESTS, *map(str, cases)]
    here = os.environ | {"PYTHONHASHSEED": "0"}
    there = os.environ | {"PYTHONHASHSEED": seed}
    first = subprocess.run(command, env=here, capture_output=True, text=True, check=True)
    second = subprocess.run(command, env=there, capture_output=True, text=True, check=True)
    assert len(first.stdout.split()) == len(cases)
    assert first.stdout == second.stdout


def _content(config: Config) -> str:
    """Spell out all that a config is, without a regard to order."""
    parts = (config.params, config.launch_options(), config.options)
    return repr([sorted((name, repr(value)) for name, value in part) for part in parts])


# Few names and values, so that configs that nearly collide are common.
_close = configs(
    texts=st.sampled_from(["", "1", "A", "A=1", ",B=2", ";", '"', '",B="', "null", "true", "1.0"]),
    keys=st.sampled_from(["A", "B", "AB", "A1", "a"]),
)


@given(st.lists(_close, min_size=2, max_size=8))
@examples(200)
def test_configs_that_differ_have_different_ids(made: list[Config]) -> None:
    """Two configs have the same id exactly when they launch the same, names and types included."""
    for config in made:
        for other in made:
            assert (config.id == other.id) == (_content(config) == _content(other))
            assert (config == other) == (config.id == other.id)


@given(configs(texts=_encodable))
@examples(100)
def test_an_id_does_not_depend_on_the_order_of_names(config: Config) -> None:
    """A config keeps its id when its params and options are listed in another order."""
    turned = Config(
        params=config.params[::-1],
        options=config.options[::-1],
        **dict(config.launch_options()),
    )
    assert turned.id == config.id == config_id(config)
    assert config.id.isascii()
    assert config.id.isprintable()
