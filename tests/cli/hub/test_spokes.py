"""Which deployments `headroom hub` asks, and what is refused before anybody is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import CredentialRetrievalError

from headroom.cli.hub import spokes
from headroom.cli.hub.spokes import Hub, HubOptions, Spoke, ask_each, spokes_of
from headroom.cli.main import run
from headroom.cli.terminal.problems import BadRequest
from headroom.requests import Verb

ONE = Spoke("111122223333", "eu-central-1")


def test_deployments_come_from_options_and_a_file_each_once(tmp_path: Path) -> None:
    file = tmp_path / "spokes.txt"
    file.write_text("# all\n\n111122223333/eu-central-1\n 111122223333/us-east-1/blue \n")
    assert spokes_of(["111122223333/eu-central-1"], file) == (
        ONE, Spoke("111122223333", "us-east-1", "blue"),
    )  # fmt: skip
    assert [str(one) for one in spokes_of(None, file)] == [
        "111122223333/eu-central-1", "111122223333/us-east-1/blue",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "1/eu-central-1", "111122223333", "111122223333/nowhere", "x/y/z"]
)
def test_what_names_no_deployment_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="ACCOUNT/REGION"):
        spokes_of([text], None)


def test_nobody_is_asked_without_a_deployment_or_a_file_that_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="Name deployments"):
        spokes_of(None, None)
    with pytest.raises(BadRequest, match=r"none.txt cannot be read: No such file or directory\.$"):
        spokes_of(None, tmp_path / "none.txt")


@pytest.mark.parametrize("bus", ["hub", "arn:aws:events:eu-central-1:999999999999:rule/hub"])
def test_events_are_redelivered_to_a_bus_alone(
    capsys: pytest.CaptureFixture[str], bus: str
) -> None:
    """Its ARN says in which Region."""
    assert run(["hub", "redeliver", "--queue", "https://sqs/queue", "--bus", bus]) == 2
    assert "is not the ARN of an event bus" in capsys.readouterr().err


def test_a_policy_that_makes_no_sense_is_published_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("defaults: {max_ipos: 1}\n")
    assert run(["hub", "publish", str(file), "--spoke", str(ONE)]) != 0
    assert "max_ipos" in capsys.readouterr().err


class Deployments:
    """A Lambda client: every deployment does what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def invoke(self, *, FunctionName: str, Payload: bytes) -> Mapping[str, Any]:
        self.asked.append(FunctionName.split(":")[4])
        return {"Payload": BytesIO(b'{"status": "done", "detail": "recorded"}')}


@pytest.mark.parametrize(
    "problem", ["a Region of no partition", "credentials that expire meanwhile"]
)
def test_one_that_cannot_be_asked_keeps_no_other_from_being_asked(
    problem: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pause is for an incident: every deployment gets it that can, and each has its line."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    region = "xx-foo-1" if problem.startswith("a Region") else "eu-west-1"
    every = [
        ONE, Spoke("111122224444", region),
        *(Spoke(f"11112222{n}", "eu-west-1") for n in range(5000, 5040)),
    ]  # fmt: skip
    hub, deployments = Hub(HubOptions(), every), Deployments()
    hub._lambdas = dict.fromkeys(hub._lambdas, deployments)
    if problem.startswith("credentials"):
        signed = spokes.signed

        def expired(*given: Any, **named: Any) -> dict[str, str]:
            if named["account_id"] == "111122224444":
                raise CredentialRetrievalError(provider="sso", error_msg="the token has expired")
            return signed(*given, **named)

        monkeypatch.setattr(spokes, "signed", expired)
    assert ask_each(hub, Verb.PAUSE, "incident", as_json=True) == 1
    answers = {one["spoke"]: one["status"] for one in json.loads(capsys.readouterr().out)}
    assert answers.pop(f"111122224444/{region}") == "unanswered"
    assert set(answers.values()) == {"done"}
    assert sorted(deployments.asked) == sorted(
        spoke.account_id for spoke in every if spoke.account_id != "111122224444"
    )


def test_answers_before_an_interrupt_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    hub, deployments = Hub(HubOptions(), [ONE]), Deployments()
    hub._lambdas = dict.fromkeys(hub._lambdas, deployments)
    waited = spokes.wait

    def interrupted(asked: Any) -> None:
        waited(asked)
        raise KeyboardInterrupt

    monkeypatch.setattr(spokes, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask_each(hub, Verb.PAUSE, "incident", as_json=True)
    assert [one["status"] for one in json.loads(capsys.readouterr().out)] == ["done"]
