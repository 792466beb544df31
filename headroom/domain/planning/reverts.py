"""Reverts: whether somebody undid a change by Headroom, which then waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile, zip_longest

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
    left: Configuration
    """What others last left, which may be some of it again."""
    lowered: bool | None
    """Whether it lowered what Headroom had raised, or raised what Headroom had lowered; None if only the
    type changed."""
    type_undone: bool = False
    """Whether it undid the change of type, whatever happened to IOPS and throughput."""
    rolled_back: bool = False
    """Whether Headroom undid it itself, as somebody asked or as the policy says: nothing stored tells the two apart."""

    def again(self, plan: Plan) -> bool:
        """Whether `plan` repeats what was undone; up to what others left, no raise does."""
        kind = plan.target.volume_type
        if (
            self.type_undone
            and kind is self.our_configuration.volume_type is not plan.origin.volume_type
        ):
            return True
        if self.lowered is None:
            return False
        if not self.lowered:
            return plan.sustains_less
        return plan.sustains_more and self._exceeded_by(plan.target)

    def outlives(self, change: KnownModification) -> bool:
        """Whether a later change, of Headroom or of others, leaves it as it is: storage may be given back meanwhile."""
        if change.target is None or _only_grew(change):
            return True
        if self.lowered is False or (
            self.type_undone and change.target.volume_type is self.our_configuration.volume_type
        ):
            return False
        return not self.lowered or not self._exceeded_by(change.target)

    def _exceeded_by(self, configuration: Configuration) -> bool:
        reaches = zip(_reach(configuration), _reach(self.left), strict=True)
        return any(has > had for has, had in reaches)


def undone_still(modifications: Sequence[KnownModification]) -> Iterator[Revert]:
    """The external changes that undid what Headroom did before them, in whole or in part, if it is undone still; the newest first.

    A change undoes another if it moves IOPS, throughput or type back; a rollback counts. Of several it is the last
    that moved them further back: growth after it, and what nobody knows the target of, are no new undoing. If
    somebody then repeats Headroom's change, by code or by hand, nothing is undone any more. A change that was never
    in force, because AWS failed it, cannot be undone. Nor is a raise that somebody went beyond since: what they lower
    then is their own. What Headroom raised and then lowered in part is undone as the raise that was left of it; giving
    back more of it later ends no undoing.
    """
    known, since = _in_force(modifications), list[KnownModification]()
    while known:
        later = list(takewhile(lambda m: m.by != BY_HEADROOM or _only_grew(m), reversed(known)))
        del known[len(known) - len(later) :]
        ours = list(takewhile(lambda m: m.by == BY_HEADROOM, reversed(known)))
        del known[len(known) - len(ours) :]
        found = _undone_by([m for m in reversed(ours) if not _only_grew(m)], later[::-1])
        if found is not None and all(map(found.outlives, since)):
            yield found
        since += [*later, *ours]


def _in_force(modifications: Sequence[KnownModification]) -> list[KnownModification]:
    """The changes in their order, without those of Headroom that the next one shows to have failed."""
    known = sorted(modifications, key=lambda m: m.started_at)
    return [
        one
        for one, following in zip_longest(known, known[1:])
        if one.by != BY_HEADROOM or following is None or not _never_in_force(one, following)
    ]


def _undone_by(
    ours: Sequence[KnownModification], later: Sequence[KnownModification]
) -> Revert | None:
    """What `later` changes left undone of Headroom's before them: of the latest, or of the raise that was left."""
    made = ours[-1].target if ours and later else None
    if made is None:
        return None
    for change in reversed(ours):
        found = None if change.origin is None else _left_undone(change.origin, made, later)
        if found is not None and (change is ours[-1] or found.lowered is not False):
            return found
    return None


def _left_undone(
    before: Configuration, made: Configuration, later: Sequence[KnownModification]
) -> Revert | None:
    """What `later` changes left undone of going from `before` to `made`."""
    found, held = None, made
    for change in later:
        if change.target is None:
            continue
        if _goes_beyond(before, made, change.target):
            return None
        undone = _undone(before, made, change, change.target)
        if undone and found and not _further_back(before, made, held, change.target):
            undone = replace(
                undone, at=found.at, external_configuration=found.external_configuration,
                rolled_back=found.rolled_back,
            )  # fmt: skip
        found, held = undone, change.target
    return found


def _undone(
    before: Configuration, made: Configuration, change: KnownModification, now: Configuration
) -> Revert | None:
    """What `change`, which led to `now`, leaves undone of Headroom's; None if nothing."""
    moved = _moved_back(before, made, made, now)
    type_undone = before.volume_type is not made.volume_type is not now.volume_type
    if not any(moved) and not type_undone:
        return None
    pairs = zip(_reach(now), _reach(made), moved, strict=True)
    down = [n < m for n, m, undone in pairs if undone]
    return Revert(
        at=change.started_at, our_configuration=made, external_configuration=now, left=now,
        lowered=any(down) if down else None, type_undone=type_undone,
        rolled_back=change.by == ROLLBACK,
    )  # fmt: skip


def _goes_beyond(before: Configuration, made: Configuration, now: Configuration) -> bool:
    """Whether `now` has all of the raise from `before` to `made`, of the same type, and more of it."""
    if not before.volume_type is made.volume_type is now.volume_type:
        return False
    rows = list(zip(_reach(before), _reach(made), _reach(now), strict=True))
    raised = [(then, have) for had, have, then in rows if have != had]
    return (
        all(have >= had for had, have, _ in rows)
        and all(then >= have for then, have in raised)
        and any(then > have for then, have in raised)
    )


def _further_back(
    before: Configuration, made: Configuration, held: Configuration, now: Configuration
) -> bool:
    """Whether going from `held` to `now` moves back more of the change from `before` to `made`."""
    type_back = before.volume_type is not made.volume_type is held.volume_type
    return any(_moved_back(before, made, held, now)) or (
        type_back and now.volume_type is not made.volume_type
    )


def _moved_back(
    before: Configuration, made: Configuration, held: Configuration, now: Configuration
) -> list[bool]:
    """Of sustained IOPS and MiB/s: whether they went the other way between `held` and `now`."""
    reaches = zip(_reach(before), _reach(made), _reach(held), _reach(now), strict=True)
    return [(n - h) * (m - b) < 0 for b, m, h, n in reaches]


def _only_grew(change: KnownModification) -> bool:
    """Whether a change added space and moved nothing that anybody could undo: what was undone before still is."""
    before, after = change.origin, change.target
    return (
        before is not None
        and after is not None
        and after.size_gib > before.size_gib
        and after.volume_type is before.volume_type
        and _reach(after) == _reach(before)
    )


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
