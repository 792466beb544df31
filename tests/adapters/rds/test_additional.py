"""Additional storage volumes: each is read, judged and changed as a resource of its own."""

from __future__ import annotations

from typing import Any

import pytest

from headroom.domain.resources import Configuration, Engine, Span, VolumeType
from headroom.domain.state import Applied, Outcome, Refusal, Refused
from headroom.ports import ReadFailed, ResourceGone
from tests.adapters.rds.service import VOLUMES, db
from tests.adapters.rds.test_storage import Place, ref
from tests.domain.databases import rds

DATA = {
    "VolumeName": "RDSDBDATA2", "StorageType": "GP3", "AllocatedStorage": 500, "IOPS": 12_000,
    "StorageThroughput": 500, "StorageVolumeStatus": "ACTIVE",
}  # fmt: skip
ARCHIVE = {
    "VolumeName": "rdsdbdata3", "StorageType": "IO2", "AllocatedStorage": 1_000, "IOPS": 4_000,
    "StorageVolumeStatus": "VOLUME-FULL",
}  # fmt: skip
VALID = [
    {"VolumeName": name, "Storage": [{"StorageType": "gp3"}, {"StorageType": "io2"}]}
    for name in ("RDSDBDATA2", "RDSDBDATA3")
]
RAISED = rds(VolumeType.GP3, 500, 16_000, 500, engine=Engine.ORACLE)


def place(engine: str = "oracle-ee", **changes: Any) -> Place:
    storage = {
        "StorageType": "gp3",
        "Iops": 12_000,
        "StorageThroughput": 500,
        VOLUMES: [DATA, ARCHIVE],
    }
    made = Place(db(Engine=engine, **{**storage, **changes}))
    made.service.valid_volumes = VALID
    return made


def change(at: Place, target: Configuration = RAISED, name: str = "orders/rdsdbdata2") -> Outcome:
    return at.apply(target, name)


def test_every_volume_is_in_the_fleet_with_the_others_of_its_instance_beside_it() -> None:
    here = place()
    views = {v.volume.ref.resource_id: v.volume for v in here.storage.fleet()}
    assert [(n, str(v.configuration.volume_type), v.configuration.iops) for n, v in views.items()] == [
        ("orders", "gp3", 12_000), ("orders/rdsdbdata2", "gp3", 12_000),
        ("orders/rdsdbdata3", "io2", 4_000),
    ]  # fmt: skip
    names = [v.facts.volume_name for v in views.values() if v.facts is not None]
    assert names == ["rdsdbdata", "rdsdbdata2", "rdsdbdata3"]
    seen = here.view("orders/rdsdbdata2")
    assert seen.instance is not None
    assert set(seen.instance.volume_ids) == set(views)
    assert [v.volume.ref.resource_id for v in here.storage.attached("orders")] == list(views)
    assert seen.volume.tag("headroom") == "auto"
    with pytest.raises(ResourceGone, match="no volume rdsdbdata4"):
        here.view("orders/rdsdbdata4")


def test_work_on_one_volume_is_work_on_all() -> None:
    for sign in ({"StorageVolumeStatus": "MODIFYING"}, {"StorageOperationStatus": "Optimizing"}):
        here = place(**{VOLUMES: [DATA, ARCHIVE | sign]})
        for name in ("orders", "orders/rdsdbdata2", "orders/rdsdbdata3"):
            modification = here.view(name).modification
            assert modification is not None
            assert modification.in_flight


def test_a_change_names_one_volume_and_lands_in_it_alone() -> None:
    here = place()
    assert isinstance(change(here), Applied)
    assert here.service.changes == [
        {
            "DBInstanceIdentifier": "orders", "ApplyImmediately": True,
            "AdditionalStorageVolumes": [
                {"VolumeName": "rdsdbdata2", "AllocatedStorage": 500, "IOPS": 16_000, "StorageThroughput": 500}
            ],
        }
    ]  # fmt: skip
    again = change(here, rds(VolumeType.GP3, 500, 20_000, 500, engine=Engine.ORACLE), "orders")
    assert isinstance(again, Refused)
    assert again.refusal is Refusal.IN_FLIGHT


