"""Damage sound manifests at random and emit what is left of them.

Whatever the damage, either `CodegenError` says in one line what is wrong and what to do, or the
module agrees with `Policy.evaluate`.

    python tests/property/fuzz.py --count 10000 --seed 0
    python tests/property/fuzz.py --seed 0 --only 4711     one case again, and what it gives
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from property.agreement import assert_agrees, assert_harmless

from codegen.emit import emission
from codegen.errors import CodegenError
from codegen.manifest import policy_of

__all__ = ["Found", "damaged", "outcome", "seeds"]

_CASES = Path(__file__).resolve().parents[1] / "golden" / "cases"
# A message this long is not one that anybody reads.
_LONGEST_MESSAGE = 1000

_DEEP: Any = 0
for _ in range(150):
    _DEEP = [_DEEP]

_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 64, 2**31, 2**63 - 1, 2**63, -(2**63), 2**70, -(2**70)),
    *(
        10**399,
        1.0,
        1.9,
        -0.0,
        1e300,
        float("nan"),
        float("inf"),
        "",
        "1",
        "M",
        "N",
        "a b",
        "x" * 600,
    ),
    *("integer", "category", "tree", "table", "bucket", "constant", "kept", "rejected", "default"),
    *(
        "nearest",
        "raise",
        "\n",
        "\r\u2028",
        "\x00",
        "\ud800",
        "é",
        '"',
        "'''",
        "{{ 1 }}",
        "# type:",
    ),
    *("a in (b", "lambda", "None", "../x.py", "/x.py", "impl.py", "a" * 300 + ".py", "0" * 64),
    *([], {}, [[]], [{}], {"": ""}, [None], {"config": 0}, {"axis": "M"}, {"mod": "M", "by": 0}),
    *({"config": 0, "left": {"config": 0}, "right": {"config": 1}}, {"cdiv": "K", "by": 3}, _DEEP),
)
_BYTES = (b"", b"\x00", b"\xff", b"\xef\xbb\xbf", b'"', b"{", b"]", b"\n", b"NaN", b"1e999", b"\\u")


@dataclass(frozen=True, slots=True)
class Found:
    """What became of one case: refused, emitted, or a fault of ours."""

    kind: str
    text: str


def seeds() -> tuple[Any, ...]:
    """Return the raw manifests of the golden cases, in the order of their names."""
    return tuple(json.loads(path.read_bytes()) for path in sorted(_CASES.glob("*/manifest.json")))


def damaged(raws: tuple[Any, ...], dice: random.Random) -> bytes:
    """Return the bytes of one of `raws` after one to four mutilations."""
    raw = copy.deepcopy(dice.choice(raws))
    for _ in range(dice.choice([1, 1, 1, 2, 2, 3, 4])):
        raw = _damage(raw, raws, dice)
    text = json.dumps(raw, indent=dice.choice([None, 1]), ensure_ascii=dice.random() < 0.7)
    data = text.encode("utf-8", "surrogatepass")
    return _garbled(data, dice) if dice.random() < 0.1 else data


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key or index) for every value below `value`."""
    stack = [value]
    while stack:
        item = stack.pop()
        keys = item.keys() if isinstance(item, dict) else range(len(item))
        for key in keys:
            yield item, key
            if isinstance(item[key], dict | list):
                stack.append(item[key])


def _damage(raw: Any, raws: tuple[Any, ...], dice: random.Random) -> Any:
    places = list(_places(raw)) if isinstance(raw, dict | list) else []
    if not places:
        return dice.choice(_VALUES)
    container, key = dice.choice(places)
    other, other_key = dice.choice(list(_places(dice.choice(raws))))
    here = container[key]
    match dice.choice(_KINDS):
        case "delete":
            del container[key]
        case "rename" if isinstance(container, dict):
            name = dice.choice([*container, "M", "x", "", "kind", "config", "table", "\u2028"])
            container[name] = container.pop(key)
        case "swap":
            container[key] = copy.deepcopy(dice.choice(_VALUES))
        case "borrow":
            container[key] = copy.deepcopy(other[other_key])
        case "add" if isinstance(container, dict):
            container[str(other_key)] = copy.deepcopy(other[other_key])
        case "shuffle" if isinstance(here, list):
            dice.shuffle(here)
        case "repeat" if isinstance(container, list):
            container.insert(key, copy.deepcopy(here))
        case "nudge" if isinstance(here, int):
            container[key] = here + dice.choice([-1, 1, 1000, -(2**40), 2**40])
        case "retype":
            container[key] = _retyped(here, dice)
        case "deepen":
            container[key] = {"left": here, "right": here} if dice.random() < 0.5 else [here]
    return raw


