"""The one message a day: claimed in the ledger, read from the record within bounds, sent once.

However large the fleet, a day is a fixed number of queries of indexes, at most MOST_COUNTED
records of each kind counted and at most MOST_READ decisions read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice

from headroom.domain.decision import Act, Decision, pending_decision
from headroom.domain.policy import Policy, PolicyUnreadable, TimeOfDay
from headroom.domain.reports import (
    LOOKED_BACK,
    Change,
    DailyDigest,
    DigestCursor,
    PendingApproval,
    RecordCount,
    reported_once,
    still_open,
)
from headroom.domain.reports import daily_digest as days
from headroom.domain.resources import Kind, ResourceRef
from headroom.domain.state import LONGEST_REQUEST, RecordSummary, Step, active_pause
from headroom.ports import ReadFailed, Reporting

NOTE = "day"
MOST_COUNTED = 5_000
MOST_READ = 100
LISTED = 10
PAGE = 25
"""Records of a resource read at once: the newest say whether its escalation is settled."""
WHILE_UNREADABLE = TimeOfDay(hour=7, minute=0)
"""When the digest is sent while the policy, which sets the time, cannot be read."""
ENDED_REQUESTS = (Step.APPROVED, Step.REJECTED, Step.EXPIRED, Step.WITHDRAWN, Step.GONE)


def send_digest(
    reporting: Reporting, now: datetime, *, account_id: str, region: str
) -> DailyDigest | None:
    """Send the digest if it is due and not sent yet; returns it, or None when none was sent.

    There is no digest for a day on which nothing happened and nothing is stuck. Raises what sending
    raises; the next sweep tries again.
    """
    policy = reporting.policies.current()
    at = policy.digest if isinstance(policy, Policy) else WHILE_UNREADABLE
    if at is None:
        return None
    mark = days.parse_digest_cursor(reporting.notes.note(NOTE))
    if mark.sent_until is not None and days.due_digest_period(mark, at, now) is None:
        return None
    mine = reporting.notes.amend(NOTE, lambda text: _claim(text, at, now))
    if mine is None:
        return None
    sent = mine.sent_until
    try:
        span = days.due_digest_period(mine, at, now)
        if span is None:
            return None
        day = build_digest(reporting, now, span, account_id=account_id, region=region)
        if not day.empty:
            reporting.announcer.report(day)
        sent = span[1]
    finally:
        ended = DigestCursor(sent_until=sent)
        reporting.notes.amend(NOTE, lambda _: (days.digest_cursor_to_text(ended), None))
    return None if day.empty else day


def _claim(text: str, at: TimeOfDay, now: datetime) -> tuple[str, DigestCursor | None]:
    """Whether this one sends the digest; a deployment that never sent one begins with the next day."""
    mark = days.first_digest_cursor(days.parse_digest_cursor(text), at, now)
    mine = days.lease_digest(mark, now) if days.due_digest_period(mark, at, now) else None
    return days.digest_cursor_to_text(mine or mark), mine


def build_digest(
    reporting: Reporting, now: datetime, span: tuple[datetime, datetime], *, account_id: str,
    region: str,
) -> DailyDigest:  # fmt: skip
    """What happened in (since, until], and what stands now; raises ReadFailed."""
    since, until = span[0] + timedelta(microseconds=1), span[1]
    policy, stop_state = reporting.policies.current(), reporting.switches.stop_state()
    readable = isinstance(policy, Policy)
    landed = [_glimpses(reporting, step.value, since, until) for step in days.LANDED]
    changed = _together(landed)
    ends = [g for step in days.VERIFIED for g in _glimpses(reporting, step.value, since, until)]
    ended, ended_earlier = days.count_ends((g for part in landed for g in part), ends)
    held, held_more = _held(reporting, since, until)
    observed = _decisions(reporting, held)
    waits = _waiting(reporting, now)
    return DailyDigest(
        account_id=account_id, region=region, since=span[0], until=until,
        changes=_changes(reporting, changed, days.final_steps(ends)), changed=changed,
        ended=ended, ended_earlier=ended_earlier,
        unsuccessful=_together(
            _glimpses(reporting, step.value, since, until) for step in days.WENT_WRONG
        ),
        escalated=_open_escalations(reporting, now, since, until),
        observed=days.group_observed(observed),
        blocked_savings=days.blocked_savings(observed), observed_read=len(observed),
        held=len(held), held_more=held_more,
        awaiting=tuple(_awaited(reporting, g, now) for g in waits[:LISTED]), awaiting_count=len(waits),
        queued=len(reporting.state_store.queue(days.MOST_QUEUED)),
        pause=active_pause(stop_state.account.pause, now), account_breaker=stop_state.account.breaker,
        breakers=stop_state.breakers,
        increase_usd=reporting.state_store.resource_state(
            _nothing(account_id, region), now
        ).account_increase_usd,
        limit_usd=policy.account_increase_usd if isinstance(policy, Policy) else None,
        policy_unreadable=None if readable else _reason(policy),
    )  # fmt: skip


def _reason(policy: Policy | PolicyUnreadable) -> str | None:
    return policy.reason if isinstance(policy, PolicyUnreadable) else None


def _nothing(account_id: str, region: str) -> ResourceRef:
    """A volume that does not exist: its state holds the account's sum and nothing else."""
    return ResourceRef(kind=Kind.EBS, account_id=account_id, region=region, resource_id="vol-0")


