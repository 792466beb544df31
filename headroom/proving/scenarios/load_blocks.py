"""Parses the workload and attachment blocks of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from headroom.domain.resources import InstanceLimits
from headroom.proving.inputs import BadInput, Block
from headroom.proving.physics import (
    BOUNDLESS,
    QUEUE_LIMIT,
    Attachment,
    instance_limits,
    mb_to_mib_per_s,
)
from headroom.proving.scenarios.load_steps import lasting, pool, stretches
from headroom.proving.workloads import Steps, Stretch, Workload, read_trace

START = datetime(2026, 1, 5, tzinfo=UTC)
"""Default start of a scenario without a trace."""
FIGURES = (
    "baseline_iops", "baseline_throughput_mbps", "maximum_iops", "maximum_throughput_mbps",
)  # fmt: skip
ATTACHMENT = ("instance_type", *FIGURES, "other_load", "queue_limit")
SOURCES = ("trace", "closed_loop", "steps")
USUAL_IO_KIB = 16
"""Default size of an operation if a trace has only operations or only bytes."""
TRACE = ("file", "scale", "io_kib", "repeat")
CLOSED_LOOP = (
    "outstanding", "io_kib", "read_fraction", "service_ms", "think_ms", "duration", "sequential",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentSettings:
    """The instance of a volume; `queue_limit` bounds the queue that the device reports."""

    attachment: Attachment
    queue_limit: int


def parse_workload(
    document: object, *, source: str, base: Path, start: datetime | None = None
) -> Workload:
    """The `workload` block of a scenario by itself."""
    return parse_workload_block(
        Block(document, source=source, path="workload", known=SOURCES), base, start
    )


def parse_attachment(document: object, *, source: str) -> AttachmentSettings:
    """The `attachment` block; without one the instance is so large that it is never the limit."""
    block = Block(
        {} if document is None else document, source=source, path="attachment", known=ATTACHMENT
    )
    other = block.block("other_load", ("iops", "mibps"))
    return AttachmentSettings(
        attachment=Attachment(
            limits=_limits(block),
            other_iops=other.number("iops", 0, low=0),
            other_mibps=other.number("mibps", 0, low=0),
        ),
        queue_limit=block.whole("queue_limit", QUEUE_LIMIT, low=1, high=1_000_000),
    )


def _limits(block: Block) -> InstanceLimits:
    figures = [key for key in FIGURES if block.has(key)]
    if block.has("instance_type"):
        if figures:
            raise block.wrong(figures[0], "is given beside instance_type; give one or the other")
        try:
            return instance_limits(block.text("instance_type"))
        except BadInput as error:
            raise BadInput(f"{block.source}: attachment: {error}") from None
    if not figures:
        return BOUNDLESS
    block.required("baseline_iops", "baseline_throughput_mbps")
    iops = block.whole("baseline_iops", low=1, high=10_000_000)
    rate = block.positive("baseline_throughput_mbps")
    peak_iops = block.whole("maximum_iops", iops, low=1, high=10_000_000)
    peak_rate = block.positive("maximum_throughput_mbps", rate)
    for key, low, high in (
        ("maximum_iops", iops, peak_iops),
        ("maximum_throughput_mbps", rate, peak_rate),
    ):
        if high < low:
            raise block.wrong(key, f"is {high:g}, below the baseline of {low:g}")
    return InstanceLimits(
        instance_type="custom",
        nitro=True,
        baseline_iops=iops,
        baseline_mibps=mb_to_mib_per_s(rate),
        maximum_iops=peak_iops,
        maximum_mibps=mb_to_mib_per_s(peak_rate),
    )


def parse_workload_block(block: Block, base: Path, start: datetime | None) -> Workload:
    """The workload that a block of the document describes."""
    given = [key for key in SOURCES if block.has(key)]
    if len(given) != 1:
        what = f"has {' and '.join(given)}" if given else "is empty"
        raise block.wrong("", f"{what}; it must have exactly one of {', '.join(SOURCES)}")
    if given[0] == "trace":
        return _trace(block.block("trace", TRACE), base, start)
    if given[0] == "closed_loop":
        return _closed_loop(block.block("closed_loop", CLOSED_LOOP), start or START)
    return Steps(start or START, stretches(block))


def _trace(block: Block, base: Path, start: datetime | None) -> Workload:
    file = base / block.text("file")
    try:
        return read_trace(
            file,
            start=start,
            scale=block.positive("scale", 1),
            io_kib=block.positive("io_kib", USUAL_IO_KIB),
            repeat=block.whole("repeat", 1, low=1, high=100_000),
        )
    except BadInput as error:
        if str(error).startswith(block.source):
            raise
        raise BadInput(f"{block.source}: {block.path}: {error}") from None


def _closed_loop(block: Block, start: datetime) -> Workload:
    return Steps(start, [Stretch(duration_s=lasting(block, "duration"), load=pool(block))])
