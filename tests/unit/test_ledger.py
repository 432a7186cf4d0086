"""The ledger: what is known, what is missing, and which configs are out of the race."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from codegen.config import Config
from tuner.kb import KnowledgeBase
from tuner.ledger import Ledger
from tuner.records import Failure, Scope, Target, Timing
from tuner.space import Space, Subspace
from tuner.worker.messages import Work

A, B, C = (Config(params=(("B", number),)) for number in (1, 2, 3))
SPACE = Space.of((A, B, C))
SCOPE = Scope(
    source_sha256="0" * 64,
    kernel="k",
    target=Target(device="d", arch=None, toolchain=()),
    axis_names=("N",),
)
SHAPES = ((4,), (8,), (16,))
WORKS = tuple(Work(shape=shape, dtype="float32", inputs="x") for shape in SHAPES)
GATE = SHAPES[:2]

Kind = Literal["compile", "resources", "memory", "launch", "wrong", "crash", "hang"]


def timing(us: float = 1.0) -> Timing:
    """Return a timing."""
    return Timing(median_us=us, spread=0.0, repeats=5, method="m")


def failure(kind: Kind = "launch") -> Failure:
    """Return a failure of that kind."""
    return Failure(kind=kind, message="so it is")


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """Return an empty knowledge base."""
    with KnowledgeBase.open(tmp_path / "kb.sqlite") as base:
        yield base


def ledger(kb: KnowledgeBase, *, retry_failed: bool = False, space: Space = SPACE) -> Ledger:
    """Return a ledger of what `kb` knows."""
    return Ledger(kb, SCOPE, WORKS, space, retry_failed=retry_failed)


def test_what_is_committed_is_known_to_the_next_ledger(kb: KnowledgeBase) -> None:
    """Nothing before, both afterwards, and no longer missing."""
    first = ledger(kb)
    first.add((4,), A.id, timing())
    first.add((4,), B.id, failure())
    assert ledger(kb).resumed == 0
    first.commit()
    second = ledger(kb)
    assert (first.added, second.resumed) == (2, 2)
    assert second.missing((4,)) == (C,)
    assert second.missing((8,)) == (A, B, C)


def test_records_of_other_inputs_are_of_other_work(kb: KnowledgeBase) -> None:
    """Another dtype or layout is measured by itself."""
    first = ledger(kb)
    first.add((4,), A.id, timing())
    first.commit()
    for work in (
        Work(shape=(4,), dtype="float16", inputs="x"),
        Work(shape=(4,), dtype="float32", inputs="y"),
    ):
        assert Ledger(kb, SCOPE, (work,), SPACE).missing((4,)) == (A, B, C)


def test_retry_forgets_failures_and_overwrites_them(kb: KnowledgeBase) -> None:
    """A failure is missing again; what comes instead takes its row; timings stay."""
    first = ledger(kb)
    first.add((4,), A.id, failure())
    first.add((4,), B.id, timing(2.0))
    first.commit()
    again = ledger(kb, retry_failed=True)
    assert again.missing((4,)) == (A, C)
    again.add((4,), A.id, timing(3.0))
    again.commit()
    found = {record.config.id: record.result for record in kb.lookup(SCOPE)}
    assert found == {A.id: timing(3.0), B.id: timing(2.0)}


def test_a_retry_that_did_not_come_to_a_failure_knows_it_in_the_end(kb: KnowledgeBase) -> None:
    """What was not tried again counts as it did before."""
    first = ledger(kb)
    first.add((4,), A.id, failure("wrong"))
    first.commit()
    again = ledger(kb, retry_failed=True)
    assert again.rejected(GATE) == {}
    again.refresh()
    assert set(again.rejected(GATE)) == {A.id}


def test_wrong_anywhere_is_out(kb: KnowledgeBase) -> None:
    """One wrong output is enough, and its reason names the shape."""
    found = ledger(kb)
    found.add((16,), A.id, failure("wrong"))
    found.add((4,), A.id, timing())
    assert found.rejected(GATE) == {A.id: "wrong on (16): so it is"}


@pytest.mark.parametrize("kind", ["crash", "hang"])
def test_two_deaths_are_out_and_one_is_not(kb: KnowledgeBase, kind: Kind) -> None:
    """Wherever else it runs; deaths of an earlier run count."""
    found = ledger(kb)
    found.add((4,), A.id, failure(kind))
    found.add((16,), A.id, timing())
    assert found.rejected(GATE) == {}
    found.commit()
    found = ledger(kb)
    found.add((8,), A.id, failure("crash"))
    assert set(found.rejected(GATE)) == {A.id}


def test_what_fails_on_the_whole_gate_is_out(kb: KnowledgeBase) -> None:
    """On a part of it is not, and not where it was timed somewhere."""
    found = ledger(kb)
    found.add((4,), A.id, failure())
    assert found.rejected(GATE) == {}
    found.add((8,), A.id, failure("memory"))
    assert found.rejected(GATE) == {A.id: "launch on (4): so it is (and on 1 more)"}
    found.add((16,), A.id, timing())
    assert found.rejected(GATE) == {}


def test_the_gate_of_a_config_are_the_shapes_it_may_be_used_on(kb: KnowledgeBase) -> None:
    """What the space does not allow is neither missing nor a chance to prove itself."""
    subspace = Subspace(when=(("N", (8, None)),), values=(("B", (1, 2)),))
    space = Space(configs=(A, B, C), subspaces=(subspace,))
    found = ledger(kb, space=space)
    assert found.missing((8,)) == (A, B)
    found.add((4,), C.id, failure())
    assert set(found.rejected(GATE)) == {C.id}


def test_a_dropped_shape_is_gone_with_all_that_is_known_of_it(kb: KnowledgeBase) -> None:
    """Its failures do not count, nor its records."""
    found = ledger(kb)
    found.add((4,), A.id, failure("wrong"))
    found.drop((4,))
    assert found.shapes == SHAPES[1:]
    assert not found.has((4,))
    assert found.rejected(GATE) == {}
    assert found.records() == ()


def test_the_best_of_a_shape_is_no_rejected_one(kb: KnowledgeBase) -> None:
    """The fastest, unless it is wrong elsewhere."""
    found = ledger(kb)
    found.add((4,), A.id, timing(1.0))
    found.add((4,), B.id, timing(2.0))
    assert found.best((8,)) is None
    assert found.best((4,)) == (A.id, timing(1.0))
    found.add((8,), A.id, failure("wrong"))
    assert found.best((4,)) == (B.id, timing(2.0))


def test_two_ledgers_at_once_agree_in_the_end(kb: KnowledgeBase) -> None:
    """What was written first is what both go by after a refresh."""
    one, other = ledger(kb), ledger(kb)
    one.add((4,), A.id, timing(1.0))
    other.add((4,), A.id, timing(2.0))
    other.add((8,), A.id, timing(3.0))
    one.commit()
    other.commit()
    one.refresh()
    other.refresh()
    assert one.records() == other.records()
    assert [r.result for r in one.records()] == [timing(1.0), timing(3.0)]


def test_what_another_stands_for_is_neither_missing_nor_known(kb: KnowledgeBase) -> None:
    """Not even where it was measured before; to a ledger that sets none aside it is known yet."""
    before = ledger(kb)
    for config in (A, B, C):
        before.add((4,), config.id, timing() if config != C else failure("wrong"))
    before.commit()
    merged = SPACE.merged(lambda config: config if config == A else B)
    found = ledger(kb, space=merged)
    assert found.aside == {C.id: B.id}
    assert [record.config for record in found.records()] == [A, B]
    assert found.missing((8,)) == (A, B)
    assert found.rejected(GATE) == {}
    found.refresh()
    assert found.resumed == len(found.records()) == 2
    assert ledger(kb).resumed == 3


def test_one_that_stands_for_others_somewhere_is_not_set_aside(kb: KnowledgeBase) -> None:
    """Only on the shapes where it is the first; once these are dropped it is."""
    few = Subspace(when=(("N", (16, None)),), values=(("B", (3,)),))
    space = Space(configs=(A, B, C), subspaces=(few,)).merged(lambda _: A)
    found = ledger(kb, space=space)
    assert (found.missing((4,)), found.missing((16,))) == ((A,), (C,))
    assert found.aside == {B.id: A.id}
    found.drop((16,))
    assert found.aside == {B.id: A.id, C.id: A.id}
