"""`headroom assess`: a page for a whole fleet, before anything is deployed."""

from __future__ import annotations

import csv
import json
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from headroom.cli.commands import replay as replay_command
from headroom.cli.fleet import assessing, places, pool
from headroom.cli.fleet.assessed import AssessedRow
from headroom.cli.main import run
from headroom.running_cost import Rates, running_cost
from tests.builders import NOW
from tests.cli.commands.browser import chromium
from tests.cli.fleet.account import FakeAws

DAYS = 1
ASKED = ["assess", "--days", str(DAYS), "--kind", "ebs", "--processes", "1"]


def evenings(at: datetime) -> float:
    """Quiet, but for three hours of each day at more than gp3's 3,000 IOPS."""
    return 4_000.0 if 18 <= at.hour < 21 else 300.0


def served(patch: pytest.MonkeyPatch) -> FakeAws:
    """An account that every command asks until the patch ends."""
    fake = FakeAws()
    for module in (places, pool, replay_command):
        patch.setattr(module, "account", lambda **_: fake.account())
    return fake


def three_volumes(aws: FakeAws) -> dict[str, str]:
    return {
        "starved": aws.add(1, load={"iops": evenings}, tags={"Name": "=orders"}),
        "gp2": aws.add(2, VolumeType="gp2", Size=1_100, Iops=3_300, Throughput=None,
                       load={"limit": 3_300.0}, tags={"headroom": "auto"}),
        "quiet": aws.add(3),
    }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessed:
    """What one assessment of the three volumes wrote, and the operations it called."""

    result: dict[str, Any]
    csv: Path
    html: Path
    calls: tuple[str, ...]


@pytest.fixture(scope="module")
def assessed(tmp_path_factory: pytest.TempPathFactory) -> Assessed:
    folder, text = tmp_path_factory.mktemp("assessed"), StringIO()
    files = {name: folder / f"fleet.{name}" for name in ("csv", "html")}
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(text):
        aws = served(patch)
        three_volumes(aws)
        patch.setattr(aws, "describe_stacks", None)  # calling it would fail
        options = [word for name, path in files.items() for word in (f"--{name}", str(path))]
        assert run([*ASKED, "--json", *options]) == 0
    return Assessed(result=json.loads(text.getvalue()), calls=tuple(aws.calls), **files)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    return served(monkeypatch)


@pytest.fixture
def three(aws: FakeAws) -> dict[str, str]:
    return three_volumes(aws)


