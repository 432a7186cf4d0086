"""The profiler's exports in each layout: what is read of them, and what is refused."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from npu_profiles import (
    Task,
    captured,
    write_kernel_details,
    write_msprof,
    write_op_statistic,
    write_split,
)

from tuner.devices.npu import ProfileError
from tuner.devices.npu.exports import read_export
from tuner.devices.npu.kernel_details import read_kernel_details
from tuner.devices.npu.markers import marker_of
from tuner.devices.npu.msprof import read_msprof
from tuner.devices.npu.op_statistic import read_op_statistic
from tuner.devices.npu.split import read_split
from tuner.devices.npu.steps import covered_ns, steps_of
from tuner.devices.npu.tasks import whole
from tuner.errors import DeviceError

Write = Callable[[Path, "list[Task]"], object]


def _pytorch(place: Path, tasks: list[Task]) -> None:
    write_msprof(place / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_0.db", tasks)


def _msprof(place: Path, tasks: list[Task]) -> None:
    write_msprof(place / "PROF_000001" / "msprof_20261201004200.db", tasks)


def _split(place: Path, tasks: list[Task]) -> None:
    write_split(place / "PROF_000001", tasks)


def _text(place: Path, tasks: list[Task]) -> None:
    write_kernel_details(place / "kernel_details.csv", tasks)
    write_op_statistic(place / "op_statistic.csv", tasks)


def _old_text(place: Path, tasks: list[Task]) -> None:
    write_kernel_details(place / "kernel_details.csv", tasks, blocks="Block Dim", step_id=True)


LAYOUTS: dict[str, Write] = {
    "pytorch": _pytorch,
    "msprof": _msprof,
    "split": _split,
    "text": _text,
    "old text": _old_text,
}
NAMES = {"pytorch": "database", "msprof": "database", "split": "split databases"}
every_layout = pytest.mark.parametrize("layout", LAYOUTS)

# One kernel; two one after the other; two that overlap by 4 us; one within another.
STEPS = ([12.5], [3.0, 4.25], [10.0, -4.0, 6.0], [20.0, -15.0, 5.0], [7.125])
TIMES = (12.5, 7.25, 12.0, 20.0, 7.125)


@every_layout
@pytest.mark.parametrize("warmup", [True, False])
def test_each_layout_gives_the_same_times(tmp_path: Path, layout: str, *, warmup: bool) -> None:
    """Overlaps count once; the warm-up step and what restores the inputs do not count at all."""
    tasks = captured(STEPS, warmup=warmup)
    LAYOUTS[layout](tmp_path, tasks)
    read = read_export(tmp_path, len(STEPS))
    assert read.layout == NAMES.get(layout, "text")
    assert read.steps.us == pytest.approx(TIMES, abs=1e-9)
    busy = covered_ns((task.start, task.end) for task in tasks) / 1e9
    assert read.steps.busy_s == pytest.approx(busy)


@every_layout
def test_rows_may_stand_in_any_order(tmp_path: Path, layout: str) -> None:
    """What counts is when a kernel started, or was launched."""
    tasks = captured(STEPS)
    if layout == "split":  # There the writer turns the rows round, and the launches have an order.
        LAYOUTS[layout](tmp_path, tasks)
    else:
        LAYOUTS[layout](tmp_path, [*tasks[1::2], *tasks[0::2][::-1]])
    assert read_export(tmp_path, len(STEPS)).steps.us == pytest.approx(TIMES, abs=1e-9)


@every_layout
def test_what_runs_on_another_device_does_not_count(tmp_path: Path, layout: str) -> None:
    """The device is the one that the markers ran on."""
    tasks = captured(STEPS)
    noise = [replace(task, name="noise", device=3) for task in tasks[4:]]
    LAYOUTS[layout](tmp_path, [*tasks, *noise])
    assert read_export(tmp_path, len(STEPS)).steps.us == pytest.approx(TIMES, abs=1e-9)


@every_layout
def test_steps_on_two_devices_are_refused(tmp_path: Path, layout: str) -> None:
    """Nobody can say whose times they are."""
    tasks = captured(STEPS)
    shifted = [replace(t, device=3, start=t.start + 1, end=t.end + 1) for t in tasks]
    LAYOUTS[layout](tmp_path, [*tasks, *shifted])
    with pytest.raises(ProfileError, match="has steps on the devices 0, 3; profile one device"):
        read_export(tmp_path, len(STEPS))


@every_layout
@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ((1,), r"lacks the step 1 of 5: 4 were found"),
        ((3,), r"lacks the step 3 of 5: 4 were found"),
        ((5,), r"lacks the step 5 of 5: 4 were found"),
        ((2, 4), r"lacks the steps 2, 4 of 5: 3 were found"),
        ((3, 4, 5), r"lacks the steps 3, 4, 5 of 5: 2 were found"),
    ],
)
def test_a_missing_step_is_named(
    tmp_path: Path, layout: str, lost: tuple[int, ...], words: str
) -> None:
    """Whether its kernels are still there, which would be taken for those of the step before."""
    tasks = [t for t in captured(STEPS) if not (t.step in lost and "_clear_" in t.name)]
    LAYOUTS[layout](tmp_path, tasks)
    with pytest.raises(ProfileError, match=words):
        read_export(tmp_path, len(STEPS))


@every_layout
def test_a_step_without_a_kernel_is_named(tmp_path: Path, layout: str) -> None:
    """Its mark alone is no step."""
    tasks = [t for t in captured(STEPS) if not (t.step == 4 and t.name.startswith("kernel"))]
    LAYOUTS[layout](tmp_path, tasks)
    with pytest.raises(ProfileError, match="step 4 of 5 has no kernel; capture fewer launches"):
        read_export(tmp_path, len(STEPS))


@every_layout
def test_a_step_too_many_is_refused(tmp_path: Path, layout: str) -> None:
    """Another process may have been profiled as well."""
    LAYOUTS[layout](tmp_path, captured(STEPS))
    with pytest.raises(ProfileError, match="holds 5 steps where 4 were launched"):
        read_export(tmp_path, 4)


def test_a_place_holder_counts_only_within_a_step(tmp_path: Path) -> None:
    """In the warm-up a kernel without a time is dropped with the rest; in a step it is named."""
    tasks = captured(STEPS)
    lost = [replace(t, start=-1, end=-2) if t.step == 0 else t for t in tasks]
    write_split(tmp_path / "good", lost)
    assert read_export(tmp_path / "good", 5).steps.us == pytest.approx(TIMES)
    lost = [
        replace(t, start=-1, end=-2) if (t.step, t.name) == (2, "kernel_1") else t for t in tasks
    ]
    write_split(tmp_path / "bad", lost)
    with pytest.raises(ProfileError, match="step 2 of 5: the kernel 'kernel_1' has no device time"):
        read_export(tmp_path / "bad", 5)


def test_a_layout_that_is_not_sound_gives_way_to_an_older_one(tmp_path: Path) -> None:
    """Both may be there; where none is sound the newest is complained of."""
    _split(tmp_path, captured(STEPS))
    path = tmp_path / "msprof_1.db"
    path.write_bytes(b"")
    assert read_export(tmp_path, 5).layout == "split databases"
    (tmp_path / "PROF_000001/host/sqlite/api_event.db").write_bytes(b"no database, this")
    with pytest.raises(ProfileError, match=r"msprof_1.db: holds no table TASK"):
        read_export(tmp_path, 5)


def test_an_export_that_is_missing_or_not_alone_is_refused(tmp_path: Path) -> None:
    """Which files it could have been is said."""
    with pytest.raises(ProfileError, match=r"left no export: none of ascend_.*, kernel_details"):
        read_export(tmp_path, 5)
    for place in ("a", "b"):
        write_msprof(tmp_path / place / "msprof_1.db", captured(STEPS))
    with pytest.raises(ProfileError, match="is one of 2 exports of one capture"):
        read_export(tmp_path, 5)


def test_a_split_export_needs_both_its_files(tmp_path: Path) -> None:
    """Without the device's tasks the launches have no times."""
    write_split(tmp_path, captured(STEPS))
    (tmp_path / "device_0/sqlite/ascend_task.db").unlink()
    with pytest.raises(ProfileError, match=r"api_event.db: has no ascend_task.db beside it"):
        read_export(tmp_path, 5)


