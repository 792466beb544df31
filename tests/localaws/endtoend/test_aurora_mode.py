"""An Aurora cluster from its metrics to its new mode: the real adapters, at the local endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest

from headroom import application, clock, wiring
from headroom.adapters.prices import CataloguePrices
from headroom.adapters.tables import RECORDS, STATE, create_table
from headroom.domain.decision import Act, Decision, Reason
from headroom.domain.state import Step, broken_link
from headroom.policy import canonical_json, default_policy
from headroom.ports import Ports
from tests.localaws.conftest import START, Program
from tests.localaws.endtoend.test_requests import SETTINGS

FORTY, FIFTEEN, GATED = "forty", "fifteen", "gated"


class Place:
    """An account at the endpoint with Headroom's tables, its ports, and its one clock."""

    ports: Ports

    def __init__(self, program: Program) -> None:
        self.program = program
        self.rds: Any = program.client("rds")
        self.now = datetime.fromisoformat(START)

    def cluster(self, name: str, io_millions_per_month: float) -> None:
        """Aurora PostgreSQL on two db.r7g.xlarge, with a load."""
        self.rds.create_db_cluster(
            DBClusterIdentifier=name, Engine="aurora-postgresql", EngineVersion="16.4",
            Tags=[{"Key": "headroom", "Value": "auto"}],
        )  # fmt: skip
        for member in (f"{name}-1", f"{name}-2"):
            self.rds.create_db_instance(
                DBInstanceIdentifier=member, DBClusterIdentifier=name,
                Engine="aurora-postgresql", DBInstanceClass="db.r7g.xlarge",
            )  # fmt: skip
        load = {
            "cluster_id": name, "io_millions_per_month": io_millions_per_month, "storage_gib": 100,
        }  # fmt: skip
        self.program.aws.control("load", load)

    def minutes(self, count: int) -> None:
        for _ in range(count):
            self.program.tick()
            self.now += timedelta(minutes=1)
            report = application.sweep(self.ports, self.now)
            assert report.errors == ()

    def decisions(self, name: str) -> list[Decision]:
        arn = f"arn:aws:rds:us-east-1:123456789012:cluster:{name}"
        found = self.ports.archive.by_resource(
            arn, since=self.now - timedelta(days=60), until=self.now
        )
        ids = [r.decision_id for r in found if r.step is Step.DECIDED]
        return [self.ports.ledger.decision(one) for one in reversed(ids)]

    def mode(self, name: str) -> str:
        found = self.rds.describe_db_clusters(DBClusterIdentifier=name)["DBClusters"][0]
        return str(found.get("StorageType", "aurora"))


@pytest.fixture(scope="module")
def place(long_program: Program) -> Iterator[Place]:
    """Three clusters after half an hour: 40 % of one's bill is I/O, 15 % of another's; the third
    was I/O-Optimized twelve days ago."""
    program = long_program
    with pytest.MonkeyPatch.context() as patch:
        for name, value in program.aws.environment().items():
            patch.setenv(name, value)
        program.client("dynamodb").create_table(**create_table(RECORDS, "records"))
        program.client("dynamodb").create_table(**create_table(STATE, "state"))
        program.client("sns").create_topic(Name="headroom")
        program.client("ssm").put_parameter(
            Name="/headroom/policy", Value=canonical_json(default_policy()), Type="String"
        )
        made = Place(program)
        patch.setattr(clock, "utc_now", lambda: made.now)
        made.ports = replace(wiring.FleetAccount(
            replace(SETTINGS, kinds="ebs,rds,aurora"), region="us-east-1",
            account_id="123456789012", session=boto3.Session(region_name="us-east-1")).ports, prices=CataloguePrices())  # fmt: skip
        for name, millions in ((FORTY, 2_740), (FIFTEEN, 720), (GATED, 2_740)):
            made.cluster(name, millions)
        switched = {"database_id": GATED, "switched_at": "2025-12-24T00:00:00+00:00"}
        program.aws.control("database-history", switched)
        made.minutes(25)
        yield made


def test_a_cluster_whose_io_is_two_fifths_of_its_bill_is_switched_and_verified(
    place: Place,
) -> None:
    decision, *later = place.decisions(FORTY)
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.reason is Reason.CHEAPER
    side = decision.cluster
    assert side is not None
    assert side.bills is not None
    assert 0.35 < side.bills.standard.io_share < 0.45
    assert place.mode(FORTY) == "aurora-iopt1"
    chain = place.ports.ledger.chain(decision.decision_id)
    assert [r.step for r in chain] == [
        Step.DECIDED, Step.INTENDED, Step.APPLIED, Step.RELIEVED,
    ]  # fmt: skip
    assert broken_link(chain) is None
    assert [d.answer.reason for d in later] == [Reason.NOT_ENOUGH_DATA]  # under the new mode


def test_a_cluster_whose_io_is_a_seventh_of_its_bill_is_left_as_it_is(place: Place) -> None:
    (decision,) = place.decisions(FIFTEEN)
    assert decision.answer.reason is Reason.ALREADY_CHEAPEST, decision.summary
    assert place.mode(FIFTEEN) == "aurora"


def test_within_the_thirty_days_nothing_is_sent_and_the_record_says_until_when(
    place: Place,
) -> None:
    (decision,) = place.decisions(GATED)
    assert decision.answer.reason is Reason.BLOCKED_TEMPORARILY, decision.summary
    assert "until 2026-01-23" in decision.summary
    assert place.mode(GATED) == "aurora"
