"""A toolchain's service that compiles nothing: what it answers hangs on the config's MODE.

It is started as a real one is, and leaves a line in the file FAKE_STARTS each time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

OVERFLOW = "error: ub overflow, requires 4194304 bits while 1572864 bits available! (possible …)"
SINGLE = (
    "[NOTE] Due to Ub overflow, automatically set enable-code-motion to false, set "
    "enable-auto-multi-buffer to false; compilation then succeeded."
)
NO_BINARY = (
    "[ERROR] Cannot find hivmc under $PATH \n"
    'loc("/tmp/tmpx/kernel.ttadapter.mlir":1:1): error: External hivmc run fails, returning '
    "module before running external compiler\n"
)
TEXTS = {"over": OVERFLOW, "single": SINGLE + "\n" + NO_BINARY, "odd": "error: failed to legalize"}


def launches(mode: str, shape: list[int]) -> list[dict[str, Any]]:
    """Return what a forward launches."""
    if mode == "none":
        return []
    grid = [70_000 if mode == "wide" and shape[0] > 10 else 8]
    key = f"{mode} {shape}" if mode == "each" else mode
    return [{"key": key, "kernel": "kernel", "grid": grid}]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    what = request["do"]
    if what == "open":
        return {"options": ["num_warps", "multibuffer"]}
    if what == "survey":
        return {"shapes": [[4], [16], [64]]}
    mode = request["config"]["params"]["MODE"]
    if what == "capture":
        if mode == "raises":
            return {"failure": "ValueError: not this one"}
        if mode == "garbled":
            return {"launches": "all of them"}
        return {"dtype": "float64", "launches": launches(mode, request["shape"])}
    if mode == "abort":
        print("the compiler's last words", file=sys.stderr, flush=True)
        os.abort()
    if mode == "hang":
        time.sleep(1000)
    refused = mode == "odd"
    text = TEXTS.get(mode, NO_BINARY)
    built = {"shared": 300_000 if mode == "over" else 1000, "text": text, "status": 1}
    return {"built": [{"key": key, **built, "refused": refused} for key in request["keys"]]}


def main() -> None:
    """Answer each line."""
    with Path(os.environ["FAKE_STARTS"]).open("a", encoding="ascii") as file:
        file.write("started\n")
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps({"id": request["id"], **answer(request)}), flush=True)


if __name__ == "__main__":
    main()
