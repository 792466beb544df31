"""Aurora's adapter on a small RDS: what is read, remembered and sent."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.cloudwatch import CloudWatchAuroraMetrics, activity_of, queries
from headroom.adapters.cloudwatch.metric_data import Query, Window
from headroom.adapters.dispatch import StorageByKind
from headroom.domain.aurora import configuration_of
from headroom.domain.resources import (
    AuroraActivity,
    AuroraCluster,
    Kind,
    Member,
    ModificationState,
    ResourceRef,
    Series,
)
from headroom.domain.state import AlreadyThere, Applied, Refusal, Refused, Stale, Unknown
from headroom.ports import ReadFailed, ResourceGone
from headroom.proving.memory import InMemoryLedger
from tests.adapters.aurora.service import GATE_SHUT, AuroraService, Days, member, orders
from tests.adapters.rds.service import refusal
from tests.builders import ACCOUNT, NOW, REGION
from tests.domain.clusters import IO_OPTIMIZED, STANDARD, cluster

ORDERS = ResourceRef(kind=Kind.AURORA, account_id=ACCOUNT, region=REGION, resource_id="orders")
TO, FROM = configuration_of(IO_OPTIMIZED), configuration_of(STANDARD)


class Place:
    """The adapter with one clock over one cluster."""

    def __init__(self, service: AuroraService | None = None, **changes: Any) -> None:
        self.now = NOW
        self.service = service or AuroraService(cluster=orders(**changes))
        self.notes = InMemoryLedger(ACCOUNT, REGION)
        self.storage = AuroraClusterStorage(
            self.service, metrics=Days(), prices=Days(), notes=self.notes,
            clock=lambda: self.now, account_id=ACCOUNT, region=REGION,
        )  # fmt: skip

    def seen(self) -> AuroraCluster:
        found = self.storage.view(ORDERS).cluster
        assert found is not None
        return found

    def apply(self, *, seen: datetime | None = None) -> Any:
        return self.storage.apply(ORDERS, expected=FROM, seen=seen, target=TO)


def test_a_cluster_is_seen_with_its_members_writer_reservations_and_what_is_pending() -> None:
    place = Place(PendingModifiedValues={"EngineVersion": "16.6"})
    place.service.reserved = [
        {"State": "active", "ProductDescription": "aurora postgresql",
         "DBInstanceClass": "db.r7g.large", "DBInstanceCount": 2},
    ]  # fmt: skip
    view = place.storage.view(ORDERS)
    assert view.volume.ref == ORDERS
    assert view.volume.configuration == FROM
    assert view.volume.facts is not None
    assert view.volume.facts.members == ("orders-1", "orders-2")
    assert view.volume.facts.pending == ("EngineVersion",)
    found = view.cluster
    assert found is not None
    assert found.members == (Member(instance_class="db.r7g.xlarge", count=2),)
    assert found.writer == "orders-1"
    assert found.reserved == (Member(instance_class="db.r7g.large", count=2),)
    assert found.parallel_query is None  # MySQL's alone
    (listed,) = place.storage.fleet()
    assert listed.volume.tags == view.volume.tags


def test_a_cluster_in_io_optimized_has_what_others_leave_of_the_reservations() -> None:
    place = Place(StorageType="aurora-iopt1")
    place.service.reserved = [
        {"State": "active", "ProductDescription": "aurora postgresql",
         "DBInstanceClass": "db.r7g.xlarge", "DBInstanceCount": 3},
    ]  # fmt: skip
    assert place.seen().reserved == (Member(instance_class="db.r7g.xlarge", count=3),)


@pytest.mark.parametrize(
    ("parameters", "on"),
    [
        ([], False),
        ([{"ParameterName": "aurora_parallel_query", "ParameterValue": "ON"}], True),
        ([{"ParameterName": "aurora_parallel_query", "ParameterValue": "1"}], True),
        ([{"ParameterName": "aurora_parallel_query", "ParameterValue": "OFF"}], False),
        (None, None),
    ],
)
def test_parallel_query_is_what_mysqls_parameters_say(
    parameters: list[dict[str, str]] | None, on: bool | None
) -> None:
    place = Place(Engine="aurora-mysql", EngineVersion="8.0.mysql_aurora.3.08.0")
    if parameters is None:
        place.service.denied.add("describe_db_cluster_parameters")
    else:
        place.service.parameters = parameters
    assert place.seen().parallel_query is on


def test_reservations_that_may_not_be_read_are_unknown_and_other_failures_are_failures() -> None:
    place = Place()
    place.service.denied.add("describe_reserved_db_instances")
    assert place.seen().reserved is None
    place.service.denied.add("describe_db_instances")
    with pytest.raises(ReadFailed):
        place.seen()


@pytest.mark.parametrize(
    "changes",
    [
        {"Engine": "neptune"}, {"Engine": "docdb"}, {"Engine": "postgres"},
        {"EngineMode": "serverless"}, {"ClusterScalabilityType": "limitless"},
        {"Status": "deleting"},
    ],
)  # fmt: skip
def test_what_has_no_mode_to_choose_is_passed_over(changes: dict[str, Any]) -> None:
    place = Place(**changes)
    assert list(place.storage.fleet()) == []
    with pytest.raises(ResourceGone):
        place.storage.view(ORDERS)
    assert place.apply().refusal is Refusal.GONE


def test_an_unknown_mode_is_not_understood_and_not_taken_for_standard() -> None:
    place = Place(StorageType="aurora-next")
    assert list(place.storage.fleet()) == []
    with pytest.raises(ReadFailed):
        place.storage.view(ORDERS)
    assert isinstance(place.apply(), Refused)
    assert place.service.changes == []


def test_the_arn_of_a_cluster_finds_it_whichever_kind_it_was_asked_for_as() -> None:
    place = Place()
    every = StorageByKind({Kind.AURORA: place.storage})
    asked = ResourceRef(
        kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="cluster:orders"
    )
    assert asked.arn == ORDERS.arn
    assert every.view(asked).volume.ref == ORDERS
    with pytest.raises(ResourceGone):
        every.view(ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="x"))


def test_a_change_is_one_call_and_its_progress_is_remembered() -> None:
    place = Place()
    outcome = place.apply()
    assert outcome == Applied(started_at=NOW)
    place.now += timedelta(minutes=3)
    during = place.storage.view(ORDERS).modification
    assert during is not None
    assert (during.state, during.started_at) == (ModificationState.MODIFYING, NOW)
    place.service.lands()
    place.now += timedelta(minutes=9)
    after = place.storage.view(ORDERS).modification
    assert after is not None
    assert (after.state, after.started_at, after.target) == (
        ModificationState.COMPLETED, NOW, TO,
    )  # fmt: skip
    assert place.seen().mode_since == NOW
    assert place.apply(seen=NOW) == AlreadyThere()
    assert len(place.service.changes) == 1


def test_the_gate_dates_a_mode_better_than_our_first_observation() -> None:
    opened = NOW - timedelta(days=20)
    place = Place(StorageType="aurora-iopt1", IOOptimizedNextAllowedModificationTime=opened)
    assert place.seen().mode_since == opened - timedelta(days=30)
    undated = Place(StorageType="aurora-iopt1")
    assert undated.seen().mode_since == NOW
    assert Place().seen().mode_since is None


def test_a_lost_answer_is_resolved_by_what_rds_shows_and_by_whom() -> None:
    place = Place()
    place.service.times_out = True
    assert isinstance(place.apply(), Unknown)
    place.now += timedelta(minutes=5)
    found = place.storage.view(ORDERS).modification
    assert found is not None
    assert found.started_at == NOW  # when we called, not when it was seen
    other = Place()
    other.storage.view(ORDERS)
    other.now += timedelta(hours=4)
    other.service.cluster["StorageType"] = "aurora-iopt1"
    external = other.storage.view(ORDERS).modification
    assert external is not None
    assert external.started_at == other.now


def test_what_somebody_left_for_the_window_is_no_change_yet() -> None:
    place = Place()
    place.storage.view(ORDERS)
    place.service.cluster["PendingModifiedValues"] = {"StorageType": "aurora-iopt1"}
    for status in ("available", "backing-up", "available"):  # also over a nightly backup
        place.service.cluster["Status"] = status
        view = place.storage.view(ORDERS)
        assert view.modification is None
        assert view.volume.facts is not None
        assert view.volume.facts.pending == ("StorageType",)
    assert place.apply().refusal is Refusal.OTHER
    assert place.service.changes == []


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"Status": "modifying"}, Refused),
        ({"PendingModifiedValues": {"EngineVersion": "16.6"}}, Refused),
        ({"StorageType": "aurora-iopt1"}, AlreadyThere),
    ],
)
def test_it_reads_again_before_it_calls(changes: dict[str, Any], kind: type) -> None:
    place = Place(**changes)
    assert isinstance(place.apply(), kind)
    assert place.service.changes == []


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"Status": "modifying"}, Refused),
        ({"PendingModifiedValues": {"EngineVersion": "16.6"}}, Refused),
        ({"TagList": [{"Key": "headroom", "Value": "off"}]}, Stale),
    ],
)
def test_what_comes_up_while_the_change_is_being_recorded_is_seen_before_the_call(
    changes: dict[str, Any], kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place()
    place.seen()
    remember = place.storage.memory

    def spy(*given: Any) -> Any:
        found = remember(*given)
        place.service.cluster.update(changes)
        return found

    monkeypatch.setattr(place.storage, "memory", spy)
    assert isinstance(place.apply(), kind)
    assert place.service.changes == []


def test_a_tag_set_between_the_decision_and_the_call_is_heeded() -> None:
    place = Place()
    seen = place.storage.view(ORDERS).volume
    place.service.cluster["TagList"] = [{"Key": "headroom", "Value": "off"}]
    outcome = place.storage.apply(ORDERS, expected=FROM, seen=None, target=TO, decided_on=seen)
    assert isinstance(outcome, Stale)
    assert outcome.detail == "its tags changed since it was decided on"
    assert place.service.changes == []


def test_another_change_since_the_decision_is_stale() -> None:
    assert isinstance(Place().apply(seen=NOW - timedelta(days=1)), Stale)


def test_a_member_that_is_being_changed_keeps_the_cluster_from_being_called() -> None:
    place = Place()
    place.service.members[1]["DBInstanceStatus"] = "modifying"
    assert place.apply().refusal is Refusal.IN_FLIGHT
    place.service.members[1] = member(
        "orders-2", PendingModifiedValues={"DBInstanceClass": "db.r7g.large"}
    )
    said = place.apply()
    assert "DBInstanceClass of orders-2" in said.message
    assert place.service.changes == []


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (refusal("StorageTypeNotAvailableFault", GATE_SHUT), Refusal.GATE),
        (refusal("StorageTypeNotAvailableFault", "not in this Region"), Refusal.UNSUPPORTED),
        (refusal("InvalidDBClusterStateFault"), Refusal.IN_FLIGHT),
        (refusal("DBClusterNotFoundFault", status=404), Refusal.GONE),
        (refusal("Throttling"), Refusal.THROTTLED),
    ],
)
def test_what_rds_refuses_is_read_for_its_meaning(error: Exception, meaning: Refusal) -> None:
    place = Place()
    place.service.fails_with = error
    outcome = place.apply()
    assert isinstance(outcome, Refused)
    assert outcome.refusal is meaning


def test_nothing_is_sent_that_could_not_be_recorded_before() -> None:
    place = Place()
    place.storage.view(ORDERS)
    real, calls = place.notes.amend, []

    def amend(name: str, change: Any) -> Any:
        calls.append(name)
        if len(calls) > 1:
            raise ReadFailed("the note did not answer")
        return real(name, change)

    place.notes.amend = amend  # type: ignore[method-assign, assignment]
    outcome = place.apply()
    assert isinstance(outcome, Refused)
    assert "could not note the change first" in outcome.message
    assert place.service.changes == []


def test_another_cluster_of_an_old_name_is_seen_anew() -> None:
    place = Place()
    place.apply()
    place.service.lands()
    place.now += timedelta(days=1)
    place.storage.view(ORDERS)
    place.service.cluster["DbClusterResourceId"] = "cluster-ANOTHER"
    for _ in range(2):  # until what was known of the other one is ended
        with pytest.raises(ResourceGone, match="another cluster of that name") as gone:
            place.storage.view(ORDERS)
    assert gone.value.another is not None
    gone.value.another()
    assert place.storage.view(ORDERS).modification is None


def test_one_call_asks_for_all_that_is_published_of_a_cluster() -> None:
    of = cluster(writer="orders-1", serverless_members=("orders-2", "orders-3"))
    asked = queries(of)
    assert [(q.metric, q.statistic, q.dimensions[0][0]) for q in asked] == [
        ("VolumeReadIOPs", "Sum", "DBClusterIdentifier"),
        ("VolumeWriteIOPs", "Sum", "DBClusterIdentifier"),
        ("VolumeBytesUsed", "Average", "DBClusterIdentifier"),
        ("CommitLatency", "Average", "DBInstanceIdentifier"),
        ("ServerlessDatabaseCapacity", "Average", "DBInstanceIdentifier"),
        ("ServerlessDatabaseCapacity", "Average", "DBInstanceIdentifier"),
    ]


def test_billed_io_of_a_hundred_days_is_read_by_the_hour() -> None:
    hours = 101 * 24
    found = of_cluster_from({300: [None] * 17 * 288, 3600: [*[None] * 24, *[6.0] * (hours - 24)]})
    assert found.hourly_ios is not None
    assert (found.hourly_ios.period_s, len(found.hourly_ios.values)) == (3600, hours)
    assert found.hourly_ios.known() == (12.0,) * (hours - 24)  # reads and writes
    assert found.read_ios.known() == ()


def of_cluster_from(published: dict[int, list[float | None]]) -> AuroraActivity:
    """What is read where CloudWatch has these values of every metric, by period, until NOW."""

    class Client:
        def get_metric_data(self, **asked: Any) -> dict[str, Any]:
            period = asked["MetricDataQueries"][0]["MetricStat"]["Period"]
            start = asked["EndTime"] - timedelta(seconds=period * len(published[period]))
            points = [
                (start + timedelta(seconds=period * place), value)
                for place, value in enumerate(published[period])
                if value is not None
            ]
            return {
                "MetricDataResults": [
                    {"Id": query["Id"], "StatusCode": "Complete",
                     "Timestamps": [at for at, _ in points], "Values": [v for _, v in points]}
                    for query in asked["MetricDataQueries"]
                ]
            }  # fmt: skip

    return CloudWatchAuroraMetrics(cast(Any, Client())).of_cluster(cluster(), NOW)


def test_capacity_is_known_where_every_serverless_member_published_it() -> None:
    of = cluster(writer=None, serverless_members=("a", "b"))
    span = Window(start=NOW, period_s=300, periods=3)

    def series(query: Query) -> Series:
        first = dict(query.dimensions).get("DBInstanceIdentifier") == "a"
        values = (1.0, 2.0, None) if first else (3.0, None, 5.0)
        return Series(start=NOW, period_s=300, values=values)

    found = {q: series(q) for q in queries(of) if q.metric == "ServerlessDatabaseCapacity"}
    metrics = activity_of(of, found, span)
    assert metrics.acus.values == (4.0, None, None)
    assert metrics.read_ios.values == (None, None, None)
    assert activity_of(cluster(), {}, span).acus.values == ()


def test_a_new_serverless_member_counts_as_if_it_had_always_been_there() -> None:
    """Its days before it existed are no reason to know nothing of the others: it is billed from now on."""
    of = cluster(writer=None, serverless_members=("old", "new"))
    span = Window(start=NOW, period_s=300, periods=24)

    def acus(published: int) -> tuple[float | None, ...]:
        def series(query: Query) -> Series:
            new = dict(query.dimensions).get("DBInstanceIdentifier") == "new"
            values = (
                (None,) * (24 - published) + (2.0, 4.0) * (published // 2) if new else (1.0,) * 24
            )
            return Series(start=NOW, period_s=300, values=values)

        found = {q: series(q) for q in queries(of) if q.metric == "ServerlessDatabaseCapacity"}
        return activity_of(of, found, span).acus.values

    assert acus(12) == (4.0,) * 12 + (3.0, 5.0) * 6
    assert acus(10) == (None,) * 14 + (3.0, 5.0) * 5  # less than an hour says nothing


def test_what_was_published_under_its_name_before_it_had_that_name_is_not_its_own() -> None:
    place = Place()
    assert place.seen().metrics_from == NOW - timedelta(days=90)
    place.now += timedelta(days=1)
    restored = place.now - timedelta(days=2)  # and renamed to the old one's name today
    place.service.cluster |= {
        "DbClusterResourceId": "cluster-GREEN", "ClusterCreateTime": restored,
    }  # fmt: skip
    with pytest.raises(ResourceGone) as gone:
        place.storage.view(ORDERS)
    assert gone.value.another is not None
    gone.value.another()
    place.now += timedelta(hours=1)
    assert place.seen().metrics_from == place.now - timedelta(hours=1)
    other = Place(ClusterCreateTime=restored)  # deleted and restored between two reads
    assert other.seen().metrics_from == restored
