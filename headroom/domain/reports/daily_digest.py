"""The daily digest of an account and Region, as values. Money in USD per month."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from headroom.domain.decision import Act, Decision, Hold, Reason
from headroom.domain.guardrails import Guardrail
from headroom.domain.policy import TimeOfDay, latest
from headroom.domain.reports.message_rate import Counts
from headroom.domain.resources import Configuration
from headroom.domain.state import Breaker, Pause, RecordSummary, Step

SETTLING = timedelta(minutes=2)
"""How long after its time a digest is sent: by then the index has the latest records."""
LONGEST = timedelta(days=7)
"""The longest period of one digest, after days on which none could be sent."""
LEASE = timedelta(minutes=5)
"""How long one function has the lease to send the digest."""
MOST_QUEUED = 1_000
WENT_WRONG = (
    Step.REFUSED, Step.FAILED, Step.NOT_APPLIED, Step.INEFFECTIVE, Step.DIVERGED, Step.EXPIRED,
)  # fmt: skip
LANDED = (Step.APPLIED, Step.ALREADY_THERE)
"""Steps after which a change counts as made."""
VERIFIED = (
    Step.RELIEVED,
    Step.UNTESTED,
    Step.ROLLED_BACK,
    Step.INEFFECTIVE,
    Step.DIVERGED,
    Step.FAILED,
    Step.GONE,
    Step.RELEASED,
)
"""Steps that end a change and say whether it helped."""
ALSO_UNMADE = (Step.GONE, Step.RELEASED)
"""Those that also end a chain whose change was never made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCount:
    """Records of a kind: the newest, and how many there are; `more` if there may be more."""

    newest: tuple[RecordSummary, ...] = ()
    count: int = 0
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change that AWS accepted, and its final step (None: not verified yet)."""

    decision_id: str
    resource: str
    origin: Configuration
    target: Configuration
    price_change_usd: Decimal
    ended: Step | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedChange:
    """Changes of a kind that only the mode blocked."""

    kind: str
    """From which type to which, in words."""
    volumes: int
    """How many resources."""
    price_change_usd: Decimal
    noun: str = "volume"
    """The word for one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedSaving:
    """Savings that only the owner's limits block, by what blocks them."""

    guardrails: tuple[str, ...]
    volumes: int
    """How many resources."""
    saving_usd: Decimal
    """What their price would be lower, together."""
    noun: str = "volume"
    """The word for one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    """A change that waits for approval."""

    decision_id: str
    summary: str
    expires: datetime | None
    change: Change | None = None
    """What it would change; None where its decision cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyDigest:
    """The content of one digest."""

    account_id: str
    region: str
    since: datetime
    until: datetime
    changes: tuple[Change, ...] = ()
    """The newest; `changed` counts all."""
    changed: RecordCount = RecordCount()
    ended: Counts = ()
    """How many of the changes ended with each step."""
    ended_earlier: Counts = ()
    """The same of changes of earlier digests that ended in this period."""
    unsuccessful: RecordCount = RecordCount()
    escalated: RecordCount = RecordCount()
    """Escalations that are open now, also those of earlier digests."""
    observed: tuple[ObservedChange, ...] = ()
    """From the newest holds that were read; `held` counts the resources with one."""
    blocked_savings: tuple[BlockedSaving, ...] = ()
    """From the same holds."""
    observed_read: int = 0
    held: int = 0
    held_more: bool = False
    awaiting: tuple[PendingApproval, ...] = ()
    awaiting_count: int = 0
    queued: int = 0
    """How many resources are queued, up to MOST_QUEUED."""
    pause: Pause | None = None
    account_breaker: Breaker | None = None
    breakers: tuple[Breaker, ...] = ()
    increase_usd: Decimal = Decimal(0)
    limit_usd: Decimal | None = None
    """None while the policy cannot be read."""
    policy_unreadable: str | None = None

    @property
    def stuck(self) -> bool:
        """Whether something waits until a person acts."""
        return bool(
            self.pause or self.account_breaker or self.breakers or self.awaiting_count
            or self.policy_unreadable
        )  # fmt: skip

    @property
    def empty(self) -> bool:
        """Whether there is nothing to report."""
        return not (
            self.stuck or self.changed.count or self.unsuccessful.count or self.escalated.count
            or self.observed or self.queued or self.ended_earlier
        )  # fmt: skip


def change_of(decision: Decision, ended: Step | None) -> Change | None:
    """The change of an act; None for any other decision."""
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
    """The changes that only the mode blocked, most volumes first."""
    volumes: dict[str, int] = defaultdict(int)
    prices: dict[str, Decimal] = defaultdict(Decimal)
    nouns: dict[str, set[str]] = defaultdict(set)
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
            nouns[kind].add(decision.observation.volume.ref.noun)
    groups = [
        ObservedChange(
            kind=kind, volumes=count, price_change_usd=prices[kind], noun=_common(nouns[kind])
        )
        for kind, count in volumes.items()
    ]
    return tuple(sorted(groups, key=lambda one: (-one.volumes, one.kind)))


