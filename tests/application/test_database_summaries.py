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


def read_by_people(harness: Databases) -> list[str]:
    """Every sentence in the records and messages of the harness."""
    found = [text for _, _, text in harness.messages]
    span = timedelta(days=40)
    for record in harness.ledger.by_resource(ORDERS.arn, since=NOW - span, until=NOW + span):
        found.append(record.summary)
    last = harness.ledger.resource_state(ORDERS, harness.now).last_decision_id
    if last is not None:
        decision = harness.ledger.decision(last)
        found += [decision.summary, decision.diagnosis.explanation]
        found += [v.detail for j in decision.judgements for v in j.verdicts]
        found += [decision.effective.problem or "", *decision.effective.notes]
    return found


def acted(harness: Databases) -> None:
    harness.reconcile()
    harness.later(minutes=12)
    harness.service.settles()
    for _ in range(4):
        harness.later(minutes=10)
        harness.reconcile_due()


def gone(harness: Databases) -> None:
    harness.reconcile()
    del harness.service.instances["orders"]
    harness.later(minutes=12)
    harness.reconcile_due()


def there_already(harness: Databases) -> None:
    harness.rds.apply = lambda *_, **__: AlreadyThere()  # type: ignore[method-assign]
    harness.reconcile()


def class_is_the_limit(harness: Databases) -> None:
    harness.service.instances["orders"].update(GP3, DBInstanceClass="db.r6g.large")
    harness.loads["orders"] = at_the_limit(12_000.0)
    harness.rds._classes = InstanceClasses(SmallClass())  # type: ignore[arg-type]
    harness.reconcile()


def tag_not_understood(harness: Databases) -> None:
    harness.service.instances["orders"]["TagList"] = [{"Key": "headroom:max-iops", "Value": "many"}]
    harness.reconcile()


def no_price(harness: Databases) -> None:
    harness.service.instances["orders"].update(Engine="oracle-ee")
    harness.reconcile()


@pytest.mark.parametrize(
    "sequence", [acted, gone, there_already, class_is_the_limit, tag_not_understood, no_price]
)
def test_no_sentence_about_a_database_calls_it_a_volume(
    sequence: Callable[[Databases], None],
) -> None:
    harness = Databases.of(spending())
    sequence(harness)
    said = read_by_people(harness)
    assert any(said)
    assert [text for text in said if re.search(r"\bvolume\b", text)] == []


def test_an_event_or_alarm_that_names_a_member_reconciles_its_cluster() -> None:
    for claim in (Claim.HINT, Claim.PRESSURE):
        harness = Databases.of(spending())
        harness.service.clusters["trio"] = trio(TagList=[{"Key": "headroom", "Value": "auto"}])
        harness.service.instances["trio-2"] = db(
            DBInstanceIdentifier="trio-2", DBClusterIdentifier="trio"
        )
        harness.loads["cluster:trio"] = activity([100.0] * 180, iops_check=None, mibps_check=None)
        named = replace(signal(claim), ref=replace(ORDERS, resource_id="trio-2"))
        (decision,) = remediate(harness.ports, named, harness.now)
        assert decision.observation.volume.ref.resource_id == "cluster:trio"
        assert harness.steps(replace(ORDERS, resource_id="trio-2")) == []
