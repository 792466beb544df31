"""Guardrails for storage of databases; they allow every plan of a plain EBS volume."""

from __future__ import annotations

from headroom.domain.guardrails.case import Case, verdict_of
from headroom.domain.verdicts import Guardrail, Relation, Verdict

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


def database_state(case: Case) -> Verdict:
    """A database is changed only while RDS calls it available and its storage is as usual."""
    facts = case.observation.volume.facts
    status = AVAILABLE if facts is None else facts.status
    unusual = None if facts is None else facts.unusual
    detail = ""
    if status == "storage-full":
        detail = "it stands still until it has more storage: that is for a person to give it now"
    elif unusual is not None:
        detail = f"its storage is unusual ({unusual}): metrics and limits are not told apart"
    passes = unusual is None and not status.startswith(FOR_A_PERSON)
    return verdict_of(
        Guardrail.DATABASE_STATE, Relation.IS, unusual or status, AVAILABLE, "", detail,
        temporary=passes,
    )  # fmt: skip


def pending_changes(case: Case) -> Verdict:
    """Nobody's pending changes are applied with ours, as ApplyImmediately would do."""
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


def size_owner(case: Case) -> Verdict:
    """Size has one owner: where RDS's storage autoscaling is on, it alone grows the storage."""
    facts, plan = case.observation.volume.facts, case.plan
    most = None if facts is None else facts.max_allocated_gib
    owner = "RDS" if most is not None and plan.grows else "Headroom"
    detail = f"RDS grows it by itself up to {most} GiB" if owner == "RDS" else ""
    return verdict_of(Guardrail.SIZE_OWNER, Relation.IS, owner, "Headroom", "", detail)
