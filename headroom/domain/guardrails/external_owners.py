"""Guardrails for volumes that are not Headroom's alone: code, a person, a striped set."""

from __future__ import annotations

from datetime import UTC, timedelta

from headroom.domain.guardrails.case import Case, allowed, verdict_of
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.planning import group_of, undone_still
from headroom.domain.policy import CodeOwned
from headroom.domain.resources import code_owner


def infrastructure_as_code(case: Case) -> Verdict:
    """Block changes to resources that code also manages, unless the owner set `act`."""
    owner = code_owner(case.observation.volume.tags, case.policy.code_tags)
    handling = case.effective.limits.infrastructure_as_code
    if owner is None:
        return allowed(Guardrail.INFRASTRUCTURE_AS_CODE, "no other owner")
    detail = f"owned by {owner} as well, tag {owner.detected_from}"
    if handling is CodeOwned.NOTIFY:
        detail += "; write the values there, or set infrastructure_as_code to act"
    return verdict_of(
        Guardrail.INFRASTRUCTURE_AS_CODE, Relation.IS, handling.value, CodeOwned.ACT.value, "",
        detail,
    )  # fmt: skip


def not_reverted(case: Case) -> Verdict:
    """Block a repeat of a change that someone reverted, until `revert_wait` has passed.

    The owner is asked for an answer, so the block does not count as temporary; after a rollback it does.
    """
    known, minutes = (
        case.resource_state.modifications,
        case.effective.limits.revert_wait_minutes,
    )
    found = next((one for one in undone_still(known) if one.again(case.plan)), None)
    if found is None:
        return allowed(Guardrail.REVERTED, "not undone")
    clears = found.at + timedelta(minutes=minutes)
    over = case.observation.at >= clears
    undone = "Headroom rolled it back" if found.rolled_back else "somebody changed it"
    return verdict_of(
        Guardrail.REVERTED, Relation.IS, "wait is over" if over else f"undone {found.at:%Y-%m-%d %H:%M}",
        "wait is over" if over else "not undone", "",
        f"Headroom changed it to {found.our_configuration}; {undone} to "
        f"{found.external_configuration} at {found.at:%Y-%m-%d %H:%M} UTC; Headroom tries again from "
        f"{clears:%Y-%m-%d %H:%M} UTC (revert_wait in the policy), or as soon as somebody sets "
        f"{found.our_configuration} again",
        clears_at=clears.astimezone(UTC) if found.rolled_back else None, temporary=found.rolled_back,
    )  # fmt: skip


def whole_group(case: Case) -> Verdict:
    """Block a change to one volume of a striped set without the others."""
    name = group_of(case.policy, case.observation.volume)
    if name is None:
        return allowed(Guardrail.GROUP, "in no set")
    group = case.group
    if group is None:
        return verdict_of(
            Guardrail.GROUP, Relation.IS, "alone", "together", "",
            f"it belongs to the set {name!r}, which was not looked at",
        )  # fmt: skip
    return verdict_of(
        Guardrail.GROUP, Relation.IS,
        (group.cause or "not all of it") if group.problem else "together", "together", "", group.detail,
        clears_at=group.clears_at, temporary=group.temporary,
    )  # fmt: skip
