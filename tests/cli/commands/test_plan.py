"""`headroom plan`: what would be done about one volume or database, priced and held, and nothing done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.prices import CataloguePrices
from headroom.cli.commands import plan as module
from headroom.cli.main import run
from headroom.cli.sources import dry_run
from headroom.cli.sources.account import Account
from headroom.cli.sources.storage import WithoutBookmarks
from headroom.domain.resources import VolumeActivity
from headroom.policy import canonical_json, load_policy_file, parse_policy
from tests.adapters.aurora.service import AuroraService, Days
from tests.adapters.rds.service import InstanceTypes, RdsService, db
from tests.application.harness import moved
from tests.application.test_databases import at_the_limit, spending
from tests.builders import ACCOUNT, NOW, REGION
from tests.cli.commands.test_pause import HERE, ledger, said
from tests.docs.test_pages import output_in

__all__ = ["ledger"]
WHATEVER = {"max_iops": 64_000, "max_throughput_mibps": 4_000, "largest_step": 16}


class Metrics:
    """One load, whatever is asked about."""

    def __init__(self, load: VolumeActivity) -> None:
        self._load = load

    def activity(self, view: object, now: datetime) -> tuple[VolumeActivity, None]:
        return moved(self._load, now), None

    def history(self, view: object, now: datetime) -> None:
        return None

    def older_history(self, view: object, now: datetime, **_: datetime) -> tuple[()]:
        return ()


@pytest.fixture
def databases(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes an account without a deployment, with databases of one load, and no way to change them."""
    with mock_aws():

        def made(load: VolumeActivity, *shapes: dict[str, Any]) -> RdsService:
            service = RdsService.of(*(shapes or (db(),)))
            others: dict[str, Any] = {"rds": service}

            def client(name: str) -> Any:
                return others.get(name) or boto3.client(name, region_name=REGION)  # type: ignore[call-overload]

            here = Account(
                account_id=ACCOUNT, region=REGION, caller="arn:aws:iam::1:user/me", now=NOW,
                ec2=InstanceTypes(), cloudwatch=client("cloudwatch"),  # type: ignore[arg-type]
                prices=CataloguePrices(), client=client,
            )  # fmt: skip
            monkeypatch.setattr(module, "account", lambda **_: here)
            monkeypatch.setattr(dry_run, "metrics_of", lambda _: Metrics(load))
            return service

        yield made


@pytest.fixture
def policy(tmp_path: Path) -> list[str]:
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps({"rules": [{"match": {"kind": "rds"}, "set": WHATEVER}]}))
    return ["--policy", str(path)]


