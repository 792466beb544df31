"""Records made from what happened; the body comes in as canonical JSON."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from headroom.domain.decision import Decision
from headroom.domain.resources import Kind, ResourceRef
from headroom.domain.state import (
    GENESIS,
    INDEFINITE,
    Breaker,
    Notice,
    Notify,
    Record,
    RollbackRequest,
    Step,
    seal,
    successors,
)

LONGEST_NAME = 256
"""Characters of foreign text in a key: DynamoDB's sort keys end at 1,024 bytes."""
LONGEST_TEXT = 2_000
LONGEST_CAUSE = 300
"""Characters of the last failure in the message about a breaker."""
"""Characters of a summary: every index stores it again."""


def outcome_of(decision: Decision) -> str:
    """The outcome of a decision: act, hold or escalate."""
    return type(decision.answer).__name__.lower()


def may_follow(last: Step | None, step: Step) -> bool:
    """Whether `step` may follow `last`, None being the start of a chain."""
    return step in successors(last)


def first_record(decision: Decision, body: str) -> Record:
    """The first record of a decision's chain."""
    plan = decision.plan
    return seal(
        decision_id=decision.decision_id, sequence=0, step=Step.DECIDED,
        resource=decision.observation.volume.ref.arn, at=decision.at.astimezone(UTC),
        outcome=outcome_of(decision), summary=_readable(decision.summary), body=body,
        previous_hash=GENESIS, reason=decision.answer.reason.value,
        price_change_usd=None if plan is None else plan.price_change_usd,
    )  # fmt: skip


def next_record(last: Record, step: Step, *, at: datetime, summary: str, body: str) -> Record:
    """The record after `last`; whether it may follow is the caller's to check.

    It keeps the reason and the change of price of the decision at the head of the chain.
    """
    return seal(
        decision_id=last.decision_id, sequence=last.sequence + 1, step=step,
        resource=last.resource, at=at.astimezone(UTC), outcome=step.value, summary=_readable(summary), body=body,
        previous_hash=last.hash, reason=last.reason, price_change_usd=last.price_change_usd,
    )  # fmt: skip


def withdrawal_text(successor: str | None) -> tuple[str, dict[str, object]]:
    """Summary and body of the withdrawal of an act that was not started.

    `successor` is the later decision about the same resource, None when the resource is gone.
    """
    why = "gone" if successor is None else "superseded"
    detail = "the resource is gone" if successor is None else f"superseded by {successor}"
    return f"withdrawn before acting: {detail}", {"why": why, "detail": detail}


def rejection_record(
    event_id: str, *, reason: str, excerpt: str, at: datetime, body: str
) -> Record:
    """The only record of an event that was not understood; its id follows from the event's."""
    name = _readable(event_id)
    if len(name) > LONGEST_NAME:
        name = hashlib.sha256(name.encode()).hexdigest()
    return seal(
        decision_id=f"event#{name}", sequence=0,
        step=Step.REJECTED_SIGNAL, resource=_readable(excerpt)[:LONGEST_NAME] or "nothing",
        at=at.astimezone(UTC), outcome=Step.REJECTED_SIGNAL.value, summary=_readable(reason), body=body,
        previous_hash=GENESIS,
    )  # fmt: skip


def pause_record(
    account: str, until: datetime | None, *, at: datetime, who: str, body: str, reason: str = ""
) -> Record:
    """The only record of a pause (until `until`) or, None, a resume."""
    step, summary = Step.RESUMED, f"resumed by {who}"
    if until is not None:
        step = Step.PAUSED
        summary = f"paused {'without end' if until >= INDEFINITE else f'until {until.isoformat()}'} by {who}"
    return _single(
        step, account, at.astimezone(UTC).isoformat(), at, _because(summary, reason), body
    )


def policy_record(
    account: str, version: str, refused: str | None, *, at: datetime, who: str, reason: str,
    body: str,
) -> Record:  # fmt: skip
    """The only record of a policy that somebody published, or that was refused, None if it was not."""
    step, summary = Step.POLICY_PUBLISHED, f"policy {version} published by {who}"
    if refused is not None:
        step, summary = Step.POLICY_REFUSED, f"policy of {who} refused: {refused}"
    return _single(
        step, account, at.astimezone(UTC).isoformat(), at, _because(summary, reason), body
    )


