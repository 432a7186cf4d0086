"""The knowledge base: what it keeps, through kills and full disks, and what it refuses."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.config import Config
from tuner.errors import KbError, TableError
from tuner.fit import fit_table
from tuner.kb import KnowledgeBase, table_dict
from tuner.kb.archive import archive_of
from tuner.kb.durations import moment_before
from tuner.kb.lines import dump_rows, read_lines
from tuner.kb.policy import POLICIES, prefers
from tuner.kb.rows import Row
from tuner.records import FAILURES, Failure, Record, Scope, Target, Timing
from tuner.table import parse_table

TARGET = Target(
    device="NVIDIA H200", arch="sm_90", toolchain=(("torch", "2.11.0"), ("triton", "3.6.0"))
)
SCOPE = Scope(source_sha256="ab" * 32, kernel="matmul", target=TARGET, axis_names=("M", "N"))
SMALL = Config(params=(("BLOCK_N", 64), ("BLOCK_M", 32)), num_warps=4)
LARGE = Config(params=(("BLOCK_N", 128), ("BLOCK_M", 128)), num_warps=8, num_stages=3)
AT = "2026-11-30T21:04:32Z"
LATER = "2026-12-01T00:00:00Z"
REFUSED = Failure(kind="resources", message="out of resource: shared memory")


def timing(median_us: float = 12.25, **changes: Any) -> Timing:
    """Return a timing."""
    fields: dict[str, Any] = {"spread": 0.01, "repeats": 9, "method": "cuda events"}
    return Timing(median_us=median_us, **fields | changes)


def record(
    *shape: int, config: Config = SMALL, result: Timing | Failure | None = None, **changes: Any
) -> Record:
    """Return a record on `shape`."""
    fields: dict[str, Any] = {"dtype": "float16", "inputs": "", "at": AT}
    return Record(shape=shape, config=config, result=result or timing(), **fields | changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a knowledge base may be made."""
    return tmp_path / "kb.sqlite"


def kept(path: Path, scope: Scope = SCOPE) -> tuple[Record, ...]:
    """Return what a fresh process would find of `scope`."""
    with KnowledgeBase.open(path, create=False) as kb:
        return kb.lookup(scope)


def keep(path: Path, *records: Record, scope: Scope = SCOPE, used: str | None = None) -> None:
    """Make a knowledge base of `records`, or add them to it."""
    with KnowledgeBase.open(path) as kb:
        kb.record(scope, records)
        if used:
            kb.touch(scope, used)


def tampered(path: Path, *statements: str) -> None:
    """Alter the file as its owner could, past every constraint."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def sound(path: Path) -> bool:
    """Say whether SQLite finds the file whole, its references too."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        whole = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return whole and not connection.execute("PRAGMA foreign_key_check").fetchall()


def test_what_is_recorded_is_found_again_in_order(path: Path) -> None:
    """Timings and failures come back as they were, by dtype, inputs, shape and config."""
    records = [
        record(2, 10, config=LARGE, result=REFUSED),
        record(10, 2),
        record(2, 10),
        record(2, 10, inputs="scale=2"),
        record(2, 10, dtype="bfloat16"),
    ]
    keep(path, *records)
    assert kept(path) == tuple(records[i] for i in (4, 0, 2, 1, 3))


@pytest.mark.parametrize("kind", FAILURES)
def test_every_kind_of_failure_is_kept(path: Path, kind: Any) -> None:
    """A negative result is a result."""
    failed = record(1, 2, result=Failure(kind=kind, message="no"))
    keep(path, failed)
    assert kept(path) == (failed,)


VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
NAMES = st.from_regex("[A-Z][A-Z0-9_]{0,8}", fullmatch=True)


@given(
    params=st.dictionaries(NAMES, VALUES, max_size=4),
    options=st.dictionaries(NAMES.map(str.lower).filter(str.isidentifier), VALUES, max_size=2),
    shape=st.tuples(st.integers(0, 2**200), st.integers(-5, 2**64)),
    numbers=st.tuples(*[st.floats(min_value=0, allow_nan=False, allow_infinity=False)] * 2),
    repeats=st.integers(1, 2**63 - 1),
    message=st.none() | st.text(max_size=50),
)
def test_anything_a_record_can_hold_round_trips(
    params: Any, options: Any, shape: Any, numbers: Any, repeats: int, message: str | None
) -> None:
    """Floats to the last bit, sizes beyond 64 bits, params in their order: in the file and out."""
    options = {name: value for name, value in options.items() if name not in KEYWORDS}
    config = Config(params=tuple(params.items()), options=tuple(options.items()), maxnreg=64)
    spread = dict(zip(("median_us", "spread"), numbers, strict=True))
    result = timing(**spread, repeats=repeats) if message is None else REFUSED
    if message is not None:
        result = Failure(kind="launch", message=message)
    whole = record(*shape, config=config, result=result)
    with tempfile.TemporaryDirectory() as directory:
        file, lines = Path(directory, "kb.sqlite"), Path(directory, "kb.jsonl")
        keep(file, whole)
        with KnowledgeBase.open(file) as kb:
            rows = kb.rows()
        lines.write_text(dump_rows(rows))
        for found in (kept(file)[0], read_lines(lines)[0].record):
            assert found == whole
            assert repr(found.config) == repr(config)
            assert repr(found.result) == repr(result)
            assert [type(size) for size in found.shape] == [int, int]


KEYWORDS = {"if", "in", "is", "or", "as", "and", "def", "del", "for", "not", "try", "num_warps"}


