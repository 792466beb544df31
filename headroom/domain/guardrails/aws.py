"""Guardrails for what AWS allows and what is not only ours."""

from __future__ import annotations

from datetime import datetime, timedelta

from headroom.domain.catalog import why_refused
from headroom.domain.catalog.ebs import DURABILITY_PERCENT, MAX_MODIFICATIONS
from headroom.domain.guardrails.case import Case, verdict_of
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.resources import Kind
from headroom.domain.state import MAX_FAILURES, WINDOW, ResourceState

ASK_AGAIN_AFTER = timedelta(hours=1)
"""After AWS refused for want of a slot, it is asked no more than once in this time."""


def managed_elsewhere(case: Case) -> Verdict:
    """Block changes to volumes that an AWS service manages or that are on an Outpost."""
    volume = case.observation.volume
    owner = volume.managed_by or ("AWS Outposts" if volume.on_outpost else "no AWS service")
    return verdict_of(Guardrail.MANAGED_ELSEWHERE, Relation.IS, owner, "no AWS service", "")


def multi_attach(case: Case) -> Verdict:
    """Block changes to volumes shared by several instances: their loads cannot be separated."""
    volume = case.observation.volume
    shared = volume.multi_attach or len(volume.instance_ids) > 1
    return verdict_of(
        Guardrail.MULTI_ATTACH, Relation.IS, "shared" if shared else "single", "single", ""
    )


def valid(case: Case) -> Verdict:
    """Block a target that AWS would refuse."""
    problem = why_refused(case.plan.origin, case.plan.target, case.observation.valid)
    return verdict_of(Guardrail.VALID, Relation.IS, problem or "valid", "valid", "")


def never_shrink(case: Case) -> Verdict:
    """Block a smaller size."""
    plan = case.plan
    return verdict_of(
        Guardrail.NEVER_SHRINK, Relation.AT_LEAST, plan.target.size_gib, plan.origin.size_gib, "GiB"
    )


def durability(case: Case) -> Verdict:
    """Block a move to a type that AWS documents as less durable."""
    before = DURABILITY_PERCENT[case.plan.origin.volume_type]
    after = DURABILITY_PERCENT[case.plan.target.volume_type]
    return verdict_of(Guardrail.DURABILITY, Relation.AT_LEAST, after, before, "% a year")


def slots(case: Case) -> Verdict:
    """Block a change beyond AWS's four modifications per rolling 24 h, less those reserved for people.

    A refusal for want of slots counts as four slots used.
    """
    at, resource_state = case.observation.at, case.resource_state
    starts = sorted(
        m.started_at for m in resource_state.modifications if m.started_at > at - WINDOW
    )
    reserve = case.effective.limits.slots_reserve
    room = MAX_MODIFICATIONS - reserve - 1
    value = len(starts) + 1 + reserve
    clears = starts[len(starts) - room - 1] + WINDOW if len(starts) > room >= 0 else None
    detail = f"{len(starts)} known in 24 h, this one, and {reserve} kept in reserve"
    for until in (resource_state.slots_full_until, _ask_again(resource_state)):
        if until is not None and until > at:
            value = max(value, MAX_MODIFICATIONS + 1)
            clears = until if clears is None else max(clears, until)
            detail = "AWS refused: at least four used in 24 h"
    return verdict_of(
        Guardrail.SLOTS, Relation.AT_MOST, value, MAX_MODIFICATIONS, "slots", detail,
        clears_at=clears, temporary=room >= 0,
    )  # fmt: skip


def _ask_again(resource_state: ResourceState) -> datetime | None:
    if resource_state.last_refusal_at is None or resource_state.slots_full_until is None:
        return None
    return resource_state.last_refusal_at + ASK_AGAIN_AFTER


def in_flight(case: Case) -> Verdict:
    """Block a change while AWS is still modifying or optimizing the last one."""
    change = case.observation.modification
    busy = change is not None and change.in_flight
    return verdict_of(
        Guardrail.IN_FLIGHT, Relation.IS,
        change.state.value if change is not None and busy else "none", "none", "",
        temporary=True,
    )  # fmt: skip


def retry_backoff(case: Case) -> Verdict:
    """Block every call after a refusal, until AWS may be called again; growth while its file system cannot follow."""
    resource_state = case.resource_state
    waits = [resource_state.retry_not_before]
    if case.plan.growth is not None:
        waits.append(resource_state.growth_not_before)
    until = max((each for each in waits if each is not None), default=None)
    waiting = until is not None and until > case.observation.at
    return verdict_of(
        Guardrail.RETRY_BACKOFF, Relation.IS, "refused recently" if waiting else "no recent refusal",
        "no recent refusal", "", clears_at=until if waiting else None, temporary=True,
    )  # fmt: skip


def failures(case: Case) -> Verdict:
    """Block every change after repeated failures of one resource, until a person closes its breaker."""
    resource_state, ref = case.resource_state, case.observation.volume.ref
    volume = ref.resource_id if ref.kind is Kind.EBS else ref.arn
    count, detail = resource_state.failures_in_a_row, ""
    if resource_state.breaker_opened_at is not None:
        count = max(count, MAX_FAILURES)
        detail = f"open since {resource_state.breaker_opened_at:%Y-%m-%d %H:%M} UTC; "
    if count >= MAX_FAILURES:
        detail += f"find out why, then `headroom breaker close {volume}`"
    return verdict_of(
        Guardrail.FAILURES, Relation.AT_MOST, count, MAX_FAILURES - 1, "in a row", detail
    )
