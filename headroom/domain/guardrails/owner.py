"""The owner's guardrails: who may act, where to, how far, and for how much."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from headroom.domain.catalog.ebs import DURABILITY_PERCENT, capability
from headroom.domain.guardrails.case import Case, allowed, verdict_of
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.planning import Plan, step_of
from headroom.domain.policy import Mode, OneWay
from headroom.domain.resources import VolumeType
from headroom.domain.state import INDEFINITE, reduced_from


def enrolled(case: Case) -> Verdict:
    """Block every change while a tag on the resource cannot be understood."""
    problem = case.effective.problem
    return verdict_of(
        Guardrail.POLICY, Relation.IS, problem or "understood", "understood", "",
        f"fix the tag on the {case.observation.volume.ref.noun}" if problem else "",
    )  # fmt: skip


def pause(case: Case) -> Verdict:
    """Block every change while Headroom is paused."""
    until = case.resource_state.paused_until
    on = until is not None and until > case.observation.at
    endless = until is not None and until >= INDEFINITE - timedelta(days=1)
    return verdict_of(
        Guardrail.PAUSE, Relation.IS, "paused" if on else "running", "running", "",
        clears_at=until if on and not endless else None, temporary=on,
    )  # fmt: skip


def breaker(case: Case) -> Verdict:
    """Block every change after failures across the account, until a person closes the breaker."""
    opened_at = case.resource_state.account_breaker_opened_at
    detail = ""
    if opened_at is not None:
        detail = f"open since {opened_at:%Y-%m-%d %H:%M} UTC; `headroom breaker close --account`"
    return verdict_of(
        Guardrail.BREAKER, Relation.IS, "closed" if opened_at is None else "open", "closed", "",
        detail, temporary=True,
    )  # fmt: skip


def mode(case: Case) -> Verdict:
    """Block every change unless the mode is `auto`, or `approve` (where a person approves it)."""
    limits = case.effective.limits
    return verdict_of(
        Guardrail.MODE, Relation.ONE_OF, limits.mode.value, (Mode.AUTO.value, Mode.APPROVE.value), "",
        f"from {case.effective.mode_from}",
    )  # fmt: skip


def types(case: Case) -> Verdict:
    """Block a move to a type that the owner does not allow; a volume may keep its type."""
    allowed = tuple(t.value for t in case.effective.limits.types)
    current, target = case.plan.origin.volume_type, case.plan.target.volume_type
    stays = target is not VolumeType.GP2 or case.plan.only_for_space
    if target is current and stays and current.value not in allowed:
        allowed += (current.value,)
    return verdict_of(Guardrail.TYPES, Relation.ONE_OF, target.value, allowed, "")


def growth(case: Case) -> Verdict:
    """Block growth without the owner's permission: size can never be reduced again.

    A plan for free space may grow as far as it needs, where `grow_space` allows it.
    """
    plan = case.plan
    limits = case.effective.limits
    limit = 1_000_000 if limits.growth else plan.origin.size_gib
    if plan.growth is not None:  # for free space: as much as that wants, where it is allowed
        allowed = limits.grow_space and (limits.growth or not plan.full_copy)
        enough = plan.growth.target_size_gib if allowed else plan.origin.size_gib
        limit = max(limit, enough) if allowed and not plan.only_for_space else enough
    detail = "growing cannot be undone" if plan.grows else ""
    if plan.grows and plan.origin.database is None and plan.growth is None:
        detail += "; the file system is not touched"  # RDS extends it by itself
    if plan.growth is not None and not limits.grow_space:
        detail += "; grow_space is not set, which would let it grow for free space"
    return verdict_of(
        Guardrail.GROWTH, Relation.AT_MOST, plan.target.size_gib, limit, "GiB", detail
    )


def gains_durability(plan: Plan) -> bool:
    """Whether the target's type is more durable: Headroom never goes back from there."""
    before, after = (
        DURABILITY_PERCENT.get(one.volume_type, 0.0) for one in (plan.origin, plan.target)
    )
    return after > before


def one_way(case: Case) -> Verdict:
    """Block a move to a more durable type where the owner wants none: Headroom never undoes it."""
    asked = "permanent" if gains_durability(case.plan) else "reversible"
    never = case.effective.limits.one_way is OneWay.NEVER
    return verdict_of(
        Guardrail.ONE_WAY, Relation.ONE_OF, asked, ("reversible", *([] if never else ["permanent"])),
        "", f"from {case.plan.target.volume_type} Headroom never goes back" if asked == "permanent" else "",
    )  # fmt: skip


def max_iops(case: Case) -> Verdict:
    """Block more IOPS, provisioned or derived, than the owner's ceiling.

    A plan that leaves IOPS as they are, or lowers them, always passes.
    """
    now, then = capability(case.plan.origin), case.plan.capability
    return _ceiling(
        Guardrail.MAX_IOPS, now.sustained_iops, then.sustained_iops,
        case.effective.limits.max_iops, "IOPS",
    )  # fmt: skip


