"""Which deployments `headroom hub` asks, and what is refused before anybody is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from headroom.cli.hub.spokes import Spoke, spokes_of
from headroom.cli.main import run
from headroom.cli.terminal.problems import BadRequest

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
