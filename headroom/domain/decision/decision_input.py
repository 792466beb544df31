"""The input of a decision, and its analysis before any plan is judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache

from headroom.domain.catalog import PriceTable
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision.approval import growth_refused_until
from headroom.domain.decision.diagnose import diagnose
from headroom.domain.decision.space import space_forecast_for_owner
from headroom.domain.guardrails import Case, less_promised
from headroom.domain.planning import (
    LEAD,
    NO_VALUED_PLANS,
    GroupConstraint,
    Plan,
    Situation,
    ValuedPlans,
    closed_by,
    least_planned,
    next_growth_usd,
    serves,
    value_plans,
    with_space_plans,
)
from headroom.domain.policy import (
    IN_SIGHT,
    EffectiveLimits,
    KnownEvent,
    Limits,
    Mode,
    Occurrence,
    Policy,
    PolicyUnreadable,
    events_of,
    last_chance,
    limits_for,
    occurrences,
)
from headroom.domain.resources import Configuration, Observation, PriceUnknown
from headroom.domain.state import (
    HOUR,
    MOST_HOURS,
    WINDOW,
    LimitHistory,
    LoadProfile,
    ResourceState,
    hour_of,
    owners_choice,
    reduced_from,
    served_by_hdd,
)
from headroom.domain.workload import (
    Binding,
    Demand,
    Diagnosis,
    KnownLoad,
    Past,
    SpaceForecast,
    digest_of,
    estimate,
    explained_hours,
    grown,
    growth_of,
    load_rates,
    mib_per_op,
    past_of,
    recent_minutes,
    space_forecast,
    through_instance,
    with_hidden_bursts,
)

KNOWN_AHEAD = timedelta(hours=26)
"""How far ahead the owner's known events count: a day, and the time a change takes."""
LATELY, DAILY = timedelta(days=35), timedelta(days=1)
"""What was busy within the first, a month and some days, is looked at daily: the load may come again."""
ANSWERED_WITHIN = timedelta(hours=1)
"""How long an answer may take before a raise begins that needs none."""
ANNOUNCED_AHEAD = timedelta(days=400)
"""How far ahead nothing is given back for good that a known event needs."""
NEXT_EVENTS = 10
"""How many events ahead are compared with windows and freezes."""
DENY_ALL_POLICY = Policy(version="unreadable", defaults=Limits(mode=Mode.OFF))
"""Replaces an unreadable policy: it allows nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionInput:
    """All inputs of a decision. `prices` is None when no price is known for the Region."""

    trigger: str
    observation: Observation
    resource_state: ResourceState
    policy: Policy | PolicyUnreadable
    prices: PriceTable | None
    extra_target: Configuration | None = None
    """A target to value beside the planner's own; not part of the decision's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What the input of one volume means, before any plan is judged."""

    decision_input: DecisionInput
    policy: Policy
    effective: EffectiveLimits
    demand: Demand
    diagnosis: Diagnosis
    situation: Situation | None
    """None where no price is known."""
    valued_plans: ValuedPlans
    space: SpaceForecast | None = None


def analyze(decision_input: DecisionInput) -> Analysis:
    """Demand, the binding limit, and the candidate plans, best first."""
    observation = decision_input.observation
    policy, effective = policy_of(decision_input)
    demand, diagnosis = _diagnosed(decision_input, effective.limits)
    situation, valued_plans = None, NO_VALUED_PLANS
    space = space_forecast_for_owner(
        space_forecast(observation, decision_input.resource_state.modifications, effective.limits),
        effective.limits, observation.at,
    )  # fmt: skip
    if decision_input.prices is not None:
        situation = _situation(
            decision_input, decision_input.prices, policy, effective, demand, diagnosis
        )
        if situation is not None and space is not None and _may_grow(decision_input):
            situation = replace(situation, next_growth_usd=next_growth_usd(situation, space))
        valued_plans = valued_plans if situation is None else value_plans(situation)
    if situation is not None and space is not None:
        valued_plans = replace(
            valued_plans, plans=with_space_plans(situation, space, valued_plans.plans)
        )
    return Analysis(
        decision_input=decision_input, policy=policy, effective=effective, demand=demand,
        diagnosis=diagnosis, situation=situation, valued_plans=valued_plans, space=space,
    )  # fmt: skip


def _may_grow(decision_input: DecisionInput) -> bool:
    """Whether nobody rejected growth lately, and no file system was found that cannot follow."""
    seen, state = decision_input.observation, decision_input.resource_state
    size = seen.volume.configuration.size_gib
    rejected = growth_refused_until(state.declined, size, seen.at) is not None
    return not rejected and state.growth_not_before is None


def situation_of(decision_input: DecisionInput) -> Situation | None:
    """The planner's input; None where no price is known."""
    if decision_input.prices is None:
        return None
    policy, effective = policy_of(decision_input)
    demand, diagnosis = _diagnosed(decision_input, effective.limits)
    return _situation(decision_input, decision_input.prices, policy, effective, demand, diagnosis)


