"""RDS's rules by the clock: status, what waits, autoscaling, the gate of Aurora."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.resources import GATE, Configuration, StorageMode, VolumeType
from headroom.proving.awsrules import (
    DATABASE_DELAYS,
    FULL_COPY_DELAYS,
    AuroraRules,
    DatabaseRules,
    ModificationRefused,
    Settings,
    autoscaled_iops,
    autoscaled_size,
    next_maintenance_window,
)
from headroom.proving.awsrules.aurora import TAKES
from tests.domain.databases import rds

NOW = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
MINUTE = timedelta(minutes=1)
GP2 = rds(VolumeType.GP2, 500)
TO_GP3 = {"StorageType": "gp3", "Iops": 12_000, "StorageThroughput": 500}


def storage_rules(storage: Configuration = GP2, *, most: int | None = None) -> DatabaseRules:
    settings = Settings({"DBInstanceClass": "db.r6g.large"})
    return DatabaseRules(storage, created_at=NOW, settings=settings, max_allocated_gib=most)


def test_a_change_in_place_takes_minutes_of_modifying_and_a_copy_takes_hours() -> None:
    plain, crossing = storage_rules(), storage_rules(rds(VolumeType.GP3, 300))
    plain.modify(NOW, storage=TO_GP3, others={}, at_once=True)
    wanted = {"AllocatedStorage": 500, "Iops": 12_000, "StorageThroughput": 500}
    crossing.modify(NOW, storage=wanted, others={}, at_once=True)
    for at, status, copying in (
        (NOW, "available", "available"),
        (NOW + MINUTE, "modifying", "modifying"),
        (NOW + DATABASE_DELAYS.modifying, "storage-optimization", "modifying"),
        (NOW + DATABASE_DELAYS.completed, "available", "modifying"),
        (NOW + FULL_COPY_DELAYS.modifying, "available", "storage-optimization"),
        (NOW + FULL_COPY_DELAYS.completed, "available", "available"),
    ):
        assert (plain.status(at), crossing.status(at)) == (status, copying)


def test_a_pending_change_is_refused_at_once_or_reported_as_rds_rounds_it() -> None:
    database = storage_rules()
    with pytest.raises(ModificationRefused, match="smaller than"):
        database.modify(NOW, storage={"AllocatedStorage": 400}, others={}, at_once=False)
    database.modify(NOW, storage={"AllocatedStorage": 501}, others={}, at_once=False)
    assert database.pending(NOW) == {"AllocatedStorage": 550}
    assert database.status(NOW + timedelta(days=1)) == "available"


def test_any_change_at_once_applies_what_waited_with_a_restart_for_a_class() -> None:
    database = storage_rules()
    database.modify(NOW, storage={}, others={"DBInstanceClass": "db.r6g.xlarge"}, at_once=False)
    assert database.settings.value("DBInstanceClass", NOW + timedelta(days=1)) == "db.r6g.large"
    start = NOW + timedelta(days=1)
    database.modify(start, storage=TO_GP3, others={}, at_once=True)
    statuses = {database.status(start + n * MINUTE) for n in range(12)}
    assert "rebooting" in statuses
    later = start + timedelta(minutes=11)
    assert database.settings.value("DBInstanceClass", later) == "db.r6g.xlarge"
    ids = [each.event_id for each in database.events_due(later)]
    assert "RDS-EVENT-0006" in ids


def test_a_refused_call_changes_nothing_that_waits() -> None:
    database = storage_rules()
    database.modify(NOW, storage=TO_GP3, others={}, at_once=True)
    during = NOW + timedelta(minutes=30)
    others = {"DBInstanceClass": "db.r6g.xlarge"}
    with pytest.raises(ModificationRefused, match="being optimized"):
        database.modify(during, storage={"AllocatedStorage": 600, "Iops": 12_000}, others=others,
                        at_once=True)  # fmt: skip
    assert database.pending(during) == {}


def test_what_waits_is_applied_when_the_window_begins() -> None:
    database = storage_rules()
    database.modify(NOW, storage={"AllocatedStorage": 600}, others={}, at_once=False)
    window = next_maintenance_window(database.settings.window, NOW)
    database.apply_due_changes(window - MINUTE)
    assert database.lifecycle.starts == ()
    database.apply_due_changes(window)
    assert database.lifecycle.starts == (window,)
    assert database.pending(window + timedelta(hours=1)) == {}


@given(minutes=st.integers(0, 525_600))
def test_a_window_begins_within_a_week(minutes: int) -> None:
    after = NOW + minutes * MINUTE
    found = next_maintenance_window("sun:05:00-sun:05:30", after)
    assert after < found <= after + timedelta(days=7)
    assert (found.weekday(), found.hour, found.minute) == (6, 5, 0)


@pytest.mark.parametrize(
    ("size", "most", "gib_per_hour", "to_gib"),
    [
        (50, 1_000, 0.0, 60),  # 10 GiB is more than a tenth
        (500, 1_000, 0.0, 550),
        (500, 1_000, 20.0, 640),  # seven hours of growth
        (500, 549, 0.0, None),  # not beyond the maximum, not even up to it
    ],
)
def test_autoscaling_goes_by_the_largest_of_three(
    size: int, most: int, gib_per_hour: float, to_gib: int | None
) -> None:
    assert autoscaled_size(size, most_gib=most, gib_per_hour=gib_per_hour) == to_gib


def test_autoscaling_waits_five_minutes_and_uses_a_slot() -> None:
    database = storage_rules(most=1_000)
    for minute in range(6):
        assert database.lifecycle.starts == ()
        database.free_space(NOW + minute * MINUTE, 49.0)
    assert database.lifecycle.starts == (NOW + 5 * MINUTE,)
    ids = [each.event_id for each in database.events_due(NOW + timedelta(hours=1))]
    assert ids == ["RDS-EVENT-0089", "RDS-EVENT-0217", "RDS-EVENT-0218"]


def test_a_full_database_takes_growth_and_nothing_else() -> None:
    database = storage_rules()
    database.free_space(NOW, 0.0)
    assert database.status(NOW) == "storage-full"
    with pytest.raises(ModificationRefused, match="storage-full"):
        database.modify(NOW, storage=TO_GP3, others={}, at_once=True)
    started = database.modify(NOW, storage={"AllocatedStorage": 600}, others={}, at_once=True)
    assert started is not None


def test_the_way_to_io_optimized_is_shut_for_thirty_days_and_back_is_open() -> None:
    cluster = AuroraRules(StorageMode.STANDARD, settings=Settings({}))
    assert cluster.next_allowed_at() is None
    cluster.modify(NOW, mode=StorageMode.IO_OPTIMIZED, others={}, at_once=True)
    assert cluster.mode(NOW) is StorageMode.STANDARD
    assert cluster.mode(NOW + TAKES) is StorageMode.IO_OPTIMIZED
    back = NOW + timedelta(days=1)
    cluster.modify(back, mode=StorageMode.STANDARD, others={}, at_once=True)
    with pytest.raises(ModificationRefused) as refused:
        cluster.modify(NOW + GATE - MINUTE, mode=StorageMode.IO_OPTIMIZED, others={}, at_once=True)
    assert refused.value.code == "StorageTypeNotAvailableFault"
    cluster.modify(NOW + GATE, mode=StorageMode.IO_OPTIMIZED, others={}, at_once=True)
    assert cluster.mode(NOW + GATE + TAKES) is StorageMode.IO_OPTIMIZED


def test_a_mode_asked_for_later_waits_for_the_window() -> None:
    cluster = AuroraRules(StorageMode.STANDARD, settings=Settings({}))
    cluster.modify(NOW, mode=StorageMode.IO_OPTIMIZED, others={}, at_once=False)
    assert cluster.pending_storage_mode(NOW) is StorageMode.IO_OPTIMIZED
    window = next_maintenance_window(cluster.settings.window, NOW)
    cluster.apply_due_changes(window)
    assert cluster.mode(window + TAKES) is StorageMode.IO_OPTIMIZED


def described(database: DatabaseRules, now: datetime) -> tuple[object, ...]:
    """Everything RDS shows of a database."""
    return (
        database.lifecycle.described(now), database.lifecycle.starts, database.pending(now),
        database.status(now), database.operation(now), database.settings.pending(now),
    )  # fmt: skip


CALLS = st.tuples(
    st.integers(0, 600),  # minutes since the call before
    st.sampled_from(
        [{}, TO_GP3, {"AllocatedStorage": 501}, {"AllocatedStorage": 450}, {"Iops": 14_000},
         {"AllocatedStorage": 900, "Iops": 16_000}, {"StorageType": "io1", "Iops": 9_000}]
    ),
    st.sampled_from([{}, {"DBInstanceClass": "db.r6g.xlarge"}]),
    st.sampled_from(["at once", "later", "scale"]),
)  # fmt: skip


@given(calls=st.lists(CALLS, max_size=12), size=st.sampled_from([300, 500]))
def test_whatever_is_asked_the_rules_hold(
    calls: list[tuple[int, dict[str, object], dict[str, object], str]], size: int
) -> None:
    database, now, largest = storage_rules(rds(VolumeType.GP2, size)), NOW, size
    for minutes, storage, others, way in calls:
        now += minutes * MINUTE
        database.apply_due_changes(now)
        before = described(database, now)
        try:
            if way == "scale":
                database.scale(now, largest + 50)
            else:
                database.modify(now, storage=storage, others=others, at_once=way == "at once")
        except ModificationRefused:
            assert described(database, now) == before  # a refused call changes nothing
        here = database.lifecycle.described(now)
        assert here.size_gib >= largest  # nothing shrinks
        largest = here.size_gib
        working = database.status(now) == "storage-optimization"
        assert not working or database.operation(now) is not None
        starts = database.lifecycle.starts
        for first, fifth in zip(starts, starts[4:], strict=False):
            assert fifth - first >= timedelta(hours=24)


@pytest.mark.parametrize(
    ("storage", "size_gib", "iops"),
    [
        (rds(VolumeType.GP3, 396), 436, 12_000),  # of several volumes
        (rds(VolumeType.GP3, 300), 330, None),
        (rds(VolumeType.GP3, 500, 15_000, 500), 550, 15_000),
        (rds(VolumeType.GP2, 396), 436, None),
    ],
)
def test_autoscaling_also_crosses_the_size_from_which_there_are_several_volumes(
    storage: Configuration, size_gib: int, iops: int | None
) -> None:
    assert autoscaled_iops(storage, size_gib) == iops
    database = storage_rules(storage, most=1_000)
    database.scale(NOW, size_gib)
    grown = database.lifecycle.described(NOW + timedelta(hours=12))
    assert (grown.size_gib, grown.iops) == (size_gib, iops)
