"""The recorded trace that ships with the project, and the tool that recorded it."""

from __future__ import annotations

import csv
import importlib.util
import math
import re
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "headroom" / "proving" / "data"
COLUMNS = ["timestamp", "read_ops", "write_ops", "read_bytes", "write_bytes"]
MIB = 1024 * 1024


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "record_trace", ROOT / "tools" / "record_trace.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load_tool()


# The shipped trace


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with (DATA / "pgbench-30min.csv").open(newline="", encoding="ascii") as source:
        reader = csv.DictReader(source)
        assert reader.fieldnames == COLUMNS
        return list(reader)


def measured(rows: list[dict[str, str]]) -> list[tuple[int, ...]]:
    """The intervals that were not missed: (read_ops, write_ops, read_bytes, write_bytes)."""
    return [tuple(int(row[c]) for c in COLUMNS[1:]) for row in rows if row["read_ops"]]


@pytest.fixture(scope="module")
def loads(rows: list[dict[str, str]]) -> list[tuple[int, ...]]:
    return measured(rows)


def test_the_grid_is_one_second_for_thirty_minutes(rows: list[dict[str, str]]) -> None:
    stamps = [datetime.strptime(row["timestamp"], "%Y-%m-%dT%H:%M:%S%z") for row in rows]
    assert len(stamps) == 1800
    assert all(row["timestamp"].endswith("Z") for row in rows)
    assert {b - a for a, b in pairwise(stamps)} == {timedelta(seconds=1)}


def test_cells_are_counts_or_a_wholly_empty_row(rows: list[dict[str, str]]) -> None:
    for row in rows:
        cells = [row[column] for column in COLUMNS[1:]]
        assert all(re.fullmatch(r"\d+", cell) for cell in cells) or cells == [""] * 4, row


def test_bytes_are_whole_sectors_and_need_requests(loads: list[tuple[int, ...]]) -> None:
    for read_ops, write_ops, read_bytes, write_bytes in loads:
        assert read_bytes % 512 == write_bytes % 512 == 0
        assert (read_ops == 0) == (read_bytes == 0)
        assert (write_ops == 0) == (write_bytes == 0)


def readme_table(heading: str) -> dict[str, list[str]]:
    """The first table under a heading of the data's README: first cell -> the other cells."""
    section = (DATA / "README.md").read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1]
    section = section.split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {first: rest for first, *rest in cells if not set(first) <= set("-: ")}


def nearest_rank(values: list[float], percent: float) -> float:
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def test_the_readme_states_the_statistics_of_the_file(loads: list[tuple[int, ...]]) -> None:
    series = {
        "IOPS": [float(load[0] + load[1]) for load in loads],
        "Read IOPS": [float(load[0]) for load in loads],
        "Write IOPS": [float(load[1]) for load in loads],
        "MiB/s": [(load[2] + load[3]) / MIB for load in loads],
        "Read MiB/s": [load[2] / MIB for load in loads],
        "Write MiB/s": [load[3] / MIB for load in loads],
    }
    expected = {"Measure": ["mean", "p50", "p95", "p99", "max"]}
    for name, values in series.items():
        numbers = [sum(values) / len(values)]
        numbers += [nearest_rank(values, percent) for percent in (50, 95, 99, 100)]
        expected[name] = [f"{number:,.1f}" for number in numbers]
    assert readme_table("Statistics") == expected


def test_the_readme_states_the_shape_of_the_file(
    rows: list[dict[str, str]], loads: list[tuple[int, ...]]
) -> None:
    reads, writes, read_bytes, write_bytes = (sum(column) for column in zip(*loads, strict=True))
    assert readme_table("Totals") == {
        "Measure": ["Value"],
        "Intervals": [f"{len(rows):,}"],
        "Intervals missed (empty cells)": [f"{len(rows) - len(loads):,}"],
        "Reads, % of requests": [f"{100 * reads / (reads + writes):.1f}"],
        "Reads, % of bytes": [f"{100 * read_bytes / (read_bytes + write_bytes):.1f}"],
        "Average request, KiB": [f"{(read_bytes + write_bytes) / (reads + writes) / 1024:.1f}"],
        "Average read, KiB": [f"{read_bytes / reads / 1024:.1f}"],
        "Average write, KiB": [f"{write_bytes / writes / 1024:.1f}"],
    }


def test_the_readme_states_each_phase(rows: list[dict[str, str]]) -> None:
    phases = readme_table("Phases")
    previous_end = 0
    for span, (_, mean, largest, throughput, average) in list(phases.items())[1:]:
        start, end = (int(offset) for offset in span.split("-"))
        assert start == previous_end
        previous_end = end
        part = measured(rows[start:end])
        requests = [load[0] + load[1] for load in part]
        transferred = sum(load[2] + load[3] for load in part)
        assert mean == f"{sum(requests) / len(part):,.1f}", span
        assert largest == f"{max(requests):,}", span
        assert throughput == f"{transferred / len(part) / MIB:,.1f}", span
        assert average == f"{transferred / sum(requests) / 1024:.1f}", span
    assert previous_end == 1800


