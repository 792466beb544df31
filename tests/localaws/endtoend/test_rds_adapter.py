"""The adapter that is deployed, against the endpoint's RDS: the same contract as against AWS."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from headroom.adapters.rds import RdsStorage
from headroom.domain.resources import (
    Configuration,
    Deployment,
    Engine,
    Kind,
    ModificationState,
    ResourceRef,
    VolumeType,
)
from headroom.domain.state import AlreadyThere, Applied, Outcome, Refusal, Refused, Unknown
from headroom.localaws.state.cloud import DEFAULT_ACCOUNT
from headroom.ports import StorageView
from headroom.proving.memory import InMemoryLedger
from tests.builders import REGION
from tests.domain.databases import rds
from tests.localaws.conftest import Program
from tests.localaws.rds.test_databases import made, trio

GP3 = rds(VolumeType.GP3, 500, 12_000, 500)


class LosesTheAnswer:
    """A client whose change takes effect and whose answer never comes."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def modify_db_instance(self, **sent: Any) -> Any:
        self._client.modify_db_instance(**sent)
        raise TimeoutError("no answer")


class Deployed:
    """The adapter as it is wired, with the endpoint's clock."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.rds = program.client("rds")
        self.storage = self.over(self.rds)

    def over(self, changing: Any) -> RdsStorage:
        return RdsStorage(
            self.rds, self.program.client("ec2"),
            notes=InMemoryLedger(account_id=DEFAULT_ACCOUNT, region=REGION), clock=self.now,
            account_id=DEFAULT_ACCOUNT, region=REGION, modify_client=changing,
        )  # fmt: skip

    def now(self) -> datetime:
        return datetime.fromisoformat(self.program.aws.control("state")["now"])

    def view(self, name: str) -> StorageView:
        return self.storage.view(ref(name))

    def apply(self, name: str, target: Configuration) -> Outcome:
        seen = self.view(name)
        change = seen.modification
        return self.storage.apply(
            ref(name), expected=seen.volume.configuration,
            seen=None if change is None else change.started_at, target=target,
        )  # fmt: skip


@pytest.fixture
def deployed(program: Program) -> Deployed:
    return Deployed(program)


def ref(name: str) -> ResourceRef:
    return ResourceRef(kind=Kind.RDS, account_id=DEFAULT_ACCOUNT, region=REGION, resource_id=name)


def test_a_change_is_followed_from_call_to_rest(program: Program, deployed: Deployed) -> None:
    made(deployed.rds, "follow")
    assert isinstance(deployed.apply("follow", GP3), Applied)
    states = []
    for minutes in (0, 1, 10, 120):
        program.tick(minutes)
        change = deployed.view("follow").modification
        assert change is not None
        states.append(change.state)
    assert states == [
        ModificationState.MODIFYING, ModificationState.MODIFYING, ModificationState.OPTIMIZING,
        ModificationState.COMPLETED,
    ]  # fmt: skip
    assert deployed.view("follow").volume.configuration == GP3
    assert isinstance(deployed.apply("follow", GP3), AlreadyThere)


def test_a_lost_answer_is_resolved_from_what_rds_shows(
    program: Program, deployed: Deployed
) -> None:
    made(deployed.rds, "lost")
    deployed.storage = deployed.over(LosesTheAnswer(deployed.rds))
    assert isinstance(deployed.apply("lost", GP3), Unknown)
    program.tick(10)
    change = deployed.view("lost").modification
    assert change is not None
    assert (change.target, change.in_flight) == (GP3, True)


def test_a_pending_external_class_change_is_not_applied_with_ours(
    program: Program, deployed: Deployed
) -> None:
    made(deployed.rds, "theirs")
    program.aws.control(
        "pending", {"database_id": "theirs", "values": {"DBInstanceClass": "db.r6g.4xlarge"}}
    )
    response = deployed.apply("theirs", GP3)
    assert isinstance(response, Refused)
    assert response.code == "NotSent"
    assert "DBInstanceClass" in response.message
    program.aws.control("pending", {"database_id": "theirs", "withdraw": ["DBInstanceClass"]})
    assert isinstance(deployed.apply("theirs", GP3), Applied)


def test_autoscaling_is_a_change_in_flight_without_a_call(
    program: Program, deployed: Deployed
) -> None:
    made(deployed.rds, "scales", MaxAllocatedStorage=1_000)
    deployed.view("scales")
    program.aws.control("autoscale", {"database_id": "scales"})
    program.tick(1)
    change = deployed.view("scales").modification
    assert change is not None
    assert change.in_flight
    response = deployed.apply("scales", GP3)
    assert isinstance(response, Refused)
    assert response.refusal is Refusal.IN_FLIGHT
    program.tick(6)
    assert deployed.view("scales").volume.configuration.size_gib == 550


def test_a_fifth_change_is_refused_for_its_slot(program: Program, deployed: Deployed) -> None:
    made(deployed.rds, "fifth-here")
    now = deployed.now()
    starts = [now.replace(hour=0, minute=minute).isoformat() for minute in (1, 2, 3, 4)]
    program.aws.control("database-history", {"database_id": "fifth-here", "starts": starts})
    program.tick(130)
    response = deployed.apply("fifth-here", GP3)
    assert isinstance(response, Refused)
    assert response.refusal in (Refusal.SLOTS, Refusal.IN_FLIGHT)
    assert response.code == "InvalidParameterCombination"


def test_below_the_threshold_io1_is_what_is_left(program: Program, deployed: Deployed) -> None:
    made(deployed.rds, "below", AllocatedStorage=200, StorageType="gp3")
    assert deployed.view("below").volume.configuration == rds(VolumeType.GP3, 200)
    target = rds(VolumeType.IO1, 200, 4_000)
    assert isinstance(deployed.apply("below", target), Applied)
    program.tick(6)
    assert deployed.view("below").volume.configuration == target


def test_a_cluster_is_changed_through_its_own_call(program: Program, deployed: Deployed) -> None:
    trio(deployed.rds, "three")
    here = deployed.view("cluster:three")
    database = here.volume.configuration.database
    assert database is not None
    assert (database.engine, database.deployment) == (Engine.POSTGRESQL, Deployment.CLUSTER)
    target = rds(
        VolumeType.GP3, 500, 16_000, engine=Engine.POSTGRESQL, deployment=Deployment.CLUSTER
    )
    assert isinstance(deployed.apply("cluster:three", target), Applied)
    program.tick(130)
    assert deployed.view("cluster:three").volume.configuration == target
    assert "three" not in {view.volume.ref.resource_id for view in deployed.storage.fleet()}


def test_what_is_no_database_of_ours_is_passed_over(deployed: Deployed) -> None:
    deployed.rds.create_db_cluster(DBClusterIdentifier="graph", Engine="neptune")
    deployed.rds.create_db_cluster(DBClusterIdentifier="mesh", Engine="aurora-mysql")
    trio(deployed.rds, "ours")
    names = {view.volume.ref.resource_id for view in deployed.storage.fleet()}
    assert "cluster:ours" in names
    assert not names & {"graph", "mesh", "cluster:graph", "cluster:mesh", "ours-instance-1"}