def test_an_error_of_a_profile_is_one_of_a_device() -> None:
    """A caller that knows devices need not know profiles."""
    assert issubclass(ProfileError, DeviceError)


# ---- The databases, spoiled ---------------------------------------------------------------------


def spoil(path: Path, *statements: str) -> None:
    """Change a database."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DROP TABLE TASK", "holds no table TASK"),
        ("DROP TABLE COMPUTE_TASK_INFO", "holds no table COMPUTE_TASK_INFO"),
        ("DROP TABLE STRING_IDS", "holds no table STRING_IDS"),
        ("ALTER TABLE TASK DROP COLUMN endNs", "has no column endNs in the table TASK"),
        ("ALTER TABLE STRING_IDS RENAME COLUMN value TO text", "has no column value in the table"),
        ("DELETE FROM COMPUTE_TASK_INFO", "holds no task that is a kernel"),
        ("DELETE FROM STRING_IDS WHERE id = 0", "has no string for the kernel name 0"),
        ("UPDATE STRING_IDS SET value = x'00'", "has no string for the kernel name"),
        ("UPDATE TASK SET endNs = startNs - 1", r"runs from \d+ to \d+ ns"),
        ("UPDATE TASK SET startNs = -1", "runs from -1 to"),
        ("UPDATE TASK SET startNs = 'noon'", "has the time 'noon', not whole nanoseconds"),
        ("UPDATE TASK SET startNs = NULL", "has the time null, not whole nanoseconds"),
        ("UPDATE TASK SET endNs = 1e300", r"has the time 1e\+300, not whole nanoseconds"),
        ("UPDATE TASK SET endNs = 9e999", "has the time inf, not whole nanoseconds"),
        ("UPDATE TASK SET endNs = x'00'", "not whole nanoseconds"),
        ("UPDATE TASK SET endNs = startNs + 4000000000000", "runs for 4000 s"),
        ("UPDATE TASK SET deviceId = 'first'", "has the deviceId 'first'"),
    ],
)
def test_a_database_that_says_what_cannot_be_is_refused(
    tmp_path: Path, statement: str, words: str
) -> None:
    """One line with the file and what is wrong, whatever stands in it."""
    path = write_msprof(tmp_path / "msprof_1.db", captured(STEPS))
    spoil(path, statement)
    with pytest.raises(ProfileError, match=words) as caught:
        steps_of(read_msprof(path), 5, path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        (3.0, 3),
        (-1, -1),
        (0.5, None),
        (True, None),
        ("3", None),
        (2**64, None),
        (1e30, None),
    ],
)
def test_a_whole_number_may_be_kept_as_a_float(value: object, number: int | None) -> None:
    """Columns of old exports are of any type; what is no number of 64 bits is none."""
    assert whole(value) == number


def test_strings_that_are_no_utf8_are_names_like_others(tmp_path: Path) -> None:
    """A kernel's name is only looked at for a marker."""
    path = write_msprof(tmp_path / "msprof_1.db", captured(STEPS))
    spoil(path, "UPDATE STRING_IDS SET value = CAST(x'ff1b5b' AS TEXT) WHERE value LIKE 'kernel%'")
    assert steps_of(read_msprof(path), 5, path).us == pytest.approx(TIMES)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9])
