"""What the records of a month come to, per resource and in total. Money in USD per month.

A record's summary is enough for counts, times and prices; decisions add what they estimated and
which guardrails blocked them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.decision import Act, Decision, Reason
from headroom.domain.reports.price_level import (
    HOURS_PER_MONTH,
    LandedChange,
    Levels,
    Observed,
    accrued_usd,
    before_usd,
    observed,
    owners_since,
    price_levels,
    undone_after,
)
from headroom.domain.state import KnownModification, RecordSummary, Step

FOUND = frozenset(
    {
        Reason.STARVED, Reason.HIGH_LATENCY, Reason.INSTANCE_LIMITED, Reason.LOW_FREE_SPACE,
        Reason.NO_PLAN, Reason.NOT_COST_EFFECTIVE,
    }
)  # fmt: skip
"""Reasons of decisions that saw starvation, or storage that fills up."""
RIGHT_MODE = frozenset({Reason.ALREADY_CHEAPEST, Reason.FAST_ENOUGH, Reason.KEPT_FOR_PERFORMANCE})
OF_A_BILL = RIGHT_MODE | {Reason.CHEAPER, Reason.SLOW_COMMITS, Reason.NO_BILLED_IO}
"""Reasons that only decisions about the bill of an Aurora cluster have."""
FORESEEN = frozenset({Reason.DEPLETION_FORESEEN, Reason.RECURRENCE_EXPECTED})
BLOCKED = frozenset(
    {
        Reason.BLOCKED_TEMPORARILY, Reason.BLOCKED_PERMANENTLY, Reason.OBSERVE_ONLY,
        Reason.AWAITING_APPROVAL, Reason.DECLINED,
    }
)  # fmt: skip
"""Reasons of decisions that a guardrail or a person held; a price above zero means starvation."""
CALM = RIGHT_MODE | {Reason.NO_PRESSURE, Reason.SCALING_DOWN, Reason.CHEAPER_EQUIVALENT}
LANDED = (Step.APPLIED, Step.ALREADY_THERE)
OVER = (Step.GONE, Step.DIVERGED)
"""Steps after which no change that landed is in force any longer."""
SETTLED = (
    Step.RELIEVED, Step.UNTESTED, Step.INEFFECTIVE, Step.ROLLED_BACK, Step.RELEASED,
)  # fmt: skip
"""Steps that end a verification and leave the change in force."""
RESULTS = (
    Step.RELIEVED, Step.UNTESTED, Step.INEFFECTIVE, Step.DIVERGED, Step.ROLLED_BACK, Step.FAILED,
    Step.REFUSED, Step.NOT_APPLIED, Step.EXPIRED, Step.REJECTED, Step.GONE,
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class ResourceMonth:
    """A month of one resource."""

    resource: str
    """ARN."""
    first_at: datetime | None = None
    """When the month's first record of it was written."""
    has_bill: bool = False
    """Whether it is an Aurora cluster: its decisions are about its bill, and see no starvation."""
    decisions: int = 0
    found: int = 0
    """Episodes of starvation, or of storage that fills up."""
    foreseen: int = 0
    """Changes that were made before the starvation they prevent."""
    ended: int = 0
    """Episodes after which a change was verified to have relieved it."""
    passed: int = 0
    """Episodes that ended without such a change."""
    passed_at: datetime | None = None
    """When the last of them ended."""
    starved_since: datetime | None = None
    """Start of the episode that no record ends."""
    lasted: timedelta = timedelta(0)
    """From the first decision of each episode that is over to its end."""
    landed: dict[str, LandedChange] = field(default_factory=dict)
    results: Counter[Step] = field(default_factory=Counter)
    escalation: RecordSummary | None = None
    """The escalation that no later record settles."""
    blocked: RecordSummary | None = None
    """The newest decision that was held or escalated because something blocked it."""
    blocked_by: tuple[str, ...] = ()
    """The guardrails that blocked it."""
    over: list[datetime] = field(default_factory=list)
    """When it was gone, or somebody else changed it during a verification."""
    newest_id: str = ""
    """Id of the newest decision about it."""
    newest: Observed | None = None
    """What it had at that decision; None while it is not read."""
    adds_nothing: bool = False
    """Whether the ledger counts no increase for it at the end of the dates."""
    relieved_minutes: float = 0.0
    """Starved minutes of a day that the changes were estimated to relieve."""

    @property
    def levels(self) -> Levels:
        """How many USD a month more it costs than before the month's changes, over time."""
        return price_levels(self._made, self.over, self.newest)

    @property
    def up_usd(self) -> Decimal:
        """What it costs more at the end of the dates, USD a month."""
        return Decimal(0) if self.adds_nothing else max(self._last_usd, Decimal(0))

    @property
    def down_usd(self) -> Decimal:
        """What it costs less at the end of the dates, USD a month; negative."""
        return min(self._last_usd, Decimal(0))

    @property
    def latest(self) -> LandedChange | None:
        """The latest change that landed."""
        return next(reversed(self._made), None)

    @property
    def _made(self) -> list[LandedChange]:
        """Without those that AWS failed, which never were in force."""
        return [change for change in self.landed.values() if not change.failed]

    @property
    def _last_usd(self) -> Decimal:
        return next((usd for _, usd in reversed(self.levels)), Decimal(0))

    @property
    def target(self) -> str:
        """What the latest change that landed made, or what its owner set since; empty while neither is read."""
        latest = self.latest
        settled = latest if latest is not None and latest.settled else None
        if self.newest is not None and owners_since(settled, self.newest) is not None:
            return str(self.newest.configuration)
        return "" if latest is None or latest.after is None else str(latest.after)

    def added_usd(self, end: datetime) -> Decimal:
        """Dollars that it cost more until `end`, in the hours when it did."""
        return accrued_usd(self.levels, end)[0]

    def saved_usd(self, end: datetime) -> Decimal:
        """Dollars that it cost less until `end`, in the hours when it did."""
        return accrued_usd(self.levels, end)[1]

    def episode_minutes(self, until: datetime) -> float:
        """Minutes from the first decision that saw each episode to its end, or to `until`."""
        still = timedelta(0) if self.starved_since is None else until - self.starved_since
        return (self.lasted + still) / timedelta(minutes=1)

    def fixed_usd(self, end: datetime) -> Decimal:
        """Dollars more than before the month's changes, if it had had its most expensive configuration from its first
        record until `end`."""
        most = max((usd for _, usd in self.levels), default=Decimal(0))
        most = max(most, Decimal(0))
        hours = (end - (self.first_at or end)) / timedelta(hours=1)
        return most * Decimal(str(hours)) / HOURS_PER_MONTH

    def add(self, record: RecordSummary) -> None:
        """The next record of this resource."""
        self.first_at = self.first_at or record.at
        if record.reason in OF_A_BILL:
            self.is_a_bill()
        if record.step is Step.DECIDED:
            self._decided(record)
        elif record.step in LANDED:
            usd = record.price_change_usd or Decimal(0)
            self.landed[record.decision_id] = LandedChange(
                decision_id=record.decision_id, at=record.at, usd=usd
            )
        if record.step in RESULTS and not record.decision_id.startswith(_OF_NO_CHANGE):
            self.results[record.step] += 1
        if record.step in OVER:
            self.over.append(record.at)
        landed = self.landed.get(record.decision_id)
        if landed is not None:
            landed.failed = landed.failed or record.step is Step.FAILED
            landed.settled = landed.settled or record.step in SETTLED
        if record.step is Step.GONE:
            self._calm(record.at)
        elif record.step is Step.RELIEVED:
            self._relieved(record)

    def is_a_bill(self) -> None:
        """It turns out to be an Aurora cluster: what counted as an episode was none."""
        self.has_bill = True
        self.found = self.foreseen = self.ended = self.passed = 0
        self.starved_since = self.passed_at = None
        self.lasted = timedelta(0)

    def _decided(self, record: RecordSummary) -> None:
        self.decisions += 1
        self.newest_id = record.decision_id
        reason = record.reason
        if record.outcome == "escalate":
            self.escalation = record
        elif record.outcome == "act" or reason in CALM:
            self.escalation = self.blocked = None
        if reason in BLOCKED:
            self.blocked = record
        if reason in FOUND or (reason in BLOCKED and (record.price_change_usd or 0) > 0):
            if self.starved_since is None and not self.has_bill:
                self.found += 1
                self.starved_since = record.at
        elif reason in CALM:
            self._calm(record.at)

    def _relieved(self, record: RecordSummary) -> None:
        if self.has_bill:
            self._end(record.at)
        elif record.reason in FORESEEN:
            self.foreseen += 1
        elif record.reason not in CALM:
            landed = self.landed.get(record.decision_id)
            if landed is not None and self.passed_at is not None and self.passed_at >= landed.at:
                self.passed -= 1  # a decision saw the calm before the change was verified
                self.passed_at = None
            elif self.starved_since is None:  # the episode began in an earlier month
                self.found += 1
            self.ended += 1
            self._end(record.at)

    def _calm(self, at: datetime) -> None:
        self.escalation = self.blocked = None
        if self.starved_since is not None:
            self.passed += 1
            self.passed_at = at
            self._end(at)

    def _end(self, at: datetime) -> None:
        if self.starved_since is not None:
            self.lasted += at - self.starved_since
        self.starved_since = self.escalation = self.blocked = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """The records of [since, until] by resource."""

    since: datetime
    until: datetime
    resources: Mapping[str, ResourceMonth]
    records: int

    @property
    def landed(self) -> list[str]:
        """Ids of the decisions whose changes landed."""
        return [decision_id for each in self.resources.values() for decision_id in each.landed]

    def more_than(self, increased: Collection[str]) -> list[str]:
        """ARNs of what these records leave at a higher price, without those that are `increased`."""
        return [arn for arn, r in self.resources.items() if r.up_usd > 0 and arn not in increased]

    @property
    def blocked(self) -> list[str]:
        """Ids of the decisions that still are held: the newest of each resource."""
        return [r.blocked.decision_id for r in self.resources.values() if r.blocked is not None]

    @property
    def newest(self) -> list[str]:
        """Ids of the newest decision of each resource with a change that landed, or that may be an Aurora cluster with
        episodes: its ARN does not tell it from another cluster."""
        read = (
            r for r in self.resources.values() if r.landed or (r.found and _CLUSTER in r.resource)
        )
        return [r.newest_id for r in read if r.newest_id]

    @property
    def blocked_by(self) -> Counter[str]:
        """How many resources each guardrail blocks."""
        return Counter(name for each in self.resources.values() for name in each.blocked_by)