def _diagnosed(decision_input: DecisionInput, limits: Limits) -> tuple[Demand, Diagnosis]:
    observation = decision_input.observation
    seen = recent_minutes(observation, decision_input.resource_state.modifications)
    profile = decision_input.resource_state.profile
    demand = estimate(observation, seen, profile)
    diagnosis = diagnose(
        observation, demand, seen, latency_objective_ms=limits.latency_objective_ms
    )
    concurrency = decision_input.resource_state.concurrency
    return demand, less_promised(observation, diagnosis, concurrency)


def case_of(
    analysis: Analysis,
    plan: Plan,
    resource_state: ResourceState,
    group: GroupConstraint | None = None,
) -> Case:
    """The guardrails' input for one plan."""
    return Case(
        plan=plan, observation=analysis.decision_input.observation, demand=analysis.demand,
        diagnosis=analysis.diagnosis, resource_state=resource_state, policy=analysis.policy,
        effective=analysis.effective, known_days=analysis.valued_plans.known_days, group=group,
        space=analysis.space, next_growth_usd=Decimal(0)
        if analysis.situation is None
        else analysis.situation.next_growth_usd,
    )  # fmt: skip


def policy_of(decision_input: DecisionInput) -> tuple[Policy, EffectiveLimits]:
    policy = decision_input.policy
    if isinstance(policy, PolicyUnreadable):
        return DENY_ALL_POLICY, EffectiveLimits(
            limits=DENY_ALL_POLICY.defaults, mode_from="unreadable policy", enrolled=False,
            problem=policy.reason,
        )  # fmt: skip
    return policy, limits_for(policy, decision_input.observation.volume)


def current_price(decision_input: DecisionInput) -> Decimal | None:
    if decision_input.prices is None:
        return None
    try:
        return decision_input.prices.monthly(decision_input.observation.volume.configuration)
    except PriceUnknown:
        return None


def _situation(
    decision_input: DecisionInput, prices: PriceTable, policy: Policy, effective: EffectiveLimits,
    demand: Demand, diagnosis: Diagnosis,
) -> Situation | None:  # fmt: skip
    resource_state, now_usd = decision_input.resource_state, current_price(decision_input)
    if now_usd is None:
        return None
    others = resource_state.account_increase_usd - resource_state.resource_increase_usd
    at, past = decision_input.observation.at, _past(decision_input, policy, effective.limits)
    announced = _known_loads(decision_input, policy, past, effective.limits)
    return Situation(
        observation=decision_input.observation,
        past=past,
        demand=demand,
        # Slow below every limit is as calm as nothing: what the coming day needs goes on.
        diagnosis=replace(diagnosis, binding=Binding.NOTHING)
        if diagnosis.binding is Binding.LATENCY
        else diagnosis,
        slow=diagnosis.slower_than_objective,
        limits=effective.limits,
        prices=prices,
        baseline_usd=now_usd
        if resource_state.enrolment_usd is None
        else resource_state.enrolment_usd,
        account_left_usd=max(Decimal(0), policy.account_increase_usd - others),
        starts=tuple(
            m.started_at for m in resource_state.modifications if m.started_at > at - WINDOW
        ),
        reduced_from=reduced_from(
            resource_state.modifications, decision_input.observation.volume.configuration
        ),
        extra_target=decision_input.extra_target,
        chosen=chosen_by_owner(decision_input),
        raises_take=timedelta(minutes=resource_state.raises_take_minutes),
        unanswered=resource_state.approval_request is not None
        and resource_state.approval_request.approved_at is None
        and at >= resource_state.approval_request.requested_at + ANSWERED_WITHIN,
        freezes=closed_by(policy.freezes, resource_state.calendars, at),
        known_loads=tuple(load for load in announced if load.start < at + KNOWN_AHEAD),
        announced=announced,
        served_by_hdd=served_by_hdd(
            resource_state.modifications, chosen_by_owner(decision_input), past.profile, at
        ),
    )


