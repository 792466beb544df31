"""Striped sets: reconciled together, intended in one transaction, changed in turn, reported once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.application.execute import LEASE, change_storage, is_notified, save_outcome
from headroom.domain.decision import (
    Act,
    Decision,
    DecisionInput,
    Escalate,
    GroupDecision,
    approval_needed,
    blocked_by_members,
    decide,
    decide_group,
)
from headroom.domain.guardrails import Guardrail
from headroom.domain.planning import (
    Candidate,
    GroupConstraint,
    GroupDetail,
    Plan,
    group_of,
    named,
    set_names,
    under_way,
    why_not_a_group,
    why_not_alike,
    why_not_one_set,
)
from headroom.domain.policy import Mode, Policy, limits_for
from headroom.domain.resources import Volume
from headroom.domain.state import (
    AlreadyThere,
    Applied,
    Notify,
    Outcome,
    Refused,
    Stale,
    Step,
    Unknown,
)
from headroom.ports import (
    IllegalStep,
    Intent,
    NotIntended,
    Ports,
    ReadFailed,
    ResourceGone,
    StorageView,
)

AGAIN_AFTER = timedelta(minutes=5)
NO_GROWTH = "the volumes of a set do not grow for free space: grow them together yourself"


def consider(
    ports: Ports, decision_input: DecisionInput, read: Callable[[StorageView], DecisionInput]
) -> GroupDecision:
    """What to do about the volume that was observed, and about its set if it belongs to one.

    The other members are read only if this one would be changed: each that needs more is reconciled itself.
    `read` gives the evidence of one volume. Raises ReadFailed when the set cannot be listed.
    """
    policy, seen = decision_input.policy, decision_input.observation.volume
    name = group_of(policy, seen) if isinstance(policy, Policy) else None
    if name is None or not isinstance(policy, Policy):
        return GroupDecision(primary=decide(decision_input), acts=())
    alone = decide(decision_input, group=GroupConstraint(name=name))
    plan = _wanted(alone)
    if plan is None:
        return GroupDecision(primary=_if_news(ports, decision_input, alone, name), acts=())
    views = _views(ports, policy, seen)
    others = [view for view in views if view.volume.ref != seen.ref]
    members = _candidates(ports, views, decision_input.observation.at)
    decision_input = _notified_elsewhere(decision_input, members)
    approval = alone.answer.approval if isinstance(alone.answer, Act) else None
    said = _ready(name, policy, alone, approval, members)
    if not said.problem:
        rest = [member for member in members if member.volume.ref != seen.ref]
        said = blocked_by_members(name, alone, plan, policy, rest)
    if said.problem:
        return GroupDecision(primary=decide(decision_input, group=said), acts=())
    found: list[DecisionInput] = []
    for view in others:
        try:
            found.append(read(view))
        except (ReadFailed, ResourceGone) as error:
            problem = f"{view.volume.ref.resource_id} could not be read: {error}"
            said = GroupConstraint(name=name, problem=problem, temporary=True)
            return GroupDecision(primary=decide(decision_input, group=said), acts=())
    together = decide_group(name, decision_input, found)
    if together.acts or plan.growth is None:
        return together
    said = GroupConstraint(name=name, problem=NO_GROWTH, cause="growth")
    return GroupDecision(primary=decide(decision_input, group=said), acts=())


def _wanted(alone: Decision) -> Plan | None:
    """The plan for which the set is looked at: one that may be made, or that only the account's budget blocks.

    A message about the budget then names what the whole set needs.
    """
    if isinstance(alone.answer, Act):
        return alone.answer.plan
    judged = alone.proposed
    if judged is None or not isinstance(alone.answer, Escalate):
        return None
    only = {v.guardrail for v in judged.blocking} == {Guardrail.PRICE_PER_ACCOUNT}
    return judged.plan if only else None


def _if_news(ports: Ports, decision_input: DecisionInput, alone: Decision, name: str) -> Decision:
    """The decision about the volume alone, without what was said of its set already."""
    policy, answer = decision_input.policy, alone.answer
    about_the_set = isinstance(answer, Escalate) and answer.cause.startswith(Guardrail.GROUP.value)
    if not about_the_set or not isinstance(policy, Policy):
        return alone
    views = _views(ports, policy, decision_input.observation.volume)
    members = _candidates(ports, views, decision_input.observation.at)
    known = _notified_elsewhere(decision_input, members)
    return decide(known, group=GroupConstraint(name=name))


def _views(ports: Ports, policy: Policy, seen: Volume) -> list[StorageView]:
    """The volumes of the instance whose tags name a set that the volume's own tags name."""
    names = set_names(policy, seen)
    if not seen.instance_ids:
        return []
    attached = ports.storage.attached(seen.instance_ids[0])
    return [view for view in attached if names & set_names(policy, view.volume)]


