"""Passing the gate is remembered: a run that is cut short in it goes on where it was."""

from __future__ import annotations

from pathlib import Path

from tuner.kb import KnowledgeBase
from tuner.kb.passes import Pass
from tuner.records import Scope, Target

SCOPE = Scope(
    source_sha256="a" * 64,
    kernel="double",
    target=Target(device="CPU", arch=None, toolchain=(("python", "3.11.7"),)),
    axis_names=("M", "N"),
)
OTHER = Scope(
    source_sha256="b" * 64, kernel="double", target=SCOPE.target, axis_names=SCOPE.axis_names
)
PASSES: tuple[Pass, ...] = (
    ("float32", "float32[2,3]", (2, 3), "BLOCK=16"),
    ("float32", "float32[2,3]", (2, 3), 'MODE="a"'),
    ("float16", "float16[8,2**70]", (8, 2**70), "BLOCK=16"),
)


def test_passes_are_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    """What passed is known to the next run, each once."""
    with KnowledgeBase.open(tmp_path / "kb.sqlite") as kb:
        kb.keep_passes(SCOPE, PASSES[:2])
        kb.keep_passes(SCOPE, PASSES)
    with KnowledgeBase.open(tmp_path / "kb.sqlite") as kb:
        assert kb.passes(SCOPE) == {*PASSES}


def test_passes_belong_to_one_source(tmp_path: Path) -> None:
    """Changed code has yet to prove itself."""
    with KnowledgeBase.open(tmp_path / "kb.sqlite") as kb:
        kb.keep_passes(SCOPE, PASSES)
        assert kb.passes(OTHER) == frozenset()


def test_what_is_forgotten_has_to_pass_again(tmp_path: Path) -> None:
    """`--fresh` tries everything anew, of this scope alone."""
    with KnowledgeBase.open(tmp_path / "kb.sqlite") as kb:
        kb.keep_passes(SCOPE, PASSES)
        kb.keep_passes(OTHER, PASSES)
        kb.forget(SCOPE)
        assert kb.passes(SCOPE) == frozenset()
        assert kb.passes(OTHER) == {*PASSES}


def test_a_pass_is_no_result(tmp_path: Path) -> None:
    """A scope that has passes alone has no rows, and is not listed."""
    with KnowledgeBase.open(tmp_path / "kb.sqlite") as kb:
        kb.keep_passes(SCOPE, PASSES)
        assert kb.lookup(SCOPE) == ()
        assert kb.scopes() == ()
