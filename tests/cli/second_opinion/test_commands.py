"""`headroom plan --second-opinion`: one resource and the fleet, with and without Compute Optimizer."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber

from headroom.cli.fleet import engine
from headroom.cli.main import run
from headroom.cli.second_opinion.reading import recommended
from headroom.domain.resources import Kind
from tests.adapters.optimizer import GP3, VOLUMES, add, storage, stubbed, volume
from tests.builders import ref
from tests.cli.fleet.account import FakeAws
from tests.cli.fleet.test_plan_all import ALL, aws, policy, pressed

__all__ = ["aws", "policy"]
MORE = storage("gp3", 100, 4_000, 125)


class Optimizer:
    """The account's Compute Optimizer, which gives one answer after the other."""

    def __init__(self, account: FakeAws, stub: Stubber) -> None:
        fake: Any = account
        fake.get_ebs_volume_recommendations = stub.client.get_ebs_volume_recommendations
        fake.meta, self._stub = stub.client.meta, stub

    def answers(self, answer: dict[str, Any] | str) -> None:
        add(self._stub, VOLUMES, answer)

    def recommends(self, *shapes: dict[str, Any]) -> None:
        self.answers({"volumeRecommendations": list(shapes)})


@pytest.fixture
def optimizer(aws: FakeAws) -> Iterator[Optimizer]:
    with stubbed() as stub:
        yield Optimizer(aws, stub)


