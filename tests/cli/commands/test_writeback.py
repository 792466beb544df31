"""`headroom writeback` of a recorded decision."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from headroom.cli.main import run
from headroom.domain.decision import decide
from headroom.domain.state import Step
from tests.builders import NOW, decision_input, ref, starved_gp3, volume
from tests.cli.sources.chains import chain, written
from tests.cli.writeback.repository import VOLUME

APPLIED = [(Step.APPLIED, "AWS accepted the change.", 0)]
OWNED = (("headroom", "auto"), ("ManagedBy", "terraform"), ("Name", "orders-data"))


def test_the_values_and_the_patch_of_a_decision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decision = decide(decision_input(starved_gp3(vol=volume(ref=ref(VOLUME), tags=OWNED))))
    assert decision.plan is not None
    target = decision.plan.target
    file = str(written(tmp_path / "records.jsonl", chain(decision, APPLIED)))
    (tmp_path / "main.tf").write_text(
        'resource "aws_ebs_volume" "x" {\n  tags = { Name = "orders-data" }\n}\n'
    )
    assert run(["writeback", decision.decision_id, "--file", file]) == 0
    assert (
        f"as aws_ebs_volume: type = gp3, size = 100, iops = {target.iops}"
        in capsys.readouterr().out
    )
    words = ["writeback", decision.decision_id, "--file", file, "--directory", str(tmp_path)]
    assert run([*words, "--patch"]) == 0
    assert f"+  iops = {target.iops}\n" in capsys.readouterr().out
    assert run([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["made"], result["settings"]["throughput"]) == (True, target.throughput_mibps)


def test_a_decision_that_a_later_one_replaced_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = decide(decision_input(starved_gp3(vol=volume(ref=ref(VOLUME), tags=OWNED))))
    later = replace(first, decision_id="b" * 20, at=NOW + timedelta(days=2))
    file = str(written(tmp_path / "records.jsonl", chain(first, APPLIED), chain(later, APPLIED)))
    assert run(["writeback", first.decision_id, "--file", file]) == 2
    assert f"Decision {later.decision_id} has since changed {VOLUME}" in capsys.readouterr().err
    assert run(["writeback", later.decision_id, "--file", file]) == 0


@pytest.mark.parametrize("asked", [Step.INTENDED, Step.UNKNOWN])
def test_a_change_released_before_aws_accepted_it_is_not_written_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: Step
) -> None:
    decision = decide(decision_input(starved_gp3(vol=volume(ref=ref(VOLUME), tags=OWNED))))
    (tmp_path / "main.tf").write_text(
        'resource "aws_ebs_volume" "x" {\n  tags = { Name = "orders-data" }\n}\n'
    )
    unclear = [(Step.INTENDED, "Intended.", 0), (Step.UNKNOWN, "No answer.", 1)]
    unclear = unclear[: 1 if asked is Step.INTENDED else 2]
    released = [(Step.RELEASED, "Released by hand.", 9)]
    words = ["writeback", decision.decision_id, "--patch", "--directory", str(tmp_path), "--file"]
    for steps, code in ((unclear, 2), ([*APPLIED], 0)):
        file = str(written(tmp_path / "records.jsonl", chain(decision, [*steps, *released])))
        assert run([*words, file]) == code
        said = capsys.readouterr()
        assert bool(said.out) == (code == 0)
        assert ("was released, and nothing shows" in said.err) == (code == 2)


def test_a_later_change_that_was_released_may_have_changed_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = decide(decision_input(starved_gp3(vol=volume(ref=ref(VOLUME), tags=OWNED))))
    later = replace(first, decision_id="b" * 20, at=NOW + timedelta(days=2))
    unclear = [(Step.INTENDED, "Intended.", 0), (Step.RELEASED, "Released by hand.", 9)]
    file = str(written(tmp_path / "records.jsonl", chain(first, APPLIED), chain(later, unclear)))
    assert run(["writeback", first.decision_id, "--file", file]) == 2
    assert (
        f"Decision {later.decision_id} may have since changed {VOLUME}" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [([], "Give either the id"), (["x", "--event", "y"], "Give either the id"),
     (["--event", "missing.json"], "cannot be read as JSON"), (["--event", "other.json"], "not an event of Headroom")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    words: list[str], said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("other.json").write_text('{"detail": {"state": "available"}}')
    assert run(["writeback", *words]) == 2
    assert said in capsys.readouterr().err
