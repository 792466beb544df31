"""Storage of databases as RDS reports it, and the one change that is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from headroom.adapters.rds import RdsStorage, rds_refusal_of
from headroom.domain.resources import (
    Configuration,
    Deployment,
    Engine,
    Kind,
    ModificationState,
    ResourceRef,
    Span,
    VolumeType,
)
from headroom.domain.state import AlreadyThere, Applied, Outcome, Refusal, Refused, Stale, Unknown
from headroom.ports import ReadFailed, ResourceGone, StorageView
from headroom.proving.memory import InMemoryLedger
from tests.adapters.rds.service import Clock, InstanceTypes, RdsService, db, refusal, trio
from tests.builders import ACCOUNT, NOW, REGION
from tests.domain.databases import rds

GP2 = rds(VolumeType.GP2, 500)
GP3 = rds(VolumeType.GP3, 500, 12_000, 500)


def ref(name: str = "orders") -> ResourceRef:
    return ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id=name)


class Place:
    """One service, one clock, one memory."""

    def __init__(self, *shapes: dict[str, Any], types: tuple[str, ...] = ()) -> None:
        self.service = RdsService.of(*(shapes or (db(),)))
        self.clock = Clock()
        self.notes = InMemoryLedger(account_id=ACCOUNT, region=REGION)
        self.storage = RdsStorage(
            self.service, InstanceTypes(*types), notes=self.notes,  # type: ignore[arg-type]
            clock=self.clock, account_id=ACCOUNT, region=REGION,
        )  # fmt: skip

    def view(self, name: str = "orders") -> StorageView:
        return self.storage.view(ref(name))

    def apply(self, target: Configuration = GP3, name: str = "orders") -> Outcome:
        seen = self.view(name)
        change = seen.modification
        return self.storage.apply(
            ref(name), expected=seen.volume.configuration,
            seen=None if change is None else change.started_at, target=target,
        )  # fmt: skip


# What is read


def test_an_instance_has_only_what_may_be_set_of_its_storage() -> None:
    place = Place(db(Iops=1_500, MaxAllocatedStorage=1_000))
    view = place.view()
    assert view.volume.configuration == GP2  # the IOPS that gp2 derives are not a setting
    assert view.modification is None
    assert view.volume.tag("headroom") == "auto"
    facts = view.volume.facts
    assert facts is not None
    assert (facts.max_allocated_gib, facts.pending, facts.unusual) == (1_000, (), None)
    assert view.instance is not None
    assert view.instance.limits is not None
    assert view.instance.limits.baseline_iops == 20_000
    assert view.instance.volume_ids == ("orders",)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"StorageType": "gp3", "AllocatedStorage": 100, "Iops": 3000, "StorageThroughput": 125},
         rds(VolumeType.GP3, 100)),
        ({"StorageType": "gp3", "Iops": 20_000, "StorageThroughput": 1_000},
         rds(VolumeType.GP3, 500, 20_000, 1_000)),
        ({"StorageType": "gp3"}, GP3),
        ({"StorageType": "io1", "Iops": 8_000, "StorageThroughput": 0},
         rds(VolumeType.IO1, 500, 8_000)),
        ({"MultiAZ": True}, rds(VolumeType.GP2, 500, deployment=Deployment.MULTI_AZ)),
        ({"Engine": "oracle-se2"}, rds(VolumeType.GP2, 500, engine=Engine.ORACLE)),
        ({"Engine": "sqlserver-web", "StorageType": "gp3"},
         rds(VolumeType.GP3, 500, 3_000, 125, engine=Engine.SQL_SERVER)),
    ],
)  # fmt: skip
def test_storage_has_engine_deployment_type_and_band(
    changes: dict[str, Any], expected: Configuration
) -> None:
    assert Place(db(**changes)).view().volume.configuration == expected


def test_a_cluster_is_one_storage_under_its_own_name() -> None:
    view = Place(trio()).view("cluster:trio")
    assert view.volume.configuration == rds(
        VolumeType.GP3, 500, 12_000, deployment=Deployment.CLUSTER
    )
    assert view.volume.ref.arn == f"arn:aws:rds:{REGION}:{ACCOUNT}:cluster:trio"
    assert view.volume.facts is not None
    assert view.volume.facts.members == ("trio-1", "trio-2", "trio-3")  # the writer first
    assert view.volume.availability_zone == "us-east-1a, us-east-1b, us-east-1c"


def test_the_fleet_is_instances_and_clusters_and_nothing_that_has_other_storage() -> None:
    place = Place(
        db(), db(DBInstanceIdentifier="trio-1", DBClusterIdentifier="trio"),
        db(DBInstanceIdentifier="a", Engine="aurora-mysql", DBClusterIdentifier="au"),
        db(DBInstanceIdentifier="n", Engine="neptune"), db(DBInstanceIdentifier="d", Engine="docdb"),
        db(DBInstanceIdentifier="c", Engine="custom-oracle-ee"),
        db(DBInstanceIdentifier="new", Engine="quantum"),
        db(DBInstanceIdentifier="old", DBInstanceStatus="deleting"),
        trio(), trio(DBClusterIdentifier="au", Engine="aurora-mysql"),
    )  # fmt: skip
    assert [v.volume.ref.resource_id for v in place.storage.fleet()] == ["orders", "cluster:trio"]


def test_one_database_that_is_not_understood_does_not_hide_the_others() -> None:
    place = Place(db(DBInstanceIdentifier="odd", StorageType="gp9"), db())
    assert [v.volume.ref.resource_id for v in place.storage.fleet()] == ["orders"]
    with pytest.raises(ReadFailed):
        place.view("odd")


@pytest.mark.parametrize(
    "shape", [db(Engine="neptune"), db(DBClusterIdentifier="trio"), db(DBInstanceStatus="deleting")]
)
def test_what_has_no_storage_of_its_own_is_gone_for_us(shape: dict[str, Any]) -> None:
    with pytest.raises(ResourceGone):
        Place(shape).view()


def test_provisioned_storage_that_reports_no_iops_is_not_guessed_at() -> None:
    with pytest.raises(ReadFailed):
        Place(db(StorageType="io1")).view()


@pytest.mark.parametrize(
    ("instance_class", "known"),
    [("db.r6g.2xlarge", True), ("db.x9.huge", False), ("db.r6g.2xlarge.tpc2.mem2x", False),
     ("db.serverless", False)],
)  # fmt: skip
def test_limits_of_a_class_are_those_of_its_instance_type_or_not_known(
    instance_class: str, known: bool
) -> None:
    view = Place(db(DBInstanceClass=instance_class)).view()
    assert view.instance is not None
    assert (view.instance.limits is not None) == known


def test_what_rds_takes_is_asked_of_the_very_instance_while_it_is_at_rest() -> None:
    place = Place()
    place.service.valid = [
        {
            "StorageType": "gp3", "StorageSize": [{"From": 500, "To": 65_536, "Step": 1}],
            "ProvisionedIops": [{"From": 12_000, "To": 64_000, "Step": 1}],
            "IopsToStorageRatio": [{"From": 0.5, "To": 500.0}],
        },
        {"StorageType": "gp9"},
    ]  # fmt: skip
    (valid,) = place.view().valid
    assert valid.size_gib == (Span(low=500, high=65_536),)
    assert valid.iops_per_gib == ((0.5, 500.0),)
    place.service.instances["orders"]["DBInstanceStatus"] = "backing-up"
    assert place.view().valid == ()


@pytest.mark.parametrize(
    "changes",
    [{"DedicatedLogVolume": True}, {"IsStorageConfigUpgradeAvailable": True},
     {"StorageType": "gp3", "Iops": 3_000, "StorageThroughput": 125}],
)  # fmt: skip
def test_an_unusual_storage_is_said_to_be_so_and_never_changed(changes: dict[str, Any]) -> None:
    place = Place(db(**changes))
    facts = place.view().volume.facts
    assert facts is not None
    assert facts.unusual
    assert place.apply(rds(VolumeType.GP3, 500, 16_000, 500)).refusal is Refusal.UNSUPPORTED  # type: ignore[union-attr]
    assert place.service.changes == []


def test_missing_tags_are_asked_for_and_never_taken_for_none() -> None:
    arn = f"arn:aws:rds:{REGION}:{ACCOUNT}:db:orders"
    place = Place({k: v for k, v in db(DBInstanceArn=arn).items() if k != "TagList"})
    with pytest.raises(ReadFailed):
        place.view()  # nothing reports it
    place.service.tags[arn] = [{"Key": "headroom", "Value": "off"}]
    assert place.view().volume.tag("headroom") == "off"


# What is sent


def test_one_call_says_all_that_must_be_said_and_nothing_more() -> None:
    place = Place()
    outcome = place.apply()
    assert outcome == Applied(started_at=NOW)
    assert place.service.changes == [
        {
            "DBInstanceIdentifier": "orders", "ApplyImmediately": True, "StorageType": "gp3",
            "AllocatedStorage": 500, "Iops": 12_000, "StorageThroughput": 500,
        }
    ]  # fmt: skip


def test_a_cluster_is_changed_through_its_cluster() -> None:
    place = Place(trio())
    target = rds(VolumeType.GP3, 500, 16_000, deployment=Deployment.CLUSTER)
    assert isinstance(place.apply(target, "cluster:trio"), Applied)
    assert place.service.changes == [
        {"DBClusterIdentifier": "trio", "ApplyImmediately": True, "AllocatedStorage": 500,
         "Iops": 16_000}
    ]  # fmt: skip


def test_nothing_is_sent_for_what_is_there_already() -> None:
    place = Place()
    assert place.apply(GP2) == AlreadyThere()
    assert place.service.changes == []


def test_a_decision_on_other_storage_is_stale() -> None:
    place = Place()
    outcome = place.storage.apply(ref(), expected=GP3, seen=None, target=GP3)
    assert isinstance(outcome, AlreadyThere | Stale)
    outcome = place.storage.apply(ref(), expected=rds(VolumeType.GP2, 400), seen=None, target=GP3)
    assert isinstance(outcome, Stale)
    assert place.service.changes == []


@pytest.mark.parametrize(
    ("changes", "refusal", "words"),
    [
        ({"PendingModifiedValues": {"DBInstanceClass": "db.r6g.large"}}, Refusal.OTHER,
         "ApplyImmediately would apply what others left pending too: DBInstanceClass"),
        ({"PendingModifiedValues": {"AllocatedStorage": 800}}, Refusal.OTHER, "AllocatedStorage"),
        ({"DBInstanceStatus": "backing-up"}, Refusal.IN_FLIGHT, "backing-up"),
        ({"DBInstanceStatus": "storage-full"}, Refusal.IN_FLIGHT, "storage-full"),
        ({"DBInstanceStatus": "storage-optimization"}, Refusal.IN_FLIGHT, "not over"),
        ({"StorageOperationStatus": "Optimizing"}, Refusal.IN_FLIGHT, "not over"),
    ],
)  # fmt: skip
def test_nothing_is_sent_to_a_database_that_is_not_at_rest(
    changes: dict[str, Any], refusal: Refusal, words: str
) -> None:
    place = Place(db(**changes))
    outcome = place.apply()
    assert isinstance(outcome, Refused)
    assert (outcome.refusal, outcome.code) == (refusal, "NotSent")
    assert words in outcome.message
    assert place.service.changes == []


def test_a_shrink_is_never_sent() -> None:
    place = Place()
    outcome = place.apply(rds(VolumeType.GP3, 400, 12_000, 500))
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.INVALID
    assert place.service.changes == []


def test_what_cannot_be_recorded_first_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place()
    amend, calls = place.notes.amend, iter(range(9))

    def broken(name: str, change: Any) -> Any:
        if next(calls) >= 2:  # the two reads are recorded, the attempt is not
            raise ReadFailed("UpdateItem: throttled")
        return amend(name, change)

    monkeypatch.setattr(place.notes, "amend", broken)
    outcome = place.apply()
    assert isinstance(outcome, Refused)
    assert "could not note" in outcome.message
    assert place.service.changes == []


# What becomes of it


def test_a_change_keeps_its_start_through_all_its_phases() -> None:
    place = Place()
    assert place.apply() == Applied(started_at=NOW)
    nothing: Callable[[], None] = lambda: None  # noqa: E731
    phases = [
        (nothing, ModificationState.MODIFYING, GP2),
        (place.service.optimizes, ModificationState.OPTIMIZING, GP3),
        (place.service.settles, ModificationState.COMPLETED, GP3),
        (nothing, ModificationState.COMPLETED, GP3),
    ]
    for act, state, settings in phases:
        place.clock.later(minutes=20)
        act()
        view = place.view()
        assert view.modification is not None
        assert (view.modification.state, view.volume.configuration) == (state, settings)
        assert view.modification.started_at == NOW
        assert (view.modification.origin, view.modification.target) == (GP2, GP3)
        assert view.volume.facts is not None
        assert view.volume.facts.pending == ()  # our own change is nobody else's
    over = place.view().modification
    assert over is not None
    assert over.ended_at == NOW + timedelta(minutes=60)


def test_a_lost_answer_is_found_in_what_rds_shows_then() -> None:
    place = Place()
    place.service.times_out = True
    assert isinstance(place.apply(), Unknown)
    place.clock.later(minutes=3)
    change = place.view().modification
    assert change is not None
    assert (change.target, change.started_at) == (GP3, NOW)


def test_a_call_that_had_no_effect_is_no_change() -> None:
    place = Place()
    place.service.fails_with = TimeoutError("connect timed out")
    assert isinstance(place.apply(), Unknown)
    place.clock.later(minutes=3)
    assert place.view().modification is None


def test_somebody_elses_change_begins_when_it_is_first_seen_and_stays_so() -> None:
    place = Place()
    place.view()
    seen_at = place.clock.later(hours=1)
    shape = place.service.instances["orders"]
    shape.update(DBInstanceStatus="modifying", PendingModifiedValues={"AllocatedStorage": 600})
    assert place.view().modification is not None
    place.clock.later(hours=2)
    place.service.optimizes()
    change = place.view().modification
    assert change is not None
    assert change.started_at == seen_at
    assert (change.origin.size_gib, change.target.size_gib) == (500, 600)
    assert change.state is ModificationState.OPTIMIZING


def test_growth_by_rds_itself_is_seen_when_it_is_over_too() -> None:
    place = Place()
    place.view()
    place.clock.later(hours=5)
    place.service.instances["orders"]["AllocatedStorage"] = 550
    change = place.view().modification
    assert change is not None
    assert change.state is ModificationState.COMPLETED
    assert (change.origin.size_gib, change.target.size_gib) == (500, 550)


def test_a_change_left_for_the_window_is_pending_and_not_in_flight() -> None:
    place = Place()
    place.view()
    place.service.instances["orders"]["PendingModifiedValues"] = {"AllocatedStorage": 800}
    view = place.view()
    assert view.modification is None
    assert view.volume.facts is not None
    assert view.volume.facts.pending == ("AllocatedStorage",)


@pytest.mark.parametrize(
    "status",
    ["backing-up", "rebooting", "stopped", "maintenance", "configuring-enhanced-monitoring",
     "resetting-master-credentials", "storage-optimization", "modifying"],
)  # fmt: skip
def test_what_waits_for_the_window_goes_on_waiting_whatever_else_rds_does_meanwhile(
    status: str,
) -> None:
    place = Place()
    place.view()
    shape = place.service.instances["orders"]
    shape["PendingModifiedValues"] = {"AllocatedStorage": 800}
    for now in ("available", status, "available", "available"):
        place.clock.later(hours=2)
        shape["DBInstanceStatus"] = now
        view = place.view()
    change = view.modification
    assert change is None or not change.in_flight
    assert view.volume.facts is not None
    assert view.volume.facts.pending == ("AllocatedStorage",)
    assert isinstance(place.apply(), Refused)
    place.clock.later(days=3)
    shape["DBInstanceStatus"] = "modifying"
    opens = place.clock.now
    place.view()
    place.clock.later(minutes=10)
    shape.update(DBInstanceStatus="available", AllocatedStorage=800, PendingModifiedValues={})
    change = place.view().modification
    assert change is not None
    assert (change.started_at, change.target.size_gib) == (opens, 800)


def test_a_change_that_rds_gives_up_has_failed() -> None:
    place = Place()
    place.apply()
    place.clock.later(minutes=30)
    place.service.instances["orders"].update(PendingModifiedValues={}, DBInstanceStatus="available")
    change = place.view().modification
    assert change is not None
    assert change.state is ModificationState.FAILED


def test_another_database_of_the_same_name_has_no_past() -> None:
    place = Place()
    place.apply()
    place.service.settles()
    place.view()
    place.service.instances["orders"] = db(DbiResourceId="db-NEW", AllocatedStorage=100)
    place.clock.later(minutes=5)
    for _ in range(2):  # until nothing of the old one is in force
        with pytest.raises(ResourceGone, match="another database of that name") as gone:
            place.view()
    taken_over = place.clock()
    assert gone.value.another is not None
    gone.value.another()
    place.clock.later(minutes=5)
    found = place.view()
    assert found.modification is None
    # What was published under that name until then is the other one's, however old this one is.
    assert found.volume.created_at == taken_over
    place.apply()
    place.service.settles()
    place.clock.later(minutes=5)
    assert place.view().volume.created_at == taken_over


def test_two_reads_at_once_show_the_same_change() -> None:
    place = Place(db(DBInstanceStatus="storage-optimization"))
    first = place.view().modification
    place.clock.later(minutes=1)
    other = RdsStorage(
        place.service, InstanceTypes(), notes=place.notes,  # type: ignore[arg-type]
        clock=place.clock, account_id=ACCOUNT, region=REGION,
    )  # fmt: skip
    assert first is not None
    assert first.in_flight
    assert other.view(ref()).modification == first


def test_a_bookmark_that_cannot_be_parsed_is_none() -> None:
    place = Place()
    place.notes.amend("rds/orders", lambda _: ("{broken", None))
    assert place.view().modification is None


# What RDS refuses


@pytest.mark.parametrize(
    ("code", "message", "means"),
    [
        ("InvalidParameterCombination",
         "You can't currently modify the storage of this DB instance because the previous storage "
         "change is being optimized.", Refusal.IN_FLIGHT),
        ("InvalidParameterCombination",
         "You can't specify IOPS or storage throughput for engine postgres and a storage size less "
         "than 400.", Refusal.INVALID),
        ("InvalidParameterCombination",
         "You have reached the maximum number of storage modifications in a 24-hour period.",
         Refusal.SLOTS),
        ("InvalidParameterValue", "Invalid storage size", Refusal.INVALID),
        ("InvalidDBInstanceState", "Instance orders is not in available state.", Refusal.IN_FLIGHT),
        ("InvalidDBClusterStateFault", "no", Refusal.IN_FLIGHT),
        ("StorageQuotaExceeded", "no", Refusal.REGION_QUOTA),
        ("StorageTypeNotSupported", "no", Refusal.UNSUPPORTED),
        ("KMSKeyNotAccessibleFault", "no", Refusal.DENIED),
        ("DBInstanceNotFound", "no", Refusal.GONE),
        ("Throttling", "Rate exceeded", Refusal.THROTTLED),
        ("SomethingNew", "no", Refusal.OTHER),
    ],
)  # fmt: skip
def test_a_refusal_is_recognised_by_its_code_or_else_by_its_message(
    code: str, message: str, means: Refusal
) -> None:
    place = Place()
    place.service.fails_with = refusal(code, message)
    outcome = place.apply()
    assert isinstance(outcome, Refused)
    assert (outcome.refusal, outcome.code, outcome.message) == (means, code, message)


def test_a_server_error_says_nothing() -> None:
    assert isinstance(rds_refusal_of(refusal("InternalFailure", status=500)), Unknown)


def test_a_database_reads_the_same_in_the_fleet_and_by_itself() -> None:
    place = Place()
    (glimpse,) = place.storage.fleet()
    view = place.view()
    assert replace(view, instance=None, valid=()) == glimpse
