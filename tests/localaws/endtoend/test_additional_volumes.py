"""Additional storage volumes of RDS: the adapters that are deployed, against the endpoint's RDS and CloudWatch."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from headroom.adapters.cloudwatch import CloudWatchRdsMetrics
from headroom.domain.resources import Engine, VolumeType
from headroom.domain.state import Applied, Refusal, Refused
from tests.domain.databases import rds
from tests.localaws.conftest import Program
from tests.localaws.endtoend.test_rds_adapter import Deployed
from tests.localaws.rds.test_databases import made

VOLUMES = [
    {"VolumeName": "rdsdbdata2", "StorageType": "gp3", "AllocatedStorage": 400},
    {"VolumeName": "rdsdbdata3", "StorageType": "io2", "AllocatedStorage": 200, "IOPS": 2_000},
]


def settings(iops: int, mibps: int = 500, size_gib: int = 400) -> object:
    return rds(VolumeType.GP3, size_gib, iops, mibps, engine=Engine.ORACLE)


@pytest.fixture
def deployed(program: Program) -> Deployed:
    return Deployed(program)


def oracle(deployed: Deployed, name: str) -> str:
    made(
        deployed.rds, name, Engine="oracle-ee", StorageType="gp3", DBInstanceClass="db.r6g.2xlarge",
        AdditionalStorageVolumes=VOLUMES,
    )  # fmt: skip
    return f"{name}/rdsdbdata2"


def test_a_volume_is_raised_and_put_back_while_the_others_stay_and_wait(
    program: Program, deployed: Deployed
) -> None:
    second = oracle(deployed, "ledger")
    assert deployed.view(second).volume.configuration == settings(12_000)
    assert isinstance(deployed.apply(second, settings(16_000)), Applied)  # type: ignore[arg-type]
    program.tick(10)
    assert deployed.view(second).volume.configuration == settings(16_000)
    for beside, raised in (("ledger", settings(14_000, size_gib=500)), (second, settings(20_000))):
        refused = deployed.apply(beside, raised)  # type: ignore[arg-type]
        assert isinstance(refused, Refused)
        assert refused.refusal is Refusal.IN_FLIGHT  # one change at a time of all volumes
    program.tick(24 * 60)
    assert isinstance(deployed.apply(second, settings(12_000)), Applied)  # type: ignore[arg-type]
    program.tick(24 * 60)
    seen = deployed.view(second)
    assert seen.volume.configuration == settings(12_000)
    assert not (seen.modification and seen.modification.in_flight)
    assert deployed.view("ledger").volume.configuration == settings(12_000, size_gib=500)
    assert deployed.view("ledger/rdsdbdata3").volume.configuration.iops == 2_000


def test_the_load_of_each_volume_is_measured_and_the_instance_has_that_of_all(
    program: Program, deployed: Deployed
) -> None:
    second = oracle(deployed, "loaded")
    for name, iops in (("loaded", 400), (second, 3_000)):
        workload = {"steps": [{"for": "3h", "iops": iops, "io_kib": 8}]}
        program.aws.control("load", {"database_id": name, "workload": workload})
    program.tick(30)
    metrics = CloudWatchRdsMetrics(program.client("cloudwatch"))
    found = {}
    for name in ("loaded", second):
        own, machine = metrics.activity(deployed.view(name), deployed.now())
        assert machine is not None
        found[name] = (own.read_iops.last() or 0) + (own.write_iops.last() or 0)
        assert machine.iops.last() == pytest.approx(3_400, rel=0.02)
    assert found == {"loaded": pytest.approx(400, rel=0.05), second: pytest.approx(3_000, rel=0.05)}
    idle, _ = metrics.activity(deployed.view("loaded/rdsdbdata3"), deployed.now())
    assert idle.read_iops.known() == ()  # nothing published is not zero


@pytest.mark.parametrize(
    ("engine", "wanted", "words"),
    [
        ("oracle-ee", {"AllocatedStorage": 300, "IOPS": 12_000}, "smaller"),
        ("sqlserver-ee", {"AllocatedStorage": 500, "IOPS": 3_000}, "can't be changed"),
    ],
)
def test_what_a_volume_does_not_take_is_refused(
    program: Program, engine: str, wanted: dict[str, int], words: str
) -> None:
    client, name = program.client("rds"), f"refusing-{engine}"
    made(client, name, Engine=engine, StorageType="gp3", AdditionalStorageVolumes=VOLUMES[:1])
    with pytest.raises(ClientError, match=words):
        client.modify_db_instance(
            DBInstanceIdentifier=name, ApplyImmediately=True,
            AdditionalStorageVolumes=[{"VolumeName": "rdsdbdata2", **wanted}],
        )  # fmt: skip


def test_postgresql_takes_no_additional_volume(program: Program) -> None:
    with pytest.raises(ClientError, match="takes no additional storage volume"):
        made(program.client("rds"), "plain", StorageType="gp3", AdditionalStorageVolumes=VOLUMES)
