"""`headroom plan` and `headroom replay` on a database at the endpoint, which stays unchanged."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from headroom.cli.main import run
from headroom.cli.sources import account
from tests.localaws.conftest import Program
from tests.localaws.loads.test_databases import database

BUSY = {"steps": [{"for": "3h", "iops": 4_500, "io_kib": 16}]}


@pytest.fixture
def local(program: Program, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What makes a command ask this endpoint by its clock."""
    monkeypatch.setattr(
        account, "running",
        lambda: (program.aws.endpoint, datetime.fromisoformat(program.aws.control("clock")["now"])),
    )  # fmt: skip
    return ["--local"]


def test_a_database_without_credits_is_planned_for_and_stays_as_it_is(
    program: Program, local: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = database(
        program, "billing", AllocatedStorage=500, Tags=[{"Key": "headroom", "Value": "auto"}]
    )
    request = {"database_id": name, "workload": BUSY, "burst_balance_percent": 1}
    program.aws.control("load", request)
    program.tick(25)
    rds = program.client("rds")
    before = rds.describe_db_instances(DBInstanceIdentifier=name)["DBInstances"]
    path = tmp_path / "policy.yaml"
    path.write_text("rules: [{match: {kind: rds}, set: {mode: auto}}]\n")
    assert run(["plan", f"db:{name}", *local, "--policy", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["answer"], found["binding"]) == ("act", "burst_credits")
    assert found["chosen"].startswith("gp3 500 GiB ")
    assert found["would_send"]["operation"] == "ModifyDBInstance"
    assert found["database"]["takes"] == ["gp2", "gp3", "io1", "io2"]
    assert found["prices"].startswith("price list")
    assert run(["policy", "show", f"db:{name}", *local, "--policy", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["limits"]["mode"]["value"] == "auto"
    words = ["replay", "--days", "1", "--volume", f"db:{name}", *local, "--json"]
    assert run(words) == 0
    (replayed,) = json.loads(capsys.readouterr().out)["volumes"]
    assert (replayed["volume_id"], replayed["replayed"]) == (f"db:{name}", True)
    assert replayed["starved_minutes"] > 0
    assert rds.describe_db_instances(DBInstanceIdentifier=name)["DBInstances"] == before