def _ceiling(guardrail: Guardrail, now: float, value: float, most: int, unit: str) -> Verdict:
    """At most `most`, or no more than `now`."""
    if most < value <= now:
        detail = f"no more than today; the ceiling is {most:,}"
        return verdict_of(guardrail, Relation.AT_MOST, value, value, unit, detail)
    return verdict_of(guardrail, Relation.AT_MOST, value, most, unit)


def max_throughput(case: Case) -> Verdict:
    """Block more throughput than the owner's ceiling.

    Only provisioned throughput counts, because it is paid for. What io1 and io2 derive above the
    ceiling is free. A plan that leaves throughput as it is, or lowers it, always passes.
    """
    target = case.plan.target
    value = (
        target.throughput_mibps
        if target.throughput_mibps is not None
        else min(case.plan.demand_mibps, capability(target).sustained_mibps)
    )
    most = case.effective.limits.max_throughput_mibps
    now = capability(case.plan.origin).sustained_mibps
    return _ceiling(Guardrail.MAX_THROUGHPUT, now, value, most, "MiB/s")


def max_size(case: Case) -> Verdict:
    """Block a size above the owner's ceiling; a volume that is already larger may keep its size."""
    limit = max(case.effective.limits.max_size_gib, case.plan.origin.size_gib)
    return verdict_of(Guardrail.MAX_SIZE, Relation.AT_MOST, case.plan.target.size_gib, limit, "GiB")


def largest_step(case: Case) -> Verdict:
    """Block a change that multiplies IOPS or throughput by more than the owner's largest step."""
    step = round(step_of(case.plan.origin, case.plan.target), 4)
    return verdict_of(
        Guardrail.LARGEST_STEP, Relation.AT_MOST, step, case.effective.limits.largest_step, "x"
    )


def _increase(case: Case) -> Decimal:
    enrolment = case.resource_state.enrolment_usd
    before = case.plan.monthly_usd - case.plan.price_change_usd
    return case.plan.monthly_usd - (before if enrolment is None else enrolment)


def _in_force(case: Case) -> Decimal:
    """The increase in force: at the plan's prices where what the owner set is known, else as it was counted."""
    state = case.resource_state
    if state.owner_configuration is None or state.enrolment_usd is None:
        return state.resource_increase_usd
    return max(Decimal(0), _increase(case) - case.plan.price_change_usd)


def _for_space(case: Case) -> Decimal:
    """What a raise has to leave for the growth that will be needed within a day."""
    plan = case.plan
    return Decimal(0) if plan.grows or plan.price_change_usd <= 0 else case.next_growth_usd


def price_per_resource(case: Case) -> Verdict:
    """Block a monthly price too far above the price at enrolment; a lower price always passes.

    A raise must leave the price of the growth for free space that will be needed within a day. A change
    that adds nothing to the increase already in force always passes, even if the owner has lowered the
    limit since.
    """
    own, limit = max(_increase(case), Decimal(0)), case.effective.limits.price_increase_usd
    in_force, detail, unit = _in_force(case), "", "USD/month"
    if limit < own <= in_force:  # giving back is never blocked by money
        limit, detail = in_force, f"what is in force; the limit itself is {limit}"
    elif own > in_force and (later := _for_space(case)):
        own, unit = own + later, "USD/month with the growth that is needed next"
    return verdict_of(Guardrail.PRICE_PER_RESOURCE, Relation.AT_MOST, own, limit, unit, detail)


def price_per_account(case: Case) -> Verdict:
    """Block a change that lifts the sum of increases in force above the account's limit.

    The increase is reserved atomically with the intent. A change that adds nothing always passes. A raise
    must leave the price of the growth for free space that will be needed within a day.
    """
    resource_state = case.resource_state
    others = resource_state.account_increase_usd - resource_state.resource_increase_usd
    own = max(Decimal(0), _increase(case))
    if own <= _in_force(case):  # nothing is added: giving back is never blocked by money
        others = min(others, max(Decimal(0), case.policy.account_increase_usd - own))
    else:
        own += _for_space(case)
    return verdict_of(
        Guardrail.PRICE_PER_ACCOUNT, Relation.AT_MOST, others + own,
        case.policy.account_increase_usd, "USD/month",
    )  # fmt: skip


def cooldown(case: Case) -> Verdict:
    """Block a change too soon after Headroom's own last change.

    A change that restores what Headroom itself lowered does not wait.
    """
    minutes, last = case.effective.limits.cooldown_minutes, case.resource_state.last_act_at
    if last is None:
        return allowed(Guardrail.COOLDOWN, "no change yet", "min")
    back = reduced_from(case.resource_state.modifications, case.plan.origin)
    if back is not None and not case.plan.lowers:
        return allowed(Guardrail.COOLDOWN, "raises what we lowered", "min")
    since = (case.observation.at - last).total_seconds() / 60
    return verdict_of(
        Guardrail.COOLDOWN, Relation.AT_LEAST, round(since, 1), minutes, "min",
        clears_at=last + timedelta(minutes=minutes), temporary=True,
    )  # fmt: skip