OWNERS_LIMITS = frozenset(
    {
        Guardrail.MODE, Guardrail.CHANGE_WINDOW, Guardrail.FREEZE, Guardrail.CALENDAR,
        Guardrail.INFRASTRUCTURE_AS_CODE, Guardrail.GROWTH, Guardrail.FULL_COPY, Guardrail.ONE_WAY,
        Guardrail.TYPES, Guardrail.MAX_IOPS, Guardrail.MAX_THROUGHPUT, Guardrail.MAX_SIZE,
        Guardrail.LARGEST_STEP, Guardrail.GIVE_BACK, Guardrail.GIVE_BACK_FLOOR,
        Guardrail.GIVE_BACK_REVERSIBLE, Guardrail.FREE_SPACE,
    }
)  # fmt: skip
"""Guardrails about which the owner could do something: what they alone block is a saving forgone."""


def blocked_savings(decisions: Iterable[Decision]) -> tuple[BlockedSaving, ...]:
    """The largest saving of each resource that only the owner's limits block, the dearest first."""
    volumes: dict[tuple[str, ...], int] = defaultdict(int)
    savings: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    nouns: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for decision in decisions:
        blocked = [
            (plan.price_change_usd, tuple(g.value for g in plan.blocked_by))
            for plan in decision.considered
            if plan.price_change_usd < 0
            and plan.blocked_by
            and all(guardrail in OWNERS_LIMITS for guardrail in plan.blocked_by)
        ]
        if isinstance(decision.answer, Hold) and blocked:
            usd, guardrails = min(blocked)
            volumes[guardrails] += 1
            savings[guardrails] -= usd
            nouns[guardrails].add(decision.observation.volume.ref.noun)
    found = [
        BlockedSaving(
            guardrails=names, volumes=count, saving_usd=savings[names], noun=_common(nouns[names])
        )
        for names, count in volumes.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.saving_usd, one.guardrails)))


def _common(nouns: Collection[str]) -> str:
    """The word for all of them."""
    return next(iter(nouns)) if len(nouns) == 1 else "resource"


def newest_per_resource(record_summaries: Iterable[RecordSummary]) -> tuple[RecordSummary, ...]:
    """The first record of each resource, in order."""
    found: dict[str, RecordSummary] = {}
    for record_summary in record_summaries:
        found.setdefault(record_summary.resource, record_summary)
    return tuple(found.values())


def final_steps(record_summaries: Sequence[RecordSummary]) -> Mapping[str, Step]:
    """The final step of each chain, by decision id."""
    return {g.decision_id: g.step for g in record_summaries if g.step in VERIFIED}


def count_ends(
    changed: Iterable[RecordSummary], ends: Iterable[RecordSummary]
) -> tuple[Counts, Counts]:
    """How these changes ended, and how earlier ones did, by step."""
    mine, of_these, earlier = {g.decision_id for g in changed}, Counter[str](), Counter[str]()
    for end in ends:
        if end.decision_id in mine:
            of_these[end.step.value] += 1
        elif end.step not in ALSO_UNMADE:
            earlier[end.step.value] += 1
    return tuple(sorted(of_these.items())), tuple(sorted(earlier.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestCursor:
    """Up to when digests were sent, and the lease of who sends one now."""

    sent_until: datetime | None = None
    lease_until: datetime | None = None


def due_digest_period(
    cursor: DigestCursor, at: TimeOfDay, now: datetime
) -> tuple[datetime, datetime] | None:
    """The period of the digest that is due now; None if none is due."""
    due = latest(at, now - SETTLING)
    if cursor.sent_until is None or due <= cursor.sent_until:
        return None
    return max(cursor.sent_until, due - LONGEST), due


def first_digest_cursor(cursor: DigestCursor, at: TimeOfDay, now: datetime) -> DigestCursor:
    """The cursor of a new deployment: its first period begins now."""
    return cursor if cursor.sent_until is not None else replace(cursor, sent_until=latest(at, now))


def lease_digest(cursor: DigestCursor, now: datetime) -> DigestCursor | None:
    """The cursor with a lease on it; None while another function has one."""
    if cursor.lease_until is not None and now < cursor.lease_until <= now + LEASE:
        return None
    return replace(cursor, lease_until=now + LEASE)


def digest_cursor_to_text(cursor: DigestCursor) -> str:
    """The cursor as the ledger stores it: JSON."""
    parts = {"sent_until": cursor.sent_until, "lease_until": cursor.lease_until}
    plain = {n: None if at is None else at.astimezone(UTC).isoformat() for n, at in parts.items()}
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def parse_digest_cursor(text: str) -> DigestCursor:
    """The cursor in a text of `digest_cursor_to_text`; a new one if it is missing or unreadable."""
    try:
        plain = json.loads(text)
        found = {name: plain[name] for name in ("sent_until", "lease_until")}
        at = {n: None if v is None else datetime.fromisoformat(v) for n, v in found.items()}
        if any(instant is not None and instant.tzinfo is None for instant in at.values()):
            return DigestCursor()
        return DigestCursor(sent_until=at["sent_until"], lease_until=at["lease_until"])
    except (ValueError, TypeError, KeyError):
        return DigestCursor()
