"""Striped sets: volumes that are only as fast as the slowest of them, changed together or not at all.

A set is declared by a tag with one value on volumes of one instance. If membership is unclear, no
volume of the set is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from headroom.domain.policy import GROUP_TAG, Policy
from headroom.domain.resources import LATER, Configuration, Volume, VolumeType
from headroom.domain.state import BY_HEADROOM, KnownModification, ResourceState

LARGEST = 32
"""Volumes of a set: two actions each and a few for all must fit the 100 of one transaction.
Source: DynamoDB API reference, TransactWriteItems (2026-09)."""
FEWEST = 2
MOST_NAMED = 4
"""Volumes that are listed; the others are counted."""
BY_HAND = "change the volumes of the set yourself, all of them alike"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConstraint:
    """The constraint of the set on a plan for one of its volumes."""

    name: str
    problem: str = ""
    """Why the set may not be changed together now; empty when it may."""
    temporary: bool = False
    clears_at: datetime | None = None
    remedy: str = ""
    """What a person can do about it; empty where time clears it."""
    cause: str = ""
    """The problem in short, the same from each volume of the set: it is notified once."""
    together: int = 1
    """How many of its volumes change at once."""
    for_load: bool = False
    """Whether one of its changes does more than save money."""

    @property
    def detail(self) -> str:
        """The set, its problem and what to do about it, in words."""
        said = f"set {self.name}" if self.name else "its set"
        return ": ".join(filter(None, (said, "; ".join(filter(None, (self.problem, self.remedy))))))


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
    price_change_usd: Decimal | None = field(default=None, metadata=LATER)
    """What the changes of all members add to the monthly price; None if they stay."""

    @property
    def in_words(self) -> str:
        """What people call the set."""
        count = f" ({len(self.members)} volumes)" if self.members else ""
        return f"the set {self.name}{count}" if self.name else "a set without one name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A volume that may belong to the set, with its resource state."""

    volume: Volume
    in_flight: bool
    resource_state: ResourceState


def group_of(policy: Policy, volume: Volume) -> str | None:
    """The set that `volume` belongs to; None for none, empty where its tags do not say which."""
    names = set_names(policy, volume)
    if not names:
        return None
    return next(iter(names)) if len(names) == 1 else ""


def set_names(policy: Policy, volume: Volume) -> frozenset[str]:
    """Every set that the tags of `volume` name.

    `headroom:group`, in any case, counts beside the policy's own key.
    """
    return frozenset(
        value.strip()
        for key, value in volume.tags
        if key == policy.group_tag or key.strip().lower() == GROUP_TAG
    )


def why_not_one_set(policy: Policy, name: str, members: Sequence[Volume]) -> GroupConstraint | None:
    """Why tags of the volumes do not name one set; None if they do."""
    unclear = sorted(v.ref.resource_id for v in members if not group_of(policy, v))
    if not unclear:
        return None
    names = frozenset[str]().union(*(set_names(policy, v) for v in members))
    found = f"they name {', '.join(sorted(names - {''}))}" if names - {""} else "the tag is empty"
    which = f"the tags of {named(unclear)}" if name else "its tags"
    return GroupConstraint(
        name=name, problem=f"{which} do not name one set ({found})", cause=f"tags: {named(unclear)}",
        remedy="write the name of one set in the tag of each of its volumes, and no other name",
    )  # fmt: skip


def why_not_a_group(
    name: str, primary: Volume, members: Sequence[Volume]
) -> GroupConstraint | None:
    """Why the volumes are no valid set; None if they are."""

    def no(problem: str, remedy: str, cause: str) -> GroupConstraint:
        return GroupConstraint(name=name, problem=problem, remedy=remedy, cause=cause)

    ids, mine = [volume.ref.resource_id for volume in members], primary.ref.resource_id
    if len(primary.instance_ids) != 1:
        return no(
            f"{mine} is not attached to one instance, so its set is not known",
            "attach it to the instance of its set, or take the tag of the set off it", "attachment",
        )  # fmt: skip
    if mine not in ids:
        return no(
            f"{mine} was not found among the volumes of its instance",
            f"check that it is attached to {primary.instance_ids[0]}", "attachment",
        )  # fmt: skip
    if len(members) < FEWEST:
        return no(
            f"no other volume of the set {name} is on {primary.instance_ids[0]}",
            "put the tag of the set on its other volumes as well, or take it off this one", "one volume",
        )  # fmt: skip
    if len(members) > LARGEST:
        return no(
            f"the set has {len(members)} volumes, and at most {LARGEST} are changed together",
            BY_HAND, f"more than {LARGEST} volumes",
        )  # fmt: skip
    sizes = sorted({volume.configuration.size_gib for volume in members})
    if len(sizes) > 1:
        return no(
            f"its volumes have different sizes ({', '.join(f'{size:,}' for size in sizes)} GiB)",
            f"grow the smaller ones yourself to {sizes[-1]:,} GiB, or correct the tag of what is not in the set",
            "sizes",
        )  # fmt: skip
    return None


def why_not_alike(name: str, members: Sequence[Candidate]) -> GroupConstraint | None:
    """Why the volumes are no stripe; None if they have one type, or had one before a change by Headroom."""
    now = {m.volume.configuration.volume_type for m in members}
    before = {_type_before(m) for m in members}
    if len(now) == 1 or len(before) == 1:
        return None
    return GroupConstraint(
        name=name, cause="types",
        problem=f"its volumes are of different types ({', '.join(sorted(t.value for t in now))})",
        remedy="give all of them one type yourself, or correct the tag of what is not in the set",
    )  # fmt: skip


def named(volume_ids: Sequence[str]) -> str:
    """The first few of some volumes; the others are counted."""
    rest = len(volume_ids) - MOST_NAMED
    return ", ".join(volume_ids[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _type_before(member: Candidate) -> VolumeType:
    """The type before Headroom's latest change, if that is still in force."""
    latest = _changed_by_us(member)
    if latest is None or latest.origin is None:
        return member.volume.configuration.volume_type
    return latest.origin.volume_type


def _changed_by_us(member: Candidate) -> KnownModification | None:
    """The latest change, if it is Headroom's and in force."""
    latest = max(member.resource_state.modifications, key=lambda m: m.started_at, default=None)
    if latest is None or latest.by != BY_HEADROOM or latest.target != member.volume.configuration:
        return None
    return latest


def under_way(members: Sequence[Candidate], seen: Volume) -> str:
    """Which volumes have a change or request that has not ended; empty if none.

    AWS may still optimize those that Headroom gave another shape than `seen` has: they can keep it.
    """
    return "; ".join(_under_way(members, volume_shape(seen.configuration)))


def _under_way(members: Sequence[Candidate], shape: VolumeShape) -> Iterator[str]:
    for member in members:
        name, chain = member.volume.ref.resource_id, member.resource_state.open_chain
        stays = volume_shape(member.volume.configuration) != shape and _changed_by_us(member)
        if member.in_flight and not stays:
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
