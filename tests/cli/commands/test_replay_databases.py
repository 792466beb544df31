"""`headroom replay` beside volumes: databases by minutes, Aurora clusters by days and both bills."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.cloudwatch.metric_data import Query, Window
from headroom.adapters.prices import CataloguePrices
from headroom.adapters.rds import RdsStorage
from headroom.cli.commands import replay as module
from headroom.cli.main import run
from headroom.cli.replay import clusters as replay_clusters
from headroom.cli.sources.account import Account
from headroom.cli.sources.storage import WithoutBookmarks
from headroom.domain.resources import Series
from headroom.ports import ReadFailed
from tests.adapters.aurora.service import AuroraService, Days
from tests.adapters.rds.service import InstanceTypes, RdsService, db
from tests.builders import ACCOUNT, NOW, REGION

PER_PERIOD = 100e6 / 288


class Kept:
    """A CloudWatch that keeps one past for each metric: idle databases, a busy cluster."""

    def read(self, client: Any, queries: Iterable[Query], span: Window) -> dict[Query, Series]:
        return {query: self._of(query, span) for query in queries}

    def _of(self, query: Query, span: Window) -> Series:
        value = {"VolumeReadIOPs": PER_PERIOD, "VolumeWriteIOPs": 0.0, "VolumeBytesUsed": 1e11,
                 "ReadIOPS": 300.0, "WriteIOPS": 200.0, "ReadThroughput": 4e6,
                 "WriteThroughput": 3e6, "BurstBalance": 100.0}.get(query.metric)  # fmt: skip
        return Series(start=span.start, period_s=span.period_s, values=(value,) * span.periods)


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[RdsService]:
    service, aurora = RdsService.of(db()), AuroraService()
    kept = Kept()
    with mock_aws():
        here = Account(
            account_id=ACCOUNT, region=REGION, caller="arn:aws:iam::1:user/me", now=NOW,
            ec2=boto3.client("ec2", region_name=REGION),
            cloudwatch=boto3.client("cloudwatch", region_name=REGION), prices=CataloguePrices(),
            client=lambda name: boto3.client(name, region_name=REGION),  # type: ignore[call-overload]
        )  # fmt: skip
        of_rds = RdsStorage(
            service, InstanceTypes(), notes=WithoutBookmarks(), clock=lambda: NOW,  # type: ignore[arg-type]
            account_id=ACCOUNT, region=REGION,
        )  # fmt: skip
        clusters = AuroraClusterStorage(
            aurora, metrics=Days(), prices=Days(), notes=WithoutBookmarks(), clock=lambda: NOW,
            account_id=ACCOUNT, region=REGION,
        )  # fmt: skip
        monkeypatch.setattr(module, "account", lambda **_: here)
        monkeypatch.setattr(module, "databases_of", lambda _: of_rds)
        monkeypatch.setattr(module, "clusters_of", lambda *_, **__: clusters)
        monkeypatch.setattr(replay_clusters, "read", kept.read)
        monkeypatch.setattr("headroom.adapters.cloudwatch.history.read", kept.read)
        yield service


def test_databases_and_clusters_are_replayed_beside_the_volumes(
    account: RdsService, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", "--days", "1", "--volume", "db:orders", "--volume", "cluster:orders",
                "--json"]) == 0  # fmt: skip
    said = json.loads(capsys.readouterr().out)
    (database,) = said["volumes"]
    assert (database["volume_id"], database["kind"]) == ("db:orders", "rds")
    assert database["engine"] == "postgres single-az"
    assert database["starved_minutes"] == 0
    assert not any("Exceeded check" in note for note in database["notes"])
    (cluster,) = said["clusters"]
    assert (cluster["cluster"], cluster["replayed"]) == ("orders", True)
    assert cluster["storage_type_end"] == "aurora-iopt1"
    assert cluster["paid_usd"] <= cluster["paid_in_standard_usd"]
    assert account.changes == []


def test_people_read_both_bills_of_a_cluster(
    account: RdsService, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", "--days", "1", "--volume", "cluster:orders"]) == 0
    text = capsys.readouterr().out
    for words in ("Aurora clusters, USD over their days", "cluster:orders", "I/O-Optimized"):
        assert words in text
    assert "Total of" not in text


def test_unreadable_databases_are_skipped_with_a_remark_unless_one_is_named(
    account: RdsService, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ec2: Any = boto3.client("ec2", region_name=REGION)
    ec2.create_volume(AvailabilityZone="us-east-1a", Size=100, VolumeType="gp3")

    class Denied:
        def fleet(self) -> Any:
            raise ReadFailed("DescribeDBInstances: AccessDenied")

        def view(self, ref: object) -> Any:
            raise ReadFailed("DescribeDBInstances: AccessDenied")

    monkeypatch.setattr(module, "databases_of", lambda _: Denied())
    assert run(["replay", "--days", "1", "--json"]) == 0
    said = capsys.readouterr()
    assert "Continuing without databases, which cannot be read" in " ".join(said.err.split())
    assert [v["kind"] for v in json.loads(said.out)["volumes"]] == ["ebs"]
    assert run(["replay", "--days", "1", "--no-databases", "--json"]) == 0
    assert "Continuing without databases" not in capsys.readouterr().err
    assert run(["replay", "--days", "1", "--volume", "db:orders"]) == 1
    assert "The databases cannot be read" in capsys.readouterr().err


def test_a_cluster_of_either_kind_is_found_by_its_name_and_none_by_another(
    account: RdsService, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", "--volume", "cluster:nothing"]) == 2
    assert "There is no cluster:nothing in us-east-1." in capsys.readouterr().err
