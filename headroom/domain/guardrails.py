"""The owner's guardrails: each one small function, all of them answer, all fail closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from headroom.domain.catalogue import DURABILITY_PERCENT, MAX_MODIFICATIONS, capability, why_invalid
from headroom.domain.demand import Binding, Demand, Diagnosis
from headroom.domain.observation import Observation
from headroom.domain.planner import step_of
from headroom.domain.plans import Plan
from headroom.domain.policy import EffectiveLimits, Mode, Policy
from headroom.domain.resources import VolumeType
from headroom.domain.standing import WINDOW, Standing
from headroom.domain.verdicts import Guardrail, PlanJudgement, Relation, Verdict

MIN_KNOWN_MINUTES = 5
"""Measured minutes of the last 30 below which data is too thin to spend money on."""
FRESH = timedelta(minutes=30)
MAX_FAILURES = 5
FAILURE_PAUSE = timedelta(hours=6)
ASK_AGAIN_AFTER = timedelta(hours=1)
"""After AWS refused for want of a slot, it is asked no more than once in this time."""
END_OF_TIME = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One plan and everything a guardrail may look at."""

    plan: Plan
    observation: Observation
    demand: Demand
    diagnosis: Diagnosis
    standing: Standing
    policy: Policy
    effective: EffectiveLimits


def _verdict(
    guardrail: Guardrail,
    relation: Relation,
    value: int | float | Decimal | str | bool | None,
    limit: int | float | Decimal | str | bool | tuple[str, ...] | None,
    unit: str,
    detail: str = "",
    *,
    clears_at: datetime | None = None,
    temporary: bool = False,
) -> Verdict:
    return Verdict(
        guardrail=guardrail, relation=relation, value=value, limit=limit, unit=unit, detail=detail,
        clears_at=clears_at, temporary=temporary,
    )  # fmt: skip


def enrolled(case: Case) -> Verdict:
    """The policy must be readable for this resource: a tag nobody understands stops."""
    problem = case.effective.problem
    return _verdict(
        Guardrail.POLICY, Relation.IS, problem or "understood", "understood", "",
        "fix the tag on the volume" if problem else "",
    )  # fmt: skip


def pause(case: Case) -> Verdict:
    """The kill switch must be off."""
    until = case.standing.paused_until
    on = until is not None and until > case.observation.at
    endless = until is not None and until >= END_OF_TIME - timedelta(days=1)
    return _verdict(
        Guardrail.PAUSE, Relation.IS, "paused" if on else "running", "running", "",
        clears_at=until if on and not endless else None, temporary=on,
    )  # fmt: skip


def mode(case: Case) -> Verdict:
    """Only `auto` acts by itself."""
    limits = case.effective.limits
    return _verdict(
        Guardrail.MODE, Relation.IS, limits.mode.value, Mode.AUTO.value, "",
        f"from {case.effective.mode_from}",
    )  # fmt: skip


def types(case: Case) -> Verdict:
    """The target type must be one the owner allows; staying in the present type is allowed."""
    allowed = tuple(t.value for t in case.effective.limits.types)
    current, target = case.plan.origin.volume_type, case.plan.target.volume_type
    if target is current and target is not VolumeType.GP2 and current.value not in allowed:
        allowed += (current.value,)
    return _verdict(Guardrail.TYPES, Relation.ONE_OF, target.value, allowed, "")


def valid(case: Case) -> Verdict:
    """AWS must accept the target."""
    problem = why_invalid(case.plan.target)
    return _verdict(Guardrail.VALID, Relation.IS, problem or "valid", "valid", "")


def never_shrink(case: Case) -> Verdict:
    """No plan makes a volume smaller."""
    plan = case.plan
    return _verdict(
        Guardrail.NEVER_SHRINK, Relation.AT_LEAST, plan.target.size_gib, plan.origin.size_gib, "GiB"
    )


def durability(case: Case) -> Verdict:
    """No plan moves data to a type that AWS documents as less durable."""
    before = DURABILITY_PERCENT[case.plan.origin.volume_type]
    after = DURABILITY_PERCENT[case.plan.target.volume_type]
    return _verdict(Guardrail.DURABILITY, Relation.AT_LEAST, after, before, "% a year")


def max_iops(case: Case) -> Verdict:
    """Ceiling on IOPS, provisioned or derived."""
    value = capability(case.plan.target).sustained_iops
    return _verdict(
        Guardrail.MAX_IOPS, Relation.AT_MOST, value, case.effective.limits.max_iops, "IOPS"
    )


def max_throughput(case: Case) -> Verdict:
    """Ceiling on throughput.

    What io1 and io2 derive beyond it is free of charge and not counted against the owner: the
    ceiling binds where throughput is provisioned and paid for.
    """
    target = case.plan.target
    value = (
        target.throughput_mibps
        if target.throughput_mibps is not None
        else min(case.plan.wanted_mibps, capability(target).sustained_mibps)
    )
    limit = case.effective.limits.max_throughput_mibps
    return _verdict(Guardrail.MAX_THROUGHPUT, Relation.AT_MOST, value, limit, "MiB/s")