def test_scopes_do_not_mix(path: Path) -> None:
    """Another source, target or other axes is other work; another name is not."""
    others = [
        replace(SCOPE, source_sha256="cd" * 32),
        replace(SCOPE, target=replace(TARGET, device="other")),
        replace(SCOPE, target=replace(TARGET, arch=None)),
        replace(SCOPE, target=replace(TARGET, toolchain=(("triton", "3.6.1"),))),
        replace(SCOPE, axis_names=("N", "M")),
    ]
    keep(path, record(1, 2))
    for scope in others:
        assert kept(path, scope) == ()
        keep(path, record(3, 4), record(5, 6), scope=scope)
    assert kept(path) == (record(1, 2),)
    assert kept(path, replace(SCOPE, kernel="another name")) == (record(1, 2),)


def test_the_first_of_two_results_stays_unless_it_is_to_be_replaced(path: Path) -> None:
    """Two processes that measure the same leave one row; a new measurement may replace it."""
    first, second = record(1, 2), record(1, 2, result=timing(8.0), at=LATER)
    keep(path, first, second)
    keep(path, second)
    assert kept(path) == (first,)
    with KnowledgeBase.open(path) as kb:
        kb.record(SCOPE, [second], replace=True)
    assert kept(path) == (second,)
    with KnowledgeBase.open(path) as kb:
        kb.record(SCOPE, [record(1, 2, result=REFUSED)], replace=True)
    assert kept(path) == (record(1, 2, result=REFUSED),)


def test_the_key_and_the_one_result_are_constraints_of_the_file(path: Path) -> None:
    """The file itself refuses a second row of a key, and a row of two results or none."""
    keep(path, record(1, 2))
    copy = "INSERT INTO record SELECT NULL, scope_id, dtype, inputs, {}, config_id, {} FROM record"
    rest = "median_us, spread, repeats, method, failure, message, at, used_at"
    failure = rest.replace("failure, message", "'hang', ''")
    nothing = rest.replace("median_us, spread, repeats, method", "NULL, NULL, NULL, NULL")
    half = rest.replace("spread", "NULL")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for shape, columns, match in (
            ("shape", rest, "UNIQUE"),
            ("'[3, 4]'", failure, "CHECK"),
            ("'[3, 4]'", nothing, "CHECK"),
            ("'[3, 4]'", half, "CHECK"),
        ):
            with pytest.raises(sqlite3.IntegrityError, match=match):
                connection.execute(copy.format(shape, columns))


def test_a_message_may_be_anything_and_is_cut(path: Path) -> None:
    """What a kernel says is kept to 4,000 characters, whatever is in it."""
    hostile = "\x00\ud800\u202e'; DROP TABLE record; --\n"
    keep(path, record(1, 2, result=Failure(kind="launch", message=hostile)))
    keep(path, record(3, 4, result=Failure(kind="launch", message="\ud800" * 10_000)))
    found = [r.result.message for r in kept(path) if isinstance(r.result, Failure)]
    assert found[0] == hostile.replace("\ud800", "\\ud800")
    assert len(found[1]) == 4_000
    assert found[1].startswith("\\ud800\\ud800")
    assert found[1].endswith("…")


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (record(1, 2, 3), r"record of '.*' on '\(1, 2, 3\)': shape: has 3 sizes for 2 axes"),
        (record(1, 2**1025), "an integer of 1026 bits is too large for a size"),
        (record(1, True), "shape.1.: true is not an integer"),
        (record(1, 2, result=timing(float("nan"))), "timing.median_us: "),
        (record(1, 2, result=timing(-1.0)), "timing.median_us: -1.0 is out of range"),
        (record(1, 2, result=timing(repeats=0)), "timing.repeats: 0 is out of range"),
        (record(1, 2, at="yesterday"), "at: 'yesterday' is not a time in UTC; write it as 2026"),
        (record(1, 2, at="2026-02-30T00:00:00Z"), "is not a time in UTC"),
        (record(1, 2, at="2026-11-30T21:04:32+01:00"), "is not a time in UTC"),
        (record(1, 2, dtype=""), "dtype: is an empty string"),
        (record(1, 2, dtype="\ud800"), "dtype: the string has a lone surrogate"),
        (record(1, 2, inputs="x" * 4_001), "inputs: is too long a string"),
        (record(1, 2, config=Config(params=(("if", 1),))), "'if' is a Python keyword; rename it"),
        (record(1, 2, config=Config(params=(("A", 2**64),))), "does not fit in 64 bits"),
    ],
)
def test_what_could_not_be_read_again_is_not_kept(path: Path, bad: Record, match: str) -> None:
    """One unsound record is one line, and none of its batch is written."""
    with KnowledgeBase.open(path) as kb:
        with pytest.raises(KbError, match=match) as caught:
            kb.record(SCOPE, [record(7, 8), bad])
        assert "\n" not in str(caught.value)
        assert kb.lookup(SCOPE) == ()


def test_an_unsound_scope_is_refused(path: Path) -> None:
    """A scope that could not be read again is neither written nor looked for."""
    bad = replace(SCOPE, source_sha256="abc")
    with KnowledgeBase.open(path) as kb:
        with pytest.raises(KbError, match="scope: source_sha256: 'abc' is not a SHA-256"):
            kb.record(bad, [record(1, 2)])
        with pytest.raises(KbError, match="scope: device: is an empty string"):
            kb.lookup(replace(SCOPE, target=replace(TARGET, device="")))


def test_a_summary_counts_what_a_scope_holds(path: Path) -> None:
    """Shapes, configs, timings, failures, the last measurement and the last use."""
    other = replace(SCOPE, kernel="copy", source_sha256="cd" * 32)
    keep(path, record(1, 2), record(3, 4), record(3, 4, config=LARGE, result=REFUSED, at=LATER))
    keep(path, record(1, 2), scope=other, used="2026-12-02")
    with KnowledgeBase.open(path) as kb:
        copy, matmul = kb.scopes()
    assert (copy.scope, copy.measured, copy.failed, copy.last_used) == (other, 1, 0, "2026-12-02")
    assert (matmul.scope, matmul.measured, matmul.failed) == (SCOPE, 2, 1)
    assert (matmul.shapes, matmul.configs) == (2, 2)
    assert (matmul.last_measured, matmul.last_used) == (LATER, None)


