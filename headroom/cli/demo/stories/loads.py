"""The demo's loads: a recorded trace, its phases scaled and repeated for each story."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path

from headroom.cli.demo.stories.databases import DatabaseStory
from headroom.cli.demo.stories.volumes import PHASES, Loop, Story, Trace

RECORDED = "data/pgbench-30min.csv"
COLUMNS = ("timestamp", "read_ops", "write_ops", "read_bytes", "write_bytes")
ROW_SECONDS = 5
"""Seconds per row that is played; the recording has one row per second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One phase of the recording: totals per row, and its means."""

    rows: tuple[tuple[int, int, int, int], ...]
    ops_per_s: float
    bytes_per_op: float


@cache
def recorded() -> Sequence[tuple[int, int, int, int]]:
    """The recording, one row per second; an interval that was missed repeats the one before."""
    text = (files("headroom.proving") / RECORDED).read_text(encoding="utf-8")
    found: list[tuple[int, int, int, int]] = []
    for line in csv.DictReader(text.splitlines()):
        cells = [line[name] for name in COLUMNS[1:]]
        if all(cells):
            found.append((int(cells[0]), int(cells[1]), int(cells[2]), int(cells[3])))
        elif found:
            found.append(found[-1])
    return found


def shape(recording: Sequence[tuple[int, int, int, int]], phase: str) -> Shape:
    """A phase of the recording in rows of `ROW_SECONDS`."""
    span = [second for first, last in PHASES[phase] for second in recording[first:last]]
    rows = []
    for i in range(0, len(span) - ROW_SECONDS + 1, ROW_SECONDS):
        columns = zip(*span[i : i + ROW_SECONDS], strict=True)
        reads, writes, read_bytes, write_bytes = (sum(column) for column in columns)
        rows.append((reads, writes, read_bytes, write_bytes))
    ops = sum(r[0] + r[1] for r in rows)
    size = sum(r[2] + r[3] for r in rows)
    return Shape(
        rows=tuple(rows), ops_per_s=ops / (len(rows) * ROW_SECONDS), bytes_per_op=size / ops
    )


def rows_of(load: Trace, start: datetime, minutes: int) -> Iterator[tuple[str, int, int, int, int]]:
    """The rows of a story's load: the phases of its parts, scaled and repeated to the end."""
    recording = recorded()
    ends = [part.minute for part in load.parts[1:]] + [minutes]
    for part, end in zip(load.parts, ends, strict=True):
        phase = shape(recording, part.phase)
        ops = part.iops / phase.ops_per_s
        size = ops * part.io_kib * 1024 / phase.bytes_per_op
        for n, second in enumerate(range(part.minute * 60, end * 60, ROW_SECONDS)):
            row = phase.rows[n % len(phase.rows)]
            at = (start + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")
            yield (
                at,
                round(row[0] * ops),
                round(row[1] * ops),
                round(row[2] * size),
                round(row[3] * size),
            )


def workload(
    story: Story | DatabaseStory, folder: Path, start: datetime, minutes: int
) -> dict[str, object]:
    """The workload block of a story, as scenarios write it; its trace goes into `folder`."""
    match story.load:
        case Loop() as loop:
            return {
                "closed_loop": {
                    "outstanding": loop.outstanding,
                    "io_kib": loop.io_kib,
                    "read_fraction": loop.read_fraction,
                    "service_ms": 0.5,
                    "duration": f"{loop.minutes}m",
                }
            }
        case Trace() as trace:
            path = folder / f"{story.key}.csv"
            with path.open("w", encoding="ascii", newline="") as target:
                writer = csv.writer(target, lineterminator="\n")
                writer.writerow(COLUMNS)
                writer.writerows(rows_of(trace, start, minutes))
            return {"trace": {"file": str(path.resolve())}}