def _glimpses(
    reporting: Reporting, outcome: str, since: datetime, until: datetime
) -> list[RecordSummary]:
    found = reporting.record_summaries.record_summaries(since=since, until=until, outcome=outcome)
    return list(islice(found, MOST_COUNTED))


def _together(by_outcome: Iterable[Sequence[RecordSummary]]) -> RecordCount:
    """The newest of these records, and how many there are."""
    each = list(by_outcome)
    found = sorted((g for part in each for g in part), key=lambda g: g.at, reverse=True)
    return RecordCount(
        newest=tuple(found[:MOST_READ]),
        count=len(found),
        more=any(len(part) == MOST_COUNTED for part in each),
    )


def _open_escalations(
    reporting: Reporting, now: datetime, since: datetime, until: datetime
) -> RecordCount:
    """The escalations that still need somebody, however old: the newest of each resource and reason.

    Of more than MOST_READ, the others of this period are counted unread; `more` if there are older ones.
    """
    every = _glimpses(reporting, "escalate", until - LOOKED_BACK, until)
    newest = {(g.resource, g.reason): g for g in reversed(every)}
    found = sorted(newest.values(), key=lambda g: g.at, reverse=True)
    left = found[MOST_READ:]
    kept = tuple(g for g in found[:MOST_READ] if _is_open(reporting, g, now, since))
    return RecordCount(
        newest=kept,
        count=len(kept) + sum(g.at >= since for g in left),
        more=len(every) == MOST_COUNTED or any(g.at < since for g in left),
    )


def _is_open(
    reporting: Reporting, escalation: RecordSummary, now: datetime, since: datetime
) -> bool:
    decision = _decision(reporting, escalation.decision_id)
    causes: tuple[str, ...] = ()
    if decision is not None:
        if reported_once(decision):
            return escalation.at >= since
        ref = decision.observation.volume.ref
        causes = reporting.state_store.resource_state(ref, now).escalated_causes
    later = reporting.record_summaries.record_summaries(
        since=escalation.at, until=now, resource=escalation.resource, page=PAGE
    )
    return still_open(escalation, decision, causes, later)


def _held(
    reporting: Reporting, since: datetime, until: datetime
) -> tuple[tuple[RecordSummary, ...], bool]:
    """The newest hold of each volume whose summary names a plan, and whether there are more."""
    every = _glimpses(reporting, "hold", since, until)
    with_plan = (g for g in every if "would take" in g.summary)
    return days.newest_per_resource(with_plan), len(every) == MOST_COUNTED


def _decisions(reporting: Reporting, record_summaries: Sequence[RecordSummary]) -> list[Decision]:
    """The decisions of the newest of these records; what cannot be read is left out."""
    found = (_decision(reporting, g.decision_id) for g in record_summaries[:MOST_READ])
    return [decision for decision in found if decision is not None]


def _decision(reporting: Reporting, decision_id: str) -> Decision | None:
    with suppress(LookupError, ReadFailed):
        return reporting.ledger.decision(decision_id)
    return None


def _changes(
    reporting: Reporting, changed: RecordCount, ends: Mapping[str, Step]
) -> tuple[Change, ...]:
    found = (
        days.change_of(decision, ends.get(decision.decision_id))
        for decision in _decisions(reporting, changed.newest)
    )
    return tuple(change for change in found if change is not None)


def _waiting(reporting: Reporting, now: datetime) -> list[RecordSummary]:
    """Requests that wait for a person, the newest first."""
    since = now - LONGEST_REQUEST
    over = {
        g.decision_id
        for step in ENDED_REQUESTS
        for g in _glimpses(reporting, step.value, since, now)
    }
    asked = _glimpses(reporting, Step.AWAITING.value, since, now)
    newest = {g.decision_id: g for g in reversed(asked) if g.decision_id not in over}
    return sorted(newest.values(), key=lambda g: g.at, reverse=True)


def _awaited(reporting: Reporting, record_summary: RecordSummary, now: datetime) -> PendingApproval:
    decision = _decision(reporting, record_summary.decision_id)
    if decision is not None:
        known = reporting.state_store.resource_state(decision.observation.volume.ref, now)
        decision = pending_decision(decision, known.approval_request)
    answer = None if decision is None else decision.answer
    return PendingApproval(
        decision_id=record_summary.decision_id,
        summary=record_summary.summary if decision is None else decision.summary,
        expires=answer.expires if isinstance(answer, Act) else None,
        change=None if decision is None else days.change_of(decision, None),
    )