def said(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_one_volume_is_planned_for_with_both_targets_side_by_side(
    aws: FakeAws, optimizer: Optimizer, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = aws.add(1)
    asked = ["plan", name, "--policy", str(policy), "--second-opinion"]
    optimizer.recommends(volume(name, MORE))
    assert run([*asked, "--json"]) == 0
    opinion = said(capsys)["second_opinion"]
    assert (opinion["target"], opinion["usd_per_month"]) == (
        "gp3 100 GiB 4000 IOPS 125 MiB/s",
        13.0,
    )
    assert (opinion["headroom"], opinion["headroom_usd_per_month"]) == (
        "gp3 100 GiB 3000 IOPS 125 MiB/s", 8.0
    )  # fmt: skip
    assert (opinion["saving_usd"], opinion["after_discounts"], opinion["agrees"]) == (
        3.2,
        True,
        False,
    )
    optimizer.recommends(volume(name, MORE))
    assert run(asked) == 0
    text = " ".join(capsys.readouterr().out.split())
    for words in ("Compute Optimizer │ gp3 100 GiB 4000 IOPS 125 MiB/s │ $13.00",
                  "$3.20 after discounts",
                  "finding: NotOptimized, of 2026-01-04 16:00Z, from 14 days, performance risk 1 of 4.",
                  "It recommends more than the load's peak of 100 IOPS and 1.57 MiB/s"):  # fmt: skip
        assert words in text, words


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("OptInRequiredException",
         "No second opinion: account 123456789012 is not enrolled in Compute Optimizer; `aws "
         "compute-optimizer update-enrollment-status --status Active` enrols it"),
        ("AccessDeniedException",
         "No second opinion on volumes in us-east-1: Compute Optimizer: AccessDeniedException: no"),
        ("ResourceNotFoundException",
         "No second opinion: Compute Optimizer has no recommendation for vol-1"),
        ({"errors": [{"identifier": ref().arn, "code": "X", "message": "too young."}]},
         "No second opinion: Compute Optimizer has no recommendation for vol-1: too young"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_sentence(
    aws: FakeAws, optimizer: Optimizer, answer: dict[str, Any] | str, words: str
) -> None:
    optimizer.answers(answer)
    found = recommended(aws.account(), {Kind.EBS}, ref().arn)
    assert (found.by_arn, found.notes) == ({}, (words,))


def test_without_compute_optimizer_the_plan_is_the_same(
    aws: FakeAws, optimizer: Optimizer, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["plan", aws.add(1), "--policy", str(policy), "--json"]
    assert run(asked) == 0
    alone = said(capsys)
    optimizer.answers("OptInRequiredException")
    assert run([*asked, "--second-opinion"]) == 0
    found = said(capsys)
    *before, note = found["remarks"]
    assert "is not enrolled in Compute Optimizer" in note
    assert found == alone | {"second_opinion": None, "remarks": [*before, note]}
    assert before == alone["remarks"]


def test_the_fleet_is_compared_where_something_else_is_recommended(
    aws: FakeAws, optimizer: Optimizer, policy: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """A quiet volume goes to the engine when it recommends a change, else both keep it."""
    names = {
        "raise": aws.add(1, tags={"Name": "<b>data</b>"}), "keep": aws.add(2), "silent": aws.add(3),
        "off": aws.add(4, tags={"headroom": "off"}),
    }  # fmt: skip
    shapes = [volume(names["raise"], MORE), volume(names["keep"]), volume(names["off"], MORE)]
    files = tmp_path / "plan.csv", tmp_path / "plan.html"
    asked = [*ALL, "--policy", str(policy), "--second-opinion"]
    optimizer.recommends(*shapes)
    assert run([*asked, "--json", "--csv", str(files[0]), "--html", str(files[1])]) == 0
    found = said(capsys)
    assert found["second_opinion"] == {
        "recommendations": 3, "compared": 2, "agree": 1, "disagree": 1,
        "usd_of_its_savings_where_they_disagree": 3.2,
    }  # fmt: skip
    rows = {row["resource"]: row for row in found["resources"]}
    assert {name: rows[names[name]]["depth"] for name in names} == {
        "raise": "engine", "keep": "summary", "silent": "summary", "off": "configuration"
    }  # fmt: skip
    assert rows[names["keep"]]["opinion"]["explanation"] == "Both keep it as it is."
    differs = rows[names["raise"]]["opinion"]["explanation"]
    assert differs.startswith("It recommends more than the load's peak of 100 IOPS")
    with files[0].open(newline="") as file:
        lines = {line["resource"]: line for line in csv.DictReader(file)}
    assert lines[names["raise"]]["optimizer_explanation"] == differs
    assert lines[names["raise"]]["optimizer_usd_per_month"] == "13.0"
    assert lines[names["silent"]]["optimizer_target"] == ""
    page = files[1].read_text()
    assert "Where Compute Optimizer recommends something else" in page
    assert "<b>data" not in page
    optimizer.recommends(*shapes)
    assert run(asked) == 0
    text = " ".join(capsys.readouterr().out.split())
    for words in ("recommendation for 3 of 4 resources: 1 agree with Headroom, 1 differ; 1 are not compared",
                  "Where Compute Optimizer recommends something else", "Why they differ"):  # fmt: skip
        assert words in text, words


def test_the_fleet_is_planned_for_without_compute_optimizer(
    aws: FakeAws, optimizer: Optimizer, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.add(1, load={"iops": pressed})
    optimizer.answers("OptInRequiredException")
    asked = [*ALL, "--as-if", "auto", "--deep", "0", "--policy", str(policy), "--json"]
    assert run([*asked, "--second-opinion"]) == 2
    found = said(capsys)
    assert found["second_opinion"]["recommendations"] == 0
    assert any("is not enrolled in Compute Optimizer" in note for note in found["notes"])
    assert run(asked) == 2
    assert "second_opinion" not in said(capsys)


def test_finished_work_keeps_the_opinion(
    aws: FakeAws, optimizer: Optimizer, policy: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What was compared before an interruption is not compared again."""
    name, kept = aws.add(1, load={"iops": pressed}), tmp_path / "plan.jsonl"
    asked = [*ALL, "--as-if", "auto", "--policy", str(policy), "--second-opinion", "--json"]
    optimizer.recommends(volume(name, now=GP3))
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)  # as if it were interrupted
    assert run([*asked, "--resume", str(kept)]) == 2
    whole = said(capsys)
    monkeypatch.setattr(engine.Engine, "__call__", None)
    optimizer.recommends(volume(name, now=GP3))
    assert run([*asked, "--resume", str(kept)]) == 2
    assert said(capsys) == whole
    assert whole["resources"][0]["opinion"]["agrees"] is False
