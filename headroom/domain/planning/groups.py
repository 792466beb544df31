"""Striped sets: volumes that are only as fast as the slowest of them, changed together or not at all.

A set is declared by a tag with one value on volumes of one instance. If membership is unclear, no
volume of the set is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from headroom.domain.policy import GROUP_TAG, Policy
from headroom.domain.resources import Configuration, Volume, VolumeType
from headroom.domain.state import BY_HEADROOM, ResourceState

LARGEST = 32
"""Volumes of a set: two actions each and a few for all must fit the 100 of one transaction.
Source: DynamoDB API reference, TransactWriteItems (2026-09)."""
FEWEST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConstraint:
    """The constraint of the set on a plan for one of its volumes."""

    name: str
    problem: str = ""
    """Why the set may not be changed together now; empty when it may."""
    temporary: bool = False
    clears_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """One volume of a set, as observed by a decision."""

    volume_id: str
    configuration: Configuration
    decision_id: str = ""
    """The decision that changes it with the set; empty if it is not changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDetail:
    """The set of a decision, by volume id; without members if only one volume was observed."""

    name: str
    members: tuple[GroupMember, ...] = ()
    shared: str = ""
    """The new shape of all members, in words; empty if they stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A volume that may belong to the set, with its resource state."""

    volume: Volume
    in_flight: bool
    resource_state: ResourceState


def group_of(policy: Policy, volume: Volume) -> str | None:
    """The set that `volume` belongs to; None for none, empty where its tags do not say which.

    `headroom:group`, in any case, counts beside the policy's own key.
    """
    names = {
        value.strip()
        for key, value in volume.tags
        if key == policy.group_tag or key.strip().lower() == GROUP_TAG
    }
    if not names:
        return None
    return names.pop() if len(names) == 1 else ""


def why_not_a_group(name: str, primary: Volume, members: Sequence[Volume]) -> str:
    """Why the volumes are no valid set; empty if they are."""
    ids = [volume.ref.resource_id for volume in members]
    if not name:
        return "its tags do not name one set"
    if len(primary.instance_ids) != 1:
        return f"{primary.ref.resource_id} is not attached to one instance, so its set is not known"
    if primary.ref.resource_id not in ids:
        return f"{primary.ref.resource_id} was not found among the volumes of its instance"
    if len(members) < FEWEST:
        return f"no other volume of the set {name} is on {primary.instance_ids[0]}"
    if len(members) > LARGEST:
        return f"the set has {len(members)} volumes, and at most {LARGEST} are changed together"
    sizes = sorted({volume.configuration.size_gib for volume in members})
    if len(sizes) > 1:
        listed = ", ".join(f"{size:,}" for size in sizes)
        return f"its volumes have different sizes ({listed} GiB)"
    return ""


def why_not_alike(members: Sequence[Candidate]) -> str:
    """Why the volumes are no stripe; empty if they have one type, or had one before a change by Headroom."""
    now = {m.volume.configuration.volume_type for m in members}
    before = {_type_before(m) for m in members}
    if len(now) == 1 or len(before) == 1:
        return ""
    return f"its volumes are of different types ({', '.join(sorted(t.value for t in now))})"


def _type_before(member: Candidate) -> VolumeType:
    """The type before Headroom's latest change, if that is still in force."""
    latest = max(member.resource_state.modifications, key=lambda m: m.started_at, default=None)
    current = member.volume.configuration
    if (
        latest is None
        or latest.by != BY_HEADROOM
        or latest.origin is None
        or latest.target != current
    ):
        return current.volume_type
    return latest.origin.volume_type


def under_way(members: Sequence[Candidate]) -> str:
    """Which volumes have a change or request that has not ended; empty if none."""
    return "; ".join(_under_way(members))


def _under_way(members: Sequence[Candidate]) -> Iterator[str]:
    for member in members:
        name, chain = member.volume.ref.resource_id, member.resource_state.open_chain
        if member.in_flight:
            yield f"{name} has a change in flight"
        elif chain is not None:
            yield f"{name} has a change of ours that has not ended ({chain.phase})"
        elif (
            member.resource_state.approval_request is not None
            or member.resource_state.rollback is not None
        ):
            yield f"what somebody asked, or is asked, about {name} has not ended"


VolumeShape = tuple[VolumeType, int | None, int | None]
"""The settings that all volumes of a set share: type, IOPS, throughput in MiB/s."""


def volume_shape(configuration: Configuration) -> VolumeShape:
    """A configuration without its size."""
    return configuration.volume_type, configuration.iops, configuration.throughput_mibps


def with_shape(configuration: Configuration, like: VolumeShape) -> Configuration:
    """A configuration of the same size with another shape."""
    kind, iops, mibps = like
    return replace(configuration, volume_type=kind, iops=iops, throughput_mibps=mibps)
