"""`headroom plan --all`: the whole fleet, decided as one resource is, in few calls, and resumed."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.commands import plan as one_resource
from headroom.cli.fleet import engine, places, pool
from headroom.cli.fleet.rows import Change, Depth, PlanRow, biggest_first, row_from_json, totals
from headroom.cli.main import run
from tests.builders import IMAGE, NOW, REGION
from tests.cli.commands.browser import chromium
from tests.cli.commands.test_pause import HERE, ledger
from tests.cli.fleet.account import FakeAws

__all__ = ["ledger"]
ALL = ["plan", "--all", "--kind", "ebs", "--processes", "1"]


def pressed(at: datetime) -> float:
    """Quiet, and from two hours ago on more than gp3's 3,000 IOPS."""
    return 3_500.0 if at > NOW - timedelta(hours=2) else 300.0


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    fake = FakeAws()
    for module in (places, one_resource, pool):
        monkeypatch.setattr(module, "account", lambda **_: fake.account())
    return fake


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text("defaults:\n  mode: observe\n")
    return path


def said(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def four(aws: FakeAws) -> dict[str, str]:
    """A pressed volume, one that gains by moving, one that needs nothing, one that is off."""
    return {
        "pressed": aws.add(1, load={"iops": pressed}, tags={"Name": "=HYPERLINK(1)", "team": "a"}),
        "gp2": aws.add(2, VolumeType="gp2", Size=500, Iops=1_500, Throughput=None,
                       tags={"headroom": "auto"}),
        "quiet": aws.add(3, tags={"team": "a"}),
        "off": aws.add(4, load={"iops": pressed}, tags={"headroom": "off"}),
    }  # fmt: skip


def test_what_would_change_is_found_and_what_cannot_is_read_no_deeper(
    aws: FakeAws, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = four(aws)
    assert run([*ALL, "--as-if", "auto", "--policy", str(policy), "--json"]) == 2
    found = said(capsys)
    rows = {row["resource"]: row for row in found["resources"]}
    assert rows[names["pressed"]]["change"] == "raise"
    assert rows[names["pressed"]]["usd_change"] > 0
    assert rows[names["pressed"]]["starved_minutes_per_day"] > 0
    assert rows[names["gp2"]]["change"] == "move"
    assert (rows[names["gp2"]]["enrolled"], rows[names["pressed"]]["enrolled"]) == (True, False)
    assert rows[names["quiet"]]["change"] == rows[names["off"]]["change"] == "none"
    depths = {name: rows[names[name]]["depth"] for name in names}
    assert depths == {"pressed": "engine", "gp2": "engine", "quiet": "summary",
                      "off": "configuration"}  # fmt: skip
    total = found["totals"]
    assert (total["due"], total["enrolled"], total["failed"]) == (2, 1, 0)
    assert total["usd_up"] == pytest.approx(rows[names["pressed"]]["usd_change"], abs=0.01)
    assert found["resources"][0]["resource"] == names["pressed"], "the biggest comes first"
    assert not found["deployed"]


def test_each_is_decided_about_as_when_it_is_planned_for_alone(
    aws: FakeAws, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = four(aws)
    policy.write_text("defaults:\n  mode: auto\n")
    assert run([*ALL, "--policy", str(policy), "--json"]) == 2
    rows = {row["resource"]: row for row in said(capsys)["resources"]}
    for name in ("pressed", "gp2"):
        assert run(["plan", names[name], "--policy", str(policy), "--json"]) == 0
        alone = said(capsys)
        row = rows[names[name]]
        assert (alone["answer"], alone["chosen"]) == ("act", row["target"])
        assert row["why"] in alone["summary"]


def test_what_is_not_enrolled_is_held_by_its_mode_and_nothing_is_due(
    aws: FakeAws, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = aws.add(1, load={"iops": pressed})
    assert run([*ALL, "--policy", str(policy), "--json"]) == 0
    found = said(capsys)
    (row,) = found["resources"]
    assert (row["resource"], row["change"]) == (name, "hold")
    assert "mode" in row["blocked_by"]
    assert found["totals"]["held_by"]["mode"] == 1


def test_tags_and_depth_narrow_what_is_read(
    aws: FakeAws, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = four(aws)
    asked = [*ALL, "--as-if", "auto", "--policy", str(policy), "--json"]
    assert run([*asked, "--tag", "team=a", "--deep", "0"]) == 2
    found = said(capsys)
    assert {row["resource"] for row in found["resources"]} == {names["pressed"], names["quiet"]}
    assert (found["totals"]["due"], found["totals"]["possible"]) == (0, 1)
    assert run([*asked, "--tag", "team=b"]) == 0
    assert said(capsys)["resources"] == []


def test_a_thousand_quiet_volumes_take_few_calls(
    aws: FakeAws, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(1_000):
        aws.add(number)
    assert run([*ALL, "--policy", str(policy), "--json"]) == 0
    assert said(capsys)["totals"]["by_depth"] == {
        "configuration": 0, "summary": 1_000, "engine": 0,
    }  # fmt: skip
    assert aws.calls["metrics"] == 4_000
    assert sum(aws.calls.values()) - aws.calls["metrics"] == 2 + 1 + 8


def test_one_that_cannot_be_read_hides_no_other_and_ends_with_an_error(
    aws: FakeAws, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, quiet = aws.add(1), aws.add(2)
    aws.unreadable = {broken}
    assert run([*ALL, "--policy", str(policy), "--json"]) == 1
    rows = {row["resource"]: row for row in said(capsys)["resources"]}
    assert rows[broken]["change"] == "failed"
    assert "GetMetricData" in rows[broken]["why"]
    assert rows[quiet]["change"] == "none"


def test_an_interrupted_plan_goes_on_where_it_stopped(
    aws: FakeAws, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for number in range(1, 4):
        aws.add(number, load={"iops": pressed})
    asked = [*ALL, "--as-if", "auto", "--policy", str(policy), "--json"]
    assert run(asked) == 2
    whole = said(capsys)
    kept = tmp_path / "plan.jsonl"
    monkeypatch.setattr(engine, "CHUNK", 1)
    decided_before = engine.Engine.__call__
    seen: list[int] = []

    def interrupted(self: engine.Engine, views: Any) -> list[PlanRow]:
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(1)
        return decided_before(self, views)

    monkeypatch.setattr(engine.Engine, "__call__", interrupted)
    assert run([*asked, "--resume", str(kept)]) == 130
    assert "--resume" in capsys.readouterr().err
    with kept.open("a") as cut:
        cut.write('{"arn": "arn:aws:ec')  # as a killed process leaves it
    monkeypatch.setattr(engine.Engine, "__call__", decided_before)
    before = aws.calls["describe_instances"]
    assert run([*asked, "--resume", str(kept)]) == 2
    assert said(capsys) == whole
    assert aws.calls["describe_instances"] - before == 1, "two of three were known"
    assert not kept.exists(), "the work is done"


def test_finished_work_of_something_else_is_refused(
    aws: FakeAws, policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "other.jsonl"
    kept.write_text('{"work": {"command": "something else"}}\n')
    assert run([*ALL, "--policy", str(policy), "--resume", str(kept)]) == 1
    assert "is of other work" in capsys.readouterr().err
    assert kept.exists()


def test_a_spreadsheet_finds_no_formula_in_the_csv(
    aws: FakeAws, policy: Path, tmp_path: Path
) -> None:
    four(aws)
    aws.add(5, tags={"Name": "\t+1"})
    path = tmp_path / "plan.csv"
    run([*ALL, "--as-if", "auto", "--policy", str(policy), "--deep", "0", "--csv", str(path)])
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5
    assert {row["name"] for row in rows} == {"'=HYPERLINK(1)", "", "'\t+1"}
    texts = [row[n] for row in rows for n in row if not n.startswith(("usd", "starved", "exceed"))]
    assert not any(text.startswith(("=", "+", "-", "@", "\t")) for text in texts)


def test_people_read_the_totals_first_and_how_deep_was_read(
    aws: FakeAws, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    four(aws)
    assert run([*ALL, "--as-if", "auto", "--policy", str(policy)]) == 2
    text = " ".join(capsys.readouterr().out.split())
    assert text.index("2 changes are due") < text.index("Biggest first")
    for words in ("as if all were enrolled", "1 raised, 0 lowered, 1 moved", "1 enrolled",
                  "Read how deep: 2 decided by the deployed engine", "1 by five metrics",
                  "Headroom is not deployed here"):  # fmt: skip
        assert words in text, words


@pytest.mark.browser
def test_the_page_stands_alone_and_fits_a_phone(aws: FakeAws, policy: Path, tmp_path: Path) -> None:
    for number in range(20):
        aws.add(number, VolumeType="gp2", Size=500, Iops=1_500, Throughput=None,
                tags={"Name": f"<b>data-{number}</b>"})  # fmt: skip
    path = tmp_path / "plan.html"
    run([*ALL, "--as-if", "auto", "--policy", str(policy), "--deep", "0", "--html", str(path)])
    assert "<b>data" not in path.read_text()
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 400, "height": 900}, color_scheme="dark")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        assert asked == [path.as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.fill("input[type=search]", "data-7")
        assert page.locator("tbody tr:visible").count() == 1
        page.set_viewport_size({"width": 1400, "height": 900})
        page.fill("input[type=search]", "")
        page.click("thead button:text('Resource')")
        assert page.locator("th").first.get_attribute("aria-sort") == "descending"


@pytest.mark.parametrize("more", [["vol-1"], ["--iops", "5"]])
def test_all_takes_no_name_and_alone_takes_no_filters(
    more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "--all", *more]) == 1
    assert run(["plan", "vol-1", "--tag", "a=b"]) == 2
    assert run(["plan"]) == 2
    assert "--all" in capsys.readouterr().err


def row(**changes: Any) -> PlanRow:
    base = {
        "resource": "vol-1", "arn": "arn:1", "kind": "ebs", "name": "", "account_id": "1",
        "region": "r", "configuration": "c", "usd_per_month": 1.0, "mode": "auto",
        "enrolled": True, "depth": Depth.ENGINE, "change": Change.RAISE, "target": "t",
        "usd_change": 0.0, "starved_minutes_per_day": 0.0, "exceeded_minutes": 0,
        "blocked_by": (), "why": "",
    }  # fmt: skip
    return PlanRow(**base | changes)


def test_rows_survive_json_and_come_biggest_first() -> None:
    starved = row(arn="a", starved_minutes_per_day=100.0)
    saves = row(arn="b", change=Change.LOWER, usd_change=-200.0)
    small = row(arn="c", usd_change=1.0)
    held = row(arn="d", change=Change.HOLD, usd_change=9_000.0, blocked_by=("mode", "budget"))
    maybe = row(arn="e", depth=Depth.SUMMARY, change=Change.MOVE, usd_change=-9_000.0)
    rows = [maybe, held, small, saves, starved]
    assert [each.arn for each in biggest_first(rows, 0.10)] == ["a", "b", "c", "d", "e"]
    assert [row_from_json(json.loads(json.dumps(each.to_json()))) for each in rows] == rows
    total = totals(rows)
    assert (total["due"], total["held"], total["possible"]) == (3, 1, 1)
    assert (total["usd_up"], total["usd_down"]) == (1.0, -200.0)
    assert total["held_by"] == {"mode": 1, "budget": 1}


def test_a_deployment_is_read_and_nothing_of_it_written(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    ec2: Any = boto3.client("ec2", region_name=REGION)
    ec2.run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1)
    (root,) = ec2.describe_volumes()["Volumes"]
    ledger.pause(None, at=datetime.now(UTC), who="me", reason="")
    tables = boto3.client("dynamodb", region_name=REGION)
    before = [tables.scan(TableName=name)["Items"] for name in ("records", "state")]
    assert run([*ALL, "--as-if", "auto", "--json", *HERE]) in (0, 2)
    found = said(capsys)
    assert found["deployed"]
    (one,) = found["resources"]
    assert (one["resource"], one["depth"]) == (root["VolumeId"], "engine")
    assert one["change"] in ("none", "hold"), "a pause stops every change"
    assert [tables.scan(TableName=name)["Items"] for name in ("records", "state")] == before
