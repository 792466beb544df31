#!/usr/bin/env python3
"""Record the load of one block device as a CSV trace, from the kernel's own counters.

    python tools/record_trace.py nvme1n1 trace.csv --seconds 1800

Each row holds the totals of one interval, stamped with the interval's start:
``timestamp,read_ops,write_ops,read_bytes,write_bytes``. Samples are due on a fixed monotonic
grid, so a late wake-up does not shift the rows after it. A sample more than half an interval
late is given up, and the intervals it bounds have empty cells: unknown is not zero.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

DISKSTATS = "/proc/diskstats"
SECTOR_BYTES = 512  # the kernel's unit, whatever the device's own sector size
COLUMNS = ("timestamp", "read_ops", "write_ops", "read_bytes", "write_bytes")


class TraceError(Exception):
    """A problem to report to the user in one sentence."""


class Counters(NamedTuple):
    """Completed requests and bytes: totals since boot, or the difference of two such totals."""

    read_ops: int
    write_ops: int
    read_bytes: int
    write_bytes: int


def parse_diskstats(text: str, device: str) -> Counters:
    """The counters of ``device`` in the text of /proc/diskstats."""
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 10 or fields[2] != device:
            continue
        # After the name: reads, reads merged, sectors read, ms reading, then the same for writes.
        reads, _, sectors_read, _, writes, _, sectors_written = map(int, fields[3:10])
        return Counters(reads, writes, sectors_read * SECTOR_BYTES, sectors_written * SECTOR_BYTES)
    raise TraceError(f"no such block device in {DISKSTATS}: {device}")


def difference(before: Counters | None, after: Counters | None) -> Counters | None:
    """The load between two samples; None if one is missing or the counters went backwards."""
    if before is None or after is None:
        return None
    delta = Counters(*(b - a for a, b in zip(before, after, strict=True)))
    return delta if min(delta) >= 0 else None


def intervals(
    read: Callable[[], Counters],
    interval: float,
    count: int,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Counters | None]:
    """Yield the load of ``count`` consecutive intervals, the first one starting now."""
    start = clock()
    before: Counters | None = read()
    for index in range(1, count + 1):
        due = start + index * interval
        if (wait := due - clock()) > 0:
            sleep(wait)
        after = read() if clock() - due <= interval / 2 else None
        yield difference(before, after)
        before = after


def record(device: str, output: str, seconds: float, interval: float) -> int:
    """Write the trace, from the next whole second on; return how many intervals were missed."""

    def read() -> Counters:
        with open(DISKSTATS, encoding="ascii") as source:
            return parse_diskstats(source.read(), device)

    read()  # an unknown device is reported before the output file is made
    precision = "seconds" if interval == int(interval) else "milliseconds"
    missed = 0
    with open(output, "x", encoding="ascii", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(COLUMNS)
        time.sleep(1 - time.time() % 1)
        start = datetime.fromtimestamp(round(time.time()), UTC)
        for index, load in enumerate(intervals(read, interval, round(seconds / interval))):
            moment = (start + timedelta(seconds=index * interval)).replace(tzinfo=None)
            stamp = moment.isoformat(timespec=precision) + "Z"
            writer.writerow((stamp, *(load or ("",) * 4)))
            target.flush()
            missed += load is None
    return missed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Record a block device's load as a CSV trace.")
    parser.add_argument("device", help="block device, such as nvme1n1 or /dev/nvme1n1")
    parser.add_argument("output", help="CSV file to write; it must not exist yet")
    parser.add_argument("--seconds", type=float, default=1800, help="length (default: 1800)")
    parser.add_argument("--interval", type=float, default=1, help="seconds per row (default: 1)")
    options = parser.parse_args(arguments)
    try:
        if not 0.01 <= options.interval <= options.seconds < float("inf"):
            raise TraceError("--interval must be at least 0.01 s and no longer than --seconds")
        device = os.path.basename(os.path.realpath(os.path.join("/dev", options.device)))
        missed = record(device, options.output, options.seconds, options.interval)
    except FileExistsError:
        print(f"record_trace: the output file already exists: {options.output}", file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"record_trace: {problem.strerror}: {problem.filename}", file=sys.stderr)
        return 2
    except TraceError as problem:
        print(f"record_trace: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"record_trace: stopped early; {options.output} is complete so far", file=sys.stderr)
        return 130
    if missed:
        print(f"record_trace: {missed} intervals missed, left empty", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
