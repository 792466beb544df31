"""Scenario files: one volume or database under one load, in the format of docs/scenario-format.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from random import Random

from headroom.domain.catalog import PriceTable, catalogue_prices, why_invalid
from headroom.domain.policy import Policy, PolicyError
from headroom.domain.resources import Configuration, Kind, PriceUnknown, VolumeType
from headroom.policy import default_policy, load_policy_file, parse_policy
from headroom.proving.awsrules import DelayRanges, Delays, drawn
from headroom.proving.inputs import BadInput, Block, as_quoted, load_yaml
from headroom.proving.physics import Contents, parse_contents
from headroom.proving.scenarios.database import DATABASE, database_attachment, storage_of
from headroom.proving.scenarios.fallback_prices import with_fallback_prices
from headroom.proving.scenarios.load_blocks import (
    SOURCES,
    AttachmentSettings,
    parse_attachment,
    parse_workload_block,
)
from headroom.proving.workloads import Workload

KINDS = ("ebs", "rds")
LONGEST = timedelta(days=400)
TYPES = tuple(t.value for t in VolumeType if t is not VolumeType.STANDARD)

TOP = (
    "name", "start", "resource", "attachment", "workload", "history", "aws", "policy", "detection",
)  # fmt: skip
RESOURCE = (
    "kind", "type", "size_gib", "iops", "throughput_mibps", "burst_balance_percent", "tags",
)  # fmt: skip
AWS = (
    "region", "metric_delay", "effect_delay", "completes_after", "modified_at", "known_to_ledger",
    "refusal_names_instant", "queue_noise_percent",
)  # fmt: skip


class Detection(StrEnum):
    """How the deployment finds trouble."""

    FLEET = "fleet"
    """Alarms, and a scan of all every 15 minutes."""
    ADAPTIVE = "adaptive"
    """Glances at what is due, as a deployment does that says nothing else; here without any alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The volume at the start."""

    configuration: Configuration
    burst_balance_percent: float | None = None
    """How full the bucket is at the start; None is as the history leaves it, full without one."""
    tags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsBehaviour:
    """AWS's behaviour in this scenario, and changes by other programs."""

    region: str
    prices: PriceTable
    metric_delay: timedelta = timedelta(minutes=2)
    delays: Delays | DelayRanges = field(default_factory=Delays)
    modified_at: tuple[datetime, ...] = ()
    known_to_ledger: bool = True
    refusal_names_instant: bool = True
    queue_noise_percent: float = 0.0
    """Standard deviation of the noise on each minute's published queue length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One resource under one load, everything in it checked."""

    name: str
    start: datetime
    resource: Resource
    attachment_settings: AttachmentSettings
    workload: Workload
    history: Workload | None
    aws: AwsBehaviour
    policy: Policy
    kind: Kind = Kind.EBS
    notes: tuple[str, ...] = ()
    """Notes on the set-up, for readers of the result."""
    contents: Contents | None = None
    """The data on a database's storage; None without free space."""
    instance_class: str = ""
    detection: Detection = Detection.FLEET

    @property
    def end(self) -> datetime:
        """The instant where the workload ends."""
        return self.start + timedelta(seconds=self.workload.duration_s)


def load_scenario(path: str | Path) -> Scenario:
    """The scenario in a YAML file; raises BadInput with one sentence."""
    file = Path(path)
    return parse_scenario(load_yaml(file), source=file.name, base=file.parent)


def parse_scenario(document: object, *, source: str, base: Path) -> Scenario:
    """The scenario that a document describes; file names in it are relative to `base`."""
    if document is None:
        raise BadInput(f"{source} is empty; give at least resource and workload.")
    top = Block(document, source=source, path="", known=TOP)
    top.required("resource", "workload")
    start = top.instant("start")
    workload = parse_workload_block(top.block("workload", SOURCES), base, start)
    if timedelta(seconds=workload.duration_s) > LONGEST:
        days = workload.duration_s / 86_400
        raise top.wrong("workload", f"lasts {days:.0f} days; the most is {LONGEST.days} days")
    kind = _kind(top)
    block = top.block("resource", DATABASE if kind is Kind.RDS else RESOURCE)
    resource = _resource(block, kind)
    aws = _aws(top.block("aws", AWS), top.text("name", source))
    prices, note = with_fallback_prices(aws.prices, resource.configuration)
    aws = replace(aws, prices=prices)
    _priced(top, aws, resource)
    return Scenario(
        name=top.text("name", source),
        start=workload.start,
        resource=resource,
        attachment_settings=database_attachment(block, top.raw("attachment"))
        if kind is Kind.RDS
        else parse_attachment(top.raw("attachment"), source=source),
        workload=workload,
        history=_history(top, base, workload.start),
        aws=aws,
        policy=_policy(top, base),
        kind=kind,
        notes=(note,) if note else (),
        contents=parse_contents(block, resource.configuration) if kind is Kind.RDS else None,
        instance_class=str(block.raw("instance_class") or "") if kind is Kind.RDS else "",
        detection=Detection(top.choice("detection", tuple(Detection), Detection.FLEET)),
    )


