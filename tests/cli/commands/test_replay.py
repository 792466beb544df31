"""`headroom replay` against the local endpoint, and what a newcomer gets wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient

from headroom.cli.main import run
from headroom.localaws.daemon import LocalAws
from tests.builders import IMAGE

START = "2026-01-05T00:00:00+00:00"
MINUTES = 26 * 60


@dataclass
class Fleet:
    """Volumes that have lived through a day on a local endpoint, and how many minutes starved."""

    aws: LocalAws
    folder: Path
    starved: str
    hdd: str
    off: str
    loose: str
    truth: dict[str, int]


def made(aws: LocalAws, *, attached: bool = True, **wanted: Any) -> str:
    ec2 = boto3.client("ec2", endpoint_url=aws.url, region_name="us-east-1", **aws.credentials)
    tags = wanted.pop("tags", {})
    volume = str(
        ec2.create_volume(
            AvailabilityZone="us-east-1a",
            TagSpecifications=[
                {
                    "ResourceType": "volume",
                    "Tags": [{"Key": k, "Value": v} for k, v in {"team": "data", **tags}.items()],
                }
            ],
            **wanted,
        )["VolumeId"]
    )
    if attached:
        ran = ec2.run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1, InstanceType="m6i.8xlarge")[
            "Instances"
        ][0]["InstanceId"]
        ec2.attach_volume(VolumeId=volume, InstanceId=ran, Device="/dev/sdf")
    return volume


def steps(*loads: tuple[str, int, int]) -> dict[str, Any]:
    return {"steps": [{"for": f, "iops": iops, "io_kib": kib} for f, iops, kib in loads]}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("replay")
    with LocalAws(clock="lockstep", seed=11, state_dir=folder / ".headroom/local") as aws:
        aws.control("clock", {"set": START, "seed": 11})
        starved = made(aws, Size=400, VolumeType="gp3", tags={"Name": "orders"})
        hdd = made(aws, Size=500, VolumeType="st1")
        off = made(aws, Size=100, VolumeType="gp3", tags={"headroom": "off"})
        loose = made(aws, Size=100, VolumeType="gp3", attached=False)
        evening = steps(("20h", 400, 16), ("2h", 5_000, 16), ("4h", 300, 16))
        aws.control("load", {"volume_id": starved, "workload": evening})
        facts = aws.control("tick", {"minutes": MINUTES - 120})["minutes"]
        aws.control("load", {"volume_id": hdd, "workload": steps(("2h", 10, 1_024))})
        facts += aws.control("tick", {"minutes": 120})["minutes"]
        truth = dict.fromkeys((starved, hdd), 0)
        for minute in facts:
            truth[minute["volume_id"]] += minute["starved"]
        yield Fleet(aws, folder, starved, hdd, off, loose, truth)


def enter(fleet: Fleet, patch: pytest.MonkeyPatch) -> None:
    """Make it the environment of somebody whose account is the local endpoint."""
    for name, value in fleet.aws.environment().items():
        patch.setenv(name, value)
    patch.delenv("AWS_PROFILE", raising=False)


@pytest.fixture
def account(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    enter(fleet, monkeypatch)
    return fleet


def asked(*more: str) -> list[str]:
    return ["replay", "--days", "1", "--until", "2026-01-06T02:00Z", "--processes", "1", *more]


@pytest.fixture(scope="module")
def report(fleet: Fleet) -> dict[str, Any]:
    """The whole fleet replayed by one process, which changed nothing of it."""
    ec2 = boto3.client(
        "ec2", endpoint_url=fleet.aws.url, region_name="us-east-1", **fleet.aws.credentials
    )
    before, text = ec2.describe_volumes()["Volumes"], StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(text):
        enter(fleet, patch)
        assert run(asked("--tag", "team=data", "--json")) == 0
    assert ec2.describe_volumes()["Volumes"] == before
    assert ec2.describe_volumes_modifications()["VolumesModifications"] == []
    found: dict[str, Any] = json.loads(text.getvalue())
    return found


def test_a_day_of_an_account_is_reported_per_volume_and_in_total_without_changes(
    account: Fleet, report: dict[str, Any]
) -> None:
    rows = {row["volume_id"]: row for row in report["volumes"]}
    assert {*rows} == {account.starved, account.hdd, account.off, account.loose}
    starved = rows[account.starved]
    assert starved["name"] == "orders"
    assert starved["starved_minutes"] == pytest.approx(account.truth[account.starved], rel=0.05)
    assert starved["throttled_minutes"] == pytest.approx(account.truth[account.starved], rel=0.05)
    assert starved["avoided_minutes"] > 100
    assert starved["changes"][0]["to"].startswith("gp3 400 GiB")
    assert starved["storage_usd_change"] > 0
    assert rows[account.hdd]["replayed"]
    assert rows[account.hdd]["starved_minutes"] == account.truth[account.hdd] == 0
    assert "off" in rows[account.off]["why"]
    assert "nothing measured" in rows[account.loose]["why"]
    total = report["total"]
    counts = (total["volumes"], total["replayed"], total["not_replayed"], total["failed"])
    assert counts == (4, 2, 2, 0)
    for figure in ("starved_minutes", "avoided_minutes", "modifications", "guardrail_violations"):
        assert total[figure] == sum(rows[n][figure] for n in account.truth)
    assert total["storage_usd_headroom"] == pytest.approx(
        sum(rows[n]["storage_usd_headroom"] for n in account.truth), abs=1e-3
    )


def test_it_needs_the_rights_that_its_page_names_and_they_only_read(
    account: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: set[str] = set()
    real = BaseClient._make_api_call

    def spy(client: BaseClient, name: str, request: Any) -> Any:
        called.add(f"{client.meta.service_model.service_name}:{name}")
        return real(client, name, request)

    monkeypatch.setattr(BaseClient, "_make_api_call", spy)
    assert run(asked("--volume", account.loose, "--volume", account.hdd)) == 0
    assert all(name.split(":")[1].startswith(("Describe", "Get")) for name in called)
    page = (Path(__file__).parents[3] / "docs/operate/replay.md").read_text(encoding="utf-8")
    assert {f"`{name}`" for name in called} <= {*re.findall(r"`[a-z0-9]+:[A-Za-z]+`", page)}
    assert len(called) == 7


def test_people_get_a_table_the_total_and_what_they_must_know(
    account: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(asked("--volume", account.starved, "--volume", account.off)) == 0
    said = capsys.readouterr().out
    assert account.starved in said
    assert "Total of 1:" in said
    assert "a lower bound" in said
    assert f"{account.off} was not replayed: the policy or its tag says off." in said


def test_far_back_each_stretch_is_read_at_the_period_that_is_kept(
    account: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    far = ["replay", "--days", "70", "--until", "2026-01-06T02:00Z", "--volume", account.starved]
    assert run([*far, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["volumes"]
    assert row["periods_s"] == [3_600, 300, 60]
    assert row["minutes"] == 70 * 1_440
    assert row["starved_minutes"] == pytest.approx(account.truth[account.starved], rel=0.05)
    assert any("minutes were not measured" in note for note in row["notes"])


def test_two_processes_give_the_result_of_one(
    account: Fleet, report: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(asked("--tag", "team=data", "--json", "--processes", "2")) == 0
    assert json.loads(capsys.readouterr().out) == report


def test_the_owners_policy_decides(
    account: Fleet, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("defaults: {max_iops: 3000}\n", encoding="utf-8")
    assert run(asked("--volume", account.starved, "--policy", str(path), "--json")) == 0
    (row,) = json.loads(capsys.readouterr().out)["volumes"]
    assert row["starved_minutes_headroom"] == row["starved_minutes"]
    assert all("3000 IOPS" in change["to"] for change in row["changes"])


def test_a_preset_sets_the_value_of_a_starved_minute(
    account: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(asked("--volume", account.hdd, "--preset", "thrift", "--json")) == 0
    (row,) = json.loads(capsys.readouterr().out)["volumes"]
    assert row["relief_value_usd_per_minute"] == 0.01


def test_the_report_has_a_section_for_what_came_to_something(
    account: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "replay.html"
    assert run(asked("--tag", "team=data", "--html", str(path))) == 0
    page = path.read_text(encoding="utf-8")
    assert f'<section id="{account.starved}"' in page
    assert f'<section id="{account.hdd}"' not in page
    assert "(orders)" in page
    assert str(path) in capsys.readouterr().err.replace("\n", "")


WRONG = [
    (["--days", "0"], "'--days': it must be greater than or equal to 1"),
    (["--days", "500"], "'--days': it must be less than or equal to 455"),
    (["--days", "soon"], "'--days': it must be a valid integer"),
    (["--tag", "team"], "write KEY=VALUE"),
    (["--tag", "=data"], "write KEY=VALUE"),
    (["--tag", "team=nobody"], "There is no volume or database with tag team=nobody in us-east-1"),
    (["--volume", "vol-0123456789abcdef0"], "There is no vol-0123456789abcdef0 in us-east-1"),
    (["--volume", "db:nothing"], "There is no db:nothing in us-east-1"),
    (["--volume", "orders"], "write db:orders for a DB instance"),
    (["--preset", "cheap"], "cheap"),
    (["--policy", "nowhere.yaml"], "nowhere.yaml"),
    (["--until", "yesterday"], "is not a time"),
    (["--until", "2999-01-01"], "is in the future"),
    (["--region", "mars-north-1"], "There is no Region mars-north-1"),
    (["--region", "cn-north-1"], "A replay needs prices"),
    (["--profile", "nobody-has-this"], "nobody-has-this"),
    (["--local", "--endpoint-url", "http://127.0.0.1:1"], "--local selects an endpoint"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG)
def test_what_makes_no_sense_gets_one_sentence(
    account: Fleet, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run(["replay", *arguments]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert "Traceback" not in said.err
    assert said.out == ""


def test_a_policy_and_a_preset_are_one_too_many(
    account: Fleet, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("{}\n", encoding="utf-8")
    assert run(["replay", "--policy", str(path), "--preset", "thrift"]) == 2
    assert "either --policy or --preset" in capsys.readouterr().err


def test_a_policy_that_cannot_be_read_is_refused_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("defaults: {max_ipos: 3}\n", encoding="utf-8")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert run(["replay", "--policy", str(path)]) == 2
    assert "did you mean max_iops" in capsys.readouterr().err


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment of somebody who has not signed in."""
    for name in (
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE",
        "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("verb", ["replay", "audit", "report"])
def test_without_credentials_it_says_how_to_sign_in(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb, "--region", "us-east-1"]) == 1
    assert "No AWS credentials found: sign in" in capsys.readouterr().err


@pytest.mark.usefixtures("nobody")
def test_without_a_region_it_asks_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay"]) == 2
    assert "give --region" in capsys.readouterr().err


@pytest.mark.usefixtures("nobody")
def test_without_a_local_endpoint_it_says_how_to_start_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["replay", "--local"]) == 2
    assert "`headroom local up` starts one" in capsys.readouterr().err


def test_the_endpoint_that_local_up_started_is_asked_by_its_own_clock(
    fleet: Fleet, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fleet.folder)
    assert run(["replay", "--local", "--days", "1", "--volume", fleet.loose, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["until"] == "2026-01-06T02:00:00Z"
    assert result["from"] == "2026-01-05T02:00:00Z"