def look_ahead_at(analysis: Analysis) -> datetime | None:
    """When to look at load that is not of the coming day, for a resource that may be changed.

    A known event, as soon as it is within sight and when a change for it may begin for the last time. Busy hours, for as long as they may belong to a monthly
    load: it no longer shows as trouble once it is met in time. What fell silent may be stopped.
    """
    situation = analysis.situation
    if situation is None or not analysis.effective.enrolled:
        return None
    at, past = situation.observation.at, situation.past
    times = [one.start - IN_SIGHT for one in situation.announced if one.start > at + IN_SIGHT][:1]
    now = capability(situation.current)
    last = [one.start - LEAD for one in situation.announced if not serves(now, one)]
    times += [one for one in last if one > at][:1]
    latest = past.profile.start + past.places[-1] * HOUR if past.busy else None
    if analysis.demand.known_minutes and latest is not None and latest > at - LATELY:
        times.append(at + DAILY)
    return min(times, default=None)


def chosen_by_owner(decision_input: DecisionInput) -> Configuration | None:
    """What the owner chose; None where it is not known, and Headroom changed nothing lately."""
    state = decision_input.resource_state
    current = decision_input.observation.volume.configuration
    return state.owner_configuration or owners_choice(state.modifications, current)


def _known_loads(
    decision_input: DecisionInput, policy: Policy, past: Past, limits: Limits
) -> tuple[KnownLoad, ...]:
    """All that the owner announced, months ahead.

    An event that gives only IOPS takes the MiB/s of that many operations of the usual size. What the instance does
    not let through is no load of the volume. The next ones count from when a raise for them may start for the last time.
    """
    observation = decision_input.observation
    at, events = observation.at, events_of(policy, observation.volume)
    closed = closed_by(policy.freezes, decision_input.resource_state.calendars, at)
    earlier = earlier_events(events, at.date()) if events else ()
    size_of = {
        event.name: mib_per_op(
            past, observation.activity, [one for one in earlier if one.name == event.name]
        )
        for event in events
    }
    found = []
    limited = None if observation.instance is None else observation.instance.limits
    for number, event in enumerate(occurrences(events, at, at + ANNOUNCED_AHEAD)):
        start, iops = event.start, float(event.iops)
        if number < NEXT_EVENTS:
            start = last_chance(limits.change_windows, closed, start, now=at) or start
        mibps = float(event.mibps) or iops * size_of[event.name]
        load = KnownLoad(start, event.end, iops, mibps, event.name, event.start)
        found.append(through_instance(load, limited, mibps_announced=event.mibps > 0))
    return tuple(sorted(found, key=lambda load: (load.start, load.end, load.name)))


def _past(decision_input: DecisionInput, policy: Policy, limits: Limits) -> Past:
    """The profile of the past, with the hours that are busy.

    Hours that known events explain are left out: they come again when the owner says.
    """
    observation, resource_state = decision_input.observation, decision_input.resource_state
    profile, known = resource_state.profile, LimitHistory(observation, resource_state.modifications)
    if profile is None and observation.history is not None:
        profile = digest_of(observation.history, known)
    profile = profile or LoadProfile(start=hour_of(observation.at), hours=())
    growth = growth_of(profile)
    profile = with_hidden_bursts(profile if growth is None else grown(profile, growth), known)
    current = observation.volume.configuration
    least_iops, least_mibps = least_planned(
        current, chosen_by_owner(decision_input) or current, profile, limits
    )
    past = past_of(profile, least_iops=least_iops, least_mibps=least_mibps, growth=growth)
    if past.days < 1:  # the profile knows whole hours, of which there are few
        iops, mibps = load_rates(observation.activity)
        past = replace(
            past, most_iops=max([past.most_iops, *iops]), most_mibps=max([past.most_mibps, *mibps])
        )
    events = events_of(policy, observation.volume)
    if not events or not past.busy:
        return past
    explained = explained_hours(past, earlier_events(events, observation.at.date()), observation.at)
    return replace(past, busy={p: hour for p, hour in past.busy.items() if p not in explained})


@lru_cache(maxsize=64)
def earlier_events(events: tuple[KnownEvent, ...], day: date) -> tuple[Occurrence, ...]:
    """Every time that one of the events came, in as many days as a profile has, up to `day`."""
    end = datetime.combine(day, time(), tzinfo=UTC) + timedelta(days=1)
    return occurrences(events, end - MOST_HOURS * HOUR, end)
