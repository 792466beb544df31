"""What changes between the last read and the call, and what only the members of a cluster report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headroom.domain.resources import Deployment, VolumeType
from headroom.domain.state import Applied, Refusal, Refused, Stale
from headroom.ports import ReadFailed, ResourceGone
from tests.adapters.rds.service import db, refusal, trio
from tests.adapters.rds.test_storage import GP2, GP3, Place, ref
from tests.builders import NOW
from tests.domain.databases import rds

CLASS = {"DBInstanceClass": "db.r6g.4xlarge"}


def meanwhile(place: Place, nth: int, change: Callable[[dict[str, Any]], None]) -> None:
    """Somebody does something to `orders` just before our nth read of it."""

    def before(number: int) -> None:
        if number == nth:
            change(place.service.instances["orders"])

    place.service.before_read = before


@pytest.mark.parametrize(
    ("change", "why", "words"),
    [
        ({"PendingModifiedValues": CLASS}, Refusal.OTHER, "left pending too: DBInstanceClass"),
        ({"DBInstanceStatus": "modifying"}, Refusal.IN_FLIGHT, "modifying"),
        ({"StorageOperationStatus": "Optimizing"}, Refusal.IN_FLIGHT, "not over"),
        ({"DedicatedLogVolume": True}, Refusal.UNSUPPORTED, "dedicated log volume"),
    ],
)
def test_what_comes_up_while_the_change_is_being_recorded_is_seen_before_the_call(
    change: dict[str, Any], why: Refusal, words: str
) -> None:
    place = Place()
    meanwhile(place, 3, lambda shape: shape.update(change))  # view, read again, and once more
    outcome = place.apply()
    assert isinstance(outcome, Refused)
    assert (outcome.refusal, outcome.code) == (why, "NotSent")
    assert words in outcome.message
    assert place.service.changes == []


@pytest.mark.parametrize(
    "change", [{"TagList": [{"Key": "headroom", "Value": "off"}]}, {"AllocatedStorage": 550}]
)
def test_a_tag_or_a_size_that_moves_at_the_last_moment_makes_the_decision_stale(
    change: dict[str, Any],
) -> None:
    place = Place()
    meanwhile(place, 3, lambda shape: shape.update(change))
    assert isinstance(place.apply(), Stale)
    assert place.service.changes == []


def test_a_call_that_was_not_sent_is_not_taken_for_ours_when_somebody_else_makes_it() -> None:
    place = Place()
    meanwhile(place, 3, lambda shape: shape.update(PendingModifiedValues=CLASS))
    place.apply()
    place.service.instances["orders"].update(db(StorageType="gp3", Iops=12_000))
    place.clock.later(minutes=5)
    change = place.view().modification
    assert change is not None
    assert change.started_at == place.clock.now  # when it was first seen, not when we meant to


def test_a_last_read_that_fails_sends_nothing() -> None:
    place = Place()

    def fails(number: int) -> None:
        if number == 3:
            raise refusal("Throttling")

    place.service.before_read = fails
    outcome = place.apply()
    assert isinstance(outcome, Refused)
    assert "could not read it once more" in outcome.message
    assert place.service.changes == []


def test_what_became_pending_after_the_last_read_is_reported_once_applied_with_ours() -> None:
    place = Place()
    modify = place.service.modify_db_instance

    def late(**sent: Any) -> Any:
        place.service.instances["orders"]["PendingModifiedValues"] = dict(CLASS)
        return modify(**sent)

    place.service.modify_db_instance = late  # type: ignore[method-assign]
    outcome = place.apply()
    assert isinstance(outcome, Applied)
    assert outcome.started_at == NOW
    assert "DBInstanceClass" in outcome.detail
    assert Place().apply() == Applied(started_at=NOW)


def test_another_database_of_the_name_is_gone_first_and_never_changed_for_the_old_one() -> None:
    place = Place()
    seen = place.view()
    place.service.instances["orders"] = db(DbiResourceId="db-NEW")
    outcome = place.storage.apply(ref(), expected=seen.volume.configuration, seen=None, target=GP3)
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.GONE
    with pytest.raises(ResourceGone) as gone:  # so that what was in force for the old one is let go
        place.view()
    assert gone.value.another is not None
    gone.value.another()
    assert place.view().volume.configuration == GP2
    assert place.service.changes == []


def test_autoscaling_that_was_switched_on_meanwhile_owns_the_size() -> None:
    place = Place(db(StorageType="io1", Iops=5_000))
    wanted = rds(VolumeType.IO1, 600, 5_500)
    meanwhile(place, 2, lambda shape: shape.update(MaxAllocatedStorage=1_000))
    outcome = place.apply(wanted)
    assert isinstance(outcome, Refused)
    assert "autoscaling" in outcome.message
    assert place.service.changes == []


def member(name: str = "trio-2", **changes: Any) -> dict[str, Any]:
    return db(DBInstanceIdentifier=name, DBClusterIdentifier="trio", **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"PendingModifiedValues": CLASS}, "DBInstanceClass"),  # the cluster reports no class
        ({"DBInstanceStatus": "rebooting"}, "rebooting"),
        ({"DBInstanceStatus": "storage-optimization"}, "not over"),
        ({"StorageOperationStatus": "Optimizing"}, "not over"),
    ],
)
def test_a_cluster_is_not_changed_while_a_member_has_something_pending_or_is_at_work(
    changes: dict[str, Any], words: str
) -> None:
    place = Place(trio(), member(**changes))
    target = rds(VolumeType.GP3, 500, 16_000, deployment=Deployment.CLUSTER)
    outcome = place.apply(target, "cluster:trio")
    assert isinstance(outcome, Refused)
    assert words in outcome.message
    assert place.service.changes == []


def test_storage_pending_of_a_member_is_its_clusters_own() -> None:
    place = Place(trio(), member(PendingModifiedValues={"Iops": 16_000}))
    facts = place.view("cluster:trio").volume.facts
    assert facts is not None
    assert facts.pending == ()


def test_a_cluster_whose_members_rds_does_not_list_is_not_reconciled() -> None:
    place = Place(trio())
    place.service._members = lambda _: []  # type: ignore[method-assign]
    with pytest.raises(ReadFailed, match="tells nothing of trio-1, trio-2, trio-3"):
        place.view("cluster:trio")


def test_a_member_leads_to_its_cluster() -> None:
    place = Place(trio(), member())
    with pytest.raises(ResourceGone) as gone:
        place.view("trio-2")
    assert gone.value.instead == ref("cluster:trio")
    for other in ("neptune", "aurora-mysql"):
        alone = Place(db(Engine=other, DBClusterIdentifier="au"))
        with pytest.raises(ResourceGone) as gone:
            alone.view()
        assert gone.value.instead is None


def test_a_tag_set_between_the_decision_and_the_call_is_heeded() -> None:
    place = Place()
    seen = place.view()
    place.service.instances["orders"]["TagList"] = [{"Key": "headroom", "Value": "off"}]
    place.view()  # whoever viewed it since
    outcome = place.storage.apply(
        ref(), expected=seen.volume.configuration, seen=None, target=GP3, decided_on=seen.volume
    )
    assert isinstance(outcome, Stale)
    assert outcome.detail == "its tags changed since it was decided on"
    assert place.service.changes == []
