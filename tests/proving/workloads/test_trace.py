"""Traces: what is read, what is completed, and what is refused in one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from headroom.proving.inputs import BadInput
from headroom.proving.physics import VolumePhysics
from headroom.proving.workloads import Load, TraceWorkload, read_trace
from tests.proving.build import T0, gp3, volume

HEADER = "timestamp,read_ops,write_ops,read_bytes,write_bytes\n"


def written(folder: Path, body: str, header: str = HEADER) -> Path:
    file = folder / "load.csv"
    file.write_text(header + body, encoding="utf-8")
    return file


def rows(*cells: str, every_s: int = 60) -> str:
    """Rows on a grid; `cells` is what follows the timestamp, None-like text skips the row."""
    lines = []
    for number, cell in enumerate(cells):
        if cell != "skip":
            at = datetime(2020, 3, 1, tzinfo=UTC) + timedelta(seconds=number * every_s)
            lines.append(f"{at.strftime('%Y-%m-%dT%H:%M:%SZ')},{cell}")
    return "\n".join(lines) + "\n"


def loads(workload: TraceWorkload) -> list[Load | None]:
    return [s.load for s in workload.segments(0, workload.duration_s)]


def test_totals_over_the_interval_become_even_rates(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, rows("600,1200,6000000,4915200", "0,0,0,0")), start=T0)
    first = trace.segments(0, 60)[0].load
    assert first is not None
    assert first.ops_per_s == 30
    assert first.mix.read_share == pytest.approx(1 / 3)
    assert (first.mix.read_bytes, first.mix.write_bytes) == (10_000, 4_096)
    assert (trace.start, trace.duration_s, trace.notes) == (T0, 120, ())


def test_without_a_start_the_trace_keeps_its_own(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, rows("1,1,1,1", "1,1,1,1")))
    assert trace.start == datetime(2020, 3, 1, tzinfo=UTC)


def test_segments_are_cut_to_what_is_asked(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, rows(*["60,0,61440,0"] * 3)), start=T0)
    found = trace.segments(30, 150)
    assert [(s.start_s, s.end_s) for s in found] == [(30, 60), (60, 120), (120, 150)]
    assert trace.segments(180, 240) == []


def test_an_empty_row_and_a_missing_row_are_unknown(tmp_path: Path) -> None:
    trace = read_trace(
        written(tmp_path, rows("1,1,1,1", ",,,", "1,1,1,1", "skip", "1,1,1,1", "1,1,1,1"))
    )
    assert [load is None for load in loads(trace)] == [False, True, False, True, False, False]
    assert "1 row(s) are missing from the grid" in trace.notes[0]


def test_an_empty_direction_beside_a_filled_one_counts_as_zero_and_is_reported(
    tmp_path: Path,
) -> None:
    trace = read_trace(written(tmp_path, rows(",600,,6000", ",600,,6000", "6,6,60,60")))
    first = loads(trace)[0]
    assert first is not None
    assert (first.ops_per_s, first.mix.read_share) == (10, 0)
    assert "2 row(s) have an empty read direction" in trace.notes[0]


@pytest.mark.parametrize(
    ("cell", "ops_per_s", "bytes_per_op", "note"),
    [
        (",,983040,0", 1.0, 16_384, "operations of 2 cell(s) follow from bytes at 16 KiB"),
        ("60,0,,", 1.0, 16_384, "bytes of 2 cell(s) follow from operations at 16 KiB"),
        ("0,0,983040,0", 1.0, 16_384, "operations of 2 cell(s) follow"),
    ],
)
def test_io_kib_completes_operations_or_bytes(
    tmp_path: Path, cell: str, ops_per_s: float, bytes_per_op: float, note: str
) -> None:
    trace = read_trace(written(tmp_path, rows(cell, cell)), io_kib=16)
    load = loads(trace)[0]
    assert load is not None
    assert (load.ops_per_s, load.mix.bytes_per_op) == (ops_per_s, bytes_per_op)
    assert any(note in said for said in trace.notes)


def test_io_kib_never_replaces_what_was_measured(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, rows("60,0,491520,0", "60,0,491520,0")), io_kib=16)
    load = loads(trace)[0]
    assert load is not None
    assert load.mix.bytes_per_op == 8_192


def test_scale_multiplies_and_repeat_repeats(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, rows("60,0,60,0", ",,,")), scale=5, repeat=3)
    rates = [None if load is None else load.ops_per_s for load in loads(trace)]
    assert rates == [5, None, 5, None, 5, None]


def test_a_little_jitter_is_put_back_on_the_grid(tmp_path: Path) -> None:
    body = "".join(
        f"2020-03-01T00:{minute:02d}:{second:02d}Z,1,1,1,1\n"
        for minute, second in ((0, 0), (1, 1), (2, 0), (3, 0), (5, 2), (6, 2))
    )
    trace = read_trace(written(tmp_path, body))
    assert trace.interval_s == 60
    assert [load is None for load in loads(trace)] == [False] * 4 + [True] + [False] * 2


def test_columns_may_come_in_any_order_and_others_are_left_alone(tmp_path: Path) -> None:
    header = "host,write_bytes,write_ops,read_bytes,read_ops,timestamp\n"
    body = "a,0,0,4096,1,2020-03-01T00:00:00Z\na,0,0,4096,1,2020-03-01T00:00:01Z\n"
    load = loads(read_trace(written(tmp_path, body, header)))[0]
    assert load is not None
    assert (load.ops_per_s, load.mix.read_bytes) == (1, 4_096)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "0 row(s) of data; at least 2"),
        (rows("1,1,1,1"), "1 row(s) of data; at least 2"),
        (rows(",,,", ",,,"), "measured nothing"),
        (rows("1,1,1,1", "-1,1,1,1"), "line 3: read_ops is '-1'"),
        (rows("1,1,1,1", "1,nan,1,1"), "line 3: write_ops is 'nan'"),
        (rows("1,1,1,1", "1,1,inf,1"), "line 3: read_bytes is 'inf'"),
        (rows("1,1,1,1", "1,1,1,1e300"), "line 3: write_bytes is '1e300'"),
        (rows("1,1,1,1", "1_000,1,1,1"), "line 3: read_ops is '1_000'"),
        (rows("1,1,1,1", "a lot,1,1,1"), "line 3: read_ops is 'a lot'"),
        (rows("1,1,1,1", "1,1,1"), "line 3 has 4 cells, the header has 5"),
        (rows("1,1,1,1", "5,0,,"), "line 3 has read operations but no read bytes; set io_kib"),
        (rows("1,1,1,1", ",,,9"), "line 3 has write bytes but no write operations; set io_kib"),
        ("yesterday,1,1,1,1\n" * 2, "line 2: 'yesterday' is no timestamp"),
        ("0001-01-01T00:00:00Z,1,1,1,1\n" * 2, "is not in the years 1970 to 2200"),
        ("2020-03-01T00:00:00,1,1,1,1\n" * 2, "has no time zone; append Z"),
        ("2020-03-01T00:00:00Z,1,1,1,1\n" * 2, "line 3: 2020-03-01T00:00:00+00:00 does not come"),
        (
            "2020-03-01T00:01:00Z,1,1,1,1\n2020-03-01T00:00:00Z,1,1,1,1\n",
            "does not come after the row before it",
        ),
        (rows(*["1,1,1,1"] * 3) + "2020-03-01T00:03:30Z,1,1,1,1\n", "line 5 is 30 s off its place"),
    ],
)
def test_garbage_is_refused_in_one_sentence_with_its_place(
    tmp_path: Path, body: str, words: str
) -> None:
    with pytest.raises(BadInput) as caught:
        read_trace(written(tmp_path, body))
    message = str(caught.value)
    assert words in message
    assert "load.csv" in message
    assert "\n" not in message
    assert message.endswith(".")


def test_a_file_without_the_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="line 1 must be the header"):
        read_trace(written(tmp_path, rows("1,1,1,1", "1,1,1,1"), header=""))


def test_what_is_no_text_or_no_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "load.csv"
    with pytest.raises(BadInput, match="cannot be read"):
        read_trace(file)
    file.write_bytes(b"\xff\xfe\x00\x01" * 50)
    with pytest.raises(BadInput, match="no CSV text"):
        read_trace(file)


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called in it: work that no busy machine makes more of."""
    count = 0

    def seen(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def a_row_a_second(tmp_path: Path, rows: int) -> Path:
    start = datetime(2020, 3, 1, tzinfo=UTC)
    lines = (
        f"{(start + timedelta(seconds=n)).isoformat()},{n % 90},{n % 70},{n % 90 * 4096},"
        f"{n % 70 * 8192}\n"
        for n in range(rows)
    )
    return written(tmp_path, "".join(lines))


def test_a_row_is_read_with_the_same_work_however_many_there_are(tmp_path: Path) -> None:
    few, many = (
        calls_of(partial(read_trace, a_row_a_second(tmp_path, rows))) for rows in (2_000, 8_000)
    )
    assert many < 4.2 * few


def test_a_minute_takes_the_same_work_however_many_came_before(tmp_path: Path) -> None:
    trace = read_trace(a_row_a_second(tmp_path, 12_000), start=T0)
    physics, lifecycle = VolumePhysics(trace), volume(gp3())
    work = [
        calls_of(partial(physics.minute, T0 + timedelta(minutes=minute), lifecycle))
        for minute in range(200)
    ]
    assert max(work[100:]) < 1.2 * max(work[:100])
