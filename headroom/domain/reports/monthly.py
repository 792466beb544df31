"""What the records of a month come to, per resource and in total. Money in USD per month.

A record's summary is enough for counts, times and prices; decisions add what they estimated and
which guardrails blocked them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.decision import Act, Decision, Reason
from headroom.domain.state import RecordSummary, Step

HOURS_PER_MONTH = 730
"""Hours of the month that AWS's prices are for."""
FOUND = frozenset(
    {
        Reason.STARVED, Reason.HIGH_LATENCY, Reason.INSTANCE_LIMITED, Reason.LOW_FREE_SPACE,
        Reason.NO_PLAN, Reason.NOT_COST_EFFECTIVE, Reason.SLOW_COMMITS,
    }
)  # fmt: skip
"""Reasons of decisions that saw starvation, or storage that fills up."""
FORESEEN = frozenset({Reason.DEPLETION_FORESEEN, Reason.RECURRENCE_EXPECTED})
BLOCKED = frozenset(
    {
        Reason.BLOCKED_TEMPORARILY, Reason.BLOCKED_PERMANENTLY, Reason.OBSERVE_ONLY,
        Reason.AWAITING_APPROVAL, Reason.DECLINED,
    }
)  # fmt: skip
"""Reasons of decisions that a guardrail or a person held; a price above zero means starvation."""
CALM = frozenset({Reason.NO_PRESSURE, Reason.SCALING_DOWN, Reason.CHEAPER_EQUIVALENT})
LANDED = (Step.APPLIED, Step.ALREADY_THERE)
OVER = (Step.FAILED, Step.GONE, Step.DIVERGED)
"""Steps after which a change that landed is in force no longer."""
RESULTS = (
    Step.RELIEVED, Step.UNTESTED, Step.INEFFECTIVE, Step.DIVERGED, Step.ROLLED_BACK, Step.FAILED,
    Step.REFUSED, Step.NOT_APPLIED, Step.EXPIRED, Step.REJECTED, Step.GONE,
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class LandedChange:
    """A change that AWS accepted within the month."""

    decision_id: str
    at: datetime
    usd: Decimal
    until: datetime | None = None
    """When it was in force no longer; None while it is, as far as the records say."""

    def accrued_usd(self, end: datetime) -> Decimal:
        """Dollars of the time that it was in force before `end`."""
        hours = max(timedelta(0), (self.until or end) - self.at) / timedelta(hours=1)
        return self.usd * Decimal(str(hours)) / HOURS_PER_MONTH


@dataclass(slots=True, kw_only=True)
class ResourceMonth:
    """A month of one resource."""

    resource: str
    """ARN."""
    first_at: datetime | None = None
    """When the month's first record of it was written."""
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
    target: str = ""
    """Configuration of the latest change that landed."""
    relieved_minutes: float = 0.0
    """Starved minutes of a day that the changes were estimated to relieve."""

    @property
    def up_usd(self) -> Decimal:
        """Increases that are in force, USD a month."""
        return sum((c.usd for c in self._in_force if c.usd > 0), Decimal(0))

    @property
    def down_usd(self) -> Decimal:
        """Decreases that are in force, USD a month; negative."""
        return sum((c.usd for c in self._in_force if c.usd < 0), Decimal(0))

    @property
    def _in_force(self) -> list[LandedChange]:
        return [change for change in self.landed.values() if change.until is None]

    def added_usd(self, end: datetime) -> Decimal:
        """Dollars that the month's increases cost until `end`."""
        return sum(
            (c.accrued_usd(end) for c in self.landed.values() if c.usd > 0), Decimal(0)
        )  # fmt: skip

    def saved_usd(self, end: datetime) -> Decimal:
        """Dollars that the month's decreases saved until `end`."""
        return -sum(
            (c.accrued_usd(end) for c in self.landed.values() if c.usd < 0), Decimal(0)
        )  # fmt: skip

    def episode_minutes(self, until: datetime) -> float:
        """Minutes from the first decision that saw each episode to its end, or to `until`."""
        still = timedelta(0) if self.starved_since is None else until - self.starved_since
        return (self.lasted + still) / timedelta(minutes=1)

    def fixed_usd(self, end: datetime) -> Decimal:
        """Dollars more than before the month's changes, if it had had its most expensive configuration from its first
        record until `end`."""
        steps = [(c.at, c.usd) for c in self.landed.values()]
        steps += [(c.until, -c.usd) for c in self.landed.values() if c.until is not None]
        level = most = Decimal(0)
        for _, usd in sorted(steps):
            level += usd
            most = max(most, level)
        hours = (end - (self.first_at or end)) / timedelta(hours=1)
        return most * Decimal(str(hours)) / HOURS_PER_MONTH

    def add(self, record: RecordSummary) -> None:
        """The next record of this resource."""
        self.first_at = self.first_at or record.at
        if record.step is Step.DECIDED:
            self._decided(record)
        elif record.step in LANDED:
            usd = record.price_change_usd or Decimal(0)
            self.landed[record.decision_id] = LandedChange(
                decision_id=record.decision_id, at=record.at, usd=usd
            )
        if record.step in RESULTS:
            self.results[record.step] += 1
        if record.step in OVER:
            over = list(self.landed) if record.step is Step.GONE else [record.decision_id]
            for decision_id in over:
                change = self.landed.get(decision_id)
                if change is not None and change.until is None:
                    change.until = change.at if record.step is Step.FAILED else record.at
        if record.step is Step.GONE:
            self._calm(record.at)
        elif record.step is Step.RELIEVED:
            self._relieved(record)

    def _decided(self, record: RecordSummary) -> None:
        self.decisions += 1
        reason = record.reason
        if record.outcome == "escalate":
            self.escalation = record
        elif record.outcome == "act" or reason in CALM:
            self.escalation = self.blocked = None
        if reason in BLOCKED:
            self.blocked = record
        if reason in FOUND or (reason in BLOCKED and (record.price_change_usd or 0) > 0):
            if self.starved_since is None:
                self.found += 1
                self.starved_since = record.at
        elif reason in CALM:
            self._calm(record.at)

    def _relieved(self, record: RecordSummary) -> None:
        if record.reason in FORESEEN:
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

    @property
    def blocked(self) -> list[str]:
        """Ids of the decisions that still are held: the newest of each resource."""
        return [r.blocked.decision_id for r in self.resources.values() if r.blocked is not None]

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


_NOT_OF_A_RESOURCE = (Step.REJECTED_SIGNAL, Step.PAUSED, Step.RESUMED)


def add_decisions(month: Month, decisions: Iterable[Decision]) -> None:
    """Add what decisions estimated and what blocked them; others than those of the month are ignored."""
    for decision in decisions:
        found = month.resources.get(decision.observation.volume.ref.arn)
        if found is None:
            continue
        if isinstance(decision.answer, Act):
            plan = decision.answer.plan
            if decision.decision_id in found.landed:
                found.target = str(plan.target)
                found.relieved_minutes += max(0.0, plan.relieved_minutes_per_day)
        elif found.blocked is not None and found.blocked.decision_id == decision.decision_id:
            judged = next((j for j in decision.judgements if j.plan == decision.plan), None)
            found.blocked_by = tuple(v.guardrail.value for v in judged.blocking) if judged else ()
