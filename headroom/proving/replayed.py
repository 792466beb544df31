"""One volume's past played again twice: left as it is, and with Headroom in charge of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.policy import MODE_TAG, Mode, Policy, Rule, limits_for
from headroom.domain.pricing import PriceTable, PriceUnknown
from headroom.domain.resources import Configuration, VolumeType
from headroom.ports import StorageView
from headroom.proving.course import Course
from headroom.proving.instances import BOUNDLESS
from headroom.proving.loads import Hung
from headroom.proving.past import Parts
from headroom.proving.physics import QUEUE_LIMIT, Attachment
from headroom.proving.rebuilt import Known, Rebuilt, rebuild
from headroom.proving.result import Result
from headroom.proving.rules import Delays
from headroom.proving.scenario import AwsBehaviour, Resource, Scenario
from headroom.proving.simulate import simulate
from headroom.proving.trace import TraceWorkload

METRIC_DELAY = timedelta(minutes=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedChange:
    """A change that Headroom would have made; the price change is USD per month."""

    at: datetime
    origin: Configuration
    target: Configuration
    usd_change: Decimal
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of the past under one controller; money in USD."""

    starved_minutes: int
    storage_usd: Decimal
    usd_per_month_end: Decimal
    changes: tuple[ReplayedChange, ...] = ()
    acts: int = 0
    holds: int = 0
    escalations: int = 0
    aws_refusals: int = 0
    guardrail_violations: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A volume whose past was played again."""

    view: StorageView
    known: Known
    relief_usd_per_minute: float
    usd_per_month: Decimal
    left_alone: Played
    headroom: Played

    @property
    def avoided_minutes(self) -> int:
        """Starved minutes that there would not have been; negative if there had been more."""
        return self.left_alone.starved_minutes - self.headroom.starved_minutes

    @property
    def usd_change(self) -> Decimal:
        """What would have been paid more for storage over the past."""
        return self.headroom.storage_usd - self.left_alone.storage_usd


class NotReplayed(Exception):
    """A volume that cannot be replayed; the message says why, without a full stop."""


def as_if_auto(policy: Policy) -> Policy:
    """`policy` as it would be with every resource enrolled; what is off stays off."""
    defaults = replace(policy.defaults, mode=_enrolled(policy.defaults.mode))
    rules = tuple(
        Rule(
            selector=rule.selector,
            settings=tuple(
                (name, _enrolled(value) if isinstance(value, Mode) else value)
                for name, value in rule.settings
            ),
        )
        for rule in policy.rules
    )
    return replace(policy, defaults=defaults, rules=rules)


def _enrolled(mode: Mode) -> Mode:
    return Mode.OFF if mode is Mode.OFF else Mode.AUTO


def why_not(view: StorageView, policy: Policy) -> str | None:
    """Why a volume is not replayed whatever its past, None when it can be."""
    volume = view.volume
    if limits_for(policy, volume).limits.mode is Mode.OFF:
        return "the policy or its tag says off"
    if volume.managed_by is not None:
        return f"it is managed by {volume.managed_by}, and Headroom leaves such volumes alone"
    if volume.multi_attach:
        return "it is shared by Multi-Attach, and Headroom leaves such volumes alone"
    if volume.configuration.volume_type is VolumeType.STANDARD:
        return "magnetic volumes have no limits that are documented well enough to play"
    return None


def replay(view: StorageView, parts: Parts, policy: Policy, prices: PriceTable) -> Replayed:
    """The past of one volume played from its present configuration; raises NotReplayed.

    The policy counts as if the mode were auto. Each volume is played by itself.
    """
    problem = why_not(view, policy)
    if problem is not None:
        raise NotReplayed(problem)
    instance = view.instance
    rebuilt = rebuild(
        parts, view.volume, view.modification, None if instance is None else instance.limits
    )
    if rebuilt is None:
        raise NotReplayed("CloudWatch has nothing measured of it in this time")
    try:
        usd = prices.monthly(view.volume.configuration)
    except PriceUnknown as unknown:
        raise NotReplayed(str(unknown)) from None
    scenario = _scenario(view, rebuilt, as_if_auto(policy), prices)
    return Replayed(
        view=view,
        known=rebuilt.known,
        relief_usd_per_minute=limits_for(policy, view.volume).limits.relief_value_usd_per_minute,
        usd_per_month=usd,
        left_alone=_played(simulate(scenario, "none"), prices),
        headroom=_played(simulate(scenario, "headroom"), prices),
    )


def _scenario(view: StorageView, rebuilt: Rebuilt, policy: Policy, prices: PriceTable) -> Scenario:
    volume, course = view.volume, rebuilt.course
    hour = timedelta(hours=1)
    return Scenario(
        name=volume.ref.resource_id,
        start=course.start,
        resource=Resource(
            configuration=volume.configuration,
            burst_balance_percent=rebuilt.balance_percent,
            tags=tuple(tag for tag in volume.tags if tag[0] != MODE_TAG),
        ),
        hung=Hung(attachment=Attachment(limits=BOUNDLESS), queue_limit=QUEUE_LIMIT),
        workload=_workload(course),
        history=None,
        aws=AwsBehaviour(
            region=volume.ref.region,
            prices=prices,
            metric_delay=METRIC_DELAY,
            delays=Delays(
                modifying=timedelta(minutes=1), effect=timedelta(minutes=10), completed=2 * hour
            ),
            modified_at=(),
            known_to_ledger=True,
            refusal_names_instant=True,
        ),
        policy=policy,
    )


def _workload(course: Course) -> TraceWorkload:
    step = course.step_s
    reads, writes = course.ops * course.read_share, course.ops * (1 - course.read_share)
    columns = (reads, writes, course.read_bytes, course.bytes - course.read_bytes)
    rows = zip(*((column * step).tolist() for column in columns), strict=True)
    return TraceWorkload(
        [None if row[0] != row[0] else row for row in rows], interval_s=step, start=course.start
    )


def _played(result: Result, prices: PriceTable) -> Played:
    counts = [type(decision.answer).__name__ for decision in result.decisions]
    return Played(
        starved_minutes=result.starved_minutes,
        storage_usd=result.storage_usd,
        usd_per_month_end=result.usd_per_month_end,
        changes=tuple(
            ReplayedChange(
                at=change.at,
                origin=change.origin,
                target=change.target,
                usd_change=prices.monthly(change.target) - prices.monthly(change.origin),
                reason=change.reason,
            )
            for change in result.changes
        ),
        acts=counts.count("Act"),
        holds=counts.count("Hold"),
        escalations=counts.count("Escalate"),
        aws_refusals=len(result.refusals),
        guardrail_violations=len(result.violations),
    )


def most_in_force(replayed: Sequence[Replayed]) -> Decimal:
    """The most that all volumes' prices together would have exceeded their present ones, USD a month."""
    changes = sorted((c.at, c.usd_change) for each in replayed for c in each.headroom.changes)
    most = total = Decimal(0)
    for _, usd in changes:
        total += usd
        most = max(most, total)
    return most