def rollback_request_record(resource: str, request: RollbackRequest, *, body: str) -> Record:
    """The only record of a rollback that a person asked for."""
    instant = request.requested_at.astimezone(UTC).isoformat()
    summary = f"rollback of {request.decision_id} asked for by {request.who}"
    return _single(
        Step.ROLLBACK_REQUESTED,
        resource,
        instant,
        request.requested_at,
        _because(summary, request.reason),
        body,
    )


def gone_record(ref: ResourceRef, at: datetime) -> Record:
    """The only record of a resource that exists no more, without an open chain: what Headroom changed of it ended too."""
    summary = f"the {ref.noun} is gone, and with it what Headroom changed"
    return _single(Step.GONE, ref.arn, at.astimezone(UTC).isoformat(), at, summary, "{}")


def notice_of(record: Record, notify: Notify, *, about: str) -> Notice:
    """What people must hear of a record; the message describes the decision `about`."""
    return Notice(
        decision_id=record.decision_id, sequence=record.sequence,
        step=record.step if notify.step is None else notify.step, resource=record.resource,
        at=record.at, text=_readable(notify.text), about=about, ends_set=notify.ends_set,
    )  # fmt: skip


def breaker_opened_text(breaker: Breaker, ref: ResourceRef) -> str:
    """What people hear of a breaker that a failed change of `ref` opened."""
    why = "until somebody has found out why and runs"
    cause = _readable(breaker.why).removesuffix(".")
    cause = cause if len(cause) <= LONGEST_CAUSE else f"{cause[: LONGEST_CAUSE - 3]}..."
    if breaker.resource != ref.arn:
        return (
            f"{breaker.failures} changes in a row failed in account {ref.account_id}, {ref.region}, the last of "
            f"{ref.resource_id}: {cause}; nothing is changed there any more {why} "
            f"`headroom breaker close --account --region {ref.region}`"
        )
    name = ref.resource_id if ref.kind is Kind.EBS else ref.arn
    return (
        f"{breaker.failures} changes of {ref.resource_id} in a row failed, the last: {cause}; it is left "
        f"alone {why} "
        f"`headroom breaker close {name} --region {ref.region}`"
    )


def answer_summary(step: Step, who: str, reason: str) -> str:
    """The summary of an answer to a request."""
    return _because(f"{step.value} by {who}", reason)


def breaker_opened_record(breaker: Breaker, *, decision_id: str, body: str) -> Record:
    """The only record of a breaker that the failure of `decision_id` opened."""
    summary = (
        f"stopped after {breaker.failures} failures in a row, until a person closes the breaker"
    )
    return _single(
        Step.BREAKER_OPENED, breaker.resource, decision_id, breaker.opened_at,
        _because(summary, breaker.why), body,
    )  # fmt: skip


def breaker_closed_record(
    resource: str, *, at: datetime, who: str, reason: str, body: str
) -> Record:
    """The only record of a breaker that a person closed."""
    instant = at.astimezone(UTC).isoformat()
    summary = _because(f"breaker closed by {who}", reason)
    return _single(Step.BREAKER_CLOSED, resource, instant, at, summary, body)


def _because(summary: str, reason: str) -> str:
    return f"{summary}: {reason}" if reason else summary


def _single(step: Step, resource: str, which: str, at: datetime, summary: str, body: str) -> Record:
    """A chain of one record, its id made of its step, its resource and `which`."""
    return seal(
        decision_id=f"{step.value}#{resource}#{which}", sequence=0, step=step, resource=resource,
        at=at.astimezone(UTC), outcome=step.value, summary=_readable(summary), body=body,
        previous_hash=GENESIS,
    )  # fmt: skip


def _readable(text: str) -> str:
    """At most LONGEST_TEXT characters that can be encoded as UTF-8: a lone surrogate becomes `?`."""
    found = text.encode("utf-8", "replace").decode("utf-8")
    return found if len(found) <= LONGEST_TEXT else f"{found[: LONGEST_TEXT - 3]}..."