def max_size(case: Case) -> Verdict:
    """Ceiling on size; a volume that is already bigger may stay as it is."""
    limit = max(case.effective.limits.max_size_gib, case.plan.origin.size_gib)
    return _verdict(Guardrail.MAX_SIZE, Relation.AT_MOST, case.plan.target.size_gib, limit, "GiB")


def growth(case: Case) -> Verdict:
    """Size grows only where the owner allows what can never be undone."""
    plan = case.plan
    limit = 1_000_000 if case.effective.limits.growth else plan.origin.size_gib
    return _verdict(
        Guardrail.GROWTH, Relation.AT_MOST, plan.target.size_gib, limit, "GiB",
        "growing cannot be undone; the file system is not touched" if plan.grows else "",
    )  # fmt: skip


def largest_step(case: Case) -> Verdict:
    """One change multiplies IOPS or throughput at most so many times."""
    step = round(step_of(case.plan.origin, case.plan.target), 4)
    return _verdict(
        Guardrail.LARGEST_STEP, Relation.AT_MOST, step, case.effective.limits.largest_step, "x"
    )


def _increase(case: Case) -> Decimal:
    enrolment = case.standing.enrolment_usd
    before = case.plan.monthly_usd - case.plan.price_change_usd
    return case.plan.monthly_usd - (before if enrolment is None else enrolment)


def price_per_resource(case: Case) -> Verdict:
    """The monthly price may exceed the price at enrolment by so much; a cheaper one always may."""
    return _verdict(
        Guardrail.PRICE_PER_RESOURCE, Relation.AT_MOST, max(_increase(case), Decimal(0)),
        case.effective.limits.price_increase_usd, "USD/month",
    )  # fmt: skip


def price_per_account(case: Case) -> Verdict:
    """The sum of the increases in force may be so much; reserved atomically when intended."""
    standing = case.standing
    others = standing.account_increase_usd - standing.own_increase_usd
    own = max(Decimal(0), _increase(case))
    if own <= standing.own_increase_usd:  # nothing is added: giving back is never blocked by money
        others = min(others, max(Decimal(0), case.policy.account_increase_usd - own))
    return _verdict(
        Guardrail.PRICE_PER_ACCOUNT, Relation.AT_MOST, others + own,
        case.policy.account_increase_usd, "USD/month",
    )  # fmt: skip


def slots(case: Case) -> Verdict:
    """AWS allows four modifications per rolling 24 h; a reserve of them is left for people."""
    at, standing = case.observation.at, case.standing
    starts = sorted(m.started_at for m in standing.modifications if m.started_at > at - WINDOW)
    reserve = case.effective.limits.slots_reserve
    room = MAX_MODIFICATIONS - reserve - 1
    value = len(starts) + 1 + reserve
    clears = starts[len(starts) - room - 1] + WINDOW if len(starts) > room >= 0 else None
    detail = f"{len(starts)} known in 24 h, {reserve} kept in reserve"
    for until in (standing.slots_full_until, _ask_again(standing)):
        if until is not None and until > at:
            value = max(value, MAX_MODIFICATIONS + 1)
            clears = until if clears is None else max(clears, until)
            detail = "AWS refused: at least four used in 24 h"
    return _verdict(
        Guardrail.SLOTS, Relation.AT_MOST, value, MAX_MODIFICATIONS, "slots", detail,
        clears_at=clears, temporary=room >= 0,
    )  # fmt: skip


def _ask_again(standing: Standing) -> datetime | None:
    if standing.last_refusal_at is None or standing.slots_full_until is None:
        return None
    return standing.last_refusal_at + ASK_AGAIN_AFTER


def in_flight(case: Case) -> Verdict:
    """AWS takes no change while one is modifying or optimizing."""
    change = case.observation.modification
    busy = change is not None and change.in_flight
    return _verdict(
        Guardrail.IN_FLIGHT, Relation.IS,
        change.state.value if change is not None and busy else "none", "none", "",
        temporary=True,
    )  # fmt: skip


def back_off(case: Case) -> Verdict:
    """After a refusal AWS is left alone until it may be asked again, whoever asks for it."""
    until = case.standing.retry_not_before
    waiting = until is not None and until > case.observation.at
    return _verdict(
        Guardrail.BACK_OFF, Relation.IS, "refused lately" if waiting else "free to ask",
        "free to ask", "", clears_at=until if waiting else None, temporary=True,
    )  # fmt: skip


def cooldown(case: Case) -> Verdict:
    """Quiet time after our own last change."""
    minutes, last = case.effective.limits.cooldown_minutes, case.standing.last_act_at
    if last is None:
        return _verdict(Guardrail.COOLDOWN, Relation.IS, "no change yet", "no change yet", "min")
    since = (case.observation.at - last).total_seconds() / 60
    return _verdict(
        Guardrail.COOLDOWN, Relation.AT_LEAST, round(since, 1), minutes, "min",
        clears_at=last + timedelta(minutes=minutes), temporary=True,
    )  # fmt: skip


