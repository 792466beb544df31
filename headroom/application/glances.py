"""Adaptive detection: reads a few metrics of the resources on a page whose glance is due, and picks those to reconcile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headroom.application.space import may_run_out_of_space
from headroom.application.work import on_threads
from headroom.domain.detection import (
    DAILY,
    USUAL_VALUE_USD_PER_MINUTE,
    WEEKLY,
    Candidate,
    Glance,
    GlanceState,
    Metric,
    Trouble,
    after_glance,
    alarm_of,
    deserves,
    first_metrics,
    is_due,
    may_have_alarm,
    published_as,
    reads_the_rest,
    reconciliation_due,
    troubles_of,
    was_busy,
)
from headroom.domain.policy import (
    EffectiveLimits,
    Limits,
    Mode,
    Policy,
    PolicyUnreadable,
    events_of,
    limits_for,
    occurrences,
)
from headroom.domain.resources import Kind, ResourceRef
from headroom.ports import Glanced, GlanceRequest, Ports, StorageView

LATE = timedelta(minutes=10)
"""How much longer than since the last glance is read: metrics come minutes late."""
BY_TURNS = timedelta(minutes=130)
"""How far back is read where one check of two may be read every other hour only."""
BACK = tuple(timedelta(minutes=minutes) for minutes in (15, 30, 70))
"""How far back is read; few lengths, so that many resources share a call."""
NEVER = Glanced(state=None, reconciled_at=None)
OFF = Mode.OFF.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A resource with what was glanced at now; `glance` is None where none was due."""

    view: StorageView
    glance: Glance | None
    reconcile: bool
    """Whether to reconcile it now."""
    new: bool
    """Whether it was never reconciled."""
    candidate: Candidate | None = None
    """What it deserves of an alarm of its own; None where that is not known."""
    state: GlanceState | None = None
    """To be saved when it was handed on; None where none was due."""


def glance_at_due(
    ports: Ports, views: Sequence[StorageView], policy: Policy | PolicyUnreadable, now: datetime,
    turn: Callable[[ResourceRef], bool],
) -> list[Seen]:  # fmt: skip
    """Glance at those of one kind that are due, and plan each one's next; raises ReadFailed.

    One that could not be read is reconciled: its metrics are read alone then, and their failure is its own.
    """
    known = ports.work.glanced([view.volume.ref for view in views])
    before = {v.volume.ref.arn: known.get(v.volume.ref.arn, NEVER).state for v in views}
    limits = {view.volume.ref.arn: _limits(policy, view) for view in views}
    modes = {arn: "" if rules is None else rules.limits.mode.value for arn, rules in limits.items()}
    due = [
        view
        for view in views
        for arn in [view.volume.ref.arn]
        if is_due(before[arn], now)
        or _mode_changed(before[arn], modes[arn])
        or _announced_anew(view, before[arn], policy, now)
    ]
    glances, rest_read = _read(ports, due, before, now)

    def state_of(view: StorageView) -> GlanceState:
        volume, found = view.volume, glances.get(view.volume.ref.resource_id)
        troubles = set(troubles_of(volume.configuration, found))
        if may_run_out_of_space(view, found):
            troubles.add(Trouble.SPACE)
        return after_glance(
            volume.configuration, before[volume.ref.arn], found, troubles, now,
            name=volume.ref.arn, rest_read=volume.ref.arn in rest_read,
            value_usd_per_minute=_value(limits[volume.ref.arn]), mode=modes[volume.ref.arn],
            policy=_version(policy),
        )  # fmt: skip

    after = {view.volume.ref.arn: state_of(view) for view in due}
    unread = {view.volume.ref.arn for view in due if was_not_read(view, glances)}

    return [
        Seen(
            view=view,
            glance=glances.get(view.volume.ref.resource_id) if arn in after else None,
            reconcile=_needs_reconciliation(
                view, before[arn], after.get(arn), known.get(arn, NEVER).reconciled_at,
                modes[arn], policy, now,
            )
            or (known.get(arn, NEVER).reconciled_at is None and turn(view.volume.ref))
            or arn in unread,
            new=known.get(arn, NEVER).reconciled_at is None,
            candidate=_candidate(view, after.get(arn) or before[arn], limits[arn]),
            state=after.get(arn),
        )
        for view in views
        for arn in [view.volume.ref.arn]
    ]  # fmt: skip


def was_not_read(view: StorageView, glances: Mapping[str, Glance]) -> bool:
    """Whether what was asked for was not answered; of a cluster nothing is asked: its days are read once a day."""
    return view.volume.ref.kind is not Kind.AURORA and view.volume.ref.resource_id not in glances


def switched_off(
    ports: Ports, views: Sequence[StorageView], now: datetime, fresh: timedelta
) -> list[Seen]:
    """Those that were switched off since they were last reconciled: once more, so that a pending request is withdrawn.

    One that was reconciled within `fresh` is left for the next scan. Raises ReadFailed.
    """
    known = ports.work.glanced([view.volume.ref for view in views]) if views else {}
    found: list[Seen] = []
    for view in views:
        before = known.get(view.volume.ref.arn, NEVER)
        state = before.state or GlanceState(at=now, next_at=now)
        if before.reconciled_at is None or state.mode == OFF or before.reconciled_at > now - fresh:
            continue
        state = replace(state, mode=OFF)
        found.append(Seen(view=view, glance=None, reconcile=True, new=False, state=state))
    return found