_KINDS = (
    *("delete", "rename", "swap", "swap", "borrow", "borrow", "add", "shuffle", "repeat", "nudge"),
    *("nudge", "nudge", "retype", "deepen"),
)


def _retyped(value: Any, dice: random.Random) -> Any:
    forms = [str(value), [value], {"value": value}, value is not None, repr(value)]
    if isinstance(value, int):
        forms += [float(value) if abs(value) < 2**60 else 0.5, -value, value * 2**40]
    return dice.choice(forms)


def _garbled(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data))
    match dice.choice(["cut", "insert", "drop", "utf-16", "flip", "twice"]):
        case "cut":
            return data[:at]
        case "insert":
            return data[:at] + dice.choice(_BYTES) + data[at:]
        case "drop":
            return data[:at] + data[at + dice.randrange(1, 20) :]
        case "utf-16":
            return data.decode("utf-8", "replace").encode("utf-16")
        case "twice":
            return data + data
        case _:
            return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def outcome(data: bytes, directory: Path) -> Found:
    """Load and emit the manifest `data`, and say what came of it."""
    path = directory / "manifest.json"
    path.write_bytes(data)
    try:
        made = emission(path, directory / "x_dispatch.py")
        policy = policy_of(made.manifest)
        assert_harmless(made.text)
        assert_agrees(policy, made.text, limit=60)
    except CodegenError as error:
        return _judged(error)
    except Exception:  # noqa: BLE001 (whatever it is, it is what we look for)
        return Found("fault", traceback.format_exc())
    return Found("emitted", made.text)


def _judged(error: CodegenError) -> Found:
    text = str(error)
    if not text.isprintable():
        return Found("fault", f"not one plain line: {text!a}")
    if len(text) > _LONGEST_MESSAGE:
        return Found("fault", f"a message of {len(text)} characters: {text[:300]}…")
    if not (error.fact.strip() and error.remedy.strip() and error.where.strip()):
        return Found("fault", f"without fact, place or remedy: {text}")
    return Found("refused", text)


def _case(raws: tuple[Any, ...], seed: int, number: int) -> bytes:
    return damaged(raws, random.Random(f"{seed}/{number}"))  # noqa: S311 (not a secret)


def run(count: int, seed: int, *, first: int = 0) -> tuple[Counter[str], dict[int, str]]:
    """Try `count` cases; return how many ended how, and the faults by their number."""
    raws, kinds, faults = seeds(), Counter[str](), {}
    with tempfile.TemporaryDirectory() as directory:
        for number in range(first, first + count):
            found = outcome(_case(raws, seed, number), Path(directory))
            kinds[found.kind] += 1
            if found.kind == "fault":
                faults[number] = found.text
    return kinds, faults


def main() -> int:
    """Run the cases that the command line asks for; return 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--only", type=int, help="show this case and what it gives")
    given = parser.parse_args()
    if given.only is not None:
        data = _case(seeds(), given.seed, given.only)
        sys.stdout.buffer.write(data + b"\n")
        with tempfile.TemporaryDirectory() as directory:
            found = outcome(data, Path(directory))
        print(f"{found.kind}: {found.text}")
        return found.kind == "fault"
    kinds, faults = run(given.count, given.seed, first=given.first)
    for number, text in faults.items():
        print(f"case {number}: {text.strip()}\n")
    print(", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
