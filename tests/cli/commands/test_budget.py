"""`headroom budget`: who takes up how much, and whether the account's sum is right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import boto3
import pytest

from headroom.adapters.ledger import DynamoLedger, read_budget, wire
from headroom.adapters.ledger.state_table import SUM
from headroom.adapters.tables import BUDGET, account_key
from headroom.cli.commands.budget import BudgetView
from headroom.cli.main import run
from headroom.cli.sources.deployment import Deployment
from headroom.domain.ledger import Budget, Holding
from headroom.domain.resources import Kind
from headroom.domain.state import Step
from headroom.policy import canonical_json, default_policy
from headroom.ports import Intent, ReadFailed
from tests.builders import ACCOUNT, NOW, REGION, ref
from tests.cli.commands.signed_in import account, deployed
from tests.contracts.decisions import act, append, hold, intended

HERE = ["--region", REGION]
UNTIL = NOW + timedelta(minutes=20)


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Iterator[DynamoLedger]:
    """The ledger of an account with a deployment, the default policy and no volume."""
    with account(monkeypatch):
        yield deployed()


def landed(ledger: DynamoLedger, name: str, volume: str, increase: str) -> None:
    decision = act(name, volume, increase=increase)
    assert isinstance(intended(ledger, decision, lease_until=UNTIL), Intent)
    append(ledger, decision, Step.APPLIED, at=NOW + timedelta(minutes=1))
    append(ledger, decision, Step.RELIEVED, at=NOW + timedelta(minutes=11))


def real_volume(*, tag: tuple[str, str]) -> str:
    made = boto3.client("ec2", region_name=REGION).create_volume(
        AvailabilityZone=f"{REGION}a", Size=100, VolumeType="gp3", Iops=3000, Throughput=125,
        TagSpecifications=[
            {"ResourceType": "volume", "Tags": [{"Key": tag[0], "Value": tag[1]}]}
        ],
    )  # fmt: skip
    return str(made["VolumeId"])


def said(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def set_sum(micro: int) -> None:
    boto3.client("dynamodb", region_name=REGION).update_item(
        TableName="state",
        Key={"owner": wire(account_key(ACCOUNT, REGION)), "item": wire(BUDGET)},
        UpdateExpression="SET #sum = :sum", ExpressionAttributeNames={"#sum": SUM},
        ExpressionAttributeValues={":sum": wire(micro)},
    )  # fmt: skip


def test_an_account_where_nothing_was_raised_has_all_of_its_budget_left(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["budget", *HERE]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"$0.00 of $2,000.00 a month used, $2,000.00 left (account {ACCOUNT}, {REGION}).",
        "0 more enrolled volumes use none of it.",
    ]


def test_every_volume_is_listed_with_prices_limit_and_decision_most_expensive_first(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    volume = real_volume(tag=("headroom:price-increase-usd-per-month", "40"))
    landed(ledger, "d1", volume, "30")
    intended(ledger, act("d2", "vol-0abc2", increase="70.5"), lease_until=UNTIL)
    ledger.decided(hold("h1", "vol-0abc3"), due_at=None)
    assert run(["budget", "--json", *HERE]) == 0
    result = said(capsys)
    assert (result["limit_usd"], result["increase_usd"], result["left_usd"]) == (
        2000,
        100.5,
        1899.5,
    )
    assert (result["sum_of_volumes_usd"], result["drift_usd"]) == (100.5, 0)
    assert result["enrolled_without_increase"] == 1
    under_way, in_force = result["volumes"]
    assert under_way == {
        "resource": ref("vol-0abc2").arn, "enrolment_usd": 8, "now_usd": None, "exists": False,
        "counted_usd": 70.5, "in_force_usd": 0, "reserved_usd": 70.5, "limit_usd": None,
        "since": NOW.isoformat(), "decision_id": "d2",
    }  # fmt: skip
    assert in_force == {
        "resource": ref(volume).arn, "enrolment_usd": 8, "now_usd": 8, "exists": True,
        "counted_usd": 30, "in_force_usd": 30, "reserved_usd": 0, "limit_usd": 40,
        "since": (NOW + timedelta(minutes=1)).isoformat(), "decision_id": "d1",
    }  # fmt: skip
    assert run(["budget", *HERE]) == 0
    output = capsys.readouterr().out
    rows = [line for line in output.splitlines() if "vol-" in line]
    assert [("vol-0abc2" in row, "gone" in row) for row in rows] == [(True, True), (False, False)]
    assert "$100.50 of $2,000.00 a month used, $1,899.50 left" in output
    assert "1 more enrolled volume uses none of it." in output


def test_a_giving_back_under_way_counts_with_what_is_still_paid(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    landed(ledger, "d1", "vol-0abc1", "30")
    intended(ledger, act("d2", "vol-0abc1", increase="10"), lease_until=UNTIL)
    assert run(["budget", "--json", *HERE]) == 0
    (row,) = said(capsys)["volumes"]
    assert (row["counted_usd"], row["in_force_usd"], row["reserved_usd"]) == (30, 30, 10)
    assert row["decision_id"] == "d1"


def test_a_total_above_a_lowered_limit_is_reported(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    landed(ledger, "d1", "vol-0abc1", "241")
    lower = replace(default_policy(), account_increase_usd=Decimal(100))
    boto3.client("ssm", region_name=REGION).put_parameter(
        Name="/headroom/policy", Value=canonical_json(lower), Type="String", Overwrite=True
    )
    assert run(["budget", *HERE]) == 0
    assert "$141.00 above the limit, so no change may cost more" in capsys.readouterr().out
    run(["budget", "--json", *HERE])
    assert said(capsys)["left_usd"] == 0


@pytest.mark.parametrize(
    ("written", "drift", "words"),
    [
        (31_000_001, 1.000001, "$1.000001 a month more than its volumes use, so less than"),
        (29_000_000, -1, "$1 a month less than its volumes use, so as much may be spent above"),
    ],
)
def test_a_wrong_total_is_reported_with_the_right_one(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str], written: int, drift: float,
    words: str,
) -> None:  # fmt: skip
    landed(ledger, "d1", "vol-0abc1", "30")
    set_sum(written)
    assert run(["budget", *HERE]) == 1
    output = capsys.readouterr().out
    assert words in output
    assert "set `account_increase_micro_usd` of the item `budget` to 30000000" in output
    assert run(["budget", "--json", *HERE]) == 1
    assert said(capsys)["drift_usd"] == pytest.approx(drift)
    set_sum(30_000_000)
    assert run(["budget", *HERE]) == 0


def test_the_reported_right_total_is_not_rounded(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    landed(ledger, "d1", "vol-0abc1", "0.000001")
    set_sum(0)
    assert run(["budget", *HERE]) == 1
    assert "is $0.000001 a month less" in capsys.readouterr().out


def test_a_policy_that_cannot_be_read_has_no_limit_to_report(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    boto3.client("ssm", region_name=REGION).delete_parameter(Name="/headroom/policy")
    landed(ledger, "d1", "vol-0abc1", "30")
    assert run(["budget", *HERE]) == 0
    assert "the policy is unreadable, so Headroom changes nothing" in capsys.readouterr().out


def test_the_status_reports_how_much_of_the_budget_is_used(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    landed(ledger, "d1", "vol-0abc1", "30")
    assert run(["status", *HERE]) == 0
    assert "Budget: $30.00 of $2,000.00 a month used" in capsys.readouterr().out
    assert run(["status", "--json", *HERE]) == 0
    assert said(capsys)["increase_usd"] == 30


def test_an_account_without_a_deployment_gets_one_sentence(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["budget", "--stack", "Elsewhere", *HERE]) == 1
    assert capsys.readouterr().err.count("\n") == 1


class Paged:
    """A client whose scans come one item at a time, with something happening before each."""

    def __init__(self, client: Any, *, meanwhile: Any = lambda: None) -> None:
        self._client = client
        self._meanwhile = meanwhile
        self.pages = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def scan(self, **request: Any) -> Any:
        self.pages += 1
        self._meanwhile()
        return self._client.scan(**request, Limit=1)


def read(client: Any) -> Any:
    return read_budget(client, table="state", account_id=ACCOUNT, region=REGION)


def test_every_page_of_the_table_is_read(ledger: DynamoLedger) -> None:
    for number in range(5):
        landed(ledger, f"d{number}", f"vol-0abc{number}", "1")
    client = Paged(boto3.client("dynamodb", region_name=REGION))
    found = read(client)
    assert [each.counted_usd for each in found.holdings] == [Decimal(1)] * 5
    assert found.drift_usd == 0
    assert client.pages > 5


def test_volumes_of_another_region_are_not_counted(ledger: DynamoLedger) -> None:
    landed(ledger, "d1", "vol-0abc1", "30")
    client = boto3.client("dynamodb", region_name=REGION)
    elsewhere = read_budget(client, table="state", account_id=ACCOUNT, region="eu-west-1")
    assert (elsewhere.holdings, elsewhere.sum_usd) == ((), 0)


def test_a_budget_that_moves_while_it_is_read_is_read_again_and_never_called_wrong(
    ledger: DynamoLedger,
) -> None:
    moves = iter(range(2))

    def meanwhile() -> None:
        for number in moves:
            landed(ledger, f"m{number}", f"vol-0{number}", "5")
            return

    client = Paged(boto3.client("dynamodb", region_name=REGION), meanwhile=meanwhile)
    found = read(client)
    assert (found.sum_usd, found.drift_usd) == (10, 0)


def test_a_budget_that_keeps_changing_is_not_reported(ledger: DynamoLedger) -> None:
    number = 0

    def meanwhile() -> None:
        nonlocal number
        number += 1
        landed(ledger, f"m{number}", f"vol-0{9999 - number}", "5")
        set_sum(number)

    client = Paged(boto3.client("dynamodb", region_name=REGION), meanwhile=meanwhile)
    with pytest.raises(ReadFailed, match="the budget moved"):
        read(client)


def test_a_database_is_never_called_gone_because_no_volume_has_its_name() -> None:
    database = replace(ref("orders"), kind=Kind.RDS)
    holding = cast(Holding, SimpleNamespace(ref=database))
    view = BudgetView(
        place=cast(Deployment, None), budget=cast(Budget, None), policy=default_policy(),
        volumes={Kind.EBS: {}}, prices=None,
    )  # fmt: skip
    assert view.now_usd(holding) is None
    assert view.now_usd(cast(Holding, SimpleNamespace(ref=ref("vol-1")))) == "gone"


def test_a_database_is_listed_with_its_price_limit_and_tags(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    tags = {"headroom": "auto", "headroom:price-increase-usd-per-month": "40"}
    boto3.client("rds", region_name=REGION).create_db_instance(
        DBInstanceIdentifier="orders", Engine="postgres", DBInstanceClass="db.m6i.large",
        StorageType="gp3", AllocatedStorage=100, MasterUsername="u", MasterUserPassword="p4ssw0rd",
        Tags=[{"Key": key, "Value": value} for key, value in tags.items()],
    )  # fmt: skip
    for name in ("orders", "dropped"):
        made = act(f"d-{name}", name, increase="30")
        known = replace(ref(name), kind=Kind.RDS)
        seen = made.observation
        decision = replace(
            made, observation=replace(seen, volume=replace(seen.volume, ref=known))
        )  # fmt: skip
        assert isinstance(intended(ledger, decision, lease_until=UNTIL), Intent)
    assert run(["budget", "--json", *HERE]) == 0
    rows = {row["resource"].rsplit(":", 1)[-1]: row for row in said(capsys)["volumes"]}
    orders, dropped = rows["orders"], rows["dropped"]
    assert (orders["now_usd"], orders["limit_usd"], orders["exists"]) == (11.5, 40, True)
    assert (dropped["now_usd"], dropped["limit_usd"], dropped["exists"]) == (None, None, False)
