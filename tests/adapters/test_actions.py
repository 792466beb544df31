"""The IAM actions that are named are the calls that are made: no more, no fewer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from moto import mock_aws

from headroom.adapters import actions
from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.adapters.ebs import EbsStorage
from headroom.adapters.events import EventBus
from headroom.adapters.parameters import ParameterPolicies
from headroom.adapters.prices import PriceList, PriceStore
from headroom.adapters.rds import RdsStorage
from headroom.adapters.tables import LEDGER_ACTIONS, STATE, create_table
from headroom.domain.aurora import configuration_of
from headroom.domain.catalog import catalogue_prices
from headroom.domain.ledger import first_record
from headroom.domain.policy import HardCaps
from headroom.domain.resources import Kind, ResourceRef, StorageMode, VolumeType
from headroom.domain.state import Step
from headroom.ports import Delivery, NotSent, ReadFailed, Recorded, ResourceGone, StorageView
from headroom.proving.memory import InMemoryLedger
from tests.adapters.aurora.service import AuroraService, Days, orders
from tests.adapters.notifications.test_topic import acting, notify
from tests.adapters.rds.service import RdsService, db
from tests.builders import ACCOUNT, IMAGE, NOW, REGION, gp3, instance, ref, volume
from tests.domain.databases import rds

BATCH_LIMIT = Config(connect_timeout=1, retries={"total_max_attempts": 1})


@pytest.fixture
def aws() -> Iterator[tuple[boto3.Session, set[str]]]:
    """A session on moto, and the actions called through it so far."""
    called: set[str] = set()
    with mock_aws():
        session = boto3.Session("testing", "testing", region_name=REGION)

        def note(model: Any, **_: object) -> None:
            called.add(f"{model.service_model.service_name}:{model.name}")

        session.events.register("before-call", note)
        yield session, called


def test_ebs_calls_what_it_names(aws: tuple[boto3.Session, set[str]]) -> None:
    session, called = aws
    client = session.client("ec2")
    made = client.run_instances(ImageId=IMAGE, InstanceType="m5.large", MinCount=1, MaxCount=1)
    machine = made["Instances"][0]
    zone = machine["Placement"]["AvailabilityZone"]
    disk = client.create_volume(AvailabilityZone=zone, Size=100, VolumeType="gp3")["VolumeId"]
    client.attach_volume(VolumeId=disk, InstanceId=machine["InstanceId"], Device="/dev/sdf")
    called.clear()

    storage = EbsStorage(client, account_id=ACCOUNT, region=REGION)
    list(storage.fleet())
    seen = storage.view(ref(disk))
    assert seen.instance is not None
    assert seen.instance.limits is not None
    assert called == set(actions.EBS_READ_ACTIONS)
    called.clear()
    storage.apply(ref(disk), expected=gp3(), seen=None, target=gp3(iops=4000))
    assert called - set(actions.EBS_READ_ACTIONS) == set(actions.EBS_WRITE_ACTIONS)


def test_databases_call_what_they_name(aws: tuple[boto3.Session, set[str]]) -> None:
    session, called = aws
    client, ec2 = session.client("rds"), session.client("ec2")
    client.create_db_instance(
        DBInstanceIdentifier="orders", DBInstanceClass="db.m5.large", Engine="postgres",
        AllocatedStorage=500, StorageType="gp2", MasterUsername="u", MasterUserPassword="12345678",
    )  # fmt: skip
    called.clear()
    storage = RdsStorage(
        client, ec2, notes=InMemoryLedger(ACCOUNT, REGION), clock=lambda: NOW,
        account_id=ACCOUNT, region=REGION,
    )  # fmt: skip
    (seen,) = storage.fleet()
    with suppress(ReadFailed, NotImplementedError):  # moto does not know what is valid
        storage.view(seen.volume.ref)
    with suppress(ReadFailed, ResourceGone):
        storage.view(replace(seen.volume.ref, resource_id="cluster:trio"))
    undated = RdsService.of({k: v for k, v in db(DBInstanceArn="arn:x").items() if k != "TagList"})
    undated.list_tags_for_resource = client.list_tags_for_resource  # type: ignore[method-assign]
    with suppress(ReadFailed):
        RdsStorage(
            undated, ec2, notes=InMemoryLedger(ACCOUNT, REGION), clock=lambda: NOW,
            account_id=ACCOUNT, region=REGION,
        ).view(seen.volume.ref)  # fmt: skip
    read = {*actions.RDS_READ_ACTIONS, "ec2:DescribeInstanceTypes"}
    assert called == read
    called.clear()
    target = rds(VolumeType.GP3, 500, 12_000, 500)
    place = RdsStorage(
        RdsService.of(db()), ec2, notes=InMemoryLedger(ACCOUNT, REGION), clock=lambda: NOW,
        account_id=ACCOUNT, region=REGION, modify_client=client,
    )  # fmt: skip
    origin = place.view(seen.volume.ref).volume.configuration
    called.clear()
    place.apply(seen.volume.ref, expected=origin, seen=None, target=target)
    assert called == {"rds:ModifyDBInstance"}
    assert called <= set(actions.RDS_WRITE_ACTIONS)


def test_clusters_call_what_they_name(aws: tuple[boto3.Session, set[str]]) -> None:
    session, called = aws
    client = session.client("rds")
    named = {"DBClusterIdentifier": "orders", "Engine": "aurora-mysql"}
    client.create_db_cluster(MasterUsername="u", MasterUserPassword="12345678", **named)
    notes = InMemoryLedger(ACCOUNT, REGION)
    seen = ResourceRef(kind=Kind.AURORA, account_id=ACCOUNT, region=REGION, resource_id="orders")
    days = Days()
    storage = AuroraClusterStorage(
        client, metrics=days, prices=days, notes=notes, clock=lambda: NOW, account_id=ACCOUNT,
        region=REGION,
    )  # fmt: skip
    called.clear()
    list(storage.fleet())
    with suppress(ReadFailed, NotImplementedError):
        storage.view(seen)
    service = AuroraService(
        cluster=orders(Engine="aurora-mysql", EngineVersion="8.0.mysql_aurora.3.08.0")
    )
    service.get_paginator = client.get_paginator  # type: ignore[method-assign]
    service.list_tags_for_resource = client.list_tags_for_resource  # type: ignore[method-assign]
    del service.cluster["TagList"]
    asked = AuroraClusterStorage(
        service, metrics=days, prices=days, notes=notes, clock=lambda: NOW, account_id=ACCOUNT,
        region=REGION,
    )  # fmt: skip
    with suppress(ReadFailed, NotImplementedError, ClientError):
        asked._beside.reserved(service.cluster | {"StorageType": "aurora-iopt1"}, ())
    with suppress(ReadFailed, NotImplementedError, ClientError):
        asked._beside.parallel_query(service.cluster)
    read = {*actions.RDS_READ_ACTIONS, *actions.AURORA_READ_ACTIONS}
    assert set(actions.AURORA_READ_ACTIONS) <= called <= read
    called.clear()
    place = AuroraClusterStorage(
        AuroraService(), metrics=days, prices=days, notes=InMemoryLedger(ACCOUNT, REGION),
        clock=lambda: NOW, account_id=ACCOUNT, region=REGION, modify_client=client,
    )  # fmt: skip
    place.apply(
        seen, expected=configuration_of(StorageMode.STANDARD), seen=None,
        target=configuration_of(StorageMode.IO_OPTIMIZED),
    )  # fmt: skip
    assert called == {"rds:ModifyDBCluster"}
    assert called <= set(actions.RDS_WRITE_ACTIONS)


def test_cloudwatch_calls_what_it_names(aws: tuple[boto3.Session, set[str]]) -> None:
    session, called = aws
    metrics = CloudWatchMetrics(session.client("cloudwatch"), account_id=ACCOUNT, region=REGION)
    view = StorageView(volume=volume(), modification=None, instance=instance())
    metrics.glance([view], NOW)
    metrics.activity(view, NOW)
    metrics.history(view, NOW)
    assert called == set(actions.METRICS_READ_ACTIONS)
    moved = replace(view, volume=volume(attached_at=NOW - timedelta(hours=1)))
    metrics.history(moved, NOW)
    assert called == {*actions.METRICS_READ_ACTIONS, *actions.LIST_METRICS_ACTIONS}
    called.clear()
    disks = CloudWatchMetrics(
        session.client("cloudwatch"), account_id=ACCOUNT, region=REGION, disks=True
    )
    disks.activity(view, NOW)
    assert called == {*actions.METRICS_READ_ACTIONS, *actions.LIST_METRICS_ACTIONS}
    called.clear()
    with pytest.raises((ReadFailed, ClientError, NotImplementedError)):
        metrics.contributors("headroom-detect")  # moto knows no contributors; the call is made
    assert called == {"cloudwatch:DescribeAlarmContributors"} < set(actions.ALARM_READ_ACTIONS)


def test_policies_and_notifier_call_what_they_name(aws: tuple[boto3.Session, set[str]]) -> None:
    session, called = aws
    ParameterPolicies(
        session.client("ssm"), parameter="/headroom/policy", caps=HardCaps()
    ).current()
    assert called == set(actions.POLICY_READ_ACTIONS)
    called.clear()
    with pytest.raises(NotSent):  # there is no such topic
        notify(session.client("sns"), acting(), Step.APPLIED, "done")
    assert called == set(actions.NOTIFIER_ACTIONS)


def test_events_call_what_they_name(aws: tuple[boto3.Session, set[str]]) -> None:
    session, called = aws
    recorded = Recorded(record=first_record(acting(), "{}"), decision=None)
    bus = EventBus(lambda: session.client("events"))
    assert bus.publish([recorded]) == (Delivery.ACCEPTED,)
    assert called == set(actions.EVENTS_OUT_ACTIONS)


def test_prices_call_what_they_name(aws: tuple[boto3.Session, set[str]]) -> None:
    session, called = aws
    client = session.client("pricing", endpoint_url="http://127.0.0.1:9", config=BATCH_LIMIT)
    with pytest.raises(ReadFailed):
        PriceList(lambda: client).read(REGION, NOW.date())  # nobody is there; the call is made
    assert called == set(actions.PRICES_ACTIONS)


def test_keeping_prices_calls_what_the_state_table_allows(
    aws: tuple[boto3.Session, set[str]],
) -> None:
    session, called = aws
    client = session.client("dynamodb")
    client.create_table(**create_table(STATE, "state"))
    called.clear()
    store = PriceStore(client, table="state", account_id=ACCOUNT)
    store.claim(REGION, now=NOW, unless_since=NOW)
    store.keep(catalogue_prices(REGION), now=NOW)
    store.refuse(REGION, "too dear")
    store.held(REGION)
    assert called == {"dynamodb:UpdateItem", "dynamodb:BatchGetItem"}
    assert called <= set(LEDGER_ACTIONS["state"])
