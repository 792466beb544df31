"""The append-only chain that one decision leaves behind."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from headroom.domain.resources import kept_as_text
from headroom.domain.state.formats import RECORD_FORMAT

GENESIS = "0" * 64
"""Hash that the first record of a chain names as the one before it."""

LISTED_SINCE = 2
"""The format from which on records have a reason and a change of price."""


class Step(StrEnum):
    """Kinds of record."""

    DECIDED = "decided"
    AWAITING = "awaiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    INTENDED = "intended"
    WITHDRAWN = "withdrawn"
    APPLIED = "applied"
    ALREADY_THERE = "already_there"
    REFUSED = "refused"
    STALE = "stale"
    UNKNOWN = "unknown"
    NOT_APPLIED = "not_applied"
    FAILED = "failed"
    RELIEVED = "relieved"
    UNTESTED = "untested"
    """The change landed, and no load came since that could prove relief."""
    INEFFECTIVE = "ineffective"
    DIVERGED = "diverged"
    ROLLED_BACK = "rolled_back"
    """A rollback landed: the volume has its earlier settings."""
    GONE = "gone"
    RELEASED = "released"
    """A person ended the chain; what its change may have added stays counted."""
    REJECTED_SIGNAL = "rejected_signal"
    ROLLBACK_REQUESTED = "rollback_requested"
    PAUSED = "paused"
    RESUMED = "resumed"
    BREAKER_OPENED = "breaker_opened"
    BREAKER_CLOSED = "breaker_closed"
    POLICY_PUBLISHED = "policy_published"
    POLICY_REFUSED = "policy_refused"
    """The hub published a policy that is invalid or broader than the hard caps."""


NEXT: dict[Step | None, frozenset[Step]] = {
    None: frozenset(
        {
            Step.DECIDED, Step.REJECTED_SIGNAL, Step.PAUSED, Step.RESUMED, Step.BREAKER_OPENED,
            Step.BREAKER_CLOSED, Step.ROLLBACK_REQUESTED, Step.GONE, Step.POLICY_PUBLISHED,
            Step.POLICY_REFUSED,
        }
    ),
    Step.DECIDED: frozenset({Step.AWAITING, Step.INTENDED, Step.WITHDRAWN}),
    Step.AWAITING: frozenset(
        {Step.AWAITING, Step.APPROVED, Step.REJECTED, Step.EXPIRED, Step.WITHDRAWN, Step.GONE}
    ),
    Step.APPROVED: frozenset({Step.REJECTED, Step.INTENDED, Step.WITHDRAWN, Step.GONE}),
    Step.INTENDED: frozenset(
        {Step.APPLIED, Step.ALREADY_THERE, Step.REFUSED, Step.STALE, Step.UNKNOWN, Step.GONE, Step.RELEASED}
    ),
    Step.UNKNOWN: frozenset({Step.APPLIED, Step.NOT_APPLIED, Step.GONE, Step.RELEASED}),
    Step.APPLIED: frozenset(
        {
            Step.FAILED, Step.RELIEVED, Step.UNTESTED, Step.INEFFECTIVE, Step.DIVERGED, Step.ROLLED_BACK, Step.GONE,
            Step.RELEASED,
        }
    ),
    Step.ALREADY_THERE: frozenset(
        {
            Step.FAILED, Step.RELIEVED, Step.UNTESTED, Step.INEFFECTIVE, Step.DIVERGED, Step.ROLLED_BACK, Step.GONE,
            Step.RELEASED,
        }
    ),
}  # fmt: skip
"""Legal successors of each step; a step that is no key ends its chain."""
TRIED_AGAIN = dict.fromkeys(
    (Step.REFUSED, Step.STALE),
    frozenset({Step.REJECTED, Step.INTENDED, Step.WITHDRAWN, Step.GONE}),
)
"""What else may follow while the approval of the change stands: it is intended again."""
ENDED = frozenset().union(
    *(NEXT[step] for step in (Step.INTENDED, Step.UNKNOWN, Step.APPLIED))
) - set(NEXT)
"""The ends of a change. In a table that was restored from an earlier backup it is open again, and a person may end it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One link of a chain. `body` is canonical JSON; `hash` covers all other fields."""

    format: int
    decision_id: str
    sequence: int
    step: Step
    resource: str
    """ARN, the text of an event that was not understood, or the account that was paused."""
    at: datetime
    outcome: str
    """For statistics: act, hold or escalate for `decided`, else the step itself."""
    summary: str
    body: str
    previous_hash: str
    hash: str
    reason: str = ""
    """The decision's reason, on every record of its chain; empty where there is no decision."""
    price_change_usd: Decimal | None = None
    """USD a month, to the cent: what the change of this chain costs, or would have cost."""

    @property
    def listed(self) -> RecordSummary:
        """The record without its body and its hashes."""
        return RecordSummary(
            decision_id=self.decision_id, sequence=self.sequence, step=self.step,
            resource=self.resource, at=self.at, outcome=self.outcome, summary=self.summary,
            reason=self.reason, price_change_usd=self.price_change_usd,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSummary:
    """A record without its body and its hashes, as an index has it."""

    decision_id: str
    sequence: int
    step: Step
    resource: str
    at: datetime
    outcome: str
    summary: str
    reason: str = ""
    price_change_usd: Decimal | None = None


def seal(
    *,
    decision_id: str,
    sequence: int,
    step: Step,
    resource: str,
    at: datetime,
    outcome: str,
    summary: str,
    body: str,
    previous_hash: str,
    reason: str = "",
    price_change_usd: Decimal | None = None,
    format: int = RECORD_FORMAT,
) -> Record:
    """A record whose hash covers everything in it and the record before it."""
    price = None if price_change_usd is None else plain_cents(price_change_usd)
    digest = hashlib.sha256()
    for part in (
        str(format), decision_id, str(sequence), step.value, resource, at.isoformat(), outcome, summary, body,
        previous_hash, *((reason, "" if price is None else str(price)) if format >= LISTED_SINCE else ()),
    ):  # fmt: skip
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return Record(
        format=format, decision_id=decision_id, sequence=sequence, step=step, resource=resource, at=at,
        outcome=outcome, summary=summary, body=body, previous_hash=previous_hash,
        hash=digest.hexdigest(), reason=reason, price_change_usd=price,
    )  # fmt: skip


def plain_cents(amount: Decimal) -> Decimal:
    """The amount to the cent as a number has it that passed through DynamoDB: 12.5, not 12.50."""
    cents = amount.quantize(Decimal("0.01")).normalize() + 0
    return Decimal(f"{cents:f}")


def step_of(name: str) -> Step:
    """The step of that name; one that a newer release wrote is like none here."""
    try:
        return Step(name)
    except ValueError:
        return kept_as_text(Step, name)


def link_problem(record: Record) -> str:
    """What people read about a record that `broken_link` found."""
    if record.format > RECORD_FORMAT:
        return f"it has format {record.format} of a newer release: upgrade to verify it"
    return "it was changed or is torn"


def successors(last: Step | None) -> frozenset[Step]:
    """The steps that may follow `last`, None being the start of a chain."""
    again = frozenset() if last is None else TRIED_AGAIN.get(last, frozenset())
    return NEXT.get(last, frozenset()) | again


def broken_link(chain: tuple[Record, ...]) -> Record | None:
    """The first record that does not follow from the one before it, None if the chain is whole.

    A record in a newer format cannot be verified and counts as broken.
    """
    previous: Record | None = None
    for record in chain:
        again = seal(
            decision_id=record.decision_id, sequence=record.sequence, step=record.step,
            resource=record.resource, at=record.at, outcome=record.outcome,
            summary=record.summary, body=record.body, previous_hash=record.previous_hash,
            reason=record.reason, price_change_usd=record.price_change_usd, format=record.format,
        )  # fmt: skip
        expected = GENESIS if previous is None else previous.hash
        number = 0 if previous is None else previous.sequence + 1
        legal = successors(None if previous is None else previous.step)
        if previous is not None and previous.step in ENDED:
            legal |= {Step.RELEASED}
        if (
            record.format > RECORD_FORMAT
            or again.hash != record.hash
            or record.previous_hash != expected
            or record.sequence != number
            or record.step not in legal
        ):
            return record
        previous = record
    return None