def test_a_database_that_is_cut_off_is_refused(tmp_path: Path, share: float) -> None:
    """Wherever it ends; nothing is read of the part that is there."""
    path = write_msprof(tmp_path / "msprof_1.db", captured([[5.0]] * 300))
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ProfileError, match=r"cannot be read as SQLite|holds no table TASK"):
        read_msprof(path)


@pytest.mark.parametrize(
    "data", [b"Step Id,Name\n", b"\0" * 4096, b"SQLite format 3\0" + b"x" * 99]
)
def test_what_is_no_database_is_refused(tmp_path: Path, data: bytes) -> None:
    """Text, zeros, and what only begins like one."""
    path = tmp_path / "msprof_1.db"
    path.write_bytes(data)
    with pytest.raises(ProfileError, match=r"msprof_1.db: cannot be read as SQLite: "):
        read_msprof(path)


def test_a_database_is_neither_made_nor_changed(tmp_path: Path) -> None:
    """A missing file stays missing, and reading leaves nothing beside the one that is there."""
    with pytest.raises(ProfileError, match="is missing"):
        read_msprof(tmp_path / "msprof_1.db")
    path = write_msprof(tmp_path / "msprof_2.db", captured(STEPS))
    before = path.read_bytes()
    read_msprof(path)
    assert path.read_bytes() == before
    assert [place.name for place in tmp_path.iterdir()] == ["msprof_2.db"]


