"""`headroom cost`: the same bill as synth's, of a number or of the account's own fleet."""

from __future__ import annotations

import json

import boto3
import pytest
from moto import mock_aws

from headroom.cdk.detection import alarms_usd, daily_usd, scan_usd
from headroom.cli.main import run
from headroom.settings import DeploymentConfig, Detection
from tests.builders import IMAGE, REGION


@pytest.mark.parametrize("detection", ["adaptive", "fleet", "sweep"])
def test_a_number_of_volumes_costs_what_synth_prints(
    detection: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = DeploymentConfig(detection=Detection(detection), scan_every_minutes=30)
    asked = [
        "--volumes",
        "300",
        "--detection",
        detection,
        "--scan-every",
        "30",
        "--json",
        "--at-risk",
        "0",
    ]
    assert run(["cost", *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    usd = {item["key"]: item["usd"]["to"] for item in found["items"]}
    assert usd["alarms"] == pytest.approx(float(alarms_usd(config, 300)))
    assert usd["scans"] == pytest.approx(float(scan_usd(config, 300)), abs=1e-4)
    assert usd["daily"] == pytest.approx(float(daily_usd(config, 300)[1]), abs=1e-4)
    assert found["usd_per_month"]["to"] == pytest.approx(sum(usd.values()), abs=1e-2)


def test_people_read_every_item_its_source_and_how_to_pay_less(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["cost", "--volumes", "1000", "--detection", "fleet"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for words in ("$300.00", "$116.80", "$7.00-$9.43", "SQS", "Logs", "Total: $",
                  "Most of it: detection alarms", "`-c detection=adaptive` saves at most $",
                  "Source: CloudWatch price list, us-east-1, 2026-07"):  # fmt: skip
        assert words in text, words
    assert "databases" not in text.split("Total:")[0], "what is not there has no line"


def test_the_default_is_what_is_deployed_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cost", "--volumes", "1000"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for words in ("detection adaptive", "Glances", "volumes not at risk", "Most of it: glances"):
        assert words in text, words
    assert "saves at most" not in text


def test_the_budget_for_alarms_on_single_resources_is_paid(
    capsys: pytest.CaptureFixture[str],
) -> None:
    paid = []
    for budget in ("0", "2", "100"):
        assert run(["cost", "--volumes", "1000", "--alarm-budget", budget, "--json"]) == 0
        items = json.loads(capsys.readouterr().out)["items"]
        paid += [item["usd"]["to"] for item in items if item["key"] == "resource_alarms"]
    assert paid == [0, 2, 100], "1,000 volumes"


@mock_aws
def test_an_account_is_counted_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    ec2 = boto3.client("ec2", region_name=REGION)
    ran = ec2.run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1)["Instances"][0]
    for kind, device in (("gp2", "/dev/sdf"), ("gp3", "/dev/sdg"), ("gp3", None)):
        made = ec2.create_volume(
            AvailabilityZone=ran["Placement"]["AvailabilityZone"],
            Size=100,
            VolumeType=kind,
            TagSpecifications=[
                {"ResourceType": "volume", "Tags": [{"Key": "headroom", "Value": "auto"}]}
            ],
        )  # type: ignore[call-overload]
        if device is not None:
            ec2.attach_volume(
                VolumeId=made["VolumeId"], InstanceId=ran["InstanceId"], Device=device
            )
    kinds = [v["VolumeType"] for v in ec2.describe_volumes()["Volumes"] if v["Attachments"]]
    assert run(["cost", "--region", REGION, "--json"]) == 0
    fleet = json.loads(capsys.readouterr().out)["fleet"]
    assert fleet["volumes"] == len(kinds) == 3, "the root volume too, the loose one not"
    assert fleet["with_credits"] == kinds.count("gp2")
    assert fleet["paid"] == 1, "the gp2 volume that is enrolled"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--paid", "5"], "--paid goes with --volumes"),
        (["--volumes", "4", "--paid", "5"], "--paid 5 is more than --volumes 4"),
    ],
)
def test_how_many_are_reconciled_daily_is_part_of_a_number_of_volumes(
    given: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["cost", *given]) == 2
    assert says in capsys.readouterr().err
