"""The sweep reports what is on record: every record to the bus, and what people switched to people."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headroom import wiring
from tests.builders import ACCOUNT, NOW, REGION
from tests.contracts.decisions import broken
from tests.lambdas.conftest import ARN, Context, Deployment, emitted

Sweep = Callable[..., dict[str, Any]]
Capture = pytest.CaptureFixture[str]


class Heard:
    """What a queue behind a rule and a queue behind the topic have received."""

    def __init__(self, deployment: Deployment) -> None:
        self.sqs = deployment.client("sqs")
        self.urls = {n: self.sqs.create_queue(QueueName=n)["QueueUrl"] for n in ("bus", "topic")}
        arns = {n: f"arn:aws:sqs:{REGION}:{ACCOUNT}:{n}" for n in self.urls}
        events, sns = deployment.client("events"), deployment.client("sns")
        events.put_rule(Name="all", EventPattern='{"source":["headroom"]}', State="ENABLED")
        events.put_targets(Rule="all", Targets=[{"Id": "1", "Arn": arns["bus"]}])
        sns.subscribe(
            TopicArn=deployment.settings.topic_arn, Protocol="sqs", Endpoint=arns["topic"],
            Attributes={"RawMessageDelivery": "true"},
        )  # fmt: skip

    def of(self, queue: str) -> list[Any]:
        found: list[Any] = []
        url = self.urls[queue]
        while True:
            got = self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages")
            if not got:
                return found
            for one in got:
                found.append(json.loads(one["Body"]))
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])


def test_what_the_sweep_did_is_on_the_bus_and_in_blocks_for_machines(
    deployment: Deployment, sweep: Sweep
) -> None:
    heard = Heard(deployment)
    volume = deployment.volume()
    deployment.starve(volume)
    sweep()
    assert heard.of("bus") == [], "the next run of the dispatcher publishes"
    deployment.set_clock(NOW + timedelta(minutes=1))
    sweep()
    events = heard.of("bus")
    assert [e["detail"]["step"] for e in events] == ["decided", "intended", "applied"]
    assert {e["detail-type"] for e in events} == {"Headroom Decision", "Headroom Change"}
    (message,) = heard.of("topic")
    assert message["headroom"]["decision_id"] == events[0]["detail"]["decision_id"]
    assert message["blocks"][0]["type"] == "header"
    deployment.set_clock(NOW + timedelta(minutes=2))
    sweep()
    assert heard.of("bus") == []


def test_a_pause_is_reported_by_the_next_sweep_once(deployment: Deployment, sweep: Sweep) -> None:
    heard = Heard(deployment)
    ledger: Any = wiring.begin(ARN).ports.ledger
    ledger.pause(None, at=NOW, who="ann", reason="migration")
    for minute in range(3):
        deployment.set_clock(NOW + timedelta(minutes=minute))
        sweep()
    (message,) = heard.of("topic")
    assert (message["kind"], message["headroom"]["region"]) == ("paused", REGION)
    assert "migration" in message["plain_text"]
    assert [e["detail-type"] for e in heard.of("bus")] == ["Headroom Stop"]


def test_open_breakers_are_counted_for_their_alarm(
    deployment: Deployment, sweep: Sweep, capsys: Capture
) -> None:
    sweep()
    assert "ChangesStopped" not in emitted(capsys.readouterr().out)
    broken(wiring.begin(ARN).ports.ledger, "vol-1", at=NOW)
    sweep()
    assert emitted(capsys.readouterr().out)["ChangesStopped"] == 1


def test_a_bus_that_fails_is_counted_and_undoes_nothing(
    deployment: Deployment, sweep: Sweep, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)

    def fail(*_: object) -> None:
        raise RuntimeError("down")

    monkeypatch.setattr("headroom.adapters.events.bus.EventBus._put", fail)
    sweep()
    assert deployment.iops_of(volume) > 3000
    capsys.readouterr()
    deployment.set_clock(NOW + timedelta(minutes=1))
    sweep()
    metrics = emitted(capsys.readouterr().out)
    assert (metrics["SweepCompleted"], metrics["NotPublished"]) == (1, 3)


def test_a_ledger_that_fails_while_publishing_undoes_nothing(
    deployment: Deployment, sweep: Sweep, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("down")

    monkeypatch.setattr("headroom.adapters.ledger.summaries.RecordIndex.record_summaries", fail)
    sweep()
    assert deployment.iops_of(volume) > 3000
    metrics = emitted(capsys.readouterr().out)
    assert (metrics["SweepCompleted"], metrics["NotPublished"]) == (1, 1)


def test_without_time_left_the_next_sweep_reports(
    deployment: Deployment, sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard(deployment)
    wiring.begin(ARN).ports.ledger.pause(None, at=NOW, who="ann")  # type: ignore[attr-defined]
    with monkeypatch.context() as short:
        short.setattr(Context, "get_remaining_time_in_millis", lambda _: 10_000)
        sweep()
    assert heard.of("topic") == []
    sweep()
    assert len(heard.of("topic")) == 1


def test_the_day_is_reported_once_by_the_sweeps_after_its_time(
    deployment: Deployment, sweep: Sweep, capsys: Capture
) -> None:
    heard = Heard(deployment)
    deployment.starve(deployment.volume())
    sweep()
    heard.of("topic")
    seven = (NOW + timedelta(days=1)).replace(hour=7, minute=0)
    capsys.readouterr()
    for minute in range(6):
        deployment.set_clock(seven + timedelta(minutes=minute))
        sweep()
    (day,) = [m for m in heard.of("topic") if m["kind"] == "digest"]
    assert day["headroom"]["changes"] == 1
    assert "1 change" in day["subject"]
    assert "FailedNotifications" not in emitted(capsys.readouterr().out)


def test_a_day_that_cannot_be_reported_is_counted_and_tried_again(
    deployment: Deployment, sweep: Sweep, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard(deployment)
    sweep()
    wiring.begin(ARN).ports.ledger.pause(None, at=NOW, who="ann")  # type: ignore[attr-defined]
    deployment.set_clock(NOW + timedelta(minutes=1))
    sweep()
    heard.of("topic")
    seven = (NOW + timedelta(days=1)).replace(hour=7, minute=2)
    deployment.set_clock(seven)

    def fail(*_: object) -> None:
        raise RuntimeError("down")

    capsys.readouterr()
    with monkeypatch.context() as broken_topic:
        broken_topic.setattr("headroom.adapters.notifications.topic.SnsNotifier.send", fail)
        sweep()
    assert emitted(capsys.readouterr().out)["FailedNotifications"] == 1
    deployment.set_clock(seven + timedelta(minutes=1))
    sweep()
    assert [m["kind"] for m in heard.of("topic")] == ["digest"]


def test_breakers_that_cannot_be_read_do_not_end_their_alarm(
    deployment: Deployment, sweep: Sweep, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("down")

    monkeypatch.setattr("headroom.adapters.ledger.ledger.DynamoLedger.stop_state", fail)
    sweep()
    metrics = emitted(capsys.readouterr().out)
    assert metrics["ChangesStopped"] == 1
    assert metrics["SweepCompleted"] == 1