@pytest.mark.parametrize(
    ("database", "statement", "words"),
    [
        ("host", "DROP TABLE ApiData", "holds no table ApiData"),
        ("host", "ALTER TABLE ApiData DROP COLUMN item_id", "no column item_id in the table ApiD"),
        ("host", "UPDATE ApiData SET struct_type = 'sync'", "holds no launch in the table ApiData"),
        ("host", "UPDATE ApiData SET start = 'noon'", "has the start 'noon' in the table ApiData"),
        ("host", "UPDATE ApiData SET connection_id = -1", "has no device time"),
        ("device", "DROP TABLE AscendTask", "holds no table AscendTask"),
        ("device", "ALTER TABLE AscendTask DROP COLUMN duration", "has no column duration"),
        ("device", "DELETE FROM AscendTask", "holds no task in the table AscendTask"),
        ("device", "UPDATE AscendTask SET connection_id = 'a'", "has the connection_id 'a'"),
        ("device", "UPDATE AscendTask SET duration = 'long'", "has the time 'long', not whole"),
        ("device", "UPDATE AscendTask SET duration = 9e999", "has the time inf, not whole"),
        ("device", "UPDATE AscendTask SET duration = 4000000000000", "runs for 4000 s"),
        ("device", "UPDATE AscendTask SET duration = 0", "step 1 of 5 took no time at all"),
        ("device", "UPDATE AscendTask SET duration = -1", "step 1 of 5: the kernel"),
    ],
)
def test_a_split_export_that_says_what_cannot_be_is_refused(
    tmp_path: Path, database: str, statement: str, words: str
) -> None:
    """One line with the file of the two that is wrong."""
    host = write_split(tmp_path, captured(STEPS))
    device = tmp_path / "device_0/sqlite/ascend_task.db"
    spoil(host if database == "host" else device, statement)
    with pytest.raises(ProfileError, match=words):
        steps_of(read_split(host, [device]), 5, host)


def test_the_name_of_a_launch_may_stand_in_either_column(tmp_path: Path) -> None:
    """Versions differ in which of `id` and `item_id` it is."""
    host = write_split(tmp_path, captured(STEPS))
    spoil(host, "UPDATE ApiData SET id = item_id, item_id = NULL WHERE level = 'node'")
    tasks = [tmp_path / "device_0/sqlite/ascend_task.db"]
    assert steps_of(read_split(host, tasks), 5, host).us == pytest.approx(TIMES)


# ---- The tables, spoiled ------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", ["Block Num", "Block Dim", "blocks of a later version"])
@pytest.mark.parametrize("step_id", [True, False])
def test_columns_are_found_by_name(tmp_path: Path, blocks: str, *, step_id: bool) -> None:
    """Those that are not needed may be called anything, or stand ahead of the others."""
    path = write_kernel_details(
        tmp_path / "kernel_details.csv", captured(STEPS), blocks=blocks, step_id=step_id
    )
    launched = read_kernel_details(path)
    assert steps_of(launched, 5, path).us == pytest.approx(TIMES, abs=1e-9)
    assert launched[-1].step == (5 if step_id else None)
    assert launched[0].device == 0


