"""The example workflow: an event that Headroom publishes becomes a pull request with the right diff."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from cfnlint.api import lint
from cfnlint.config import ManualArgs
from moto.events.models import EventPattern

from headroom.adapters.events.bus import entry
from headroom.domain.decision import Decision, decide
from headroom.domain.state import Step
from headroom.ports import Recorded
from tests import ROOT
from tests.adapters.events.test_bus import as_received, decided
from tests.builders import decision_input, gp3, ref, starved_gp3, volume
from tests.cli.sources.chains import chain
from tests.cli.writeback.repository import VOLUME, git, repository

EXAMPLE = ROOT / "examples" / "pull-request"
OWNED = (("headroom", "auto"), ("ManagedBy", "terraform"), ("Name", "orders-data"))
MAIN = 'resource "aws_ebs_volume" "data" {\n  type = "gp3"\n  size = 100\n  tags = { Name = "orders-data" }\n}\n'
RESOURCES = yaml.safe_load(
    re.sub(r"!(Sub|GetAtt|Ref) ", "", (EXAMPLE / "rule.yaml").read_text(encoding="utf-8"))
)["Resources"]
RULE = RESOURCES["Rule"]["Properties"]


def decision(tags: tuple[tuple[str, str], ...] = OWNED) -> Decision:
    return decide(decision_input(starved_gp3(vol=volume(gp3(), ref=ref(VOLUME), tags=tags))))


def applied(made: Decision) -> dict[str, Any]:
    """The event of the record that AWS accepted the change, as a rule receives it."""
    (_, record) = chain(made, [(Step.APPLIED, "AWS accepted the change.", 0)])
    return as_received(entry(Recorded(record=record, decision=made)))


def payload(event: dict[str, Any]) -> dict[str, Any]:
    """The `client_payload` that the rule's transformer makes of an event."""
    transformer = RULE["Targets"][0]["InputTransformer"]
    assert transformer["InputPathsMap"] == {"detail": "$.detail"}
    sent = json.loads(transformer["InputTemplate"].replace("<detail>", json.dumps(event["detail"])))
    assert sent["event_type"] == "headroom"
    assert len(json.dumps(sent)) < 64_000  # GitHub takes no more
    return dict(sent["client_payload"])


GH = """cd "{folder}"
[ "$1 $2" = "pr list" ] && {{ [ "$3 $4 $5 $6" = "--head $(sed -n 4p gh.txt) --state all" ] && echo 7; exit 0; }}
[ -e refused ] && exit 1
printf "%s\\n" "$@" > gh.txt; cat > body.txt
"""


@pytest.fixture
def runner(tmp_path: Path) -> dict[str, str]:
    """The environment of a job: a checkout with a remote, `headroom`, and a `gh` of one pull request.

    The file `refused` makes it refuse to create one.
    """
    for name in ("bin", "temp", "code"):
        (tmp_path / name).mkdir()
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    code = repository(tmp_path / "code", {"live/main.tf": MAIN})
    git(code, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first")
    git(code, "remote", "add", "origin", str(tmp_path / "remote.git"))
    for name, text in (
        ("gh", GH.format(folder=tmp_path)),
        ("headroom", f'exec "{sys.executable}" -m headroom.cli.main "$@"'),
    ):
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
    return {
        **os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
        "RUNNER_TEMP": str(tmp_path / "temp"), "HOME": str(tmp_path),
    }  # fmt: skip


def run_job(folder: Path, environment: dict[str, str], client_payload: dict[str, Any]) -> list[int]:
    """The exit codes of the workflow's own steps, as its runner would run them."""
    workflow = yaml.safe_load((EXAMPLE / "workflow.yaml").read_text(encoding="utf-8"))
    assert workflow[True] == {"repository_dispatch": {"types": ["headroom"]}}
    job = workflow["jobs"]["pull-request"]
    assert job["env"]["EVENT"] == "${{ toJSON(github.event.client_payload) }}"
    codes = []
    for step in job["steps"]:
        script = step.get("run", "")
        assert "${{" not in script  # nothing of an event is part of a script
        if script and step["name"] != "Install Headroom":
            made = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=folder,
                env={**environment, "EVENT": json.dumps(client_payload, indent=2)}, check=False,
            )  # fmt: skip
            codes.append(made.returncode)
            if made.returncode:
                break
    return codes


