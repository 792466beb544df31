"""A database that fills at the endpoint, from its metrics to verification, over HTTP."""

from __future__ import annotations

from datetime import datetime, timedelta

from headroom.adapters.cloudwatch import CloudWatchRdsMetrics
from headroom.adapters.rds import RdsStorage
from headroom.application.scan import needs_attention
from headroom.domain.catalog import catalogue_prices
from headroom.domain.decision import Act, Decision, Escalate, Reason
from headroom.domain.policy import Mode
from headroom.domain.resources import Kind, ResourceRef
from headroom.localaws.state.cloud import DEFAULT_ACCOUNT
from headroom.ports import Ports
from headroom.proving.memory import InMemoryLedger, OpenCalendars
from headroom.proving.memory.ports import FixedPolicy, FixedPrices
from tests.application.harness import reconcile_now
from tests.builders import REGION, database_policy
from tests.domain.databases import rds
from tests.domain.filling import GP3
from tests.localaws.conftest import Program


class Deployed:
    """Reconciliation as it is wired, over the endpoint's RDS and CloudWatch."""

    def __init__(self, program: Program, name: str) -> None:
        self.program = program
        self.ref = ResourceRef(
            kind=Kind.RDS, account_id=DEFAULT_ACCOUNT, region=REGION, resource_id=name
        )
        self.ledger = InMemoryLedger(account_id=DEFAULT_ACCOUNT, region=REGION)
        client = program.client
        storage = RdsStorage(
            client("rds"), client("ec2"), notes=self.ledger, clock=self.now,
            account_id=DEFAULT_ACCOUNT, region=REGION,
        )  # fmt: skip
        self.ports = Ports(
            storage=storage, metrics=CloudWatchRdsMetrics(client("cloudwatch")),
            ledger=self.ledger, state_store=self.ledger, scan=self.ledger, work=self.ledger,
            archive=self.ledger,
            policies=FixedPolicy(policy=database_policy(mode=Mode.AUTO, grow_space=True)),
            prices=FixedPrices(prices=catalogue_prices(REGION)),
            calendars=OpenCalendars(),
        )  # fmt: skip

    def now(self) -> datetime:
        return datetime.fromisoformat(self.program.aws.control("state")["now"])

    def reconcile(self) -> Decision | None:
        return reconcile_now(self.ports, self.ref, self.now(), trigger="due")

    def steps(self) -> list[str]:
        records = self.ledger.by_resource(
            self.ref.arn, since=self.now() - timedelta(days=9), until=self.now()
        )
        return [r.step.value for r in records]


def database(program: Program, name: str, **wanted: object) -> Deployed:
    program.client("rds").create_db_instance(
        DBInstanceIdentifier=name, Engine="postgres", DBInstanceClass="db.m6i.8xlarge",
        AllocatedStorage=200, StorageType="gp3", MasterUsername="a",
        MasterUserPassword="12345678", **wanted,
    )  # fmt: skip
    program.tick(1)
    return Deployed(program, name)


def fills(program: Program, name: str, free: float, gib_per_hour: float) -> None:
    load = {"steps": [{"for": "9h", "iops": 200, "io_kib": 8}]}
    program.aws.control(
        "load",
        {"database_id": name, "workload": load, "free_storage_gib": free,
         "fill_gib_per_hour": gib_per_hour},
    )  # fmt: skip


def test_a_database_that_fills_is_found_grown_once_and_proven_to_have_space(
    program: Program,
) -> None:
    deployed = database(program, "fills")
    fills(program, "fills", 25.0, 6.0)
    program.tick(75)
    view = deployed.ports.storage.view(deployed.ref)
    glance = deployed.ports.metrics.glance([view], deployed.now())["fills"]
    assert needs_attention(view, glance, deployed.now(), timedelta(hours=1))
    decision = deployed.reconcile()
    assert decision is not None
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.reason is Reason.LOW_FREE_SPACE
    target = decision.answer.plan.target
    assert target == rds(GP3, target.size_gib)
    for _ in range(6):
        program.tick(20)
        deployed.reconcile()
    assert "relieved" in deployed.steps()
    described = program.client("rds").describe_db_instances(DBInstanceIdentifier="fills")
    assert described["DBInstances"][0]["AllocatedStorage"] == target.size_gib
    assert deployed.steps().count("applied") == 1


def test_rds_grows_what_it_owns_and_nothing_is_sent(program: Program) -> None:
    deployed = database(program, "owned", MaxAllocatedStorage=400)
    fills(program, "owned", 21.0, 3.0)
    for _ in range(4):
        program.tick(20)
        decision = deployed.reconcile()
        assert decision is None or not isinstance(decision.answer, Act | Escalate)
    described = program.client("rds").describe_db_instances(DBInstanceIdentifier="owned")
    assert described["DBInstances"][0]["AllocatedStorage"] > 200
    assert "intended" not in deployed.steps()
