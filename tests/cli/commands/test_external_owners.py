"""Who else owns a volume, and the set it belongs to, as the command line lists them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headroom.application import remediate
from headroom.cli.main import run
from headroom.domain.decision import decide
from tests import ROOT
from tests.application.harness import Harness
from tests.application.test_signals import alarm
from tests.builders import decision_input, instance, ref, starved_gp3, volume
from tests.cli.sources.chains import chain, written

STACK = (
    ("headroom", "auto"), ("aws:cloudformation:stack-name", "orders"),
    ("aws:cloudformation:logical-id", "DataVolume"),
)  # fmt: skip
DATA = (("headroom", "auto"), ("headroom:group", "data"))


def test_explain_prints_what_to_write_back_as_it_is_pasted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decision = decide(decision_input(starved_gp3(vol=volume(tags=STACK))))
    file = str(written(tmp_path / "records.jsonl", chain(decision)))
    assert run(["explain", decision.decision_id, "--file", file]) == 0
    output = capsys.readouterr().out
    assert "CloudFormation (stack orders) keeps this volume's settings too" in output
    text = decision.write_back[0].text
    assert all(f"  {line}\n" in output for line in text.splitlines())
    assert run(["explain", decision.decision_id, "--file", file, "--json"]) == 0
    (part,) = json.loads(capsys.readouterr().out)["write_back"]
    assert (part["language"], part["text"]) == ("cloudformation", text)


def test_explain_names_the_volumes_of_the_set_and_what_they_become(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harness = Harness(instance=instance(baseline_iops=60_000, baseline_mibps=4_000.0))
    for name in ("vol-1", "vol-2"):
        harness.add(volume(ref=ref(name), tags=DATA))
    (decision,) = remediate(harness.ports, alarm(ref("vol-1")), harness.now)
    assert decision.group is not None
    file = str(
        written(tmp_path / "records.jsonl", harness.ledger.chain(decision.decision_id))
    )  # fmt: skip
    assert run(["explain", decision.decision_id, "--file", file]) == 0
    output = capsys.readouterr().out
    assert f"data: all become {decision.group.shared}" in output
    assert all(f"(decision {member.decision_id})" in output for member in decision.group.members)
    assert run(["explain", decision.decision_id, "--file", file, "--json"]) == 0
    group = json.loads(capsys.readouterr().out)["group"]
    assert group["members"]["vol-1"] == decision.decision_id
    assert set(group["members"]) == {"vol-1", "vol-2"}


@pytest.mark.parametrize(
    ("tag", "says", "key", "value"),
    [
        ("managed-by=terraform", "Owned by Terraform as well", "code_owner", "Terraform"),
        ("headroom:group=data", "Of the striped set data", "group", "data"),
        ("headroom:group=", "that its tags do not agree on", "group", ""),
    ],
)
def test_policy_show_lists_both(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tag: str, says: str,
    key: str, value: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(ROOT)
    words = ["policy", "show", "--type", "gp3", "--tag", tag]
    assert run(words) == 0
    assert says in capsys.readouterr().out
    assert run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[key] == value
