"""Reads a load trace: CSV with one row per interval, totals over the interval, empty = unknown.

Columns `timestamp,read_ops,write_ops,read_bytes,write_bytes`; `timestamp` is the start of the
interval in ISO 8601 with a zone. Rows lie on a regular grid; rows may be missing.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import floor, inf, isfinite
from pathlib import Path

from headroom.proving.inputs import YEARS, BadInput
from headroom.proving.workloads.grid import Grid, OffGrid, on_grid
from headroom.proving.workloads.workload import Load, Mix, Segment

COLUMNS = ("timestamp", "read_ops", "write_ops", "read_bytes", "write_bytes")
MOST = 1e15
"""A cell above this is invalid."""

TraceRow = tuple[float, float, float, float]
"""Read ops, write ops, read bytes, write bytes in one interval."""


@dataclass(slots=True)
class _Notes:
    zero_directions: Counter[str] = field(default_factory=Counter)
    completed: Counter[str] = field(default_factory=Counter)


class TraceWorkload:
    """A trace put on a grid that begins at `start`; each interval's load is even inside it."""

    def __init__(
        self,
        rows: Sequence[TraceRow | None],
        *,
        interval_s: float,
        start: datetime,
        scale: float = 1.0,
        repeat: int = 1,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.start = start
        self.notes = notes
        self.interval_s = interval_s
        self._rows = rows
        self._scale = scale
        self._count = len(rows) * repeat
        self._newest: tuple[int, Load | None] = (-1, None)

    @property
    def duration_s(self) -> float:
        """Seconds from the first row's start to the last one's end, all repeats."""
        return self._count * self.interval_s

    def segments(self, start_s: float, end_s: float) -> Sequence[Segment]:
        """The intervals between two instants, in order and cut to them."""
        width = self.interval_s
        first = max(0, floor(start_s / width + 1e-9))
        found = []
        for index in range(first, self._count):
            begin, end = max(start_s, index * width), min(end_s, (index + 1) * width)
            if begin >= end_s:
                break
            if end > begin:
                found.append(Segment(start_s=begin, end_s=end, load=self._load(index)))
        return found

    def next_edge(self, second: float) -> float:
        """Where the interval in force at `second` ends; infinite after the last."""
        place = floor(second / self.interval_s + 1e-9) + 1
        return max(0, place) * self.interval_s if place <= self._count else inf

    def _load(self, index: int) -> Load | None:
        if self._newest[0] != index:
            row = self._rows[index % len(self._rows)]
            self._newest = (index, None if row is None else self._even(row))
        return self._newest[1]

    def _even(self, row: TraceRow) -> Load:
        reads, writes, read_bytes, write_bytes = row
        ops = reads + writes
        mix = Mix(
            read_share=reads / ops if ops else 1.0,
            read_bytes=read_bytes / reads if reads else 0.0,
            write_bytes=write_bytes / writes if writes else 0.0,
        )
        return Load(ops_per_s=self._scale * ops / self.interval_s, mix=mix)


def read_trace(
    path: Path,
    *,
    start: datetime | None = None,
    scale: float = 1.0,
    io_kib: float | None = None,
    repeat: int = 1,
) -> TraceWorkload:
    """The trace in `path`, moved to begin at `start`; raises BadInput in one sentence.

    `io_kib` completes operations where only bytes are known, and the reverse.
    """
    notes = _Notes()
    instants: list[datetime] = []
    lines: list[int] = []
    rows: list[TraceRow | None] = []
    name = path.name
    for line, instant, cells in _parsed(path):
        if instants and instant <= instants[-1]:
            raise BadInput(
                f"{path.name} line {line}: {instant.isoformat()} does not come after the row "
                "before it; sort the rows by time and drop duplicates."
            )
        instants.append(instant)
        lines.append(line)
        rows.append(_completed(cells, io_kib, notes, f"{name} line {line}"))
    if len(rows) < 2:
        raise BadInput(
            f"{path.name} has {len(rows)} row(s) of data; at least 2 are needed to know the interval."
        )
    if all(row is None for row in rows):
        raise BadInput(f"{path.name} measured nothing: every row is empty; fill in at least one.")
    grid = _gridded(path, instants, lines)
    placed: list[TraceRow | None] = [None] * (int(grid.places[-1]) + 1)
    for place, row in zip(grid.places.tolist(), rows, strict=True):
        placed[place] = row
    return TraceWorkload(
        placed,
        interval_s=grid.interval_s,
        start=start or _begin(instants[0], grid),
        scale=scale,
        repeat=repeat,
        notes=_sentences(path, notes, grid, len(rows), io_kib),
    )


def _parsed(path: Path) -> Iterator[tuple[int, datetime, Sequence[float | None]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as source:
            reader = csv.reader(source)
            order = _column_order(path, next(reader, None))
            at, *places = (order.index(column) for column in COLUMNS)
            name = path.name
            for cells in reader:
                if not any(cell.strip() for cell in cells):
                    continue
                where = f"{name} line {reader.line_num}"
                if len(cells) != len(order):
                    raise BadInput(
                        f"{where} has {len(cells)} cells, the header has {len(order)}; "
                        "write empty cells for what is unknown."
                    )
                instant = _instant(cells[at], where)
                values = [_number(cells[place], order[place], where) for place in places]
                yield reader.line_num, instant, values
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error):
        raise BadInput(f"{path.name} is no CSV text in UTF-8; export it as such.") from None


def _column_order(path: Path, header: Sequence[str] | None) -> list[str]:
    names = [name.strip().lower() for name in header or ()]
    missing = [column for column in COLUMNS if column not in names]
    if missing:
        raise BadInput(
            f"{path.name} line 1 must be the header {','.join(COLUMNS)}; it lacks "
            f"{', '.join(missing)}."
        )
    double = [name for name, count in Counter(names).items() if count > 1]
    if double:
        raise BadInput(f"{path.name} line 1 names column {double[0]} twice; keep one of them.")
    return names


def _instant(text: str, where: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(
            f"{where}: {text[:40]!r} is no timestamp; write it like 2026-01-05T00:00:00Z."
        ) from None
    if instant.tzinfo is None:
        raise BadInput(f"{where}: {text[:40]!r} has no time zone; append Z if it is UTC.")
    if not YEARS[0] <= instant.year <= YEARS[1]:
        raise BadInput(f"{where}: {text[:40]!r} is not in the years {YEARS[0]} to {YEARS[1]}.")
    return instant


def _number(text: str, column: str, where: str) -> float | None:
    if not text.strip():
        return None
    try:
        value = float("nan" if "_" in text else text)
    except ValueError:
        value = float("nan")
    if not isfinite(value) or value < 0 or value > MOST:
        raise BadInput(
            f"{where}: {column} is {text[:40]!r}; it must be a number from 0 to {MOST:g}, or empty "
            "if unknown."
        )
    return value


def _completed(
    cells: Sequence[float | None], io_kib: float | None, notes: _Notes, where: str
) -> TraceRow | None:
    """One row with nothing missing, or None if nothing in it was measured."""
    reads, writes, read_bytes, write_bytes = cells
    if reads is writes is read_bytes is write_bytes is None:
        return None
    read = _direction(reads, read_bytes, "read", io_kib, notes, where)
    write = _direction(writes, write_bytes, "write", io_kib, notes, where)
    return read[0], write[0], read[1], write[1]


def _direction(
    ops: float | None,
    size: float | None,
    name: str,
    io_kib: float | None,
    notes: _Notes,
    where: str,
) -> tuple[float, float]:
    """Operations and bytes of one direction, completed."""
    if ops is None and size is None:
        notes.zero_directions[name] += 1
        return 0.0, 0.0
    if ops is not None and size is not None and (ops > 0 or size == 0):
        return ops, size
    if not ops and not size:
        return 0.0, 0.0
    known = "operations" if ops else "bytes"
    if io_kib is None:
        lacking = "bytes" if ops else "operations"
        raise BadInput(
            f"{where} has {name} {known} but no {name} {lacking}; set io_kib in the scenario's "
            "trace to say how large an operation is."
        )
    notes.completed[known] += 1
    if ops:
        return ops, ops * io_kib * 1024
    return (size or 0.0) / (io_kib * 1024), size or 0.0


def _gridded(path: Path, instants: Sequence[datetime], lines: Sequence[int]) -> Grid:
    try:
        return on_grid([(instant - instants[0]).total_seconds() for instant in instants])
    except OffGrid as off:
        raise BadInput(f"{path.name} line {lines[off.index]} {off.why}") from None


def _begin(first: datetime, grid: Grid) -> datetime:
    """Start of the grid: a multiple of the interval or a whole second if the rows allow it."""
    begin = first + timedelta(seconds=grid.origin_s)
    for step in (grid.interval_s, 1.0):
        meant = round(begin.timestamp() / step) * step
        away = meant - begin.timestamp()
        if abs(away) <= grid.leeway_s:
            return begin + timedelta(seconds=away)
    return begin


def _sentences(
    path: Path, notes: _Notes, grid: Grid, rows: int, io_kib: float | None
) -> tuple[str, ...]:
    sentences = [
        f"{path.name}: {count} row(s) have an empty {name} direction beside a filled one; it "
        "counts as zero."
        for name, count in sorted(notes.zero_directions.items())
    ]
    for known, count in sorted(notes.completed.items()):
        other = "bytes" if known == "operations" else "operations"
        sentences.append(
            f"{path.name}: {other} of {count} cell(s) follow from {known} at {io_kib:g} KiB each."
        )
    if grid.off_s:
        sentences.append(
            f"{path.name}: rows are up to {grid.off_s:.3g} s off a grid of {grid.interval_s:g} s; "
            "each counts at its place on it."
        )
    missing = int(grid.places[-1]) + 1 - rows
    if missing:
        sentences.append(
            f"{path.name}: {missing} row(s) are missing from the grid; they are unknown."
        )
    return tuple(sentences)
