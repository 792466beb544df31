"""Aurora scenario files: one cluster and its billed I/O, in the format of docs/aurora-scenarios.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from headroom.domain.catalog.aurora import (
    HOURS_PER_MONTH,
    AuroraPrices,
    Usage,
    aurora_prices,
    bills,
)
from headroom.domain.policy import Limits, Mode
from headroom.domain.resources import SERVERLESS, Goal, Member, PriceUnknown, StorageMode, units
from headroom.proving.inputs import BadInput, Block, as_quoted, load_yaml
from headroom.proving.scenarios.load_blocks import START
from headroom.proving.workloads import Workload, read_trace, steady_billed_ios

TOP = ("name", "start", "days", "resource", "aws", "limits")
CLUSTER = (
    "kind", "engine", "engine_version", "storage_type", "next_allowed_at", "members", "reserved",
    "acus", "storage_gib", "io_millions_per_month", "month_end", "trace", "commit_latency_ms",
    "parallel_query",
)  # fmt: skip
MONTH_END = ("days", "io_millions_per_day")
MEMBER = ("class", "count")
TRACE = ("file", "scale", "repeat")
AWS = ("region", "io_published_when_optimized")
LIMITS = (
    "auto", "goal", "margin_percent", "commit_latency_ms", "price_increase_usd_per_month", "restart",
)  # fmt: skip
ENGINES = ("aurora-postgresql", "aurora-mysql")
VERSIONS = {"aurora-postgresql": "17.4", "aurora-mysql": "8.0.mysql_aurora.3.10.0"}
MOST_DAYS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthEnd:
    """The last `days` of every month, in UTC, have `ios` billed I/O per five minutes."""

    days: int
    ios: float

    def has(self, at: datetime) -> bool:
        """Whether `at` is in such days."""
        return (at + timedelta(days=self.days)).month != at.month


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraScenario:
    """One cluster under one load, validated.

    `steady_ios` is billed I/O per five minutes, other than at `month_end`; so it was before the
    start. None with a `trace`, before which nothing is known.
    """

    name: str
    start: datetime
    days: int
    engine: str
    engine_version: str
    mode: StorageMode
    next_allowed_at: datetime | None
    members: tuple[Member, ...]
    reserved: tuple[Member, ...]
    acus: float
    storage_gib: float
    steady_ios: float | None
    trace: Workload | None
    commit_latency_ms: float | None
    parallel_query: bool
    region: str
    prices: AuroraPrices
    published_when_optimized: bool
    limits: Limits
    month_end: MonthEnd | None = None
    commits: Sequence[float | None] = ()
    """Commit latency in ms of every five minutes from the start, where it was recorded."""

    def untraced_ios(self, at: datetime) -> float | None:
        """Billed I/O of the five minutes from `at` by what the scenario says itself; None with a trace."""
        if self.month_end is not None and self.month_end.has(at):
            return self.month_end.ios
        return self.steady_ios


def is_aurora(document: object) -> bool:
    """Whether a document is an Aurora scenario, by the kind of its resource."""
    resource = document.get("resource") if isinstance(document, Mapping) else None
    return isinstance(resource, Mapping) and resource.get("kind") == "aurora"


def load_aurora_scenario(path: str | Path) -> AuroraScenario:
    """The scenario in a YAML file; raises BadInput with one sentence."""
    file = Path(path)
    return parse_aurora(load_yaml(file), source=file.name, base=file.parent)


def parse_aurora(document: object, *, source: str, base: Path) -> AuroraScenario:
    """The scenario in a document; file names in it are relative to `base`."""
    top = Block(document, source=source, path="", known=TOP)
    top.required("resource")
    block, aws = top.block("resource", CLUSTER), top.block("aws", AWS)
    steady = _steady(block)
    trace = _trace(block, base, top.instant("start"))
    start = top.instant("start") or (trace.start if trace is not None else START)
    engine = block.choice("engine", ENGINES, ENGINES[0])
    members, reserved = _members(block, "members"), _members(block, "reserved")
    if not any(member.count for member in members):
        raise block.wrong("members", "is empty; give at least one, such as {class: db.r7g.xlarge}")
    scenario = AuroraScenario(
        name=top.text("name", source),
        start=start,
        days=_days(top, trace),
        engine=engine,
        engine_version=block.text("engine_version", VERSIONS[engine]),
        mode=StorageMode(block.choice("storage_type", list(StorageMode), "aurora")),
        next_allowed_at=block.instant("next_allowed_at"),
        members=members,
        reserved=reserved,
        acus=_acus(block, members),
        storage_gib=block.number("storage_gib", low=0, high=262_144),
        steady_ios=steady,
        trace=trace,
        commit_latency_ms=block.positive("commit_latency_ms")
        if block.has("commit_latency_ms")
        else None,
        parallel_query=block.flag("parallel_query", False),
        region=aws.text("region", "us-east-1"),
        prices=_prices(aws),
        published_when_optimized=aws.flag("io_published_when_optimized", True),
        limits=_limits(top.block("limits", LIMITS)),
        month_end=_month_end(block),
    )
    _check_priced(block, scenario)
    return scenario


def _days(top: Block, trace: Workload | None) -> int:
    if trace is None:
        return top.whole("days", 60, low=1, high=MOST_DAYS)
    lasts = int(trace.duration_s // 86_400)
    if not 1 <= lasts <= MOST_DAYS:
        raise top.wrong(
            "resource.trace", f"lasts {trace.duration_s / 86_400:.1f} days; it must be from 1 to "
            f"{MOST_DAYS}",
        )  # fmt: skip
    return top.whole("days", lasts, low=1, high=lasts)


def _trace(block: Block, base: Path, start: datetime | None) -> Workload | None:
    if not block.has("trace"):
        return None
    inner = block.block("trace", TRACE)
    try:
        return read_trace(
            base / inner.text("file"),
            start=start,
            scale=inner.positive("scale", 1),
            io_kib=16,
            repeat=inner.whole("repeat", 1, low=1, high=1_000),
        )
    except BadInput as error:
        if str(error).startswith(block.source):
            raise
        raise inner.wrong("file", f"cannot be used: {str(error).rstrip('.')}") from None


def _steady(block: Block) -> float | None:
    if block.has("trace") == block.has("io_millions_per_month"):
        raise block.wrong("", "needs exactly one of io_millions_per_month and trace")
    if block.has("trace"):
        return None
    return steady_billed_ios(block.number("io_millions_per_month", low=0, high=1e7))


def _month_end(block: Block) -> MonthEnd | None:
    if not block.has("month_end"):
        return None
    if block.has("trace"):
        raise block.wrong("month_end", "is given, but the trace has all days")
    inner = block.block("month_end", MONTH_END)
    a_day = inner.number("io_millions_per_day", low=0, high=1e6)
    return MonthEnd(
        days=inner.whole("days", 5, low=1, high=27),
        ios=steady_billed_ios(a_day * HOURS_PER_MONTH / 24),
    )


def _members(block: Block, key: str) -> tuple[Member, ...]:
    members = []
    for number, each in enumerate(block.items(key), start=1):
        path = f"{block.path}.{key}[{number}]"
        inner = Block(each, source=block.source, path=path, known=MEMBER)
        name = inner.text("class")
        if not name.startswith("db."):
            raise inner.wrong("class", f"is {as_quoted(name)}; it must be one like db.r7g.xlarge")
        if name != SERVERLESS:
            try:
                units(name)
            except ValueError:
                raise inner.wrong("class", f"is {as_quoted(name)}, an unknown size") from None
        elif key == "reserved":
            raise inner.wrong("class", "is db.serverless, which cannot be reserved")
        members.append(
            Member(instance_class=name, count=inner.whole("count", 1, low=0, high=1_000))
        )
    return tuple(members)


def _acus(block: Block, members: tuple[Member, ...]) -> float:
    serverless = any(m.instance_class == SERVERLESS and m.count for m in members)
    if serverless != block.has("acus"):
        why = "is missing; a db.serverless member is billed by it" if serverless else (
            "is given, but no member is db.serverless"
        )  # fmt: skip
        raise block.wrong("acus", why)
    return block.number("acus", low=0, high=100_000) if serverless else 0.0


def _prices(aws: Block) -> AuroraPrices:
    region = aws.text("region", "us-east-1")
    try:
        return aurora_prices(region)
    except PriceUnknown as error:
        raise aws.wrong("region", f"is {region!r}: {error}") from None


def _check_priced(block: Block, scenario: AuroraScenario) -> None:
    try:
        bills(cluster_usage(scenario, 0.0), scenario.prices)
    except PriceUnknown as error:
        known = ", ".join(sorted(scenario.prices.hour))
        raise block.wrong("members", f"has no price: {error}; known are {known}") from None


def cluster_usage(scenario: AuroraScenario, ios: float) -> Usage:
    """A month of the scenario's cluster with `ios` billed I/O."""
    return Usage(
        members=scenario.members, reserved=scenario.reserved, acus=scenario.acus,
        storage_gib=scenario.storage_gib, ios=ios,
    )  # fmt: skip


def _limits(block: Block) -> Limits:
    usual = Limits()
    increase = block.number("price_increase_usd_per_month", 0.0, low=0)
    return Limits(
        mode=Mode.AUTO if block.flag("auto", True) else Mode.OBSERVE,
        aurora_goal=Goal(block.choice("goal", list(Goal), usual.aurora_goal)),
        aurora_margin_percent=block.number(
            "margin_percent", usual.aurora_margin_percent, low=0, high=100
        ),
        aurora_slow_commit_ms=block.positive("commit_latency_ms", usual.aurora_slow_commit_ms),
        price_increase_usd=Decimal(str(increase)),
        aurora_restart=block.flag("restart", usual.aurora_restart),
    )


__all__ = ["AuroraScenario", "cluster_usage", "is_aurora", "load_aurora_scenario", "parse_aurora"]