def save_glances(ports: Ports, seen: Sequence[Seen], threads: int) -> None:
    """Save what was found, after the suspects among it were handed on; raises ReadFailed.

    What could not be saved is glanced at again in the next run: sooner, never later. Saved before, the
    news of a reader that dies would be old to the one that reads the page again.
    """

    def save(one: Seen) -> None:
        if one.state is not None:
            ports.work.save_glance(one.view.volume.ref, one.state)

    on_threads(save, [one for one in seen if one.state is not None], threads)


def _read(
    ports: Ports,
    due: Sequence[StorageView],
    before: Mapping[str, GlanceState | None],
    now: datetime,
) -> tuple[dict[str, Glance], frozenset[str]]:
    """Glances by resource id, and the ARNs of those of which the rest was read too."""
    asked: list[GlanceRequest] = []
    for view in due:
        last = before[view.volume.ref.arn]
        metrics = first_metrics(
            view.volume.configuration, last, now, database=view.volume.ref.kind is Kind.RDS
        )
        back = BY_TURNS if was_busy(view.volume.configuration, last) else _back(last, now)
        asked.append(GlanceRequest(view=view, back=back, metrics=metrics))
    found = dict(ports.metrics.glances(asked, now))
    rest = [
        GlanceRequest(view=one.view, metrics=_rest(one), back=one.back)
        for one in asked
        if (seen := found.get(one.view.volume.ref.resource_id)) is not None
        and reads_the_rest(
            one.view.volume.configuration, before[one.view.volume.ref.arn], seen, now
        )
    ]
    more = ports.metrics.glances(rest, now)
    for name in (one.view.volume.ref.resource_id for one in rest):
        glance = found.pop(name)
        if name in more:
            found[name] = glance.joined(more[name])
    refs = (one.view.volume.ref for one in rest)
    return found, frozenset(ref.arn for ref in refs if ref.resource_id in found)


def _rest(one: GlanceRequest) -> frozenset[Metric]:
    """What was not read yet; a database's queue again, which its latency is calculated from."""
    rest = frozenset(Metric) - (one.metrics or frozenset())
    return rest | {Metric.QUEUE} if one.view.volume.ref.kind is Kind.RDS else rest


def _back(before: GlanceState | None, now: datetime) -> timedelta:
    if before is None:
        return BACK[1]
    return next((each for each in BACK if each >= now - before.at + LATE), BACK[-1])


def _limits(policy: Policy | PolicyUnreadable, view: StorageView) -> EffectiveLimits | None:
    return None if isinstance(policy, PolicyUnreadable) else limits_for(policy, view.volume)


def _value(limits: EffectiveLimits | None) -> float:
    return (Limits() if limits is None else limits.limits).relief_value_usd_per_minute


def _candidate(
    view: StorageView, state: GlanceState | None, limits: EffectiveLimits | None
) -> Candidate | None:
    """What a resource deserves of an alarm of its own; None where its policy or its past is not known."""
    volume = view.volume
    if state is None or limits is None:
        return None
    alarm = None
    if limits.enrolled and may_have_alarm(volume, state):
        alarm = alarm_of(volume, state)
    return Candidate(
        kind=volume.ref.kind, resource_id=published_as(volume), alarm=alarm,
        score=deserves(state, _value(limits) / USUAL_VALUE_USD_PER_MINUTE),
    )  # fmt: skip


def _mode_changed(before: GlanceState | None, mode: str) -> bool:
    """Whether the owner changed it; a policy that cannot be read, now or then, says nothing."""
    return before is not None and bool(before.mode and mode) and before.mode != mode


def _version(policy: Policy | PolicyUnreadable) -> str:
    return "" if isinstance(policy, PolicyUnreadable) else policy.version


def _policy_changed(before: GlanceState | None, policy: Policy | PolicyUnreadable) -> bool:
    return before is not None and _version(policy) not in ("", before.policy)


def _announced_anew(
    view: StorageView,
    before: GlanceState | None,
    policy: Policy | PolicyUnreadable,
    now: datetime,
) -> bool:
    """Whether a new policy may announce an event that begins before the resource is reconciled anyhow."""
    if isinstance(policy, PolicyUnreadable) or not _policy_changed(before, policy):
        return False
    if not limits_for(policy, view.volume).enrolled:
        return False
    return bool(occurrences(events_of(policy, view.volume), now, now + WEEKLY + 2 * DAILY))


def _needs_reconciliation(
    view: StorageView, before: GlanceState | None, after: GlanceState | None,
    reconciled_at: datetime | None, mode: str, policy: Policy | PolicyUnreadable, now: datetime,
) -> bool:  # fmt: skip
    state = after or before
    if state is None:
        return False
    if view.volume.ref.kind is Kind.AURORA:
        return reconciled_at is not None and now - reconciled_at >= DAILY
    if _mode_changed(before, mode):
        return True
    if _announced_anew(view, before, policy, now):
        return True
    if _policy_changed(before, policy) and state.active(now):
        return True  # it may be allowed now what was not
    change = view.modification
    fresh = change is not None and now - change.started_at < timedelta(hours=1)
    if change is not None and fresh and (reconciled_at or change.started_at) <= change.started_at:
        return True  # the ledger must hear of it
    return reconciliation_due(state, reconciled_at, now)