def test_a_database_is_planned_for_with_every_type_priced_side_by_side(
    databases: Any, policy: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    service = databases(spending())
    assert run(["plan", "db:orders", *policy, "--json"]) == 0
    found = said(capsys)
    assert (found["answer"], found["chosen"]) == ("act", "gp3 500 GiB 12000 IOPS 500 MiB/s")
    assert found["would_send"] == {
        "operation": "ModifyDBInstance",
        "parameters": {"DBInstanceIdentifier": "orders", "ApplyImmediately": True,
                       "StorageType": "gp3", "AllocatedStorage": 500, "Iops": 12_000,
                       "StorageThroughput": 500},
        "now": True,
    }  # fmt: skip
    assert {offer["type"] for offer in found["types"]} == {"gp3", "gp2", "io1", "io2"}
    gp2 = next(offer for offer in found["types"] if offer["type"] == "gp2")
    assert gp2["grows"]  # and its price beside gp3's
    assert gp2["usd_per_month"] > found["types"][0]["usd_per_month"]
    assert found["database"]["stripes"] == 4
    assert service.changes == []


def test_people_read_what_binds_what_it_costs_what_holds_it_and_what_would_be_sent(
    databases: Any, policy: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    databases(spending(), db(PendingModifiedValues={"DBInstanceClass": "db.m6g.large"}))
    assert run(["plan", "db:orders", *policy]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for words in (
        "ESCALATE (dry run) db:orders",
        "Headroom is not deployed here",
        "postgres, Single-AZ; each copy on 4 volumes",
        "class db.r6g.2xlarge: sustains 20,000 IOPS and 566 MiB/s",
        "pending: DBInstanceClass",
        "storage autoscaling off",
        "Binding: burst credits",
        "Would be sent if nothing blocked it: ModifyDBInstance(DBInstanceIdentifier=orders",
        "prices from catalogue, 2026-07-28",
    ):
        assert words in text, words


def test_a_full_copy_is_called_one_and_is_never_what_would_be_sent(
    databases: Any, policy: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    databases(at_the_limit(3_000.0), db(AllocatedStorage=200, StorageType="gp3", Iops=3_000,
                                        StorageThroughput=125))  # fmt: skip
    assert run(["plan", "db:orders", "--iops", "6000", *policy, "--json"]) == 0
    found = said(capsys)
    gp3 = next(offer for offer in found["types"] if offer["type"] == "gp3")
    assert (gp3["target"], gp3["full_copy"]) == ("gp3 400 GiB 12000 IOPS 500 MiB/s", True)
    assert found["need"] == {"iops": 6_000.0, "mibps": 0.0}
    copied = [plan for plan in found["plans"] if plan["full_copy"]]
    assert copied
    assert not any(plan["allowed"] for plan in copied)


def test_a_volume_under_a_deployment_is_planned_for_with_its_tables_and_its_policy(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    ec2: Any = boto3.client("ec2", region_name=REGION)
    made = ec2.create_volume(
        AvailabilityZone="us-east-1a", Size=100, VolumeType="gp3", Iops=6_000, Throughput=250
    )
    ledger.pause(None, at=datetime.now(UTC), who="me", reason="")
    tables = boto3.client("dynamodb", region_name=REGION)
    before = [tables.scan(TableName=name)["Items"] for name in ("records", "state")]
    assert run(["plan", made["VolumeId"], "--json", *HERE]) == 0
    assert [tables.scan(TableName=name)["Items"] for name in ("records", "state")] == before
    found = said(capsys)
    assert (found["answer"], found["reason"]) == ("hold", "not_enough_data")
    assert found["would_send"] is None
    assert found["policy"] == f"the policy published in {REGION}"
    assert found["database"] is None
    assert found["remarks"] == []
    assert run(["plan", "vol-0dead", *HERE]) == 2
    assert "Cannot plan for vol-0dead" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["db:nothing"], "Cannot plan for db:nothing: nothing does not exist."),
        (["orders"], "'orders' is not a volume id; write db:orders for a DB instance"),
        (["vol-0abc", "--iops", "0"], "--iops"),
        (["db:orders", "--stack", "Mine"], "There is no stack Mine in us-east-1."),
    ],
)
def test_what_is_not_there_is_one_sentence(
    words: list[str], sentence: str, databases: Any, policy: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    databases(spending())
    assert run(["plan", *words, *policy]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_without_a_deployment_and_without_a_file_there_is_no_policy(
    databases: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    databases(spending())
    assert run(["plan", "db:orders"]) == 1
    assert "use --policy FILE to evaluate a file instead" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_pause_holds_what_the_deployment_would_do(
    ledger: DynamoLedger, databases: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tables are those of the deployment, so what holds there holds here."""
    databases(spending())
    rules = parse_policy({"rules": [{"match": {"kind": "rds"}, "set": WHATEVER}]}, source="test")
    boto3.client("ssm", region_name=REGION).put_parameter(
        Name="/headroom/policy", Value=canonical_json(rules), Type="String", Overwrite=True
    )
    ledger.pause(NOW + timedelta(hours=2), at=NOW, who="me", reason="")
    assert run(["plan", "db:orders", "--json"]) == 0
    found = said(capsys)
    assert found["answer"] == "hold"
    (held,) = (one["held_by"] for one in found["plans"] if one["target"] == found["chosen"])
    assert [verdict["guardrail"] for verdict in held] == ["pause"]
    assert held[0]["clears_at"] == (NOW + timedelta(hours=2)).isoformat()
    assert found["would_send"]["now"] is False


def test_an_aurora_cluster_is_planned_for_by_both_bills(
    databases: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """`cluster:NAME` is found as either kind of cluster; what AWS would be sent is the mode."""
    databases(spending())
    path = tmp_path / "policy.yaml"
    path.write_text('{"rules": [{"match": {"kind": "aurora"}, "set": {"mode": "auto"}}]}')
    service, days = AuroraService(), Days(ios_a_day=[100e6] * 16)
    aurora = AuroraClusterStorage(
        service, metrics=days, prices=days, notes=WithoutBookmarks(), clock=lambda: NOW,
        account_id=ACCOUNT, region=REGION,
    )  # fmt: skip
    monkeypatch.setattr(dry_run, "clusters_of", lambda *_, **__: aurora)
    assert run(["plan", "cluster:orders", "--policy", str(path), "--json"]) == 0
    found = said(capsys)
    assert (found["answer"], found["reason"], found["types"]) == ("act", "cheaper", [])
    assert found["would_send"] == {
        "operation": "ModifyDBCluster",
        "parameters": {"DBClusterIdentifier": "orders", "StorageType": "aurora-iopt1",
                       "ApplyImmediately": True},
        "now": True,
    }  # fmt: skip
    bills = found["cluster"]["bills"]
    assert bills["aurora-iopt1"]["io"] == 0
    assert bills["aurora"]["total"] > bills["aurora-iopt1"]["total"]
    assert run(["plan", "cluster:orders", "--policy", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for words in ("ACT (dry run) cluster:orders", "USD a month in both modes",
                  "2 x db.r7g.xlarge", "I/O is 42.7 % of it", "14 whole days from",
                  "Would be sent: ModifyDBCluster(DBClusterIdentifier=orders"):  # fmt: skip
        assert words in text, words
    assert service.changes == []


def test_the_page_shows_what_the_command_prints(
    databases: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A database on 500 GiB of gp2 whose credits run out, under the policy that enrols it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text("rules: [{match: {kind: rds}, set: {mode: auto}}]\n")
    databases(spending())
    assert run(["plan", "db:orders", "--policy", "policy.yaml"]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    version = load_policy_file(tmp_path / "policy.yaml").version
    documented = output_in("docs/operate/plan.md", "headroom plan db:orders --policy policy.yaml")
    assert documented.splitlines() == [line.replace(version, "4f1c...") for line in printed if line]
