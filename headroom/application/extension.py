"""The file system of a volume that grew for free space is extended before the growth is judged.

It happens on the instance, once AWS reports the volume as `optimizing` or `completed`. What the
instance reads back ends the chain: extended, or refused with the reason.
"""

from __future__ import annotations

from headroom.domain.decision import Ineffective, Pending, Relieved, Verification
from headroom.domain.planning import Plan
from headroom.domain.policy import Mode, Policy, limits_for
from headroom.domain.resources import ModificationState, Observation
from headroom.domain.workload import spans
from headroom.ports import Extended, Ports

LANDED = (ModificationState.OPTIMIZING, ModificationState.COMPLETED)
BY_HAND = "extend the partition and the file system on the instance yourself"


def after_growth(
    ports: Ports, observation: Observation, plan: Plan, verification: Verification
) -> Verification:
    """`verification`, unless the file system of a volume that grew was or cannot be extended now."""
    shown = not isinstance(verification, Pending | Ineffective)
    if shown or not _to_be_extended(observation, plan) or not _allowed(ports, observation):
        return verification
    if ports.file_systems is None:
        return verification
    volume = observation.volume
    found = ports.file_systems.extend(volume)
    if isinstance(found, Extended):
        if not spans(found.size_gib, volume.configuration.size_gib):
            short = f"{found.detail}: the volume has {volume.configuration.size_gib} GiB"
            return Ineffective(cause=f"{short}; {BY_HAND}")
        alone = plan.growth is not None and plan.growth.alone
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


def _allowed(ports: Ports, observation: Observation) -> bool:
    """Whether the owner still wants it: nothing is paused, and the policy lets the volume grow."""
    volume, policy = observation.volume, ports.policies.current()
    paused = ports.state_store.resource_state(volume.ref, observation.at).paused_until
    if not isinstance(policy, Policy) or (paused is not None and paused > observation.at):
        return False
    limits = limits_for(policy, volume).limits
    return limits.grow_space and limits.mode in (Mode.APPROVE, Mode.AUTO)
