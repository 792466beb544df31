"""`headroom report` on a file of records and on the tables of an account."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headroom.adapters.ledger import DynamoLedger, read_budget
from headroom.cli.commands import report
from headroom.cli.main import run
from headroom.domain.decision import decide
from headroom.domain.ledger import Budget
from headroom.domain.policy import Mode
from headroom.domain.state import Step
from tests.builders import NOW, REGION, decision_input, policy, ref, starved_gp3, volume
from tests.cli.commands.browser import chromium
from tests.cli.commands.test_budget import landed, ledger
from tests.cli.sources.chains import acted, chain, written
from tests.contracts.decisions import append, escalate

__all__ = ["ledger"]
MONTH = f"{NOW:%Y-%m}"


@pytest.fixture
def records(tmp_path: Path) -> Path:
    seen = starved_gp3(vol=volume(ref=ref("vol-2"), tags=()))
    held = chain(decide(decision_input(seen, rules=policy(mode=Mode.OBSERVE))))
    return written(tmp_path / "records.jsonl", acted(), held)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert run(["report", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_report_of_a_file_is_about_its_newest_month(
    records: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = said(capsys, "--file", str(records))
    assert (found["from"], found["to"]) == (
        "2026-01-01T00:00:00+00:00",
        "2026-01-05T12:25:00+00:00",
    )
    total = found["totals"]
    assert total["starvation"] == {
        "found": 2, "ended": 1, "passed": 0, "remaining": 1, "prevented": 0, "minutes": 50,
    }  # fmt: skip
    assert total["storage_usd_per_month"] == {"up": 48.28, "down": 0.0, "in_force_now": None}
    assert total["storage_usd"]["added"] == round(48.28 * 25 / 60 / 730, 2)
    assert total["blocked_by"] == {"mode": 1, "instance_limit": 1}
    assert total["running_usd"] is None
    worst = found["resources"][0]
    assert (worst["resource"], worst["blocked_by"]) == ("vol-2", ["mode", "instance_limit"])


def test_the_report_says_what_is_measured_and_what_is_estimated(
    records: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "--file", str(records)]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "Starvation: 2 episodes found, 1 ended by a change that was verified" in output
    assert ", 1 change landed." in output
    assert "Note: Measured: every count" in output
    assert "Note: Calculated: dollars of storage." in output
    assert "Note: Estimated: what running Headroom costs" in output


def test_one_of_anything_is_counted_as_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = starved_gp3(vol=volume(ref=ref("vol-2"), tags=()))
    held = chain(decide(decision_input(seen, rules=policy(mode=Mode.OBSERVE))))
    assert run(["report", "--file", str(written(tmp_path / "one.jsonl", held))]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert ": 1 decision about 1 resource, 0 changes landed." in output
    assert "Starvation: 1 episode found, 0 ended by" in output
    assert "0 passed, 1 remains; 0 more were prevented." in output


def test_a_month_without_records_is_reported_as_empty(
    records: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = said(capsys, "--file", str(records), "--month", "2025-12")
    assert found["totals"]["records"] == 0
    assert found["resources"] == []


@pytest.mark.parametrize("month", ["2026", "2026-13", "10-2026", "January"])
def test_what_is_no_month_is_refused(month: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "--month", month]) == 2
    assert "is not a month; write 2026-10." in capsys.readouterr().err


def test_an_account_adds_what_running_cost_and_all_increases_in_force(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    landed(ledger, "d1", "vol-0abc1", "30")
    landed(ledger, "d2", "vol-0abc2", "-6")
    assert ledger.decided(escalate("e1", "price"), due_at=None)
    total = said(capsys, "--month", MONTH, "--region", REGION)["totals"]
    assert total["storage_usd_per_month"]["in_force_now"] == 30.0
    assert total["changes"] == 2
    assert total["results"] == {"relieved": 2}
    assert total["open_escalations"] == 1
    assert 0 < total["running_usd"]["from"] <= total["running_usd"]["to"]
    net = total["storage_usd"]["added"] - total["storage_usd"]["saved"]
    assert total["net_usd"]["to"] == pytest.approx(net + total["running_usd"]["to"], abs=0.02)


def test_what_the_ledger_counts_no_increase_for_is_in_force_nowhere(
    ledger: DynamoLedger, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    landed(ledger, "d1", "vol-0abc1", "30")
    landed(ledger, "d2", "vol-0abc2", "5")

    def undone(*args: Any, **place: Any) -> Budget:
        budget = read_budget(*args, **place)
        kept = tuple(each for each in budget.holdings if each.ref.resource_id == "vol-0abc2")
        return replace(budget, sum_usd=budget.sum_usd - 30, holdings=kept)

    monkeypatch.setattr("headroom.cli.sources.running.read_budget", undone)
    monkeypatch.setattr(report, "_current", lambda _: NOW + timedelta(hours=1))
    where, into, page = (
        ["--month", MONTH, "--region", REGION], tmp_path / "month.csv", tmp_path / "page.html",
    )  # fmt: skip
    found = said(capsys, *where)
    assert found["totals"]["storage_usd_per_month"] == {
        "up": 48.28,
        "down": 0.0,
        "in_force_now": 5.0,
    }
    assert run(["report", *where, "--csv", str(into), "--html", str(page)]) == 0
    rows = {r["resource"]: r for r in csv.DictReader(into.read_text("utf-8").splitlines())}
    assert {name: row["usd_up_per_month"] for name, row in rows.items()} == {
        "vol-0abc1": "0.0", "vol-0abc2": "48.28",
    }  # fmt: skip
    assert "+$48.28 and $0.00 a month are in force" in page.read_text(encoding="utf-8")


def test_a_change_without_relief_is_listed(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.contracts.decisions import act, intended

    decision = act("d1", "vol-0abc1", increase="30")
    intended(ledger, decision, lease_until=NOW + timedelta(minutes=20))
    append(ledger, decision, Step.APPLIED, at=NOW + timedelta(minutes=1))
    append(ledger, decision, Step.INEFFECTIVE, at=NOW + timedelta(minutes=40))
    assert run(["report", "--month", MONTH, "--region", REGION]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "Changes without proven relief: ineffective 1." in output


def test_the_bodies_that_are_read_are_those_of_changes_and_of_what_is_held(
    ledger: DynamoLedger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    landed(ledger, "d1", "vol-0abc1", "30")
    for number in range(3):
        seen = starved_gp3(vol=volume(ref=ref(f"vol-{number}"), tags=()))
        held = decide(decision_input(seen, rules=policy(mode=Mode.OBSERVE)))
        ledger.decided(held, due_at=None)
    read: list[tuple[str, int]] = []
    whole = DynamoLedger.records

    def counting(self: DynamoLedger, keys: Any) -> Any:
        read.extend(keys)
        return whole(self, keys)

    monkeypatch.setattr(DynamoLedger, "records", counting)
    found = said(capsys, "--month", MONTH, "--region", REGION)
    assert found["totals"]["records"] == 7
    assert len(read) == 4
    assert ("d1", 0) in read


def test_every_resource_is_a_line_of_csv(records: Path, tmp_path: Path) -> None:
    into = tmp_path / "month.csv"
    assert run(["report", "--file", str(records), "--csv", str(into)]) == 0
    rows = list(csv.DictReader(into.read_text(encoding="utf-8").splitlines()))
    assert [(r["resource"], r["found"], r["ended"], r["changes"]) for r in rows] == [
        ("vol-2", "1", "0", "0"), ("vol-1", "1", "1", "1"),
    ]  # fmt: skip
    assert rows[0]["blocked_by"] == "mode instance_limit"


@pytest.fixture
def page(records: Path, tmp_path: Path) -> Path:
    into = tmp_path / "month.html"
    assert run(["report", "--file", str(records), "--html", str(into)]) == 0
    return into


def test_the_page_needs_nothing_else(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "http://" not in text
    assert "https://" not in text
    assert len(text) < 100_000


@pytest.fixture
def browser() -> Iterator[Any]:
    with ExitStack() as stack:
        yield stack.enter_context(chromium())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_fits_a_telephone_and_a_desk(
    page: Path, browser: Any, width: int, scheme: str
) -> None:
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.goto(page.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.locator("h1").inner_text() == "Headroom in January 2026"
    assert tab.locator("h2").all_inner_texts()[0] == "Starvation that remains"


def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", "--html", str(tmp_path)]) == 2
    assert "could not be written" in capsys.readouterr().err