def test_use_is_noted_and_never_goes_back(path: Path) -> None:
    """The last day of use is the latest that was noted."""
    keep(path, record(1, 2), used="2026-12-02")
    with KnowledgeBase.open(path) as kb:
        kb.touch(SCOPE, "2026-12-01")
        assert kb.scopes()[0].last_used == "2026-12-02"
        kb.touch(replace(SCOPE, source_sha256="cd" * 32), "2026-12-01")
        with pytest.raises(KbError, match="day: 'today' is not a day; write it as 2026-11-30"):
            kb.touch(SCOPE, "today")


def test_what_is_forgotten_is_in_the_archive(path: Path) -> None:
    """A scope's rows move to a file beside; other scopes stay."""
    other = replace(SCOPE, source_sha256="cd" * 32)
    keep(path, record(1, 2), record(3, 4, result=REFUSED))
    keep(path, record(5, 6), scope=other)
    with KnowledgeBase.open(path) as kb:
        assert kb.forget(SCOPE) == 2
        assert kb.forget(SCOPE) == 0
        assert (kb.lookup(SCOPE), kb.lookup(other)) == ((), (record(5, 6),))
        assert [summary.scope for summary in kb.scopes()] == [other]
        kb.record(SCOPE, [record(1, 2, result=timing(8.0), at=LATER)])
    assert kept(archive_of(path)) == (record(1, 2), record(3, 4, result=REFUSED))
    assert sound(path)
    with KnowledgeBase.open(path) as kb:
        assert kb.forget(SCOPE) == 1
    assert kept(archive_of(path))[0].result == timing(8.0)


def test_only_rows_that_nobody_used_are_archived(path: Path) -> None:
    """A row counts as used when it was measured, and until the end of the last day of use."""
    keep(path, record(1, 2), record(3, 4, at=LATER))
    keep(path, record(1, 2), scope=replace(SCOPE, kernel="k", source_sha256="cd" * 32))
    with KnowledgeBase.open(path) as kb:
        kb.touch(replace(SCOPE, source_sha256="cd" * 32), "2026-12-01")

        def cold(*moment: int) -> int:
            return len(kb.unused_since(datetime(*moment, tzinfo=timezone.utc)))  # type: ignore[misc,arg-type]

        assert cold(2026, 11, 30, 21, 4, 32) == 0
        assert cold(2026, 11, 30, 21, 4, 33) == 1
        assert cold(2026, 12, 1, 12) == 2
        assert cold(2026, 12, 1, 23, 59, 59) == 2
        assert cold(2026, 12, 2) == 3
        assert cold(990, 1, 1) == 0
        moved = kb.archive(datetime(2026, 12, 1, tzinfo=timezone.utc), path.with_name("old"))
        assert [row.record for row in moved] == [record(1, 2)]
    assert kept(path) == (record(3, 4, at=LATER),)
    assert kept(path.with_name("old")) == (record(1, 2),)


def test_rows_stay_if_the_archive_cannot_be_written(path: Path) -> None:
    """Nothing is removed before it is safe elsewhere."""
    keep(path, record(1, 2))
    moment = datetime(2030, 1, 1, tzinfo=timezone.utc)
    archive = path.with_name("archive")
    archive.write_text("notes")
    link = path.with_name("link.sqlite")
    link.symlink_to(path)
    with KnowledgeBase.open(path) as kb:
        with pytest.raises(KbError, match="archive: is not a SQLite database"):
            kb.archive(moment, archive)
        with pytest.raises(KbError, match=r"link\.sqlite: is the knowledge base itself"):
            kb.archive(moment, link)
    assert kept(path) == (record(1, 2),)
    assert archive.read_text() == "notes"