def month_of(records: Iterable[RecordSummary], *, since: datetime, until: datetime) -> Month:
    """The month of these records, which come oldest first; keeps no record but the open ones."""
    resources: dict[str, ResourceMonth] = {}
    count = 0
    for record in records:
        count += 1
        if record.resource.startswith("arn:") and record.step not in _NOT_OF_A_RESOURCE:
            resources.setdefault(
                record.resource, ResourceMonth(resource=record.resource)
            ).add(record)  # fmt: skip
    return Month(since=since, until=until, resources=resources, records=count)


_CLUSTER = ":cluster:"
_OF_NO_CHANGE = f"{Step.GONE.value}#"
"""How the id of a record begins that a resource is gone, but of no change of it."""
_NOT_OF_A_RESOURCE = (Step.REJECTED_SIGNAL, Step.PAUSED, Step.RESUMED)


def add_decisions(month: Month, decisions: Iterable[Decision]) -> None:
    """Add what decisions observed and estimated, and what blocked them; others than those of the month are ignored."""
    for decision in decisions:
        found = month.resources.get(decision.observation.volume.ref.arn)
        if found is None:
            continue
        if decision.cluster is not None:
            found.is_a_bill()
        if decision.decision_id == found.newest_id:
            found.newest = observed(decision)
        if isinstance(decision.answer, Act):
            plan, landed = decision.answer.plan, found.landed.get(decision.decision_id)
            if landed is not None:
                landed.before, landed.after = observed(decision), plan.target
                landed.usd = _by_longer_past(decision, landed.usd)
                landed.before_usd = before_usd(decision, landed.usd, found.landed)
                found.relieved_minutes += max(0.0, plan.relieved_minutes_per_day)
        elif found.blocked is not None and found.blocked.decision_id == decision.decision_id:
            judged = next((j for j in decision.judgements if j.plan == decision.plan), None)
            found.blocked_by = tuple(v.guardrail.value for v in judged.blocking) if judged else ()


def _by_longer_past(decision: Decision, usd: Decimal) -> Decimal:
    """What a cluster's saving, or its rollback, comes to by whole months, where these show that it is less."""
    if decision.cluster is None or (usd >= 0 and decision.rollback_of is None):
        return usd
    found = decision.cluster.by_longer_past(usd)
    return usd if found is None else found[1]


def add_ledger(
    month: Month, known: Mapping[str, Sequence[KnownModification]], *, ongoing: bool = True
) -> None:
    """Add by ARN the known modifications of resources that these records leave at another price.

    While the month is `ongoing`, of those that the ledger counts no increase for. Of a month that is over only what
    began in it.
    """
    for arn, modifications in known.items():
        found = month.resources[arn]
        undone = undone_after(
            found.latest, [m for m in modifications if ongoing or m.started_at < month.until]
        )
        found.adds_nothing = ongoing or undone is not None
        found.newest = undone or found.newest