# The recorder

DISKSTATS = """\
   7       0 loop0 100 5 2000 80 40 10 3200 47 0 115 128 5 0 16777224 6 8 2
 254       0 vda 27546 5734 1910410 10560 6513 7519 1030488 5318 0 3552 16075
 254       1 vda1 7 0 56 1 0 0 0 0 0 1 1
   8       0 sda 1 0 8 1
"""


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("loop0", (100, 40, 2000 * 512, 3200 * 512)),  # Linux 5.5 and later: 17 counters
        ("vda", (27546, 6513, 1910410 * 512, 1030488 * 512)),  # 11 counters
        ("vda1", (7, 0, 56 * 512, 0)),  # not taken for its disk
    ],
)
def test_a_diskstats_line_is_read(device: str, expected: tuple[int, ...]) -> None:
    assert tool.parse_diskstats(DISKSTATS, device) == expected


@pytest.mark.parametrize("device", ["vd", "loop1", "sda", ""])
def test_an_unknown_or_unreadable_device_is_an_error(device: str) -> None:
    with pytest.raises(tool.TraceError, match="no such block device"):
        tool.parse_diskstats(DISKSTATS, device)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((10, 20, 5120, 10240), (13, 20, 17408, 10240), (3, 0, 12288, 0)),
        ((1, 1, 512, 512), (1, 1, 512, 512), (0, 0, 0, 0)),
        ((10, 20, 5120, 10240), (2, 30, 1024, 20480), None),  # the counters were reset
        (None, (1, 1, 512, 512), None),
        ((1, 1, 512, 512), None, None),
    ],
)
def test_a_difference_is_the_load_between_two_samples(
    before: tuple[int, ...] | None, after: tuple[int, ...] | None, expected: tuple[int, ...] | None
) -> None:
    counters = [values and tool.Counters(*values) for values in (before, after)]
    assert tool.difference(*counters) == expected


class Clock:
    """A clock whose sleeps take as long as asked, plus the given delays."""

    def __init__(self, delays: list[float]) -> None:
        self.now = 1000.0
        self.delays = delays

    def sleep(self, seconds: float) -> None:
        self.now += seconds + (self.delays.pop(0) if self.delays else 0.0)

    def read(self) -> object:
        """A device that does 100 reads of 4 KiB a second."""
        reads = round(self.now * 100)
        return tool.Counters(reads, 0, reads * 4096, 0)


@pytest.mark.parametrize(
    ("delays", "expected"),
    [
        ([], [100, 100, 100, 100, 100]),
        ([0.0, 0.4], [100, 140, 60, 100, 100]),  # late but usable; the grid does not drift
        ([0.0, 0.6], [100, None, None, 100, 100]),  # one sample given up: both its intervals
        ([0.0, 1.7], [100, None, None, None, 100]),  # two samples given up
    ],
)
def test_samples_keep_their_grid_and_late_ones_are_given_up(
    delays: list[float], expected: list[int | None]
) -> None:
    clock = Clock(delays)
    loads = tool.intervals(
        clock.read, interval=1.0, count=5, clock=lambda: clock.now, sleep=clock.sleep
    )
    assert [load and load.read_ops for load in loads] == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuchdisk", "new.csv"], "record_trace: no such block device in {stats}: nosuchdisk"),
        (["disk", "old.csv"], "record_trace: the output file already exists: old.csv"),
        (["disk", "gone/new.csv"], "record_trace: No such file or directory: gone/new.csv"),
        (
            ["disk", "new.csv", "--interval", "nan"],
            "record_trace: --interval must be at least 0.01 s and no longer than --seconds",
        ),
    ],
)
def test_a_problem_is_one_sentence_and_exit_code_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stats = tmp_path / "diskstats"
    stats.write_text(" 8 0 disk 1 0 8 1 1 0 8 1 0 1 1\n", encoding="ascii")
    (tmp_path / "old.csv").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tool, "DISKSTATS", str(stats))
    assert tool.main(arguments) == 2
    assert capsys.readouterr().err == message.format(stats=stats) + "\n"
    assert not (tmp_path / "new.csv").exists()


def test_a_recording_has_a_row_per_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats = tmp_path / "diskstats"
    stats.write_text(" 8 0 disk 1 0 8 1 1 0 8 1 0 1 1\n", encoding="ascii")
    output = tmp_path / "trace.csv"
    monkeypatch.setattr(tool, "DISKSTATS", str(stats))
    arguments = ["/dev/disk", str(output), "--seconds", "0.3", "--interval", "0.1"]
    assert tool.main(arguments) == 0
    header, *lines = output.read_text(encoding="ascii").splitlines()
    assert header == ",".join(COLUMNS)
    assert [re.sub(r"^.*T\d\d:\d\d:\d\d", "", line)[:5] for line in lines] == [
        ".000Z",
        ".100Z",
        ".200Z",
    ]
