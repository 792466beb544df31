"""The screening of a fleet passes over only what the engine would not change either."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headroom.cli.fleet import places, screen
from headroom.cli.fleet.rows import Depth
from headroom.cli.main import run
from tests.builders import NOW
from tests.cli.fleet.account import FakeAws

GP2 = {"VolumeType": "gp2", "Iops": 3_000, "Throughput": None, "Size": 1_000}
IO2 = {"VolumeType": "io2", "Iops": 4_000, "Throughput": None, "Size": 400}
LARGE = {"Iops": 9_000, "Throughput": 500, "Size": 500}


def steady(iops: float) -> Callable[[datetime], float]:
    return lambda at: iops


def nightly(iops: float) -> Callable[[datetime], float]:
    return lambda at: iops if 1 <= at.hour < 3 else 100.0


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    fake = FakeAws()
    monkeypatch.setattr(places, "account", lambda **_: fake.account())
    loads: list[tuple[dict[str, Any], Callable[[datetime], float], float]] = [
        ({}, steady(0.0), 3_000),
        ({}, steady(1_500.0), 3_000),
        ({}, steady(2_900.0), 3_000),
        ({}, nightly(2_950.0), 3_000),
        ({}, nightly(3_500.0), 3_000),
        (GP2, steady(2_000.0), 3_000),
        (IO2, steady(3_900.0), 4_000),
        (IO2, nightly(500.0), 4_000),
        (LARGE, steady(8_500.0), 9_000),
        (LARGE, nightly(2_000.0), 9_000),
    ]
    for number, (shape, iops, limit) in enumerate(loads, start=1):
        fake.add(number, load={"iops": iops, "limit": limit}, **shape)
    return fake


def test_what_it_passes_over_the_engine_would_not_change(
    fleet: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    policy = tmp_path / "policy.yaml"
    policy.write_text("defaults:\n  mode: auto\n  max_iops: 64000\n")
    asked = ["plan", "--all", "--kind", "ebs", "--processes", "1", "--json",
             "--policy", str(policy)]  # fmt: skip
    run(asked)
    first = {row["resource"]: row for row in json.loads(capsys.readouterr().out)["resources"]}
    passed = {name for name, row in first.items() if row["depth"] == Depth.SUMMARY}
    assert len(passed) >= 4, "else this shows little"
    monkeypatch.setattr(screen.Screened, "worth_deciding", property(lambda _: True))
    run(asked)
    every = {row["resource"]: row for row in json.loads(capsys.readouterr().out)["resources"]}
    assert all(row["depth"] == Depth.ENGINE for row in every.values())
    assert {name: every[name]["due"] for name in passed} == dict.fromkeys(passed, False)
    assert any(row["due"] for row in every.values())


def test_announced_load_goes_to_the_engine(
    fleet: FakeAws, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.yaml"
    event = {"name": "sale", "match": {"kind": "ebs"}, "when": "once 2026-01-05 18:00 UTC",
             "for": "3h", "iops": 8_000}  # fmt: skip
    policy.write_text(json.dumps({"known_events": [event]}))
    run(["plan", "--all", "--kind", "ebs", "--deep", "0", "--json", "--policy", str(policy)])
    rows = json.loads(capsys.readouterr().out)["resources"]
    assert all(row["possible"] for row in rows)


GP2_DB = {"StorageType": "gp2", "Iops": None, "StorageThroughput": None}
IO2_DB = {"StorageType": "io2", "Iops": 9_000, "StorageThroughput": None}


def filling(gib_per_day: float, left: float) -> Callable[[datetime], float]:
    return lambda at: left + (NOW - at) / timedelta(days=1) * gib_per_day


DATABASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "calm": ({}, {"iops": steady(1_500.0)}),
    "nightly": ({}, {"iops": nightly(5_000.0)}),
    "pressed": ({}, {"iops": steady(13_000.0)}),
    "filling": ({}, {"free_gib": filling(10.0, 60.0)}),
    "full": ({}, {"free_gib": lambda _: 20.0}),
    "slow": ({}, {"free_gib": filling(2.0, 300.0)}),
    "old": (GP2_DB, {"iops": steady(300.0), "limit": 3_000.0}),
    "dear": (IO2_DB, {"iops": nightly(500.0), "limit": 9_000.0}),
}  # fmt: skip


def test_databases_that_it_passes_over_the_engine_would_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = FakeAws()
    monkeypatch.setattr(places, "account", lambda **_: fake.account())
    for name, (shape, load) in DATABASES.items():
        fake.add_database(name, load, **{k: v for k, v in shape.items() if v is not None})
        for key in [key for key, value in shape.items() if value is None]:
            fake.rds.instances[name].pop(key, None)
    policy = tmp_path / "policy.yaml"
    settings = {"mode": "auto", "grow_space": True, "max_size_gib": 5_000, "max_iops": 64_000}
    policy.write_text(json.dumps({"rules": [{"match": {"kind": "rds"}, "set": settings}]}))
    asked = ["plan", "--all", "--kind", "rds", "--processes", "1", "--json",
             "--policy", str(policy)]  # fmt: skip
    run([*asked, "--deep", "0"])
    assert fake.calls["get_metric_data"] == 1, "all databases in one call"
    first = {row["resource"]: row for row in json.loads(capsys.readouterr().out)["resources"]}
    passed = {name for name, row in first.items() if row["change"] == "none"}
    assert passed == {f"db:{name}" for name in ("calm", "nightly", "old", "slow")}
    monkeypatch.setattr(screen.Screened, "worth_deciding", property(lambda _: True))
    run(asked)
    every = {row["resource"]: row for row in json.loads(capsys.readouterr().out)["resources"]}
    assert all(row["depth"] == Depth.ENGINE for row in every.values())
    due = {name for name, row in every.items() if row["due"]}
    assert due == {"db:dear", "db:full", "db:pressed"}
    assert not due & passed
