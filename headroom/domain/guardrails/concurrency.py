"""Guardrails for when changes may be started, and how many may be under way at once."""

from __future__ import annotations

from headroom.domain.catalog import QUOTAS, quota_limit
from headroom.domain.guardrails.case import Case, allowed, verdict_of
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.planning import Plan
from headroom.domain.policy import frozen_until, is_open, next_opening
from headroom.domain.state import BlastRadius, CalendarState, hourly_limit_clears_at, quota_usage
from headroom.domain.workload import Binding, Diagnosis


def change_window(case: Case) -> Verdict:
    """Block a change outside the owner's change windows."""
    windows, at = case.effective.limits.change_windows, case.observation.at
    if is_open(windows, at):
        detail = "" if windows else "changes may be started at any time"
        return verdict_of(Guardrail.CHANGE_WINDOW, Relation.IS, "open", "open", "", detail)
    opens = next_opening(windows, at)
    listed = "; ".join(map(str, windows))
    return verdict_of(
        Guardrail.CHANGE_WINDOW, Relation.IS, "closed", "open", "",
        listed if opens is not None else f"{listed}: never open", clears_at=opens,
        temporary=opens is not None,
    )  # fmt: skip


def freeze(case: Case) -> Verdict:
    """Block a change while the owner has frozen the account."""
    at = case.observation.at
    until = frozen_until(case.policy.freezes, at)
    held = [one for one in case.policy.freezes if one.is_active(at)]
    reasons = "; ".join(one.reason for one in held if one.reason)
    return verdict_of(
        Guardrail.FREEZE, Relation.IS, "frozen" if held else "free", "free", "", reasons,
        clears_at=until, temporary=True,
    )  # fmt: skip


def calendar(case: Case) -> Verdict:
    """Block a change unless every Change Calendar in the policy is known to be open."""
    seen = {one.name: one for one in case.resource_state.calendars}
    said = [
        seen.get(name) or CalendarState(name=name, open=False, problem="was not asked")
        for name in case.policy.calendars
    ]
    closed = [one for one in said if not one.open]
    opens = [one.changes_at for one in closed if one.changes_at is not None and not one.problem]
    known = [at for at in opens if at > case.observation.at]
    return verdict_of(
        Guardrail.CALENDAR, Relation.IS, "closed" if closed else "open", "open", "",
        "; ".join(_why_closed(one) for one in closed),
        clears_at=max(known) if known and len(known) == len(closed) else None, temporary=True,
    )  # fmt: skip


def _why_closed(one: CalendarState) -> str:
    return f"{one.name} cannot be read: {one.problem}" if one.problem else f"{one.name} is closed"


def _limits(case: Case) -> BlastRadius:
    """The limits, or the part of them for savings; a striped set that saves may need more at once."""
    limits, group = case.policy.blast_radius, case.group
    if not only_saves(case.plan, case.diagnosis) or (group is not None and group.for_load):
        return limits
    together = 1 if group is None else group.together
    return limits.for_savings(together, kept=case.resource_state.kept_places)


def only_saves(plan: Plan, diagnosis: Diagnosis) -> bool:
    """Whether a change only saves money: no limit binds, and it costs no more."""
    return diagnosis.binding is Binding.NOTHING and plan.price_change_usd <= 0


def max_in_flight(case: Case) -> Verdict:
    """Block too many changes in flight at once in the account and Region.

    What only saves money may use three quarters of the places: the rest is for load.
    """
    others = case.resource_state.concurrency.in_flight_elsewhere(
        case.observation.volume.ref.arn, case.observation.at
    )
    return verdict_of(
        Guardrail.MAX_IN_FLIGHT, Relation.AT_MOST, len(others) + 1,
        _limits(case).max_in_flight, "changes under way", temporary=True,
    )  # fmt: skip


def max_in_flight_per_az(case: Case) -> Verdict:
    """Block too many changes in flight at once in one Availability Zone.

    What only saves money may use three quarters of the places.
    """
    volume = case.observation.volume
    others = case.resource_state.concurrency.in_flight_elsewhere(
        volume.ref.arn, case.observation.at
    )
    here = sum(one.zone == volume.availability_zone for one in others)
    return verdict_of(
        Guardrail.MAX_IN_FLIGHT_PER_AZ, Relation.AT_MOST, here + 1,
        _limits(case).max_in_flight_per_az, "changes under way",
        f"in {volume.availability_zone}", temporary=True,
    )  # fmt: skip


def max_changes_per_hour(case: Case) -> Verdict:
    """Block too many changes started within 60 minutes in the account and Region.

    What only saves money may use three quarters of them.
    """
    at, limit = case.observation.at, _limits(case).max_changes_per_hour
    concurrency = case.resource_state.concurrency
    return verdict_of(
        Guardrail.MAX_CHANGES_PER_HOUR, Relation.AT_MOST, len(concurrency.started_last_hour(at)) + 1, limit,
        "changes begun in 60 min", clears_at=hourly_limit_clears_at(concurrency, limit, at), temporary=True,
    )  # fmt: skip


def regional_quota(case: Case) -> Verdict:
    """Block a change that exceeds AWS's quotas for concurrent modifications.

    Only Headroom's own changes are counted. The numbers are those of the quota that would be fullest.
    After AWS refuses a change for a quota, changes of that volume type wait for an hour.
    """
    plan, at = case.plan, case.observation.at
    types = {plan.origin.volume_type, plan.target.volume_type}
    concurrency, arn = case.resource_state.concurrency, case.observation.volume.ref.arn
    refused = concurrency.refused_until(types, at)
    if refused is not None:
        return verdict_of(
            Guardrail.REGIONAL_QUOTA, Relation.IS, "refused by AWS recently", "no recent refusal", "",
            f"a change of {' or '.join(sorted(types))} met a quota of the Region; have it raised",
            clears_at=refused, temporary=True,
        )  # fmt: skip
    found = []
    for name, amount in quota_usage(plan.origin, plan.target):
        limit = quota_limit(name, case.policy.quotas)
        value = concurrency.quota_in_use(name, arn, at) + amount
        found.append((value / limit, name, value, limit, amount))
    if not found:
        return allowed(Guardrail.REGIONAL_QUOTA, "uses no EBS quota")
    _, name, value, limit, amount = max(found)
    quota = QUOTAS[name]
    alone = amount > limit
    detail = f"quota {quota.name} {quota.code}".strip()
    if alone:
        detail += "; this change alone is above it: have it raised and say so in regional_quotas"
    return verdict_of(
        Guardrail.REGIONAL_QUOTA, Relation.AT_MOST, value, limit,
        "IOPS" if quota.unit == "IOPS" else "GiB", detail, temporary=not alone,
    )  # fmt: skip