def _candidates(ports: Ports, views: Sequence[StorageView], now: datetime) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            volume=view.volume,
            in_flight=view.modification is not None and view.modification.in_flight,
            resource_state=ports.state_store.resource_state(view.volume.ref, now),
        )
        for view in views
    )


def _ready(
    name: str, policy: Policy, alone: Decision, approval: str | None, members: Sequence[Candidate]
) -> GroupConstraint:  # fmt: skip
    """Whether the volumes that were found are a set that may be changed now, and why not.

    `approval` is why the volume of `alone` needs it.
    """
    seen, volumes = alone.observation.volume, [member.volume for member in members]
    off = [
        volume.ref.resource_id
        for volume in volumes
        if limits_for(policy, volume).limits.mode is Mode.OFF
    ]
    problem = why_not_one_set(policy, name, volumes or [seen])
    problem = problem or why_not_a_group(name, seen, volumes) or why_not_alike(name, members)
    if problem is None and off:
        problem = GroupConstraint(
            name=name, problem=f"{named(off)} is not to be looked at (mode off)",
            remedy=f"enrol {named(off)} as well, with the mode auto", cause=f"off: {named(off)}",
        )  # fmt: skip
    if problem is None and approval is not None:
        problem = approval_needed(name, seen.ref.resource_id, approval)
    if problem is not None:
        return problem
    busy = under_way(members, seen)
    if any(volume.ref == seen.ref and volume != seen for volume in volumes):
        busy = f"{seen.ref.resource_id} changed while its set was read"
    return GroupConstraint(name=name, problem=busy, temporary=bool(busy))


def _notified_elsewhere(
    decision_input: DecisionInput, members: Sequence[Candidate]
) -> DecisionInput:
    """The input with what the owner was notified of about another volume of the set: once is enough."""
    notified = {
        cause: None
        for member in members
        for cause in member.resource_state.escalated_causes
        if any(part.startswith(Guardrail.GROUP.value) for part in cause.split("+"))
    }
    own = dict.fromkeys(decision_input.resource_state.escalated_causes)
    causes = tuple(own | notified)
    return replace(
        decision_input,
        resource_state=replace(decision_input.resource_state, escalated_causes=causes),
    )


def change_together(
    ports: Ports, decisions: Sequence[Decision], now: datetime,
    due: Callable[[Decision], datetime | None],
) -> None:  # fmt: skip
    """Record all acts of a set, make all intents durable at once, then change one after the other.

    What AWS does not do for one is not asked for the rest; people are notified once, of the whole.
    """
    for place, decision in enumerate(decisions):
        if not ports.ledger.decided(decision, due_at=due(decision)):
            if place:  # its first one is ours, so a later one was decided by nobody we know
                _withdraw(ports, decisions[:place], "exists", "decided by somebody else", now)
            return
    intents = ports.ledger.intend_together(decisions, lease_until=now + LEASE, now=now)
    if isinstance(intents, NotIntended):
        _withdraw(ports, decisions, intents.why, intents.detail, now)
        return
    _apply_in_turn(ports, decisions, intents, now)


def _withdraw(
    ports: Ports, decisions: Sequence[Decision], why: str, detail: str, now: datetime
) -> None:
    """No act of the set stays to be done: each is withdrawn that nobody else took up or ended."""
    for decision in decisions:
        with suppress(IllegalStep):
            ports.ledger.append(
                decision.decision_id, Step.WITHDRAWN, ref=decision.observation.volume.ref, at=now,
                summary=f"withdrawn before acting, with its whole set: {detail}",
                body={"why": why, "detail": detail}, fencing=None, due_at=now + AGAIN_AFTER,
            )  # fmt: skip


