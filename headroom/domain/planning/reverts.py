"""Reverts: whether somebody undid a change by Headroom, which then waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headroom.domain.catalog.ebs import capability
from headroom.domain.planning.plan import Plan
from headroom.domain.resources import Configuration
from headroom.domain.state import BY_HEADROOM, ROLLBACK, KnownModification


@dataclass(frozen=True, slots=True, kw_only=True)
class Revert:
    """Headroom's latest change and the external change that undid it."""

    at: datetime
    """When the other change started."""
    our_configuration: Configuration
    """The configuration after Headroom's change."""
    external_configuration: Configuration
    """The configuration after the external change."""
    lowered: bool | None
    """Whether it lowered what Headroom had raised, or raised what Headroom had lowered; None if only the
    type changed."""
    type_undone: bool = False
    """Whether it undid the change of type, whatever happened to IOPS and throughput."""
    rolled_back: bool = False
    """Whether Headroom undid it itself, as somebody asked or as the policy says: nothing stored tells the two apart."""

    def again(self, plan: Plan) -> bool:
        """Whether `plan` repeats what was undone."""
        kind = plan.target.volume_type
        if (
            self.type_undone
            and kind is self.our_configuration.volume_type is not plan.origin.volume_type
        ):
            return True
        if self.lowered is None:
            return False
        return plan.sustains_more if self.lowered else plan.sustains_less


def reverted(modifications: Sequence[KnownModification]) -> Revert | None:
    """The last external change if it undoes Headroom's latest one, in whole or in part.

    A change undoes another if it moves IOPS, throughput or type back; a rollback counts. If somebody
    then repeats Headroom's change, by code or by hand, nothing is undone any more. A change that was never
    in force, because AWS failed it, cannot be undone.
    """
    known = sorted(modifications, key=lambda m: m.started_at)
    last_by_headroom = max((i for i, m in enumerate(known) if m.by == BY_HEADROOM), default=None)
    if last_by_headroom is None or last_by_headroom == len(known) - 1:
        return None
    our_configuration, external_configuration = known[last_by_headroom], known[-1]
    if (
        our_configuration.origin is None
        or our_configuration.target is None
        or external_configuration.target is None
    ):
        return None
    if _never_in_force(our_configuration, known[last_by_headroom + 1]):
        return None
    before, made, now = (
        _reach(c)
        for c in (our_configuration.origin, our_configuration.target, external_configuration.target)
    )
    moved = [
        (now_one - made_one) * (made_one - before_one) < 0
        for before_one, made_one, now_one in zip(before, made, now, strict=True)
    ]
    kind = our_configuration.target.volume_type
    type_undone = (
        our_configuration.origin.volume_type
        is not kind
        is not external_configuration.target.volume_type
    )
    if not any(moved) and not type_undone:
        return None
    down = [n < m for n, m, undone in zip(now, made, moved, strict=True) if undone]
    return Revert(
        at=external_configuration.started_at, our_configuration=our_configuration.target, external_configuration=external_configuration.target, lowered=any(down) if down else None,
        type_undone=type_undone, rolled_back=external_configuration.by == ROLLBACK,
    )  # fmt: skip


def _never_in_force(ours: KnownModification, following: KnownModification) -> bool:
    """Whether the change after Headroom's began with what was there before it."""
    if ours.origin is None or ours.target is None or following.origin is None:
        return False
    before, made, found = (
        (each.volume_type, each.iops, each.throughput_mibps)
        for each in (ours.origin, ours.target, following.origin)
    )
    return found == before != made


def _reach(configuration: Configuration) -> tuple[float, float]:
    """Sustained IOPS and MiB/s."""
    can = capability(configuration)
    return can.sustained_iops, can.sustained_mibps
