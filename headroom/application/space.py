"""Free space: who may run out of it, who is notified, and the file system after a volume grew.

A file system is extended on its instance, once AWS reports the volume as `optimizing` or `completed`. What
the instance reads back ends the chain: extended, or refused with the reason.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from headroom.domain.decision import (
    SPACE_CAUSE,
    STORAGE_FULL,
    DecisionInput,
    Escalate,
    Ineffective,
    Pending,
    Relieved,
    Verification,
    decide,
    full_within_a_day,
)
from headroom.domain.planning import Plan
from headroom.domain.policy import Mode, Policy, limits_for
from headroom.domain.resources import ModificationState, Observation
from headroom.domain.state import Notify, Outcome, Refusal, Stale, declined
from headroom.domain.workload import spans
from headroom.ports import Extended, Glance, NotExtended, Ports, StorageView

LOW, NOTHING = 0.10, 0.01
"""Shares of the storage: free below the first it is woken for sooner, below the second always."""
GLANCES_A_DAY = 48
"""A glance is of half an hour: full within a day, if it went on like that."""
LOW_DAYS = 7
LANDED = (ModificationState.OPTIMIZING, ModificationState.COMPLETED)
NOT_GROWN = "the volume was not grown, because its file system could not follow"
ASKED_AGAIN = timedelta(minutes=15)
"""How soon an instance that did not respond, or was busy, is asked again."""
BY_HAND = "extend the partition and the file system on the instance yourself"


def may_run_out_of_space(view: StorageView, glance: Glance | None) -> bool:
    """Whether a database may be running out of space; a threshold that wakes, it never decides."""
    volume = view.volume
    if volume.facts is not None and volume.facts.status == STORAGE_FULL:
        return True
    free = None if glance is None else glance.lowest_free_gib
    if glance is None or free is None:
        return False
    size, filled = volume.configuration.size_gib, glance.filled_gib or 0.0
    days = LOW_DAYS if free <= LOW * size else 1
    return free <= NOTHING * size or free < filled * GLANCES_A_DAY * days


def warn(ports: Ports, decision_input: DecisionInput) -> None:
    """Notify the owner of a database that will be full today while a change of ours is open.

    Nothing else is decided or done then: RDS accepts no other change, and the open chain ends first.
    """
    free = decision_input.observation.activity.free_gib
    if (
        free is None
        or free.last() is None
        or decision_input.resource_state.last_request_at is not None
    ):
        return  # what a person asked is read when the chain ends
    decision = decide(decision_input)
    answer, at = decision.answer, decision.at
    near = isinstance(answer, Escalate) and answer.cause.startswith(SPACE_CAUSE)
    if not near or not full_within_a_day(decision.space, at):
        return
    ports.ledger.decided(decision, due_at=None, notify=Notify(text=decision.summary))


def asks_instance(ports: Ports, observation: Observation, plan: Plan) -> bool:
    """Whether the instance is asked, before a volume grows for space, if its file system can follow."""
    for_space = plan.growth is not None and plan.origin.database is None
    one = len(observation.volume.instance_ids) == 1
    return for_space and one and ports.file_systems is not None


def cannot_follow(ports: Ports, observation: Observation) -> Outcome | None:
    """Why a volume does not grow for space: its file system could not follow. None if nothing speaks against it.

    The instance extends what can be extended at the present size: nothing, unless somebody grew the volume.
    """
    volume = observation.volume
    if ports.file_systems is None:
        return None
    found, size = ports.file_systems.extend(volume), volume.configuration.size_gib
    if isinstance(found, NotExtended):
        refused = declined(Refusal.FILE_SYSTEM, f"{NOT_GROWN}: {found.why}")
        return replace(refused, retry_at=observation.at + ASKED_AGAIN) if found.again else refused
    if found.lacks:
        return declined(Refusal.FILE_SYSTEM, f"{NOT_GROWN}: its instance lacks {found.lacks}")
    if not spans(found.size_gib, size):
        return declined(
            Refusal.FILE_SYSTEM, f"{NOT_GROWN}: {found.detail}, of {size} GiB of the volume"
        )
    if found.extended:
        now = volume.configuration
        return Stale(
            expected=now, found=now, detail=f"{found.detail}, which has more free space now"
        )
    return None


def after_growth(
    ports: Ports, observation: Observation, plan: Plan, verification: Verification
) -> Verification:
    """`verification`, unless the file system of a volume that grew was or cannot be extended now."""
    shown = not isinstance(verification, Pending | Ineffective)
    if shown or not _to_be_extended(observation, plan) or not _allowed(ports, observation):
        return verification
    alone = plan.growth is not None and plan.growth.alone
    if ports.file_systems is None or (not alone and _followed(observation)):
        return verification
    volume = observation.volume
    found = ports.file_systems.extend(volume)
    if isinstance(found, Extended):
        if not spans(found.size_gib, volume.configuration.size_gib):
            short = f"{found.detail}: the volume has {volume.configuration.size_gib} GiB"
            return Ineffective(cause=f"{short}; {BY_HAND}")
        return Relieved(detail=found.detail) if alone else verification
    if found.again and isinstance(verification, Pending):
        return verification
    return Ineffective(cause=f"the file system was not extended: {found.why}; {BY_HAND}")


def _to_be_extended(observation: Observation, plan: Plan) -> bool:
    """Whether a volume that one instance has was grown for space, and AWS has made it larger."""
    volume, change = observation.volume, observation.modification
    return (
        plan.growth is not None
        and plan.origin.database is None
        and volume.configuration == plan.target
        and change is not None
        and change.target == plan.target
        and change.state in LANDED
        and len(volume.instance_ids) == 1
        and not volume.multi_attach
    )


def _followed(observation: Observation) -> bool:
    """Whether metrics show that the file system takes up the larger volume."""
    series = observation.activity.file_system_gib
    last = None if series is None else series.last()
    return last is not None and spans(last, observation.volume.configuration.size_gib)


def _allowed(ports: Ports, observation: Observation) -> bool:
    """Whether the owner still wants it: nothing is paused, and the policy lets the volume grow."""
    volume, policy = observation.volume, ports.policies.fresh()
    paused = ports.state_store.resource_state(volume.ref, observation.at).paused_until
    if not isinstance(policy, Policy) or (paused is not None and paused > observation.at):
        return False
    limits = limits_for(policy, volume).limits
    return limits.grow_space and limits.mode in (Mode.APPROVE, Mode.AUTO)