def test_the_digits_of_a_clock_are_kept(tmp_path: Path) -> None:
    """Microseconds since 1970 with three places do not fit a float: they are read exactly."""
    tasks = captured([[0.001], [0.002]])
    path = write_kernel_details(tmp_path / "kernel_details.csv", tasks)
    assert steps_of(read_kernel_details(path), 2, path).us == (0.001, 0.002)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Start Time(us)", "Start", r"has no column Start Time\(us\)"),
        ("Name", "Title", "has no column Name"),
        ("Duration(us)", "Took", r"has no column Duration\(us\)"),
        (",7.125,", ",nan,", r"line \d+ has 'nan' for Duration\(us\)"),
        (",7.125,", ",-7.125,", r"line \d+ has '-7.125' for Duration\(us\)"),
        (",7.125,", ",inf,", r"line \d+ has 'inf' for Duration\(us\)"),
        (",7.125,", ",1e99,", r"line \d+ has '1e99' for Duration\(us\)"),
        (",7.125,", ",,", r"line \d+ has '' for Duration\(us\)"),
        (",7.125,", ",4000000000,", r"line \d+ runs for 4000 s"),
        (",7.125,", f",{'9' * 5000},", r"line \d+ has '9999"),
        ("0,kernel_0", "first,kernel_0", r"line \d+ has 'first' for Device_id"),
        ("0,kernel_0", "²,kernel_0", r"line \d+ has '\\xb2' for Device_id"),
    ],
)
def test_a_table_that_says_what_cannot_be_is_refused(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    """One line with the file, the line there, and the value."""
    path = write_kernel_details(tmp_path / "kernel_details.csv", captured(STEPS))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ProfileError, match=words) as caught:
        read_kernel_details(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "has no column Name"),
        (b"\xff\xfe\x00", "is not text in UTF-8"),
        (b'Name,Start Time(us),Duration(us)\n"a', "line 2 is not CSV"),
        (b"Name,Start Time(us),Duration(us)\na,1", "line 2 has 2 of 3 fields: it is cut off"),
        (b"Name,Start Time(us),Duration(us)\n", "holds no kernel"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    """Nothing, bytes, an open quote, half a line, and a head alone."""
    path = tmp_path / "kernel_details.csv"
    path.write_bytes(data)
    with pytest.raises(ProfileError, match=words):
        read_kernel_details(path)


def test_a_table_that_is_missing_is_refused(tmp_path: Path) -> None:
    """With the system's reason."""
    with pytest.raises(ProfileError, match=r"none.csv: cannot be read: no such file"):
        read_kernel_details(tmp_path / "none.csv")


def test_kernels_of_two_of_the_profilers_steps_are_no_step(tmp_path: Path) -> None:
    """Where the profiler counts too, both counts must agree."""
    tasks = [replace(t, step=9) if t.name == "kernel_1" else t for t in captured(STEPS)]
    path = write_kernel_details(tmp_path / "kernel_details.csv", tasks, step_id=True)
    with pytest.raises(ProfileError, match="holds kernels of the profiler's steps 2, 9"):
        steps_of(read_kernel_details(path), 5, path)


def test_a_table_that_ends_early_is_found_out_by_the_one_beside_it(tmp_path: Path) -> None:
    """Cut at the end of a line nothing else tells, where just the last kernels are missing."""
    tasks = captured(STEPS)
    write_op_statistic(tmp_path / "op_statistic.csv", [*tasks, *captured([[1.0]])])
    write_kernel_details(tmp_path / "kernel_details.csv", tasks)
    with pytest.raises(ProfileError, match=r"holds 11 L2 clears, and op_statistic\.csv beside it"):
        read_export(tmp_path, 5)


def test_the_kinds_of_kernels_are_read_with_their_times(tmp_path: Path) -> None:
    """How often each ran, and its times in microseconds."""
    path = write_op_statistic(tmp_path / "op_statistic.csv", captured(STEPS))
    found = {one.op_type: one for one in read_op_statistic(path)}
    assert (found["kernel_1"].count, found["kernel_1"].core_type) == (1, "AI_VECTOR_CORE")
    assert found["kernel_0"].count == 5
    assert found["kernel_0"].total_us == pytest.approx(52.625)
    assert (found["kernel_0"].min_us, found["kernel_0"].max_us) == (3.0, 20.0)
    assert found["kernel_0"].mean_us == pytest.approx(10.525)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Count", "Number", "has no column Count"),
        (",5,52.625", ",0,52.625", "has '0' for Count"),
        (",5,52.625", ",1.5,52.625", "has '1.5' for Count"),
        ("52.625", "nan", r"has 'nan' for Total Time\(us\)"),
        ("52.625", "1.0", "has a longest time of 20.0 us, a shortest of 3.0, 1.0 in all"),
        (",3.0,10.525", ",30.0,10.525", "a shortest of 30.0"),
    ],
)
def test_kinds_of_kernels_that_cannot_be_are_refused(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    """Counts that are none, and times that contradict each other."""
    path = write_op_statistic(tmp_path / "op_statistic.csv", captured(STEPS))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ProfileError, match=words):
        read_op_statistic(path)