@pytest.mark.parametrize("name", ["orders", "orders/rdsdbdata3"])
def test_our_change_of_one_volume_is_not_what_somebody_left_pending_of_another(name: str) -> None:
    """RDS may call the instance available for a moment after it accepted a change."""
    here = place()
    assert isinstance(change(here), Applied)
    here.service.instances["orders"]["DBInstanceStatus"] = "available"
    seen = here.view(name)
    assert seen.volume.facts is not None
    assert seen.volume.facts.pending == ()
    assert seen.modification is not None
    assert seen.modification.in_flight
    refused = change(here, name=name)
    assert isinstance(refused, Refused)
    assert refused.refusal is Refusal.IN_FLIGHT


def test_of_two_workers_that_change_two_volumes_at_once_the_second_waits_in_silence() -> None:
    here = place()
    raised = rds(VolumeType.IO2, 1_000, 8_000, engine=Engine.ORACLE)

    def other_worker(nth: int) -> None:
        if nth == 3:  # right before the first one's call
            assert isinstance(change(here, raised, "orders/rdsdbdata3"), Applied)
            here.service.instances["orders"]["DBInstanceStatus"] = "available"

    here.service.before_read = other_worker
    refused = change(here)
    assert isinstance(refused, Refused)
    assert refused.refusal is Refusal.IN_FLIGHT
    assert len(here.service.changes) == 1


@pytest.mark.parametrize(
    "pending",
    [{"Iops": 14_000}, {"DBInstanceClass": "db.r6g.4xlarge"},
     {VOLUMES: [{"VolumeName": "rdsdbdata3", "IOPS": 5_000}]}],
)  # fmt: skip
def test_what_waits_for_another_volume_or_the_instance_is_not_applied_with_it(
    pending: dict[str, Any],
) -> None:
    here = place(PendingModifiedValues=pending)
    refused = change(here)
    assert isinstance(refused, Refused)
    assert "left pending" in refused.message
    assert here.service.changes == []


def test_the_primary_volume_is_not_changed_while_a_volume_beside_it_waits() -> None:
    here = place(PendingModifiedValues={VOLUMES: [{"VolumeName": "rdsdbdata3", "IOPS": 5_000}]})
    assert isinstance(change(here, name="orders"), Refused)
    assert here.service.changes == []


def test_sql_server_never_grows_an_additional_volume() -> None:
    here = place("sqlserver-ee", **{VOLUMES: [DATA]})
    assert {v.size_gib for v in here.view("orders/rdsdbdata2").valid} == {
        (Span(low=500, high=500),)
    }
    grown = rds(VolumeType.GP3, 600, 12_000, 500, engine=Engine.SQL_SERVER)
    refused = change(here, grown)
    assert isinstance(refused, Refused)
    assert refused.refusal is Refusal.INVALID
    faster = rds(VolumeType.GP3, 500, 16_000, 500, engine=Engine.SQL_SERVER)
    assert isinstance(change(here, faster), Applied)


def test_what_rds_does_not_say_is_valid_for_the_volume_is_not_taken_from_the_instance() -> None:
    here = place()
    here.service.valid_volumes = []
    with pytest.raises(ReadFailed):
        here.view("orders/rdsdbdata2")


def test_settings_that_headroom_does_not_know_of_an_oracle_volume_are_left_alone() -> None:
    """AWS's own example is a gp3 volume of 5,000 GiB with 4,000 IOPS: not what the primary one may have."""
    here = place(**{VOLUMES: [DATA | {"AllocatedStorage": 5_000, "IOPS": 4_000}]})
    facts = here.view("orders/rdsdbdata2").volume.facts
    assert facts is not None
    assert facts.unusual
    refused = change(here, rds(VolumeType.GP3, 5_000, 12_000, 500, engine=Engine.ORACLE))
    assert isinstance(refused, Refused)
    assert refused.refusal is Refusal.UNSUPPORTED


def test_the_name_is_part_of_the_arn_under_which_its_records_are() -> None:
    assert ref("orders/rdsdbdata2").arn.endswith(":db:orders/rdsdbdata2")