def other_owner(case: Case) -> Verdict:
    """A volume that a service manages, or one on an Outpost, is left alone."""
    volume = case.observation.volume
    owner = volume.managed_by or ("AWS Outposts" if volume.on_outpost else "you")
    return _verdict(Guardrail.OTHER_OWNER, Relation.IS, owner, "you", "")


def multi_attach(case: Case) -> Verdict:
    """A volume shared by several instances is left alone: its load cannot be told apart."""
    volume = case.observation.volume
    shared = volume.multi_attach or len(volume.instance_ids) > 1
    return _verdict(
        Guardrail.MULTI_ATTACH, Relation.IS, "shared" if shared else "single", "single", ""
    )


def instance_limit(case: Case) -> Verdict:
    """No money for a volume whose instance is the limit, or may be for all that is known."""
    diagnosis = case.diagnosis
    binding = diagnosis.binding
    value, detail = "volume", ""
    if binding in (Binding.INSTANCE_IOPS, Binding.INSTANCE_THROUGHPUT):
        value, detail = binding.value, diagnosis.explanation
    elif None in (diagnosis.instance_iops_left, diagnosis.instance_mibps_left):
        activity = case.observation.instance_activity
        since = case.observation.at - FRESH
        checked = activity is not None and all(
            check.since(since).known()
            for check in (activity.iops_exceeded, activity.throughput_exceeded)
        )
        if not checked:
            value, detail = "not known", "neither the instance's limits nor its own check are known"
    return _verdict(
        Guardrail.INSTANCE_LIMIT, Relation.IS, value, "volume", "", detail, temporary=True
    )


def data(case: Case) -> Verdict:
    """Enough fresh data to spend money on."""
    return _verdict(
        Guardrail.DATA, Relation.AT_LEAST, case.demand.known_minutes, MIN_KNOWN_MINUTES,
        "measured minutes of 30", temporary=True,
    )  # fmt: skip


def worth_it(case: Case) -> Verdict:
    """The starvation it should end must be worth more than it costs."""
    return _verdict(
        Guardrail.WORTH_IT, Relation.AT_LEAST, round(case.plan.value_usd_per_day, 4), 0.0,
        "USD/day", f"ends {case.plan.ended_minutes_per_day:.0f} starved min/day", temporary=True,
    )  # fmt: skip


def failures(case: Case) -> Verdict:
    """After repeated failures, nothing for six hours."""
    last = case.standing.last_refusal_at
    count = case.standing.failures_in_a_row
    if last is not None and case.observation.at - last >= FAILURE_PAUSE:
        count = 0
    return _verdict(
        Guardrail.FAILURES, Relation.AT_MOST, count, MAX_FAILURES - 1, "in a row",
        clears_at=None if last is None else last + FAILURE_PAUSE, temporary=True,
    )  # fmt: skip


GUARDRAILS: tuple[tuple[Guardrail, Callable[[Case], Verdict]], ...] = (
    # The order is the one people read them in: permission, safety, the owner's limits, money,
    # AWS's limits, sense. No rule depends on another.
    (Guardrail.POLICY, enrolled),
    (Guardrail.PAUSE, pause),
    (Guardrail.MODE, mode),
    (Guardrail.OTHER_OWNER, other_owner),
    (Guardrail.MULTI_ATTACH, multi_attach),
    (Guardrail.VALID, valid),
    (Guardrail.NEVER_SHRINK, never_shrink),
    (Guardrail.DURABILITY, durability),
    (Guardrail.GROWTH, growth),
    (Guardrail.TYPES, types),
    (Guardrail.MAX_IOPS, max_iops),
    (Guardrail.MAX_THROUGHPUT, max_throughput),
    (Guardrail.MAX_SIZE, max_size),
    (Guardrail.LARGEST_STEP, largest_step),
    (Guardrail.PRICE_PER_RESOURCE, price_per_resource),
    (Guardrail.PRICE_PER_ACCOUNT, price_per_account),
    (Guardrail.SLOTS, slots),
    (Guardrail.IN_FLIGHT, in_flight),
    (Guardrail.BACK_OFF, back_off),
    (Guardrail.COOLDOWN, cooldown),
    (Guardrail.FAILURES, failures),
    (Guardrail.INSTANCE_LIMIT, instance_limit),
    (Guardrail.DATA, data),
    (Guardrail.WORTH_IT, worth_it),
)


def judge(case: Case) -> PlanJudgement:
    """What every guardrail says about one plan; a rule that raises blocks."""
    return PlanJudgement(
        plan=case.plan, verdicts=tuple(_ask(name, rule, case) for name, rule in GUARDRAILS)
    )


def _ask(name: Guardrail, rule: Callable[[Case], Verdict], case: Case) -> Verdict:
    try:
        verdict = rule(case)
        _ = verdict.allows  # a verdict whose numbers cannot be compared is a failed one
    except Exception as error:
        return _verdict(name, Relation.FAILED, None, None, "", f"{type(error).__name__}: {error}")
    return verdict