def test_a_table_of_kinds_without_a_row_is_refused(tmp_path: Path) -> None:
    """Its head alone."""
    path = write_op_statistic(tmp_path / "op_statistic.csv", [])
    with pytest.raises(ProfileError, match="holds no kernel"):
        read_op_statistic(path)


@pytest.mark.parametrize("layout", ["msprof", "split", "text"])
def test_bytes_that_are_spoiled_anywhere_give_times_or_one_error(
    tmp_path: Path, layout: str
) -> None:
    """Any byte changed, any piece cut out: never another exception, and one line."""
    LAYOUTS[layout](tmp_path, captured([[5.0], [6.0, 2.0]] * 10))
    path = next(p for p in sorted(tmp_path.rglob("*")) if p.suffix in {".db", ".csv"})
    rng = random.Random(1)  # noqa: S311 (bytes to spoil, not a secret)
    data, refused = path.read_bytes(), []
    for _ in range(200):
        spoilt = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 8, 64))):
            at = rng.randrange(len(spoilt))
            spoilt[at : at + rng.choice((1, 1, 1, 40))] = bytes([rng.randrange(256)])
        path.write_bytes(spoilt)
        try:
            assert len(read_export(tmp_path, 20).steps.us) == 20
        except ProfileError as error:
            refused.append(str(error))
    assert 0 < len(refused) < 200
    assert not any("\n" in line for line in refused)


# ---- Intervals and markers ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("intervals", "ns"),
    [
        ([], 0),
        ([(0, 0)], 0),
        ([(0, 10), (10, 20)], 20),
        ([(10, 20), (0, 15)], 20),
        ([(0, 100), (10, 20), (30, 40)], 100),
        ([(0, 10), (0, 10)], 10),
        ([(5, 6), (0, 1), (2, 3)], 3),
    ],
)
def test_time_that_intervals_share_counts_once(intervals: list[tuple[int, int]], ns: int) -> None:
    """In any order, within each other or apart."""
    assert covered_ns(intervals) == ns


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=12))
def test_time_is_as_long_as_the_moments_in_it_are_many(pairs: list[tuple[int, int]]) -> None:
    """Counted one by one."""
    intervals = [(start, start + length) for start, length in pairs]
    moments = {moment for start, end in intervals for moment in range(start, end)}
    assert covered_ns(intervals) == len(moments)


@pytest.mark.parametrize(
    ("name", "marker"),
    [
        ("tuned_dispatch_l2_clear_0", 0),
        ("tuned_dispatch_l2_clear_2_mix_aiv", 2),
        ("ns::tuned_dispatch_l2_between_0d1d", "between"),
        ("tuned_dispatch_l2_clear_3", None),
        ("matmul_kernel", None),
        ("", None),
    ],
)
def test_a_marker_is_known_by_its_name(name: str, marker: object) -> None:
    """Whatever a compiler puts around it."""
    assert marker_of(name) == marker
