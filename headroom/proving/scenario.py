"""Scenario files: one volume under one load, in the public format of docs/scenario-format.md."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from headroom.domain.catalogue import why_invalid
from headroom.domain.policy import Policy
from headroom.domain.pricing import PriceTable, PriceUnknown, catalogue_prices
from headroom.domain.resources import Configuration, InstanceLimits, VolumeType
from headroom.policy_fields import PolicyError
from headroom.policy_text import default_policy, load_policy_file, parse_policy
from headroom.proving.errors import BadInput
from headroom.proving.fields import Block, load_yaml, shown
from headroom.proving.instances import BOUNDLESS, instance_limits, mibps
from headroom.proving.physics import QUEUE_LIMIT, Attachment
from headroom.proving.rules import Delays
from headroom.proving.trace import read_trace
from headroom.proving.workload import Load, Steps, Stretch, Workload, closed_load, open_load

START = datetime(2026, 1, 5, tzinfo=UTC)
"""Start of a scenario that names none and has no trace to tell it."""
LONGEST = timedelta(days=400)
TYPES = tuple(t.value for t in VolumeType if t is not VolumeType.STANDARD)

TOP = ("name", "start", "resource", "attachment", "workload", "history", "aws", "policy")
RESOURCE = (
    "kind", "type", "size_gib", "iops", "throughput_mibps", "burst_balance_percent", "tags",
)  # fmt: skip
FIGURES = (
    "baseline_iops", "baseline_throughput_mbps", "maximum_iops", "maximum_throughput_mbps",
)  # fmt: skip
ATTACHMENT = ("instance_type", *FIGURES, "other_load", "queue_limit")
SOURCES = ("trace", "closed_loop", "steps")
TRACE = ("file", "scale", "io_kib", "repeat")
CLOSED_LOOP = ("outstanding", "io_kib", "read_fraction", "service_ms", "duration", "sequential")
STEP = ("for", "iops", "io_kib", "read_fraction", "sequential")
AWS = (
    "region", "metric_delay", "effect_delay", "completes_after", "modified_at", "known_to_ledger",
    "refusal_names_instant",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The volume at the start."""

    configuration: Configuration
    burst_balance_percent: float
    tags: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hung:
    """What the volume hangs on; `queue_limit` bounds what the device shows as waiting."""

    attachment: Attachment
    queue_limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsBehaviour:
    """How AWS behaves in this scenario, and what others did to the volume."""

    region: str
    prices: PriceTable
    metric_delay: timedelta
    delays: Delays
    modified_at: tuple[datetime, ...]
    known_to_ledger: bool
    refusal_names_instant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One resource under one load, everything in it checked."""

    name: str
    start: datetime
    resource: Resource
    hung: Hung
    workload: Workload
    history: Workload | None
    aws: AwsBehaviour
    policy: Policy

    @property
    def end(self) -> datetime:
        """The instant where the workload ends."""
        return self.start + timedelta(seconds=self.workload.duration_s)


def load(path: str | Path) -> Scenario:
    """The scenario in a YAML file; raises BadInput with one sentence."""
    file = Path(path)
    return parse_scenario(load_yaml(file), source=file.name, base=file.parent)


def parse_scenario(document: object, *, source: str, base: Path) -> Scenario:
    """The scenario that a document describes; file names in it are relative to `base`."""
    top = Block(document, source=source, path="", known=TOP)
    top.required("resource", "workload")
    start = top.instant("start")
    workload = _workload(top.block("workload", SOURCES), base, start)
    if timedelta(seconds=workload.duration_s) > LONGEST:
        days = workload.duration_s / 86_400
        raise top.wrong("workload", f"lasts {days:.0f} days; the most is {LONGEST.days} days")
    resource = _resource(top.block("resource", RESOURCE))
    aws = _aws(top.block("aws", AWS))
    _priced(top, aws, resource)
    return Scenario(
        name=top.text("name", source),
        start=workload.start,
        resource=resource,
        hung=parse_attachment(top.raw("attachment"), source=source),
        workload=workload,
        history=_history(top, base, workload.start),
        aws=aws,
        policy=_policy(top, base),
    )


def parse_workload(
    document: object, *, source: str, base: Path, start: datetime | None = None
) -> Workload:
    """The `workload` block of a scenario by itself."""
    return _workload(Block(document, source=source, path="workload", known=SOURCES), base, start)


def parse_attachment(document: object, *, source: str) -> Hung:
    """The `attachment` block; without one the instance is so large that it is never the limit."""
    block = Block(document or {}, source=source, path="attachment", known=ATTACHMENT)
    other = block.block("other_load", ("iops", "mibps"))
    return Hung(
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
        baseline_mibps=mibps(rate),
        maximum_iops=peak_iops,
        maximum_mibps=mibps(peak_rate),
    )


def _resource(block: Block) -> Resource:
    block.choice("kind", ("ebs",), "ebs")
    kind = VolumeType(block.choice("type", TYPES))
    gp3 = kind is VolumeType.GP3
    configuration = Configuration(
        volume_type=kind,
        size_gib=block.whole("size_gib", low=1, high=65_536),
        iops=_optional(block, "iops", 3_000 if gp3 else None),
        throughput_mibps=_optional(block, "throughput_mibps", 125 if gp3 else None),
    )
    problem = why_invalid(configuration)
    if problem is not None:
        raise block.wrong("", f"is no volume AWS would make: {problem}")
    tags = block.raw("tags")
    if tags is not None and not isinstance(tags, dict):
        raise block.wrong("tags", f"is {shown(tags)}; it must be a mapping of tag to value")
    return Resource(
        configuration=configuration,
        burst_balance_percent=block.number("burst_balance_percent", 100, low=0, high=100),
        tags=tuple((str(k), _tag(block, str(k), v)) for k, v in (tags or {}).items()),
    )


def _tag(block: Block, key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or not isinstance(value, str | int | float):
        raise block.wrong(f"tags.{key}", f"is {shown(value)}; a tag's value is text")
    return str(value)


def _optional(block: Block, key: str, default: int | None) -> int | None:
    return block.whole(key, low=1, high=1_000_000) if block.has(key) else default


def _workload(block: Block, base: Path, start: datetime | None) -> Workload:
    given = [key for key in SOURCES if block.has(key)]
    if len(given) != 1:
        what = f"has {' and '.join(given)}" if given else "is empty"
        raise block.wrong("", f"{what}; it must have exactly one of {', '.join(SOURCES)}")
    if given[0] == "trace":
        return _trace(block.block("trace", TRACE), base, start)
    if given[0] == "closed_loop":
        return _closed_loop(block.block("closed_loop", CLOSED_LOOP), start or START)
    steps = block.items("steps")
    if not steps:
        raise block.wrong("steps", "is empty; give at least one step")
    path = f"{block.path}.steps"
    blocks = [
        Block(step, source=block.source, path=f"{path}[{number}]", known=STEP)
        for number, step in enumerate(steps, start=1)
    ]
    return Steps(start or START, [_step(each) for each in blocks])


def _trace(block: Block, base: Path, start: datetime | None) -> Workload:
    file = base / block.text("file")
    try:
        return read_trace(
            file,
            start=start,
            scale=block.positive("scale", 1),
            io_kib=block.positive("io_kib") if block.has("io_kib") else None,
            repeat=block.whole("repeat", 1, low=1, high=100_000),
        )
    except BadInput as error:
        if str(error).startswith(block.source):
            raise
        raise BadInput(f"{block.source}: {block.path}: {error}") from None


def _closed_loop(block: Block, start: datetime) -> Workload:
    loop = closed_load(
        outstanding=block.number("outstanding", low=1, high=1e6),
        io_kib=_io_kib(block),
        read_fraction=block.number("read_fraction", 0.5, low=0, high=1),
        service_ms=block.positive("service_ms", 0.5),
        sequential=block.flag("sequential", False),
    )
    return Steps(start, [Stretch(duration_s=_lasting(block, "duration"), load=loop)])


def _step(block: Block) -> Stretch:
    load: Load = open_load(
        iops=block.number("iops", low=0, high=1e8),
        io_kib=_io_kib(block),
        read_fraction=block.number("read_fraction", 0.5, low=0, high=1),
        sequential=block.flag("sequential", False),
    )
    return Stretch(duration_s=_lasting(block, "for"), load=load)


def _io_kib(block: Block) -> float:
    value = block.positive("io_kib")
    if value > 65_536:
        raise block.wrong("io_kib", f"is {value:g}; the most is 65536")
    return value


def _lasting(block: Block, key: str) -> float:
    seconds = block.duration(key).total_seconds()
    if seconds < 1:
        raise block.wrong(key, "is shorter than a second; give it at least 1s")
    return seconds


def _history(top: Block, base: Path, start: datetime) -> Workload | None:
    if not top.has("history"):
        return None
    block = top.block("history", SOURCES)
    length = _workload(block, base, None).duration_s
    return _workload(block, base, start - timedelta(seconds=length))


def _aws(block: Block) -> AwsBehaviour:
    region = block.text("region", "us-east-1")
    try:
        prices = catalogue_prices(region)
    except PriceUnknown as error:
        raise block.wrong("region", f"is {region!r}: {error}") from None
    completed = block.duration("completes_after", "2h")
    effect = block.duration("effect_delay", "10m")
    if effect > completed:
        raise block.wrong("effect_delay", f"is {effect}, longer than completes_after ({completed})")
    return AwsBehaviour(
        region=region,
        prices=prices,
        metric_delay=block.duration("metric_delay", "2m"),
        delays=Delays(
            modifying=min(timedelta(minutes=1), completed), effect=effect, completed=completed
        ),
        modified_at=tuple(
            sorted(block.as_instant("modified_at", value) for value in block.items("modified_at"))
        ),
        known_to_ledger=block.flag("known_to_ledger", True),
        refusal_names_instant=block.flag("refusal_names_instant", True),
    )


def _priced(top: Block, aws: AwsBehaviour, resource: Resource) -> Decimal:
    try:
        return aws.prices.monthly(resource.configuration)
    except PriceUnknown as error:
        raise top.wrong("resource", f"has no price: {error}") from None


def _policy(top: Block, base: Path) -> Policy:
    given = top.raw("policy")
    if given is None:
        return default_policy()
    try:
        if isinstance(given, str):
            return load_policy_file(base / given)
        return parse_policy(given, source=f"{top.source}: policy")
    except PolicyError as error:
        raise BadInput(str(error)) from None
