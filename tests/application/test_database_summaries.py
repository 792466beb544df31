"""What a DBA reads speaks of a database, and a member's event is about its cluster."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from headroom.adapters.rds.classes import InstanceClasses
from headroom.application import remediate
from headroom.domain.resources import Claim
from headroom.domain.state import AlreadyThere
from tests.adapters.rds.service import db, trio
from tests.application.test_databases import (
    ORDERS,
    Databases,
    SmallClass,
    at_the_limit,
    signal,
    spending,
)
from tests.builders import NOW, activity

GP3 = {"StorageType": "gp3", "Iops": 12_000, "StorageThroughput": 500}


def read_by_people(stage: Databases) -> list[str]:
    """Every sentence in the records and messages of the stage."""
    found = [text for _, _, text in stage.told]
    span = timedelta(days=40)
    for record in stage.ledger.by_resource(ORDERS.arn, since=NOW - span, until=NOW + span):
        found.append(record.summary)
    last = stage.ledger.resource_state(ORDERS, stage.now).last_decision_id
    if last is not None:
        decision = stage.ledger.decision(last)
        found += [decision.summary, decision.diagnosis.explanation]
        found += [v.detail for j in decision.judgements for v in j.verdicts]
        found += [decision.effective.problem or "", *decision.effective.notes]
    return found


def acted(stage: Databases) -> None:
    stage.reconcile()
    stage.later(minutes=12)
    stage.service.settles()
    for _ in range(4):
        stage.later(minutes=10)
        stage.look_on()


def gone(stage: Databases) -> None:
    stage.reconcile()
    del stage.service.instances["orders"]
    stage.later(minutes=12)
    stage.look_on()


def there_already(stage: Databases) -> None:
    stage.rds.apply = lambda *_, **__: AlreadyThere()  # type: ignore[method-assign]
    stage.reconcile()


def class_is_the_limit(stage: Databases) -> None:
    stage.service.instances["orders"].update(GP3, DBInstanceClass="db.r6g.large")
    stage.loads["orders"] = at_the_limit(12_000.0)
    stage.rds._classes = InstanceClasses(SmallClass())  # type: ignore[arg-type]
    stage.reconcile()


def tag_not_understood(stage: Databases) -> None:
    stage.service.instances["orders"]["TagList"] = [{"Key": "headroom:max-iops", "Value": "many"}]
    stage.reconcile()


def no_price(stage: Databases) -> None:
    stage.service.instances["orders"].update(Engine="oracle-ee")
    stage.reconcile()


@pytest.mark.parametrize(
    "sequence", [acted, gone, there_already, class_is_the_limit, tag_not_understood, no_price]
)
def test_no_sentence_about_a_database_calls_it_a_volume(
    sequence: Callable[[Databases], None],
) -> None:
    stage = Databases.of(spending())
    sequence(stage)
    said = read_by_people(stage)
    assert any(said)
    assert [text for text in said if re.search(r"\bvolume\b", text)] == []


def test_an_event_or_alarm_that_names_a_member_reconciles_its_cluster() -> None:
    for claim in (Claim.HINT, Claim.PRESSURE):
        stage = Databases.of(spending())
        stage.service.clusters["trio"] = trio(TagList=[{"Key": "headroom", "Value": "auto"}])
        stage.service.instances["trio-2"] = db(
            DBInstanceIdentifier="trio-2", DBClusterIdentifier="trio"
        )
        stage.loads["cluster:trio"] = activity([100.0] * 180, iops_check=None, mibps_check=None)
        named = replace(signal(claim), ref=replace(ORDERS, resource_id="trio-2"))
        (decision,) = remediate(stage.ports, named, stage.now)
        assert decision.observation.volume.ref.resource_id == "cluster:trio"
        assert stage.steps(replace(ORDERS, resource_id="trio-2")) == []
