"""From a decision to act to an outcome: durable intent first, then the only write to storage."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from headroom.application.space import asks_instance, cannot_follow
from headroom.domain.decision import Act, Decision
from headroom.domain.ledger import WHY
from headroom.domain.policy import Policy, PolicyUnreadable, frozen_until, is_open, limits_for
from headroom.domain.resources import ResourceRef
from headroom.domain.state import (
    BY_HEADROOM,
    NOT_SENT,
    ROLLBACK,
    TRANSIENT,
    WINDOW,
    AlreadyThere,
    Applied,
    KnownModification,
    Notify,
    Outcome,
    Refusal,
    Refused,
    Stale,
    Step,
    Unknown,
)
from headroom.ports import IllegalStep, Intent, NotIntended, Ports, ReadFailed

LEASE = timedelta(minutes=20)
"""Longer than any function may run: after it, whoever held the lease is gone."""
FRESH = timedelta(minutes=1)
"""The longest time from the observation of a resource to its change."""
VERIFY_AFTER = timedelta(minutes=10)
RESOLVE_AFTER = timedelta(minutes=2)
WITHDRAWN_DUE = timedelta(minutes=5)
"""When a volume is reconciled again after its change was withdrawn."""
ENDS_APPROVAL = frozenset({"unapproved", "budget", "moved"})
"""Why an approved change is withdrawn when it cannot be intended; all else clears by itself."""
RETRY = {
    Refusal.SLOTS: timedelta(hours=1),
    Refusal.IN_FLIGHT: timedelta(minutes=15),
    Refusal.THROTTLED: timedelta(minutes=2),
    Refusal.REGION_QUOTA: timedelta(hours=1),
    Refusal.OTHER: timedelta(minutes=15),
    Refusal.GATE: timedelta(hours=24),
}
"""When a refused change is reconsidered; anything else waits for a person or six hours."""
RETRY_OTHERWISE = timedelta(hours=6)
STILL_REFUSED = timedelta(hours=1)
"""When an instance is asked again about its file system that was asked in this shortage before."""
NO_PLACE = timedelta(minutes=1)
"""Others took the last place meanwhile: the next reconciliation sees that, and the volume queues."""
NOTIFIED = frozenset(
    {
        Refusal.DENIED, Refusal.INVALID, Refusal.UNSUPPORTED, Refusal.REGION_QUOTA, Refusal.OTHER,
        Refusal.GATE, Refusal.FILE_SYSTEM,
    }
)  # fmt: skip
"""Refusals that a person should hear of: time alone does not clear them, or takes weeks to."""


def execute(ports: Ports, decision: Decision, act: Act, now: datetime) -> None:
    """Make the intent durable, change the volume, record the outcome."""
    intent = ports.ledger.intend(decision, lease_until=now + LEASE, now=now)
    if isinstance(intent, NotIntended):
        _withdraw(ports, decision, intent, now)
        return
    save_outcome(ports, decision, change_storage(ports, decision, act, now), intent, now)


def change_storage(
    ports: Ports, decision: Decision, act: Act, now: datetime, *, begun: Policy | None = None
) -> Outcome:
    """The one call that changes storage, unless what the decision rests on changed since `now`.

    Once a set has `begun` under a policy, the rest is changed even if a window closes, a freeze begins, a call is slow,
    or another policy says the same of the account and of its volumes.
    """
    observation = decision.observation
    why = _outdated(ports, decision, now, begun=begun)
    if why is None and asks_instance(ports, observation, act.plan):
        stuck = cannot_follow(ports, observation)
        if stuck is not None:
            return stuck
        why = _outdated(ports, decision, now, begun=begun)
    if why is not None:
        found = observation.volume.configuration
        return Stale(expected=act.plan.origin, found=found, detail=why)
    change = observation.modification
    return ports.storage.apply(
        observation.volume.ref, expected=act.plan.origin, target=act.plan.target,
        seen=None if change is None else change.started_at, decided_on=observation.volume,
    )  # fmt: skip


def _outdated(
    ports: Ports, decision: Decision, now: datetime, *, begun: Policy | None
) -> str | None:
    """Why an intended change is not sent: another policy, a pause, a freeze, or too much time since it was decided.

    The intent is durable by now; a pause or a changed policy from before this check still counts.
    What cannot be read stops the change. The time comes last: the reads before it may have hung.
    """
    policy = ports.policies.fresh()
    if isinstance(policy, PolicyUnreadable):
        return f"the policy cannot be read any more: {policy.reason}"
    same = begun is not None and _says_the_same(policy, begun, decision)
    if policy.version != decision.policy_version and not same:
        return "the policy was changed meanwhile"
    try:
        paused = ports.state_store.resource_state(decision.observation.volume.ref, now).paused_until
    except ReadFailed as problem:
        return f"whether changes are paused cannot be read: {problem}"
    if paused is not None and paused > now:
        return "all changes were paused meanwhile"
    at = now if ports.clock is None else ports.clock()
    if at - now > (FRESH if begun is None else LEASE):
        return f"it was decided {(at - now).total_seconds():.0f} s ago"
    if begun is not None:
        return None
    if frozen_until(policy.freezes, now) is None and frozen_until(policy.freezes, at) is not None:
        return "a freeze began meanwhile"
    windows = limits_for(policy, decision.observation.volume).limits.change_windows
    if is_open(windows, now) and not is_open(windows, at):
        return "its change window closed meanwhile"
    return None


def _says_the_same(policy: Policy, before: Policy, decision: Decision) -> bool:
    """Whether another policy has the same account settings, and the same limits for the volume."""
    others = replace(policy, version=before.version, defaults=before.defaults, rules=before.rules)
    now, then = limits_for(policy, decision.observation.volume), decision.effective
    # Which rule says so is no matter: its number changes with every rule before it.
    return others == before and replace(now, mode_from=then.mode_from, origins=then.origins) == then


def _withdraw(ports: Ports, decision: Decision, refusal: NotIntended, now: datetime) -> None:
    if refusal.why == "exists":  # the same decision was delivered twice: it is being done already
        return
    approved = isinstance(decision.answer, Act) and decision.answer.approval is not None
    if approved and refusal.why not in ENDS_APPROVAL:  # it is tried again until the request expires
        ref = decision.observation.volume.ref
        soon = NO_PLACE if refusal.why == WHY else WITHDRAWN_DUE
        ports.state_store.reconciled(ref, at=now, due_at=now + soon)
        return
    summary = f"withdrawn before acting: {refusal.detail}"
    with suppress(IllegalStep):  # a later decision may have withdrawn it already
        ports.ledger.append(
            decision.decision_id,
            Step.WITHDRAWN,
            ref=decision.observation.volume.ref,
            at=now,
            summary=summary,
            body={"why": refusal.why, "detail": refusal.detail},
            fencing=None,
            due_at=now + (NO_PLACE if refusal.why == WHY else WITHDRAWN_DUE),
            notify=Notify(text=summary) if approved else None,
        )


def save_outcome(
    ports: Ports, decision: Decision, outcome: Outcome, intent: Intent, now: datetime, *,
    in_set: bool = False, notify: Notify | None = None,
) -> None:  # fmt: skip
    """Append what became of the intent, when to reconcile again, and what people must hear of it.

    Of a member of a set (`in_set`) that is `notify`.
    """
    ref = decision.observation.volume.ref
    step, summary, due_at = _recorded_as(outcome, ref, now)
    if isinstance(outcome, Refused) and outcome.refusal is Refusal.THROTTLED:
        due_at = _less_often(decision, now)
    if isinstance(outcome, Refused) and outcome.refusal is Refusal.SLOTS:
        due_at = _learn_full(ports, decision, ref, outcome, now)
        summary += f"; no slot before {due_at:%Y-%m-%d %H:%M} UTC"
    if isinstance(outcome, Refused) and outcome.refusal is Refusal.FILE_SYSTEM:
        asked = outcome.cause in decision.resource_state.escalated_causes
        due_at = max(due_at, now + STILL_REFUSED) if asked else due_at
    if not in_set and is_notified(decision, outcome):
        notify = Notify(text=summary)
    elif _delays_approved(decision, outcome):
        earlier = {record.step for record in ports.ledger.chain(decision.decision_id)}
        stands = f"{summary}; the approval stands until it expires, and the change is tried again"
        notify = None if step in earlier else Notify(text=stands)
    body: dict[str, object] = {"outcome": outcome}
    if isinstance(outcome, Applied):
        body["modification"] = modification_of(decision, outcome.started_at)
    ports.ledger.append(
        decision.decision_id,
        step,
        ref=ref,
        at=now,
        summary=summary,
        body=body,
        fencing=intent.fencing,
        due_at=due_at,
        notify=notify,
    )


def is_notified(decision: Decision, outcome: Outcome) -> bool:
    """Whether people are notified of an outcome: of a refusal once, and if time does not clear it.

    Who approved a change hears each time that it was refused, but once of what clears with time.
    """
    if isinstance(outcome, Refused):
        answer = decision.answer
        approved = isinstance(answer, Act) and answer.approval is not None
        notified = outcome.cause in decision.resource_state.escalated_causes
        return outcome.refusal in NOTIFIED and (approved or not notified)
    return isinstance(outcome, Applied | Unknown)


def _delays_approved(decision: Decision, outcome: Outcome) -> bool:
    """Whether an approved change is only delayed: its approval stands."""
    if not isinstance(decision.answer, Act) or decision.answer.approval is None:
        return False
    return isinstance(outcome, Stale) or (
        isinstance(outcome, Refused) and outcome.refusal in TRANSIENT
    )


def modification_of(decision: Decision, started_at: datetime) -> KnownModification:
    """Our own modification, which the record of its acceptance adds to the history."""
    answer = decision.answer
    plan = answer.plan if isinstance(answer, Act) else None
    return KnownModification(
        started_at=started_at, by=BY_HEADROOM if decision.rollback_of is None else ROLLBACK,
        origin=None if plan is None else plan.origin,
        target=None if plan is None else plan.target,
    )  # fmt: skip


def _recorded_as(outcome: Outcome, ref: ResourceRef, now: datetime) -> tuple[Step, str, datetime]:
    match outcome:
        case Applied(detail=detail):
            said = f"AWS accepted the change; {detail}" if detail else "AWS accepted the change"
            return Step.APPLIED, said, now + VERIFY_AFTER
        case AlreadyThere():
            return Step.ALREADY_THERE, f"the {ref.noun} already had the target", now + VERIFY_AFTER
        case Stale(detail=detail):
            return Step.STALE, f"not sent: {detail}", now + timedelta(minutes=1)
        case Refused(refusal=refusal, code=code, message=message, retry_at=retry_at):
            again = now + RETRY.get(refusal, RETRY_OTHERWISE)
            if refusal is Refusal.FILE_SYSTEM:
                again = retry_at or again
            summary = f"AWS refused ({code}): {message}"
            if code == NOT_SENT:
                summary = f"not sent: {message}"
            return Step.REFUSED, summary, again
        case Unknown(detail=detail):
            return Step.UNKNOWN, f"no clear answer: {detail}", now + RESOLVE_AFTER


def _less_often(decision: Decision, now: datetime) -> datetime:
    """When to call again after a throttled call: twice as late each time in a row, so as not to add to it.

    Not while load waits for the change: under a partial throttle one of a few calls soon gets through.
    """
    if decision.demand.pressed_minutes:
        return now + RETRY[Refusal.THROTTLED]
    since = decision.resource_state.refused_since or now
    return now + min(RETRY[Refusal.THROTTLED] + (now - since), RETRY[Refusal.IN_FLIGHT])


def _learn_full(
    ports: Ports, decision: Decision, ref: ResourceRef, outcome: Refused, now: datetime
) -> datetime:
    """When a slot frees: the instant AWS names, else 24 h after the latest start there is.

    At least an hour away either way, so that AWS is asked no more than once an hour.
    """
    change = decision.observation.modification
    latest = now if change is None else change.started_at
    named = outcome.retry_at
    if named is not None and not now < named <= now + WINDOW:
        named = None  # no slot is ever further away than that: the instant means something else
    full_until = named or latest + WINDOW
    ports.state_store.save_modifications(ref, [], now=now, full_until=full_until)
    return max(full_until, now + RETRY[Refusal.SLOTS])
