"""Guardrails for storage of databases; they allow every plan of a plain EBS volume."""

from __future__ import annotations

from datetime import timedelta

from headroom.domain.guardrails.case import Case, allowed, verdict_of
from headroom.domain.guardrails.concurrency import only_saves
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.planning import CALM_MINUTES, Plan
from headroom.domain.resources import VolumeType
from headroom.domain.workload import SpaceForecast

AVAILABLE = "available"
FOR_A_PERSON = (
    "storage-full",
    "failed",
    "inaccessible-",
    "incompatible-",
    "insufficient-",
    "restore",
)
"""Beginnings of statuses that do not pass by themselves."""
NEAR = timedelta(hours=24)
"""How long RDS may work on a change, in which neither anybody nor its autoscaling adds space."""

AMPLE_SHARE = 0.25
"""Share of a database's storage that must be free before a change that only saves money, until
`PROVEN_DAYS` show how fast it fills."""
PROVEN_DAYS = 7
AMPLE_DAYS = 2.0
"""What must be free in times of the most that it ever filled within a day; the owner's reserve at least."""


def database_state(case: Case) -> Verdict:
    """Block changes while RDS does not report `available`, or the storage layout is unusual."""
    facts = case.observation.volume.facts
    status = AVAILABLE if facts is None else facts.status
    unusual = None if facts is None else facts.unusual
    detail = ""
    if status == "storage-full":
        detail = "the database has stopped until a person gives it more storage, which Headroom does not do"
    elif unusual is not None:
        detail = f"it has {unusual}: Headroom does not know the limits of such storage"
    elif status != AVAILABLE:
        detail = f"RDS reports {status}, and takes no change before it reports {AVAILABLE}"
    passes = unusual is None and not status.startswith(FOR_A_PERSON)
    return verdict_of(
        Guardrail.DATABASE_STATE, Relation.IS, unusual or status, AVAILABLE, "", detail,
        temporary=passes,
    )  # fmt: skip


def pending_changes(case: Case) -> Verdict:
    """Block a change that would apply someone else's pending changes along with it.

    Headroom calls RDS with ApplyImmediately, which applies everything that is pending.
    """
    facts = case.observation.volume.facts
    names = () if facts is None else facts.pending
    being_applied = facts is not None and facts.status != AVAILABLE
    left = ", ".join(names)
    detail = (
        f"somebody left {left} pending, which RDS would apply with any change of the storage, "
        "some of it with an outage"
        if names
        else ""
    )
    return verdict_of(
        Guardrail.PENDING_CHANGES, Relation.IS, left or "none", "none", "", detail,
        temporary=being_applied,
    )  # fmt: skip


def storage_autoscaling(case: Case) -> Verdict:
    """Block growth where RDS storage autoscaling is on: only one of the two may grow the storage."""
    facts, plan = case.observation.volume.facts, case.plan
    most = None if facts is None else facts.max_allocated_gib
    owner = "RDS" if most is not None and plan.grows else "Headroom"
    detail = f"RDS grows it by itself up to {most} GiB" if owner == "RDS" else ""
    return verdict_of(Guardrail.STORAGE_AUTOSCALING, Relation.IS, owner, "Headroom", "", detail)


def full_copy(case: Case) -> Verdict:
    """Block changes that make RDS copy all data, unless allowed, started from calm and not from gp2.

    The copy runs for hours beside the load and cannot be undone.
    """
    plan, name = case.plan, Guardrail.FULL_COPY
    if not plan.full_copy:
        return allowed(name, "no copy")
    if plan.origin.volume_type is VolumeType.GP2:
        return verdict_of(
            name, Relation.IS, "a copy from gp2", "no copy from gp2", "",
            "the copy itself would use up gp2's credits and leave its baseline to load and copy "
            "for hours: that is for a person to begin, or to go to gp3 of the same size first, "
            "which takes no copy",
        )  # fmt: skip
    if not case.effective.limits.full_copy:
        return verdict_of(
            name, Relation.IS, "a full copy", "no full copy", "",
            "RDS would copy all data for hours, next to the load, and nothing undoes it: a person must "
            "begin it",
        )  # fmt: skip
    # Not temporary: a load that never rests would wait for ever, and nobody would be notified.
    return verdict_of(
        name, Relation.AT_LEAST, case.demand.clear_minutes, CALM_MINUTES,
        "measured minutes without pressure",
        "hours of copying beside a load that is held back already would make it worse: it begins "
        "by itself once the load rests, and a person may begin it now",
    )  # fmt: skip


def space_first(case: Case) -> Verdict:
    """Block changes except added space while AWS's work on one could leave a database full.

    AWS may work on a change for a day, and accepts no growth from anyone meanwhile. What only saves
    money waits for ample space: an import may begin at any time, and RDS autoscaling could not follow.
    """
    space, plan = case.space, case.plan
    if space is None or _adds(plan, space):
        return allowed(Guardrail.FREE_SPACE, "enough")
    locks = "AWS may work on a change for a day, in which nobody adds space"
    near = space.full_at is not None and space.full_at <= case.observation.at + NEAR
    if near or space.fills_fast:
        pace = f"{space.pace_gib_per_hour:.1f} GiB an hour more in the last minutes"
        return verdict_of(
            Guardrail.FREE_SPACE, Relation.IS, "about to be full", "enough", "",
            f"{space.explanation}{'' if near else f'; {pace}'}; {locks}",
            temporary=plan.growth is None,  # a copy that comes too late only gets later
        )  # fmt: skip
    proven = space.days_seen >= PROVEN_DAYS
    least = space.reserve_gib if proven else AMPLE_SHARE * space.size_gib
    ample = max(least, AMPLE_DAYS * space.fastest_gib_per_day)
    if (
        only_saves(plan, case.diagnosis)
        and case.observation.volume.facts is not None
        and space.free_gib < ample
    ):
        return verdict_of(
            Guardrail.FREE_SPACE, Relation.AT_LEAST, space.free_gib, round(ample, 1), "GiB free",
            f"what only saves money waits until more is free; {locks}",
        )  # fmt: skip
    return allowed(Guardrail.FREE_SPACE, "enough")


def _adds(plan: Plan, space: SpaceForecast) -> bool:
    """Whether the plan adds the space in minutes, for whatever reason it grows."""
    enough = plan.growth is not None or plan.target.size_gib >= space.needed_gib
    return plan.grows and enough and not plan.full_copy
