"""One day of an account and Region, as the daily message tells it. Money in USD per month."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from headroom.domain.decision import Act, Decision, Hold, Reason
from headroom.domain.policy import TimeOfDay, latest
from headroom.domain.reports.message_rate import Counts
from headroom.domain.resources import Configuration
from headroom.domain.state import Breaker, Pause, RecordSummary, Step

SETTLING = timedelta(minutes=2)
"""How long after its time a day is told: what was decided just before it is in the index then."""
LONGEST = timedelta(days=7)
"""The most that one message tells of, after days on which none could be sent."""
LEASE = timedelta(minutes=5)
"""How long one function is the one that tells the day."""
MOST_QUEUED = 1_000
WENT_WRONG = (
    Step.REFUSED, Step.FAILED, Step.NOT_APPLIED, Step.INEFFECTIVE, Step.DIVERGED, Step.EXPIRED,
)  # fmt: skip
VERIFIED = (
    Step.RELIEVED,
    Step.ROLLED_BACK,
    Step.INEFFECTIVE,
    Step.DIVERGED,
    Step.FAILED,
    Step.GONE,
)
"""Steps that end a change, by which it is told whether it helped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCount:
    """Records of a kind: the newest of them, and how many there are; `more` if that is a floor."""

    newest: tuple[RecordSummary, ...] = ()
    count: int = 0
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change that AWS accepted, and what became of it (None: not verified yet)."""

    decision_id: str
    resource: str
    origin: Configuration
    target: Configuration
    price_change_usd: Decimal
    ended: Step | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedChange:
    """Changes of a kind that only the mode stood in the way of."""

    kind: str
    """From which type to which, in words."""
    volumes: int
    price_change_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    """A change that waits for a person."""

    decision_id: str
    summary: str
    expires: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyDigest:
    """What is told of a day."""

    account_id: str
    region: str
    since: datetime
    until: datetime
    changes: tuple[Change, ...] = ()
    """The newest; `changed` counts all."""
    changed: RecordCount = RecordCount()
    ended: Counts = ()
    """How many changes ended how, by step."""
    unsuccessful: RecordCount = RecordCount()
    escalated: RecordCount = RecordCount()
    observed: tuple[ObservedChange, ...] = ()
    """Of the newest holds that were read; `held` counts the volumes with one."""
    observed_read: int = 0
    held: int = 0
    held_more: bool = False
    awaiting: tuple[PendingApproval, ...] = ()
    awaiting_count: int = 0
    queued: int = 0
    """How many volumes wait for a place or an hour, up to MOST_QUEUED."""
    pause: Pause | None = None
    account_breaker: Breaker | None = None
    breakers: tuple[Breaker, ...] = ()
    increase_usd: Decimal = Decimal(0)
    limit_usd: Decimal | None = None
    """None while the policy cannot be read."""
    policy_unreadable: str | None = None
    dropped: Counts = ()

    @property
    def stuck(self) -> bool:
        """Whether something stays as it is until a person does something."""
        return bool(
            self.pause or self.account_breaker or self.breakers or self.awaiting_count
            or self.policy_unreadable
        )  # fmt: skip

    @property
    def empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not (
            self.stuck or self.changed.count or self.unsuccessful.count or self.escalated.count
            or self.observed or self.dropped or self.queued
        )  # fmt: skip


def change_of(decision: Decision, ended: Step | None) -> Change | None:
    """The change that an act made; None of anything else."""
    answer = decision.answer
    if not isinstance(answer, Act):
        return None
    return Change(
        decision_id=decision.decision_id,
        resource=decision.observation.volume.ref.resource_id,
        origin=answer.plan.origin,
        target=answer.plan.target,
        price_change_usd=answer.plan.price_change_usd,
        ended=ended,
    )


def group_observed(decisions: Iterable[Decision]) -> tuple[ObservedChange, ...]:
    """What would have been done where only the mode stood in the way, most volumes first."""
    volumes: dict[str, int] = defaultdict(int)
    prices: dict[str, Decimal] = defaultdict(Decimal)
    for decision in decisions:
        answer = decision.answer
        if not isinstance(answer, Hold) or answer.reason is not Reason.OBSERVE_ONLY:
            continue
        plan = answer.proposed_plan
        if plan is not None:
            before, after = plan.origin.volume_type.value, plan.target.volume_type.value
            lower = "given back" if plan.lowers else "raised"
            kind = f"{before} {lower}" if before == after else f"{before} to {after}"
            volumes[kind] += 1
            prices[kind] += plan.price_change_usd
    groups = [
        ObservedChange(kind=kind, volumes=count, price_change_usd=prices[kind])
        for kind, count in volumes.items()
    ]
    return tuple(sorted(groups, key=lambda one: (-one.volumes, one.kind)))


def newest_per_resource(record_summaries: Iterable[RecordSummary]) -> tuple[RecordSummary, ...]:
    """The first glimpse of each resource, in order."""
    found: dict[str, RecordSummary] = {}
    for record_summary in record_summaries:
        found.setdefault(record_summary.resource, record_summary)
    return tuple(found.values())


def final_steps(record_summaries: Sequence[RecordSummary]) -> Mapping[str, Step]:
    """How each chain ended, by decision id."""
    return {g.decision_id: g.step for g in record_summaries if g.step in VERIFIED}


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestCursor:
    """Up to when days were told, and who is telling one now."""

    sent_until: datetime | None = None
    lease_until: datetime | None = None


def due_digest_period(
    mark: DigestCursor, at: TimeOfDay, now: datetime
) -> tuple[datetime, datetime] | None:
    """Since and until when a day is to be told now; None when it is not time."""
    due = latest(at, now - SETTLING)
    if mark.sent_until is None or due <= mark.sent_until:
        return None
    return max(mark.sent_until, due - LONGEST), due


def first_digest_cursor(mark: DigestCursor, at: TimeOfDay, now: datetime) -> DigestCursor:
    """The mark of a deployment that never told a day: the first one begins now."""
    return mark if mark.sent_until is not None else replace(mark, sent_until=latest(at, now))


def lease_digest(mark: DigestCursor, now: datetime) -> DigestCursor | None:
    """The mark with a lease on it; None while somebody else has one."""
    if mark.lease_until is not None and now < mark.lease_until <= now + LEASE:
        return None
    return replace(mark, lease_until=now + LEASE)


def digest_cursor_to_text(mark: DigestCursor) -> str:
    """The mark as the ledger keeps it: JSON."""
    parts = {"sent_until": mark.sent_until, "lease_until": mark.lease_until}
    plain = {n: None if at is None else at.astimezone(UTC).isoformat() for n, at in parts.items()}
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def parse_digest_cursor(text: str) -> DigestCursor:
    """The mark in a text of `text_of`; a fresh one where there is none or it cannot be read."""
    try:
        plain = json.loads(text)
        found = {name: plain[name] for name in ("sent_until", "lease_until")}
        at = {n: None if v is None else datetime.fromisoformat(v) for n, v in found.items()}
        if any(instant is not None and instant.tzinfo is None for instant in at.values()):
            return DigestCursor()
        return DigestCursor(sent_until=at["sent_until"], lease_until=at["lease_until"])
    except (ValueError, TypeError, KeyError):
        return DigestCursor()