def test_a_change_becomes_one_pull_request_though_its_event_comes_twice(
    tmp_path: Path, runner: dict[str, str]
) -> None:
    made = decision()
    assert made.plan is not None
    target, code = made.plan.target, tmp_path / "code"
    event = applied(made)
    assert EventPattern.load(json.dumps(RULE["EventPattern"])).matches_event(event)
    assert run_job(code, runner, payload(event)) == [0, 0]
    branch = f"headroom/{made.decision_id}"
    words = (tmp_path / "gh.txt").read_text().splitlines()
    assert words[:4] == ["pr", "create", "--head", branch]
    assert made.observation.volume.ref.arn in (tmp_path / "body.txt").read_text()
    diff = git(tmp_path / "remote.git", "show", "-U0", "--format=", branch)
    assert [line for line in diff.splitlines() if line.startswith("+ ")] == [
        f"+  iops = {target.iops}", f"+  throughput = {target.throughput_mibps}",
    ]  # fmt: skip
    (tmp_path / "body.txt").unlink()
    git(code, "switch", "-q", "-")
    assert run_job(code, runner, payload(event)) == [0, 0]
    assert not (tmp_path / "body.txt").exists()


def test_a_pull_request_that_failed_is_made_by_the_next_run(
    tmp_path: Path, runner: dict[str, str]
) -> None:
    made, code = decision(), tmp_path / "code"
    (tmp_path / "refused").touch()
    (tmp_path / "gh.txt").touch()
    assert run_job(code, runner, payload(applied(made))) == [0, 1]
    branch = f"headroom/{made.decision_id}"
    pushed = git(tmp_path / "remote.git", "rev-parse", branch)
    (tmp_path / "refused").unlink()
    git(code, "switch", "-q", "-")
    assert run_job(code, runner, payload(applied(made))) == [0, 0]
    assert (tmp_path / "gh.txt").read_text().splitlines()[:4] == ["pr", "create", "--head", branch]
    assert git(tmp_path / "remote.git", "rev-parse", branch) == pushed


def test_what_cannot_be_patched_fails_the_job(tmp_path: Path, runner: dict[str, str]) -> None:
    code = tmp_path / "code"
    (code / "live" / "main.tf").write_text(MAIN * 2, encoding="utf-8")
    assert run_job(code, runner, payload(applied(decision()))) == [1]


def test_the_rule_leaves_out_what_no_code_owns_and_what_was_not_made() -> None:
    pattern = EventPattern.load(json.dumps(RULE["EventPattern"]))
    nobody = decision((("headroom", "auto"),))
    assert not pattern.matches_event(applied(nobody))
    assert not pattern.matches_event(as_received(entry(decided(decision()))))


def test_an_event_that_github_does_not_take_is_kept_and_alarms() -> None:
    assert RULE["Targets"][0]["DeadLetterConfig"] == {"Arn": "Undelivered.Arn"}
    (allowed,) = RESOURCES["UndeliveredPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    assert RESOURCES["UndeliveredPolicy"]["Properties"]["Queues"] == ["Undelivered"]
    assert allowed == {
        "Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": "Undelivered.Arn", "Condition": {"ArnEquals": {"aws:SourceArn": "Rule.Arn"}},
    }  # fmt: skip
    alarm = RESOURCES["UndeliveredAlarm"]["Properties"]
    assert alarm["MetricName"] == "ApproximateNumberOfMessagesVisible"
    assert alarm["Dimensions"] == [{"Name": "QueueName", "Value": "Undelivered.QueueName"}]
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert alarm["AlarmActions"] == ["AlarmTopic"]


def test_the_rules_template_is_one() -> None:
    text = (EXAMPLE / "rule.yaml").read_text(encoding="utf-8")
    assert lint(text, config=ManualArgs(regions=["us-east-1"])) == []
