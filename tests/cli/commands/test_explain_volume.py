"""What `explain` says of a decision about a database: what a DBA asks first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headroom.cli.main import run
from headroom.domain.resources import Deployment
from tests.application.test_databases import Databases, at_the_limit, spending
from tests.application.test_space import Filling
from tests.cli.sources.chains import acted, chain, written
from tests.domain.filling import steadily


def explained(
    capsys: pytest.CaptureFixture[str], folder: Path, harness: Databases
) -> tuple[str, Any]:
    """What `explain` says of what the harness decides, to people and to programs."""
    records = chain(harness.reconcile())
    path = str(written(folder / "records.jsonl", records))
    assert run(["explain", records[0].decision_id, "--file", path]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert run(["explain", records[0].decision_id, "--file", path, "--json"]) == 0
    return text, json.loads(capsys.readouterr().out)["database"]


def test_engine_copies_stripes_class_and_obstacles_are_displayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harness = Databases.of(
        spending(), MultiAZ=True, MaxAllocatedStorage=1_000, ReadReplicaSourceDBInstanceIdentifier="a",
        PendingModifiedValues={"DBInstanceClass": "db.m6gd.2xlarge"},
    )  # fmt: skip
    text, database = explained(capsys, tmp_path, harness)
    for words in (
        "db:orders at 2026-01-05 12:00Z",
        "It was gp2 500 GiB, storage of postgres, in us-east-1a.",
        "postgres, Multi-AZ, two copies paid for; each copy on 4 volumes",
        "class db.r6g.2xlarge: sustains 20,000 IOPS and 566 MiB/s",
        "status available",
        "pending: DBInstanceClass",
        "storage autoscaling up to 1,000 GiB: RDS owns the size",
        "read replica of a: its storage is its own",
        "prices from catalogue, 2026-07-28",
    ):
        assert words in text, words
    assert database["deployment"] == Deployment.MULTI_AZ.value
    assert (database["copies_paid_for"], database["stripes"]) == (2, 4)
    assert (database["pending"], database["class_iops"]) == (["DBInstanceClass"], 20_000)


def test_a_full_copy_is_named_and_comes_before_a_dear_change_that_is_not_allowed_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """$23 a month and hours of copying, beside $497 for io2: the explanation names the first."""
    harness = Databases.of(
        at_the_limit(3_000.0), AllocatedStorage=200, StorageType="gp3", Iops=3_000,
        StorageThroughput=125,
    )  # fmt: skip
    text, _ = explained(capsys, tmp_path, harness)
    assert "full copy for hours, irreversible; blocked by growth, full_copy" in text
    assert (
        "a person may change it to gp3 400 GiB 12000 IOPS 500 MiB/s ($23.00 a month more)" in text
    )


def test_a_class_without_known_limits_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harness = Databases.of(spending(), DBInstanceClass="db.unheard.of")
    text, database = explained(capsys, tmp_path, harness)
    assert "class db.unheard.of: its EBS limits are not known, so Headroom spends nothing" in text
    assert database["class_iops"] is None


def test_a_volume_has_nothing_of_the_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = acted()
    path = str(written(tmp_path / "records.jsonl", records))
    assert run(["explain", records[0].decision_id, "--file", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["database"] is None


def test_the_forecast_of_free_space_is_displayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = chain(Filling.at(steadily(51.0, 5.0)).reconcile())
    path = str(written(tmp_path / "records.jsonl", records))
    assert run(["explain", records[0].decision_id, "--file", path]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Free space 51.0 of 500 GiB are free; 5.0 GiB more expected within a day" in text
    assert "lowest forecast within a day: 46.0 GiB; it fills by 5.0 GiB a day" in text
    assert run(["explain", records[0].decision_id, "--file", path, "--json"]) == 0
    free_space = json.loads(capsys.readouterr().out)["free_space"]
    assert (free_space["short"], free_space["needed_gib"]) == (True, 577)
