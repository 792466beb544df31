from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.aurora import (
    ClusterMemory,
    ClusterModeChange,
    ObservedMode,
    remember,
    with_days,
    with_members,
)
from headroom.domain.aurora.memory import KEPT_DAYS, MEMBERS_COUNT, MOST_SETS, SETTLES
from headroom.domain.resources import Member, StorageMode
from headroom.domain.workload import UsageDay
from headroom.serialization import from_json, to_json
from tests.builders import NOW
from tests.domain.clusters import IO_OPTIMIZED, STANDARD


def observed(mode: StorageMode = STANDARD, **changes: object) -> ObservedMode:
    asked: dict[str, object] = {"identity": "c-1", "pending": None, "applying": False}
    return ObservedMode(mode=mode, **(asked | changes))  # type: ignore[arg-type]


def known(mode: StorageMode = STANDARD, **changes: object) -> ClusterMemory:
    return ClusterMemory(identity="c-1", mode=mode, watched_from=NOW, **changes)  # type: ignore[arg-type]


def test_standard_of_unknown_age_counts_from_ever_io_optimized_from_its_first_observation() -> None:
    assert remember(None, observed(), NOW).first_seen_in_mode is None
    assert remember(None, observed(IO_OPTIMIZED), NOW).first_seen_in_mode == NOW


def test_a_change_begins_with_our_request_or_its_first_observation() -> None:
    later = NOW + timedelta(minutes=5)
    called = ClusterModeChange(at=NOW, origin=STANDARD, target=IO_OPTIMIZED)
    ours = remember(known(last_request=called), observed(IO_OPTIMIZED), later)
    assert ours.last_change == called
    assert ours.last_request is None
    external = remember(known(), observed(IO_OPTIMIZED), later)
    assert external.last_change == ClusterModeChange(at=later, origin=STANDARD, target=IO_OPTIMIZED)


def test_an_older_answer_after_a_newer_one_is_no_change_by_somebody_else() -> None:
    called = ClusterModeChange(at=NOW, origin=STANDARD, target=IO_OPTIMIZED)
    first = NOW + timedelta(minutes=2)
    ours = remember(known(last_request=called), observed(IO_OPTIMIZED), first)
    assert remember(ours, observed(STANDARD), first + timedelta(minutes=1)) == ours
    assert remember(ours, observed(STANDARD), first + SETTLES) == ours
    real = first + SETTLES + timedelta(minutes=1)
    back = ClusterModeChange(at=real, origin=IO_OPTIMIZED, target=STANDARD)
    assert remember(ours, observed(STANDARD), real).last_change == back


def test_an_old_request_does_not_explain_a_change_of_today() -> None:
    called = ClusterModeChange(at=NOW, origin=STANDARD, target=IO_OPTIMIZED)
    at = NOW + timedelta(days=2)
    found = remember(known(last_request=called), observed(IO_OPTIMIZED), at)
    assert found.last_change is not None
    assert found.last_change.at == at


def test_a_change_that_waits_for_a_window_is_none_yet() -> None:
    waits = remember(known(), observed(pending=IO_OPTIMIZED), NOW)
    assert waits.last_change is None
    applied = remember(known(), observed(pending=IO_OPTIMIZED, applying=True), NOW)
    assert applied.mode is IO_OPTIMIZED
    still = remember(applied, observed(pending=IO_OPTIMIZED), NOW + timedelta(hours=1))
    assert still == applied
    withdrawn = remember(applied, observed(), NOW + timedelta(hours=1))
    assert withdrawn.mode is STANDARD


@given(st.sampled_from(StorageMode), st.sampled_from([None, *StorageMode]), st.booleans())
def test_the_same_observation_again_changes_nothing_and_reads_back(
    mode: StorageMode, pending: StorageMode | None, applying: bool
) -> None:
    seen = observed(mode, pending=pending, applying=applying)
    first = remember(known(), seen, NOW)
    assert remember(first, seen, NOW + timedelta(hours=1)) == first
    assert from_json(to_json(first), ClusterMemory) == first


def test_another_cluster_of_that_name_begins_anew() -> None:
    before = known(
        IO_OPTIMIZED, last_change=ClusterModeChange(at=NOW, origin=STANDARD, target=IO_OPTIMIZED)
    )
    assert remember(before, observed(identity="c-2"), NOW).last_change is None


def day(ago: int, ios: float = 1e6) -> UsageDay:
    start = NOW.replace(hour=0) - timedelta(days=ago)
    return UsageDay(start=start, ios=ios, acus=None, slow_hours=0.0, commits_known=False)


def test_days_are_recorded_once_under_the_mode_they_were_measured_in() -> None:
    remembered = with_days(known(), [day(3), day(2)], STANDARD)
    assert with_days(remembered, [day(3), day(2)], STANDARD) is remembered
    moved = with_days(remembered, [day(2, 5.0), day(1)], IO_OPTIMIZED)
    assert [(d.mode, d.ios) for d in moved.days] == [
        (STANDARD, 1e6), (STANDARD, 1e6), (IO_OPTIMIZED, 1e6),
    ]  # fmt: skip
    full = with_days(known(), [day(ago) for ago in range(100, 0, -1)], STANDARD)
    assert len(full.days) == KEPT_DAYS
    assert full.days[-1].start == day(1).start


def of(count: int) -> tuple[Member, ...]:
    return (Member(instance_class="db.r7g.xlarge", count=count),)


def test_members_are_remembered_for_a_week_after_they_were_last_there() -> None:
    three = with_members(known(), of(3), NOW)
    assert with_members(three, of(3), NOW + timedelta(hours=1)) is three
    one = with_members(three, of(1), NOW + timedelta(days=1))
    assert [(seen.members, seen.day) for seen in one.members] == [
        (of(3), NOW.replace(hour=0)), (of(1), NOW.replace(hour=0) + timedelta(days=1)),
    ]  # fmt: skip
    assert from_json(to_json(one), ClusterMemory) == one
    week = with_members(one, of(1), NOW + MEMBERS_COUNT)
    assert [seen.members for seen in week.members] == [of(3), of(1)]
    after = with_members(week, of(1), NOW + MEMBERS_COUNT + timedelta(days=1))
    assert [seen.members for seen in after.members] == [of(1)]
    for count in range(2, 100):
        after = with_members(after, of(count), NOW + timedelta(days=9))
    assert len(after.members) == MOST_SETS
    assert after.members[-1].members == of(99)