def _kind(top: Block) -> Kind:
    """The kind of the resource; a resource that is no mapping is refused where its keys are read."""
    raw = top.raw("resource")
    given = raw.get("kind") if isinstance(raw, Mapping) else None
    if given in (None, *KINDS):
        return Kind(given or "ebs")
    if given == Kind.AURORA:
        raise top.wrong(
            "resource.kind", "is aurora, which is a format of its own: it takes no other block than "
            "resource, aws, history and limits (docs/aurora-scenarios.md)",
        )  # fmt: skip
    raise top.wrong("resource.kind", f"is {as_quoted(given)}; it must be one of {', '.join(KINDS)}")


def _resource(block: Block, of: Kind) -> Resource:
    configuration = storage_of(block) if of is Kind.RDS else _volume(block)
    tags = block.raw("tags")
    if tags is not None and not isinstance(tags, dict):
        raise block.wrong("tags", f"is {as_quoted(tags)}; it must be a mapping of tag to value")
    said = block.raw("burst_balance_percent") is not None
    return Resource(
        configuration=configuration,
        burst_balance_percent=block.number("burst_balance_percent", 100, low=0, high=100)
        if said
        else None,
        tags=tuple((str(k), _tag(block, str(k), v)) for k, v in (tags or {}).items()),
    )


def _volume(block: Block) -> Configuration:
    kind = VolumeType(block.choice("type", TYPES))
    gp3 = kind is VolumeType.GP3
    configuration = Configuration(
        volume_type=kind,
        size_gib=block.whole("size_gib", low=1, high=65_536),
        iops=block.setting("iops", 3_000 if gp3 else None),
        throughput_mibps=block.setting("throughput_mibps", 125 if gp3 else None),
    )
    problem = why_invalid(configuration)
    if problem is not None:
        raise block.wrong("", f"is no volume AWS would make: {problem}")
    return configuration


def _tag(block: Block, key: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or not isinstance(value, str | int | float):
        raise block.wrong(f"tags.{key}", f"is {as_quoted(value)}; a tag's value is text")
    return str(value)


def _history(top: Block, base: Path, start: datetime) -> Workload | None:
    if not top.has("history"):
        return None
    block = top.block("history", SOURCES)
    length = parse_workload_block(block, base, None).duration_s
    if timedelta(seconds=length) > LONGEST:
        days = length / 86_400
        raise top.wrong("history", f"lasts {days:.0f} days; the most is {LONGEST.days} days")
    return parse_workload_block(block, base, start - timedelta(seconds=length))


def _aws(block: Block, name: str) -> AwsBehaviour:
    region = block.text("region", "us-east-1")
    try:
        prices = catalogue_prices(region)
    except PriceUnknown as error:
        raise block.wrong("region", f"is {region!r}: {error}") from None
    late = drawn(Random(f"{name}/metrics"), block.durations("metric_delay", "2m"))  # noqa: S311
    return AwsBehaviour(
        region=region,
        prices=prices,
        metric_delay=late,
        delays=_delays(block, name),
        modified_at=tuple(
            sorted(block.as_instant("modified_at", value) for value in block.items("modified_at"))
        ),
        known_to_ledger=block.flag("known_to_ledger", True),
        refusal_names_instant=block.flag("refusal_names_instant", True),
        queue_noise_percent=block.number("queue_noise_percent", 0, low=0, high=100),
    )


def _delays(block: Block, name: str) -> Delays | DelayRanges:
    completed = block.durations("completes_after", "2h")
    effect = block.durations("effect_delay", "10m")
    for early, late in zip(effect, completed, strict=True):
        if early > late:
            raise block.wrong("effect_delay", f"is {early}, longer than completes_after ({late})")
    if effect[0] < effect[1] or completed[0] < completed[1]:
        return DelayRanges(effect=effect, completed=completed, name=name)
    first = min(timedelta(minutes=1), completed[0])
    return Delays(modifying=first, effect=effect[0], completed=completed[0])


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