def _apply_in_turn(
    ports: Ports, decisions: Sequence[Decision], intents: Sequence[Intent], now: datetime
) -> None:
    """Change one after the other, each outcome on record before the next is sent.

    After the first that did not change nothing more is sent. Each is verified from the time of its own call, minutes after
    the first.
    """
    outcomes: list[Outcome] = []
    stopped_by, policy = "", ports.policies.current()
    decided_under = isinstance(policy, Policy) and policy.version == decisions[0].policy_version
    for decision, intent in zip(decisions, intents, strict=True):
        begun = policy if outcomes and decided_under and isinstance(policy, Policy) else None
        outcome = _apply(ports, decision, stopped_by, now, begun=begun)
        outcomes.append(outcome)
        notify = _notify_of(decisions, outcomes)
        at = now if ports.clock is None else max(now, ports.clock())
        save_outcome(ports, decision, outcome, intent, at, in_set=True, notify=notify)
        if not stopped_by and not isinstance(outcome, Applied | AlreadyThere):
            stopped_by = decision.observation.volume.ref.resource_id


def _apply(
    ports: Ports, decision: Decision, stopped_by: str, now: datetime, *, begun: Policy | None
) -> Outcome:
    answer, seen = decision.answer, decision.observation
    if not isinstance(answer, Act):
        raise TypeError(f"{decision.decision_id} is not to act")
    if stopped_by:
        detail = f"of the same set, {stopped_by} was not changed"
        found = seen.volume.configuration
        return Stale(expected=answer.plan.origin, found=found, detail=detail)
    return change_storage(ports, decision, answer, now, begun=begun)


def _notify_of(decisions: Sequence[Decision], outcomes: Sequence[Outcome]) -> Notify | None:
    """What people hear with the newest of `outcomes`: once, when it is clear what becomes of the set.

    That is with the first volume that was not changed, because nothing more is sent, or with the last.
    """
    group = decisions[0].group or GroupDetail(name="")
    ids = [decision.observation.volume.ref.resource_id for decision in decisions]
    stop = len(outcomes) - 1
    done = [isinstance(outcome, Applied | AlreadyThere) for outcome in outcomes]
    if all(done):
        whole = len(done) == len(decisions)
        return Notify(text=_accepted(decisions, group, ids), step=Step.APPLIED) if whole else None
    if done.index(False) != stop:
        return None
    changed, rest = ids[:stop], ids[stop + 1 :]
    step, why = _why(outcomes[stop])
    if not changed:
        if not is_notified(decisions[stop], outcomes[stop]):
            return None  # nothing was changed, and nothing that a person could do about it
        text = f"no volume of the set {group.name} was changed: {ids[stop]}: {why}"
    else:
        text = (
            f"the set {group.name} is uneven: {', '.join(changed)} changed to {group.shared}, "
            f"{ids[stop]} not ({why})"
        )
        text += f", {', '.join(rest)} not sent" if rest else ""
        text += "; the sweep evens it from a fresh look once every volume may be changed"
    return Notify(text=text, step=Step.REFUSED if step is Step.STALE else step)


def _accepted(decisions: Sequence[Decision], group: GroupDetail, ids: Sequence[str]) -> str:
    usd = sum(
        (d.answer.plan.price_change_usd for d in decisions if isinstance(d.answer, Act)), Decimal(0)
    )
    whole = f"all {len(group.members)} volumes of the set {group.name}"
    which = f" ({', '.join(ids)})"
    if len(ids) < len(group.members):
        whole, which = f"{', '.join(ids)}, which evens {whole}", ""
    return f"AWS accepted the change of {whole}{which}: {group.shared} each, {usd:+,.2f} USD a month in all"


def _why(outcome: Outcome) -> tuple[Step, str]:
    match outcome:
        case Refused(code=code, message=message):
            return Step.REFUSED, f"AWS refused, {code}: {message}"
        case Unknown(detail=detail):
            return Step.UNKNOWN, f"no clear answer: {detail}"
        case Stale(expected=expected, found=found, detail=detail):
            return Step.STALE, detail if found == expected else f"it moved meanwhile: {detail}"
        case _:
            return Step.APPLIED, ""
