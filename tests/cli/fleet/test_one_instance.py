"""`headroom plan --all`: volumes of one instance are planned together, as the functions would raise them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headroom.adapters.ebs import EbsStorage
from headroom.cli.main import run
from headroom.proving.replay import chunks
from tests.builders import NOW
from tests.cli.fleet.account import FakeAws
from tests.cli.fleet.test_plan_all import aws, pressed

__all__ = ["aws"]
ALL = ["plan", "--all", "--kind", "ebs", "--processes", "1", "--json"]
ON_IT = [{"InstanceId": f"i-{1:017x}", "State": "attached", "Device": "/dev/sdf"}]


def longer(at: datetime) -> float:
    """As `pressed`, but from three hours ago on."""
    return 3_500.0 if at > NOW - timedelta(hours=3) else 300.0


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text("defaults:\n  mode: auto\n")
    return path


def planned(policy: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    run([*ALL, "--policy", str(policy), *more])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def iops(found: dict[str, Any]) -> dict[str, int]:
    """What each volume has once all that is due is done."""
    gained = {row["resource"]: row["target"] for row in found["resources"] if row["due"]}
    return {
        row["resource"]: int(gained.get(row["resource"], row["configuration"]).split()[3])
        for row in found["resources"]
    }


def test_the_most_starved_is_raised_and_the_others_get_what_it_leaves(
    aws: FakeAws, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.add(1, load={"iops": pressed}, Attachments=ON_IT)
    starved = aws.add(2, load={"iops": longer}, Attachments=ON_IT)
    aws.instance_iops = 8_000
    tight = planned(policy, capsys)
    assert iops(tight)[starved] == 5_000  # what the other leaves
    assert sum(iops(tight).values()) <= 8_000
    assert tight["totals"]["held_by"] == {"instance_limit": 1}
    assert tight["totals"]["starved_minutes_per_day"] < 70  # not 119 for both


def test_an_instance_that_gives_more_lets_all_be_raised(
    aws: FakeAws, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        aws.add(number, load={"iops": pressed}, Attachments=ON_IT)
    assert list(iops(planned(policy, capsys)).values()) == [12_000] * 2


def test_what_was_decided_before_an_interruption_is_decided_again_beside_the_rest(
    aws: FakeAws, policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for number in (1, 2):
        aws.add(number, load={"iops": pressed}, Attachments=ON_IT)
    aws.instance_iops = 8_000
    kept = tmp_path / "kept.jsonl"
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
    whole = iops(planned(policy, capsys, "--resume", str(kept)))
    assert sorted(whole.values()) == [3_000, 5_000]
    lines = kept.read_text().splitlines(keepends=True)
    assert len(lines) == 3  # what it is of, and two rows
    kept.write_text("".join(lines[:2]))
    assert iops(planned(policy, capsys, "--resume", str(kept))) == whole


def test_the_volumes_of_one_instance_are_worked_on_together(aws: FakeAws) -> None:
    here = [aws.add(n, Attachments=ON_IT) for n in (1, 3, 5, 7)]
    alone = [aws.add(n) for n in (2, 4, 6)]
    views = list(EbsStorage(aws, account_id="1", region="us-east-1").fleet())  # type: ignore[arg-type]
    views.sort(key=lambda view: view.volume.ref.resource_id)
    names = [[view.volume.ref.resource_id for view in chunk] for chunk in chunks(views, 3)]
    assert names == [here, alone]
    assert [
        len(chunk) for chunk in chunks([v for v in views if v.volume.ref.resource_id in alone], 2)
    ] == [2, 1]