def test_a_kill_between_archiving_and_removing_leaves_the_rows_in_both(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive is on the disk first, so that no moment has the rows in neither."""
    keep(path, record(1, 2))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tuner.kb.writer.Writer.remove", killed)
    with KnowledgeBase.open(path) as kb, pytest.raises(KeyboardInterrupt):
        kb.archive(datetime(2030, 1, 1, tzinfo=timezone.utc), archive_of(path))
    assert kept(path) == kept(archive_of(path)) == (record(1, 2),)


# --- several processes -----------------------------------------------------------------------

_CHILD = """
import sys
from pathlib import Path
from test_kb import SCOPE, KnowledgeBase, record, timing
path, name, first, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sys.stdin.readline()
for i in range(first, last):
    with KnowledgeBase.open(path) as kb:
        kb.record(SCOPE, [record(i, 0, result=timing(1.0, method=name)), record(i, 1)])
    print(i, flush=True)
"""


@contextlib.contextmanager
def child(path: Path, name: str, first: int, last: int) -> Iterator[subprocess.Popen[str]]:
    """Start a process that records shapes (first, …) to (last - 1, …) once it is sent a line."""
    arguments = [sys.executable, "-c", _CHILD, str(path), name, str(first), str(last)]
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process


def start(process: subprocess.Popen[str]) -> None:
    """Let a child of `child` go."""
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_processes_make_and_write_one_file_at_once(path: Path) -> None:
    """Each row is there once, the overlap too, and nobody is refused."""
    target = path.parent / "new" / "directory" / "kb.sqlite"
    with child(target, "a", 0, 60) as one, child(target, "b", 30, 90) as other:
        start(one)
        start(other)
        reports = [process.stdout.read() for process in (one, other) if process.stdout]
    assert (one.returncode, other.returncode) == (0, 0)
    assert [len(report.split()) for report in reports] == [60, 60]
    found = kept(target)
    assert [r.shape for r in found] == [(i, j) for i in range(90) for j in (0, 1)]
    methods = [r.result.method for r in found if r.shape[1] == 0 and isinstance(r.result, Timing)]
    assert set(methods[:30]) == {"a"}
    assert set(methods[60:]) == {"b"}
    assert sound(target)


def test_a_kill_loses_no_row_that_was_committed_and_makes_none_twice(path: Path) -> None:
    """After each of ten kills everything that was reported is there, and the file is whole."""
    reported: list[int] = []
    for attempt in range(10):
        with child(path, "a", len(reported), 10_000) as process:
            assert process.stdout
            start(process)
            reported += [int(process.stdout.readline()) for _ in range(3 + attempt)]
            time.sleep(0.001 * attempt)
            process.send_signal(signal.SIGKILL)
            reported += [int(line) for line in process.stdout if line.endswith("\n")]
        assert process.returncode == -signal.SIGKILL
        assert sound(path)
        shapes = [r.shape for r in kept(path)]
        # The last pair may have been committed and not yet reported; it is whole all the same.
        assert len(shapes) in {2 * len(reported), 2 * len(reported) + 2}
        assert shapes == [(i, j) for i in range(len(shapes) // 2) for j in (0, 1)]
    assert reported == list(range(len(reported)))


def test_a_reader_is_not_kept_waiting_by_a_writer(path: Path) -> None:
    """Write-ahead logging is on, and while rows are being written others can be read."""
    keep(path, record(1, 2))
    with KnowledgeBase.open(path) as one, one._writing() as writer:
        writer.insert(Row(scope=SCOPE, record=record(3, 4)))
        assert kept(path) == (record(1, 2),)
    assert len(kept(path)) == 2


def test_a_file_that_stays_locked_is_one_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits too long is told why."""
    monkeypatch.setattr("tuner.kb.connection._BUSY_SECONDS", 0.05)
    keep(path, record(1, 2))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(KbError, match="is in use by another process, and stayed so; wait"):
            keep(path, record(3, 4))
    assert kept(path) == (record(1, 2),)


def test_without_shared_memory_the_rollback_journal_serves(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that cannot do write-ahead logging is good enough."""
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda name, **rest: connect(f"{name}&vfs=unix-dotfile", **rest)
    )
    keep(path, record(1, 2))
    with KnowledgeBase.open(path) as kb:
        assert kb._connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert kb.lookup(SCOPE) == (record(1, 2),)


def test_the_file_is_written_with_care(path: Path) -> None:
    """Write-ahead logging, a sync at each commit, references checked, no function of the file's."""
    with KnowledgeBase.open(path) as kb:
        found = {
            name: kb._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema")
        }
        assert kb._connection.execute("PRAGMA busy_timeout").fetchone()[0] >= 30_000
    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "trusted_schema": 0,
    }


# --- a disk that is full, or may not be written ----------------------------------------------


def test_a_full_disk_leaves_everything_as_it_was(path: Path) -> None:
    """The rows before stay, the batch is not half there, and the line says what to do."""
    keep(path, record(1, 2))
    with KnowledgeBase.open(path) as kb:
        pages = kb._connection.execute("PRAGMA page_count").fetchone()[0]
        kb._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(KbError, match="the disk is full; nothing was changed; free some"):
            kb.record(SCOPE, [record(i, 3) for i in range(1000)])
        assert kb.lookup(SCOPE) == (record(1, 2),)
    assert kept(path) == (record(1, 2),)
    assert sound(path)


def test_a_quota_leaves_everything_as_it_was(path: Path) -> None:
    """A write that the system refuses is one line, and undone."""
    keep(path, record(1, 2))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with KnowledgeBase.open(path) as kb:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.raises(KbError, match=r"kb\.sqlite: cannot be .*; nothing was changed"):
                kb.record(SCOPE, [record(i, 3) for i in range(5000)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert kb.lookup(SCOPE) == (record(1, 2),)
        kb.record(SCOPE, [record(3, 4)])
    assert kept(path) == (record(1, 2), record(3, 4))
    assert sound(path)


@pytest.fixture
def public() -> Iterator[Path]:
    """Return a directory that anyone may enter."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o777)
    yield directory
    shutil.rmtree(directory)


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Run a block as a user to whom permissions apply."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_file_that_may_not_be_written_is_one_line(public: Path) -> None:
    """A read-only file can be read, and says so when it is to be written."""
    path = public / "kb.sqlite"
    keep(path, record(1, 2))
    path.chmod(0o444)
    with unprivileged():
        assert kept(path) == (record(1, 2),)
        with pytest.raises(KbError, match="it is read-only; make it and its directory writable"):
            keep(path, record(3, 4))
    assert kept(path) == (record(1, 2),)


def test_a_directory_that_may_not_be_written_is_one_line(public: Path) -> None:
    """Neither a file nor a directory can be made there; what is there can be read."""
    path = public / "kb.sqlite"
    keep(path, record(1, 2))
    public.chmod(0o555)
    with unprivileged():
        assert kept(path) == (record(1, 2),)
        with (
            KnowledgeBase.open(path, create=False) as kb,
            pytest.raises(KbError, match=r"kb\.sqlite: cannot be written: it is read-only; "),
        ):
            kb.touch(SCOPE, "2026-12-01")
        with pytest.raises(KbError, match=r"new\.sqlite: cannot be opened; see that"):
            KnowledgeBase.open(public / "new.sqlite")
        with pytest.raises(KbError, match="below: cannot be made: permission denied; name a file"):
            KnowledgeBase.open(public / "below" / "new.sqlite")
        with pytest.raises(KbError, match=r"kb\.sqlite: cannot be .*; "):
            keep(path, record(3, 4))
    assert kept(path) == (record(1, 2),)


# --- what is no knowledge base ---------------------------------------------------------------


def test_what_is_not_a_knowledge_base_is_refused_and_left_alone(path: Path) -> None:
    """Text, another program's database, a directory, a device, an empty file, a file cut short."""
    path.write_text("notes" * 100)
    foreign = path.with_name("foreign")
    with contextlib.closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE record (a)")
        connection.execute("PRAGMA journal_mode = WAL")
    for place, create, match in (
        (path, True, r"kb\.sqlite: is not a SQLite database; name a knowledge base, or a file to"),
        (path.parent, True, "is a directory; name a file"),
        (Path("/dev/null"), True, "is not a regular file; name a file"),
        (foreign, True, "is a SQLite database, and not a knowledge base; name a"),
        (foreign, False, "is a SQLite database, and not a knowledge base; name a"),
        (path / "below", True, "below: cannot be read: not a directory"),
        (path.with_name("none"), False, "none: there is no such file; name a knowledge base"),
        (path.with_name("nul\0"), True, "cannot be read: embedded null byte"),
    ):
        before = {p.name: p.read_bytes() for p in path.parent.iterdir() if p.is_file()}
        with pytest.raises(KbError, match=match) as caught:
            KnowledgeBase.open(place, create=create)
        assert "\n" not in str(caught.value)
        assert {p.name: p.read_bytes() for p in path.parent.iterdir() if p.is_file()} == before


def test_an_empty_file_becomes_one_only_if_it_may(path: Path) -> None:
    """A file made by `mktemp`, or left by a process that was killed at once, is used."""
    path.touch()
    with pytest.raises(KbError, match="is empty, and not a knowledge base"):
        KnowledgeBase.open(path, create=False)
    assert path.read_bytes() == b""
    keep(path, record(1, 2))
    assert kept(path) == (record(1, 2),)


@pytest.mark.parametrize("name", [":memory:", "file:a?mode=memory", "a%20b#c?d", "-x", "ü \ud800"])
def test_a_strange_name_is_a_file_all_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing in a path is an instruction to SQLite."""
    monkeypatch.chdir(tmp_path)
    name = name.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
    keep(Path(name), record(1, 2))
    assert kept(Path(name)) == (record(1, 2),)
    assert [os.fsencode(p.name) for p in tmp_path.iterdir()] == [os.fsencode(name)]


def test_a_truncated_or_scribbled_file_is_one_line(path: Path) -> None:
    """Damage that SQLite finds is said in our words."""
    keep(path, *[record(i, 2) for i in range(300)])
    whole = path.read_bytes()
    path.write_bytes(whole[:8192])
    with pytest.raises(KbError, match="is damaged: "):
        kept(path)
    path.write_bytes(whole[:100] + b"\xff" * 4000 + whole[4100:])
    with pytest.raises(KbError, match="is damaged: "):
        kept(path)


@pytest.mark.parametrize(
    ("statement", "match"),
    [
        ("PRAGMA user_version = 7", "is a knowledge base of version 7, and this program knows 1"),
        ("PRAGMA user_version = -1", "is a knowledge base of version -1, and this program"),
        ("PRAGMA application_id = 5", "is a SQLite database, and not a knowledge base"),
        ("DROP TABLE config", "has tables that are not a knowledge base's: 'config'"),
        ("CREATE TABLE more (a)", "has tables that are not a knowledge base's: 'more'"),
        (
            "CREATE TRIGGER record AFTER INSERT ON record BEGIN DELETE FROM record; END",
            "has tables that are not a knowledge base's",
        ),
        (
            "ALTER TABLE record ADD COLUMN a TEXT",
            "has tables that are not a knowledge base's: 'record'",
        ),
    ],
)
def test_another_version_or_other_tables_are_refused(
    path: Path, statement: str, match: str
) -> None:
    """A newer program's file, and one with tables or triggers of its own, is left alone."""
    keep(path, record(1, 2))
    tampered(path, statement)
    before = path.read_bytes()
    with pytest.raises(KbError, match=match):
        keep(path, record(3, 4))
    assert path.read_bytes() == before


def test_an_index_or_statistics_are_no_offence(path: Path) -> None:
    """What a user may add to make it faster does not make it another file."""
    keep(path, record(1, 2))
    tampered(path, "CREATE INDEX mine ON record (at)", "ANALYZE")
    assert kept(path) == (record(1, 2),)


def test_an_older_version_is_brought_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statements of each version are run once, in one transaction."""
    keep(path, record(1, 2))
    monkeypatch.setattr("tuner.kb.schema.VERSION", 2)
    monkeypatch.setattr("tuner.kb.schema._MIGRATIONS", (("CREATE INDEX a ON record (at)", "no"),))
    with pytest.raises(KbError, match=r"is damaged: .*syntax error"):
        kept(path)
    monkeypatch.setattr("tuner.kb.schema._MIGRATIONS", (("CREATE INDEX a ON record (at)",),))
    assert kept(path) == kept(path) == (record(1, 2),)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)


def test_tables_need_not_be_strict(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that an older SQLite made, whose tables take any type, is read and written."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 0))
    keep(path, record(1, 2))
    monkeypatch.undo()
    keep(path, record(3, 4, result=REFUSED))
    assert kept(path) == (record(1, 2), record(3, 4, result=REFUSED))


def _set(assignment: str, table: str = "record") -> str:
    return f"UPDATE {table} SET {assignment}"  # noqa: S608 (to do harm is the point)


@pytest.mark.parametrize(
    ("statement", "match"),
    [
        (_set("shape = '[1, '"), r"record 1: shape: is not JSON: expecting value"),
        (_set("shape = '{}'"), "record 1: shape: an object is not an array"),
        (_set("shape = '[1, 1.5]'"), r"record 1: shape\[1\]: 1.5 is not an integer"),
        (_set("shape = '[1]'"), "record 1: shape: has 1 sizes for 2 axes"),
        (_set(f"shape = '{'[' * 5000}'"), "record 1: shape: is nested more than"),
        (_set("shape = CAST(x'ff' AS TEXT)"), "record 1: shape: "),
        (_set("dtype = CAST(x'ff' AS TEXT)"), "record 1: dtype: the string has a lone surrogate"),
        (_set("dtype = ''"), "record 1: dtype: is an empty string"),
        (_set("median_us = -1"), "record 1: timing.median_us: -1.0 is out of range"),
        (_set("median_us = 9e999"), "record 1: timing.median_us: "),
        (_set("repeats = NULL"), "record 1: timing.repeats: null is not an integer"),
        (_set("median_us = NULL"), "record 1: has neither a timing nor a failure"),
        (_set("failure = 'hang', message = ''"), "record 1: has both a timing and a failure"),
        (_set("failure = 'sad', message = ''"), "record 1: failure.kind: 'sad' is not a known"),
        (_set("at = 'never'"), "record 1: at: 'never' is not a time in UTC"),
        (_set("used_at = 'never'"), "record 1: used_at: 'never' is not a day"),
        (_set("config_id = 99"), "record 1: config 99 is not there"),
        (_set("name = 'x'", "config"), "config 1: its name is not that of its body"),
        (_set("body = 'x'", "config"), "config 1: body: is not JSON"),
        (_set("body = '[]'", "config"), "config 1: body: an array is not an object"),
        (_set('body = \'{"params": {"A-": 1}}\'', "config"), "config 1: body: params"),
        (_set("target = '[]'", "scope"), "scope 1: device: an array is not a string"),
        (_set('target = \'{"device": "x"}\'', "scope"), "scope 1: its key is not written as"),
        (_set("axis_names = '[1, 2]'", "scope"), r"scope 1: axis_names\[0\]: 1 is not a string"),
        (_set("kernel = ''", "scope"), "scope 1: kernel: is an empty string"),
    ],
)
def test_a_row_that_was_altered_is_named(path: Path, statement: str, match: str) -> None:
    """Whatever stands in a column, the line says which row it is."""
    keep(path, record(1, 2))
    tampered(path, statement)
    with KnowledgeBase.open(path) as kb, pytest.raises(KbError, match=match) as caught:
        kb.rows()
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).endswith("restore it from a copy, or delete that row")
    assert "\n" not in str(caught.value)


# --- merging ---------------------------------------------------------------------------------


def row(*shape: int, used: str | None = None, **changes: Any) -> Row:
    """Return a row of the usual scope."""
    return Row(scope=SCOPE, record=record(*shape, **changes), used_at=used)


def merged(path: Path, *rows: Row, policy: Any = "newest") -> tuple[tuple[int, ...], Any]:
    """Merge `rows`; return new, same, replaced and kept, and the records that were dropped."""
    with KnowledgeBase.open(path) as kb:
        outcome = kb.merge([rows], policy)
    counts = (outcome.new, outcome.same, outcome.replaced, outcome.kept)
    return counts, [clash.dropped.record for clash in outcome.clashes]


FAST, SLOW = timing(1.0), timing(2.0)


@pytest.mark.parametrize(
    ("policy", "old", "new", "wins"),
    [
        ("newest", (SLOW, AT), (FAST, LATER), True),
        ("newest", (FAST, AT), (SLOW, LATER), True),
        ("newest", (FAST, AT), (REFUSED, LATER), True),
        ("newest", (FAST, LATER), (SLOW, AT), False),
        ("newest", (SLOW, AT), (FAST, AT), True),
        ("fastest", (SLOW, LATER), (FAST, AT), True),
        ("fastest", (FAST, AT), (SLOW, LATER), False),
        ("fastest", (FAST, AT), (REFUSED, LATER), False),
        ("fastest", (REFUSED, LATER), (SLOW, AT), True),
        ("fastest", (REFUSED, AT), (Failure(kind="hang", message=""), LATER), True),
    ],
)
def test_a_policy_decides_which_result_stays(
    path: Path, policy: Any, old: Any, new: Any, wins: bool
) -> None:
    """The one that stays is the same, whichever comes first; the other is told."""
    one, other = (row(1, 2, result=result, at=at) for result, at in (old, new))
    winner, loser = (other, one) if wins else (one, other)
    keep(path, one.record)
    counts, dropped = merged(path, other, policy=policy)
    assert counts == ((0, 0, 1, 0) if wins else (0, 0, 0, 1))
    assert dropped == [loser.record]
    assert kept(path) == (winner.record,)
    back = path.with_name("back")
    keep(back, other.record)
    merged(back, one, policy=policy)
    assert kept(back) == kept(path)


RESULTS = st.sampled_from([FAST, SLOW, timing(2.0, spread=0.5), REFUSED])


@given(
    policy=st.sampled_from(POLICIES[:2]),
    results=st.lists(st.tuples(RESULTS, st.sampled_from([AT, LATER])), min_size=1, max_size=4),
)
def test_the_order_of_merging_does_not_matter(policy: Any, results: Any) -> None:
    """One result of a key is above all others, so that it stays whatever comes first."""
    records = [record(1, 2, result=result, at=at) for result, at in results]

    def last(candidates: list[Record]) -> Record:
        best = candidates[0]
        for candidate in candidates[1:]:
            best = candidate if prefers(policy, candidate, best) else best
        return best

    assert last(records) == last(records[::-1])


def test_rows_that_say_the_same_are_no_conflict(path: Path) -> None:
    """Merging twice changes nothing but the last day of use, which is the later one."""
    rows = [row(1, 2, used="2026-12-01"), row(3, 4, result=REFUSED)]
    assert merged(path, *rows, policy="error") == ((2, 0, 0, 0), [])
    assert merged(path, *rows, policy="error") == ((0, 2, 0, 0), [])
    merged(path, row(1, 2, used="2026-12-05"))
    merged(path, row(1, 2, used="2026-11-05"))
    with KnowledgeBase.open(path) as kb:
        assert [found.used_at for found in kb.rows()] == ["2026-12-05", None]


def test_the_policy_error_changes_nothing(path: Path) -> None:
    """If any key has two different results the new rows stay out too, and the first is named."""
    keep(path, record(1, 2), record(3, 4))
    clashes = [row(5, 6), row(1, 2, result=FAST, at=LATER), row(3, 4, result=REFUSED)]
    match = r"2 rows would have two different results, the first 'matmul' '\(1, 2\)' 'BLOCK_M"
    with pytest.raises(KbError, match=match):
        merged(path, *clashes, policy="error")
    assert kept(path) == (record(1, 2), record(3, 4))


# --- to a table ------------------------------------------------------------------------------


def table(records: list[Record], **options: Any) -> dict[str, Any]:
    """Return the table of `records`, having read it as `tuner fit` would."""
    value = json.loads(json.dumps(table_dict(SCOPE, records, **options)))
    parse_table(value, name="table", file="table.json", digest="")
    return value


def test_records_make_a_table() -> None:
    """Shapes and configs are sorted, microseconds have three decimals, holes are null."""
    third = Config(params=(("BLOCK_N", 256), ("BLOCK_M", 256)))
    no_launch = Failure(kind="launch", message="no")
    value = table(
        [
            record(10, 2, result=timing(12.34567)),
            record(2, 10, result=timing(0.00001)),
            record(2, 10, config=LARGE, result=timing(3)),
            record(10, 2, config=LARGE, result=REFUSED),
            record(2, 10, config=third, result=no_launch),
            record(10, 2, config=third, result=REFUSED),
            record(11, 2, result=REFUSED),
        ]
    )
    assert value == {
        "format": "latency-table/1",
        "kernel": "matmul",
        "axis_names": ["M", "N"],
        "dtype": "float16",
        "source_sha256": "ab" * 32,
        "device": "NVIDIA H200",
        "arch": "sm_90",
        "toolchain": {"torch": "2.11.0", "triton": "3.6.0"},
        "method": "cuda events",
        "configs": [
            {"params": {"BLOCK_N": 128, "BLOCK_M": 128}, "num_warps": 8, "num_stages": 3},
            {"params": {"BLOCK_N": 256, "BLOCK_M": 256}},
            {"params": {"BLOCK_N": 64, "BLOCK_M": 32}, "num_warps": 4},
        ],
        "rejected": {"1": "launch on shape (2, 10): no and 1 more shape"},
        "shapes": [[2, 10], [10, 2], [11, 2]],
        "latency_us": [[3, None, 0.001], [None, None, 12.346], [None, None, None]],
    }


def test_the_configs_of_a_table_can_be_given() -> None:
    """They are its columns in that order, tried or not; records of others are left out."""
    records = [record(1, 2), record(1, 2, config=LARGE, result=timing(method="wall clock"))]
    untried = Config(params=(("BLOCK_N", 1),))
    value = table(records, configs=(untried, SMALL))
    assert value["latency_us"] == [[None, 12.25]]
    assert value["rejected"] == {}
    assert table(records)["method"] == "cuda events | wall clock"
    assert table(records, method="as ever")["method"] == "as ever"
    assert "method" not in table([record(1, 2, result=REFUSED)])


def test_a_table_tells_what_nobody_tried_from_what_failed() -> None:
    """Where it was allowed; a config that was measured nowhere is not spoken of."""
    never = Config(params=(("BLOCK_N", 1),))
    records = [
        record(1, 2),
        record(3, 4, config=LARGE),
        record(5, 6),
        record(5, 6, config=LARGE, result=REFUSED),
        record(7, 8),
    ]
    value = table(
        records,
        configs=(SMALL, LARGE, never),
        allowed=lambda shape: {0, 2} if shape == (7, 8) else {0, 1, 2},
    )
    assert value["shapes"] == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert value["untried"] == {"0": [1], "1": [0]}
    whole = [record(1, 2), record(1, 2, config=LARGE)]
    assert "untried" not in table(whole, allowed=lambda _: {0, 1})
    assert "untried" not in table(records)


def test_a_table_of_records_can_be_fitted() -> None:
    """What comes out of the knowledge base is what `tuner fit` takes."""
    records = [record(i, 2, result=timing(1.0 + i)) for i in range(1, 9)]
    records += [record(i, 2, config=LARGE, result=timing(10.0 - i)) for i in range(1, 9)]
    value = table_dict(SCOPE, records)
    fit = fit_table(parse_table(value, name="table", file="table.json", digest=""))
    assert fit.kind == "tree"


def test_a_hostile_message_is_a_reason_of_one_line_and_of_bounded_length() -> None:
    """The reason goes into a manifest that people read."""
    message = "\ud800" + "x" * 10_000
    failed = [record(i, 2, result=Failure(kind="compile", message=message)) for i in range(3)]
    reason = table(failed)["rejected"]["0"]
    assert len(reason) == 500
    assert reason.startswith("compile on shape (0, 2): ?xxx")
    assert reason.endswith("…and 2 more shapes".replace("…", "… "))


@pytest.mark.parametrize(
    ("records", "match"),
    [
        ([], "table of 'matmul': there is no record to make it of"),
        ([record(1, 2), record(3, 4, dtype="float32")], "different dtype: 'float16', 'float32'"),
        ([record(1, 2), record(1, 2, inputs="b")], "different inputs: '', 'b'; choose one with --"),
        ([record(1, 2), record(1, 2)], "1 records are of a shape and config met before"),
    ],
)
def test_records_that_make_no_one_table_are_refused(records: list[Record], match: str) -> None:
    """A table is of one dtype, and a shape in it of one kind of inputs."""
    with pytest.raises(KbError, match=match):
        table_dict(SCOPE, records)


def test_what_a_table_cannot_hold_is_said_with_its_place() -> None:
    """A size beyond 64 bits can be kept, and not be fitted to."""
    with pytest.raises(TableError, match=r"table of 'matmul': shapes\[0\]\[0\]: .*out of range"):
        table_dict(SCOPE, [record(2**64, 2)])


# --- lines and durations ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda _: [], ":1: is empty; export it again"),
        (lambda _: ["notes"], ":1: is not JSON: expecting value; mend it there"),
        (lambda lines: lines[1:], r':1: is not an export: its first line has no "format": "tuned'),
        (lambda _: ["[]"], ":1: is not an export"),
        (lambda _: ['{"format": "tuned-dispatch-kb/2"}'], ":1: is not an export"),
        (lambda lines: [lines[0].replace(": 2", ": -1")], ":1: records: -1 is out of range"),
        (lambda lines: lines[:2], ":1: has 1 records, and its header says 2; export it again"),
        (lambda lines: [*lines, lines[1]], ":1: has 3 records, and its header says 2"),
        (lambda lines: [*lines[:2], lines[2][:-5]], ":3: is not JSON"),
        (lambda lines: [*lines[:2], "", lines[2]], ":3: is empty"),
        (lambda lines: [*lines[:2], "[]"], ":3: an array is not an object"),
        (lambda lines: [*lines[:2], "[" * 10_000], ":3: is nested more than 200 levels deep"),
        (lambda lines: [*lines[:2], " " * 2**21], ":3: is longer than 1048576 bytes"),
        (lambda lines: [lines[0], lines[1].replace('"at"', '"when"')], ":2: at: missing field"),
        (lambda lines: [lines[0], lines[1].replace("12.25", "NaN")], ":2: NaN is not a JSON"),
        (lambda lines: [lines[0], lines[1].replace("12.25", "true")], ":2: timing.median_us: true"),
        (lambda lines: [lines[0], lines[1].replace("[1, 2]", "[1]")], ":2: shape: has 1 sizes"),
        (lambda lines: [lines[0], lines[1].replace("timing", "failure")], ":2: failure.kind: miss"),
        (lambda lines: [lines[0], lines[1].replace('"matmul"', '""')], ":2: scope.kernel: is an"),
        (lambda lines: [lines[0], lines[1].replace("BLOCK_N", "num_warps")], ":2: config: a confi"),
        (lambda lines: [lines[0], lines[1].replace("BLOCK_N", "B-")], ":2: config.params"),
        (lambda lines: [lines[0], lines[1].replace("T21:04:32Z", "")], ":2: at: '2026-11-30' is"),
    ],
)
def test_an_unsound_export_is_refused_with_file_and_line(
    tmp_path: Path, change: Any, match: str
) -> None:
    """Reading is strict, and says which line is wrong."""
    path = tmp_path / "kb.jsonl"
    lines = dump_rows([row(1, 2), row(3, 4)]).splitlines()
    path.write_text("\n".join(change(lines)))
    with pytest.raises(KbError, match=match) as caught:
        read_lines(path)
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)
    assert "manifest" not in str(caught.value)


def test_lines_picked_by_hand_are_read(tmp_path: Path) -> None:
    """The count in the header may be left out, and a last line have no end."""
    path = tmp_path / "kb.jsonl"
    lines = dump_rows([row(1, 2), row(3, 4, used="2026-12-01")]).splitlines()
    path.write_text('{"format": "tuned-dispatch-kb/1"}\n' + lines[2])
    assert read_lines(path) == (row(3, 4, used="2026-12-01"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12h", "2026-11-30T12:00"), ("90d", "2026-09-02T00:00"), ("4w", "2026-11-03T00:00")],
)
def test_a_duration_goes_back_from_now(text: str, expected: str) -> None:
    """Hours, days and weeks."""
    now = datetime(2026, 12, 1, tzinfo=timezone.utc)
    assert moment_before(now, text, where="x").isoformat().startswith(expected)


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "0d", "1.5d", "90 d", "90D", "٣d", "9" * 9])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """The line says how to write one."""
    with pytest.raises(KbError, match=r"--unused-for: .* is not a duration; write hours, days or"):
        moment_before(datetime.now(timezone.utc), text, where="--unused-for")


def test_a_duration_beyond_the_calendar_is_refused() -> None:
    """Not even a long one is a traceback."""
    with pytest.raises(KbError, match="'999999w' goes back beyond the year 1"):
        moment_before(datetime.now(timezone.utc), "999999w", where="--unused-for")


def test_the_package_gives_its_names_lazily() -> None:
    """Neither SQLite nor pydantic is imported before it is needed."""
    check = "import sys, tuner.kb; sys.exit(bool({'sqlite3', 'pydantic'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
    import tuner.kb

    assert all(getattr(tuner.kb, name) for name in tuner.kb.__all__)
    assert set(tuner.kb.__all__) <= set(dir(tuner.kb))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tuner.kb.nothing  # noqa: B018
