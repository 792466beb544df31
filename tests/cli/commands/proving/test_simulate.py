"""`headroom simulate` on the scenarios that are shipped, and on senseless ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from headroom.cli.main import run
from tests import ROOT

SCENARIOS = ROOT / "docs/scenarios"
KEYS = {
    "scenario", "controller", "simulated_minutes", "unknown_minutes", "offered_ops", "served_ops",
    "starved_minutes", "latency_ms", "served", "burst_balance_min", "storage_usd",
    "usd_per_month_start", "usd_per_month_end", "modifications", "decisions", "aws_refusals",
    "guardrail_violations", "onset_to_relief_minutes",
}  # fmt: skip


def simulated(capsys: pytest.CaptureFixture[str], name: str, *words: str) -> dict[str, Any]:
    assert run(["simulate", str(SCENARIOS / f"{name}.yaml"), "--json", *words]) == 0
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


CLUSTERS = sorted(SCENARIOS.glob("aurora-*.yaml"))
VOLUMES = sorted(set(SCENARIOS.glob("*.yaml")) - set(CLUSTERS))


def _shortened(path: Path, folder: Path) -> Path:
    """The scenario; of a load of every night or week five nights or one week, to save time.

    The whole rhythm is simulated by the trials of tests/proving/simulation/test_rhythms.py.
    """
    text = path.read_text()
    fewer = re.sub(r"(every: 24h, repeat: )\d+", r"\g<1>5", text)
    fewer = re.sub(r"(every: 7d, repeat: )\d+", r"\g<1>1", fewer)
    if fewer == text:
        return path
    (folder / path.name).write_text(fewer)
    return folder / path.name


@pytest.mark.parametrize("path", VOLUMES, ids=lambda p: p.stem)
def test_every_shipped_scenario_runs_within_its_limits(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", str(_shortened(path, tmp_path)), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert set(said) >= KEYS
    assert said["guardrail_violations"] == 0
    assert said["controller"] == "headroom"


@pytest.mark.parametrize(
    ("name", "iops", "mibps", "latency_ms"),
    [
        ("case-b-random-3000", 3_016, None, 84.9),
        ("case-b-random-6000", 6_033, None, 42.4),
        ("case-b-sequential-125", None, 125.8, 508.7),
        ("case-b-sequential-250", None, 251.5, 254.4),
    ],
)
def test_case_b_comes_out_as_it_was_measured(
    capsys: pytest.CaptureFixture[str],
    name: str,
    iops: float | None,
    mibps: float | None,
    latency_ms: float,
) -> None:
    said = simulated(capsys, name, "--controller", "none")
    served = said["served"]
    if iops is not None:
        assert served["read_iops"] + served["write_iops"] == pytest.approx(iops, rel=0.05)
    if mibps is not None:
        assert served["mib_per_s"] == pytest.approx(mibps, rel=0.05)
    assert said["latency_ms"]["avg"] == pytest.approx(latency_ms, rel=0.05)


def test_an_instance_that_is_the_limit_costs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    said = simulated(capsys, "instance-bound")
    assert said["modifications"] == []
    assert said["decisions"]["escalate"] == 1
    assert said["usd_per_month_end"] == said["usd_per_month_start"]


def test_people_get_a_table_and_the_change_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(SCENARIOS / "nightly-batch-gp2.yaml")]) == 0
    said = capsys.readouterr().out
    assert "starved" in said
    assert "gp2 400 GiB -> gp3 400 GiB 3000 IOPS 250 MiB/s (cheaper_equivalent" in said


def test_people_read_why_nothing_was_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(SCENARIOS / "case-a-gp2.yaml")]) == 0
    said = capsys.readouterr().out
    assert "hold, last of 2: vol-0123456789abcdef0: credits are gone" in said
    assert said.count("observe only") == 1


def test_the_report_is_written_beside_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "out" / "night.html"
    words = ["--html", str(page)]
    simulated(capsys, "nightly-batch-gp2", *words)
    text = page.read_text(encoding="utf-8")
    assert "nightly batch on gp2" in text
    assert "gp3 400 GiB 3000 IOPS 250 MiB/s" in text


GOOD = (SCENARIOS / "case-b-random-3000.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("workload:", "workloads:"), "workload"),
        (("size_gib: 50", "size_gib: -50"), "size_gib"),
        (("type: gp3", "type: gp9"), "gp9"),
        (("iops: 3000", "iops: many"), "iops"),
        (("c7i.2xlarge", "c7i.colossal"), "c7i.colossal"),
        (("180s", "soon"), "duration"),
        (("name:", "name: [}"), ""),
    ],
)
def test_a_senseless_scenario_gets_one_sentence_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], sentence: str
) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(GOOD.replace(*change), encoding="utf-8")
    assert run(["simulate", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert said.err.startswith("headroom: ")
    assert said.err.count("\n") == 1


def test_a_scenario_that_is_not_there_gets_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "nowhere.yaml"]) == 2
    assert "nowhere.yaml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "share", "ends", "words"),
    [
        ("aurora-io-heavy", 40, "aurora-iopt1", "Standard -> I/O-Optimized (cheaper), -$293.14"),
        ("aurora-io-light", 15, "aurora", "held (already cheapest)"),
        ("aurora-inside-the-gate", 40, "aurora-iopt1", "until 2026-01-20 00:00 UTC"),
        ("aurora-month-end", 22.7, "aurora", "held (not cost effective)"),
    ],
)
def test_a_cluster_is_displayed_with_its_bill_in_both_modes(
    capsys: pytest.CaptureFixture[str], name: str, share: float, ends: str, words: str
) -> None:
    said = simulated(capsys, name)
    assert said["io_share_percent"] == pytest.approx(share, abs=0.5)
    assert said["storage_type_end"] == ends
    assert run(["simulate", str(SCENARIOS / f"{name}.yaml")]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert words in output
    assert "both are equal at 1,274 million I/O a month" in output


def test_every_shipped_cluster_scenario_runs() -> None:
    assert len(CLUSTERS) == 4


def test_a_cluster_has_no_page_of_minutes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = SCENARIOS / "aurora-io-heavy.yaml"
    assert run(["simulate", str(file), "--html", str(tmp_path / "page.html")]) == 2
    assert "a cluster has none" in capsys.readouterr().err


def test_case_a_comes_out_on_four_volumes_as_it_must(capsys: pytest.CaptureFixture[str]) -> None:
    gp2 = simulated(capsys, "case-a-rds-gp2", "--controller", "none")
    io1 = simulated(capsys, "case-a-rds-io1", "--controller", "none")
    assert gp2["burst_balance_min"] == 0
    # 21.6 million credits at 1,300 a second last 276 minutes; 84 of 360 starve.
    assert (gp2["starved_minutes"], io1["starved_minutes"]) == (84, 0)
    assert io1["served"]["write_iops"] == pytest.approx(2_500)
    assert (gp2["usd_per_month_start"], io1["usd_per_month_start"]) == (46.0, 550.0)


def test_a_database_running_out_of_credits_is_moved_to_gp3_in_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = simulated(capsys, "rds-gp2-credits")
    (change,) = said["modifications"]
    assert change["to"] == {
        "type": "gp3", "size_gib": 500, "iops": 12_000, "throughput_mibps": 500,
    }  # fmt: skip
    assert said["starved_minutes"] == 0
