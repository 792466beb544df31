"""docs/operate/deployment.md says what the code says."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from decimal import Decimal

import pytest

from headroom.cdk.detection import (
    METRICS_PER_RECONCILE,
    alarms_usd,
    bill,
    daily_usd,
    reconcile_usd,
    scan_usd,
)
from headroom.cdk.loop import PRICED_REGIONS
from headroom.cli.views.cost import amount
from headroom.running_cost import Fleet, Rates, running_cost
from headroom.settings import DeploymentConfig, Detection, Names
from tests.stacks.conftest import ROOT, Synth, Synthesised, properties

TEXT = (ROOT / "docs" / "operate" / "deployment.md").read_text(encoding="utf-8")
RUNBOOK = (ROOT / "docs" / "operate" / "runbook.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("|") and not line.startswith("|---")
]


def _row(first: str) -> list[str]:
    (row,) = [row for row in ROWS if row[0] == first]
    return row


@pytest.mark.parametrize("name", [field.name for field in fields(DeploymentConfig)])
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    default = getattr(DeploymentConfig(), name)
    assert _row(f"`{name}`")[1] == ("none" if default is None else f"`{default}`")


@pytest.mark.parametrize("detection", list(Detection))
def test_every_choice_of_detection_has_its_price(detection: Detection) -> None:
    config = DeploymentConfig(detection=detection)
    alarms, scan = alarms_usd(config, 1_000), scan_usd(config, 1_000)
    wanted = [f"${alarms:,.2f}", f"${scan:,.2f}", f"${alarms + scan:,.2f}"]
    row = _row(f"`{detection.value}`")
    assert row[3:6] == wanted
    low, high = bill(config, 1_000).usd
    assert row[1] == f"${low:,.2f}-${high:,.2f}"


def test_the_bill_of_adaptive_detection_is_listed_item_by_item() -> None:
    month = bill(DeploymentConfig(), 1_000)
    for item in month.items:
        if item.usd[1] >= Decimal("0.01"):
            assert _row(item.name)[1] == amount(item.usd)
    low, high = bill(DeploymentConfig(), 0).usd
    assert f"It costs ${low:,.2f} before use" in TEXT
    assert high < 2
    thousand = Fleet(volumes=1_000, with_credits=1_000, at_risk_percent=5.0)
    most, least = (
        running_cost(fleet, Rates()).usd for fleet in (replace(thousand, paid=100), thousand)
    )
    more = [f"${more - without:,.2f}" for more, without in zip(most, least, strict=True)]
    assert f"add {'-'.join(more)}, as they are reconciled daily" in TEXT
    low, high = (
        running_cost(Fleet(volumes=0, with_credits=0, databases=100), Rates()).item("databases").usd
    )
    assert f"Databases: ${low:,.2f}-${high:,.2f} per 100 of them" in TEXT


def test_what_full_reconciliations_add_is_explained_with_its_arithmetic() -> None:
    fleet = DeploymentConfig(detection=Detection.FLEET)
    low, high = reconcile_usd(fleet)
    assert f"each volume under pressure adds ${low:,.2f}-${high:,.2f} a month while" in TEXT
    least, most = daily_usd(fleet, 1_000)
    assert f"${least:,.2f}-${most:,.2f} per 1,000 volumes" in TEXT
    few, many = METRICS_PER_RECONCILE
    assert f"{few} metrics every 15 minutes" in TEXT
    assert f"{many} metrics every" in TEXT


def test_every_region_that_has_prices_is_named() -> None:
    paragraph = TEXT.split("a dated table in the code")[1].split("Elsewhere")[0]
    assert set(re.findall(r"[a-z]{2}-[a-z]+-\d", paragraph)) == set(PRICED_REGIONS)


def test_the_page_states_how_the_price_list_is_read() -> None:
    prices = (ROOT / "headroom/adapters/prices/table.py").read_text()
    pricing = (ROOT / "headroom/domain/catalog/pricing.py").read_text()
    where = (ROOT / "headroom/adapters/prices/price_list.py").read_text()
    assert f"serves for {re.findall(r'USABLE = timedelta.days=(.+).', prices)[0]} days" in TEXT
    for factor in re.findall(r"PLAUSIBLE_FACTOR\w* = \D*([\d.]+)", pricing):
        assert f"more than {factor} times off" in TEXT
    for region in re.findall(r'"([a-z]{2}-[a-z]+-\d)"', where):
        assert f"{region} for" in TEXT.replace("\n", " ")


def test_the_custom_metrics_are_counted() -> None:
    emitted = {
        name
        for path in ("sweep.py", "signals.py")
        for name in re.findall(
            r'"([A-Z]\w+)"(?::|, MetricUnit)', (ROOT / "lambdas" / path).read_text()
        )
    }
    assert "SweepCompleted" in emitted
    assert "1 custom metric that is published always $0.30" in TEXT
    assert f"The other {len(emitted) - 1} custom metrics are published only in trouble" in TEXT


@pytest.mark.parametrize("volumes", [1_000, 20_000, 100_000])
def test_a_scan_of_a_large_fleet_takes_so_many_calls(volumes: int) -> None:
    pages = volumes // 500
    row = _row(f"{volumes:,}")
    assert row[1] == f"{4 * pages}", "volumes 500 a page, their modifications by 200 ids a call"
    assert row[2] == f"{3 * pages}-{4 * pages}", "three or four metrics a volume, 500 a call"


def test_every_alarm_on_headroom_says_what_to_do(shipped: Synthesised, synth: Synth) -> None:
    table = RUNBOOK.split("## Alarms")[1].split("## ")[0]
    rows = [row.split("|")[1:5] for row in table.splitlines() if row.startswith("| `")]
    assert all(cell.strip() for row in rows for cell in row), "meaning, what to check, what to do"
    named = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row[0])}
    assert (
        _own_alarms(synth(hub_bus="arn:aws:events:us-east-1:999988887777:event-bus/hub")) == named
    )
    assert f"{len(_own_alarms(shipped))} alarms on Headroom itself" in TEXT
    assert len(_own_alarms(shipped)) == Rates().own_alarms, "the bill counts each alarm"


def _own_alarms(made: Synthesised) -> set[str]:
    alarms = {alarm["AlarmName"] for alarm in properties(made.loop, "AWS::CloudWatch::Alarm")}
    return {n.removeprefix(Names().own_alarms) for n in alarms if n.startswith(Names().own_alarms)}


def test_every_package_that_is_shipped_is_named_with_its_licence() -> None:
    pins = (ROOT / "requirements-lambda.txt").read_text().splitlines()
    packages = {line.split("==")[0] for line in pins if "==" in line}
    licences = TEXT.split("| package | licence |")[1]
    named = {row.split("|")[1].strip() for row in licences.splitlines()[2:] if row.startswith("|")}
    assert named == packages


def test_the_package_is_about_as_large_as_documented(shipped: Synthesised) -> None:
    size = sum(path.stat().st_size for path in shipped.asset().rglob("*") if path.is_file())
    (named,) = re.findall(r"about (\d+) MiB\s+unpacked", TEXT)
    assert abs(size / 2**20 - int(named)) < 1