def said(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_fleet_is_assessed_as_replay_replays_it_and_its_bill_is_that_of_cost(
    assessed: Assessed, three: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = assessed.result
    rows = {row["resource"]: row for row in found["resources"]}
    assert run(["replay", "--days", str(DAYS), "--no-databases", "--processes", "1", "--json",
                "--until", NOW.isoformat()]) == 0  # fmt: skip
    alone = {row["volume_id"]: row for row in said(capsys)["volumes"]}
    for name in ("starved", "gp2"):
        one, other = rows[three[name]], alone[three[name]]
        assert one["replayed"]
        assert one["starved_minutes"] == other["starved_minutes"]
        assert one["starved_minutes_headroom"] == other["starved_minutes_headroom"]
        assert one["changes"] == other["modifications"]
        per_month = other["storage_usd_change"] / DAYS * 730 / 24
        assert one["usd_change"] == pytest.approx(per_month, abs=0.01)
    assert rows[three["starved"]]["ended_minutes"] > 100
    assert rows[three["gp2"]]["usd_change"] < 0
    quiet, replayed = rows[three["quiet"]], alone[three["quiet"]]
    assert not quiet["replayed"]
    assert (replayed["starved_minutes"], replayed["modifications"]) == (0, 0), "rightly passed over"
    total = found["totals"]
    assert total["ended_minutes"] == sum(row["ended_minutes"] for row in rows.values())
    assert total["usd_down"] == pytest.approx(
        sum(min(0, row["usd_change"]) for row in rows.values()), abs=0.01
    )
    assert (total["resources"], total["replayed"], total["enrolled"]) == (3, 2, 1)
    fleet = found["running_cost"]["fleet"]
    assert (fleet["volumes"], fleet["with_credits"]) == (3, 1)
    assert fleet["at_risk_percent"] == pytest.approx(100 * 180 / (3 * 1_440), rel=0.2)
    bill = running_cost(assessing.Fleet(**fleet), Rates())
    assert found["totals"]["running_usd"]["to"] == pytest.approx(float(bill.usd[1]), abs=0.01)


def test_nothing_but_reading_is_called_and_no_deployment_is_asked_for(assessed: Assessed) -> None:
    assert not assessed.result["totals"]["failed"]
    assert assessed.calls
    assert all(name.startswith(("describe", "get", "metrics")) for name in assessed.calls)


def test_people_read_one_page(
    assessed: Assessed, three: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(ASKED) == 0
    text = " ".join(capsys.readouterr().out.split())
    for words in ("Starvation: 1 resources starved", "Running Headroom: $", "Together: ",
                  "Starvation found", "Biggest savings", "2 of 3 resources were replayed",
                  "1 really are", "The others were not: nothing cheaper, no limit touched (1)"):  # fmt: skip
        assert words in text, words
    with assessed.csv.open(newline="") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert sorted(names) == ["", "", "'=orders"]


@pytest.mark.usefixtures("three")
def test_an_interrupted_assessment_goes_on_where_it_stopped(
    assessed: Assessed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(assessing, "CHUNK", 1)
    kept, real, seen = tmp_path / "kept.jsonl", assessing.Replayer.__call__, list[int]()

    def interrupted(self: assessing.Replayer, views: Any) -> list[AssessedRow]:
        if seen:
            raise KeyboardInterrupt
        seen.append(1)
        return real(self, views)

    monkeypatch.setattr(assessing.Replayer, "__call__", interrupted)
    assert run([*ASKED, "--json", "--resume", str(kept)]) == 130
    seen.clear()
    assert run([*ASKED, "--json", "--resume", str(kept)]) == 0, "only one was left"
    assert said(capsys) == assessed.result
    assert not kept.exists()


def test_what_a_guardrail_keeps_from_a_volume_is_named(
    aws: FakeAws, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = aws.add(1, load={"iops": evenings})
    policy = tmp_path / "policy.yaml"
    policy.write_text("defaults:\n  max_iops: 3000\n  types: [gp3]\n")
    assert run([*ASKED, "--json", "--policy", str(policy)]) == 0
    found = said(capsys)
    (row,) = found["resources"]
    assert (row["resource"], row["stays_blocked"], row["ended_minutes"]) == (name, True, 0)
    assert row["blocked_by"]
    assert set(found["totals"]["blocked_by"]) == set(row["blocked_by"])


def test_one_that_cannot_be_read_hides_no_other(
    aws: FakeAws, three: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    aws.unreadable = {three["gp2"]}
    assert run([*ASKED, "--json"]) == 1
    rows = {row["resource"]: row for row in said(capsys)["resources"]}
    assert rows[three["gp2"]]["failed"]
    assert rows[three["starved"]]["replayed"]


@pytest.mark.browser
def test_the_page_fits_and_needs_nothing_else(assessed: Assessed) -> None:
    path = assessed.html
    with chromium() as browser:
        for width, scheme in ((400, "dark"), (1_400, "light")):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            asked: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(path.as_uri())
            assert asked == [path.as_uri()]
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            titles = page.locator("h2").all_inner_texts()
            assert titles == ["Starvation found", "Biggest savings", "What would stay blocked",
                              "What running Headroom costs"]  # fmt: skip
            assert assessed.result["resources"][0]["resource"] in page.inner_text("#t1")


def test_days_are_whole_and_the_time_is_that_of_the_account(
    aws: FakeAws, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.add(1)
    assert run([*ASKED, "--json"]) == 0
    found = said(capsys)
    assert datetime.fromisoformat(found["at"]) == NOW
    assert datetime.fromisoformat(found["from"]) == NOW - timedelta(days=DAYS)
    assert run(["assess", "--days", "0"]) == 2
