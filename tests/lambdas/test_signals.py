"""The function behind the queue, end to end: an event comes in, a volume is relieved."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest

from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.adapters.ebs import EbsFleet
from headroom.adapters.retries import HIDDEN_S, retry_delay_s, tries_before_parking
from headroom.adapters.work import SqsWorkQueue
from headroom.adapters.work.messages import items_message
from headroom.domain.resources import ResourceRef
from headroom.domain.state import LedTo
from headroom.ports import ReadFailed, StorageView, WorkItem
from tests.adapters.events import deliveries as d
from tests.builders import NOW, ref
from tests.lambdas.conftest import Context, Deployment, emitted

Function = Callable[[str], ModuleType]
Capture = pytest.CaptureFixture[str]


def batch(*bodies: object) -> dict[str, Any]:
    """A queue's batch; a text stays as it is, anything else becomes JSON."""
    return {
        "Records": [
            {
                "messageId": f"m{i}",
                "body": body if isinstance(body, str) else json.dumps(body),
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:{d.REGION}:{d.ACCOUNT}:headroom",
                "awsRegion": d.REGION,
                "attributes": {},
                "messageAttributes": {},
                "receiptHandle": "r",
                "md5OfBody": "",
            }
            for i, body in enumerate(bodies)
        ]
    }


def alarm_for(volume_id: str) -> dict[str, Any]:
    return d.contributor(attributes={"VolumeId": volume_id})


def test_an_alarm_on_a_starving_enrolled_volume_raises_its_iops_on_record(
    deployment: Deployment, function: Function, capsys: Capture
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    answer = function("signals").handler(batch(alarm_for(volume)), Context())
    assert answer == {"batchItemFailures": []}
    assert deployment.iops_of(volume) > 3000
    assert deployment.steps() == ["applied", "decided", "intended"]
    assert emitted(capsys.readouterr().out) == {}


def test_a_volume_that_is_not_enrolled_is_decided_on_and_left_alone(
    deployment: Deployment, function: Function, capsys: Capture
) -> None:
    volume = deployment.volume(mode=None)
    deployment.starve(volume)
    function("signals").handler(batch(alarm_for(volume)), Context())
    assert deployment.iops_of(volume) == 3000
    assert deployment.steps() == ["decided"]
    assert emitted(capsys.readouterr().out) == {}


def test_the_same_event_twice_changes_the_volume_once(
    deployment: Deployment, function: Function
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    handler = function("signals").handler
    handler(batch(alarm_for(volume), alarm_for(volume)), Context())
    handler(batch(alarm_for(volume)), Context())
    changes = deployment.client("ec2").describe_volumes_modifications(VolumeIds=[volume])
    assert len(changes["VolumesModifications"]) == 1
    assert deployment.steps().count("intended") == 1


@pytest.mark.parametrize("body", ["no json {", "[" * 5000, "7", '{"id": "e-1"}', ""])
def test_what_nobody_understands_is_rejected_on_record_and_does_not_come_again(
    deployment: Deployment, function: Function, capsys: Capture, body: str
) -> None:
    answer = function("signals").handler(batch(body), Context())
    assert answer == {"batchItemFailures": []}
    assert deployment.steps() == ["rejected_signal"]
    assert emitted(capsys.readouterr().out) == {"RejectedSignals": 1}


def test_an_event_of_another_account_is_rejected(
    deployment: Deployment, function: Function
) -> None:
    function("signals").handler(batch(d.contributor() | {"account": "999999999999"}), Context())
    assert deployment.steps() == ["rejected_signal"]


def test_only_what_failed_comes_again(
    deployment: Deployment, function: Function, capsys: Capture
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    fails = d.query_alarm()  # moto knows no contributors, so that this read fails
    answer = function("signals").handler(batch(fails, alarm_for(volume)), Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert deployment.iops_of(volume) > 3000
    assert emitted(capsys.readouterr().out) == {}


def test_a_batch_of_which_all_failed_comes_again_without_failing_the_function(
    deployment: Deployment, function: Function
) -> None:
    answer = function("signals").handler(batch(d.query_alarm()), Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}]}


def test_what_failed_comes_again_after_a_delay_that_grows(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an outage: every reconciliation fails, and the message waits by how often it was received."""
    asked: list[dict[str, int]] = []
    monkeypatch.setattr(SqsWorkQueue, "retry_later", lambda _, received: asked.append(received))
    event = batch(d.query_alarm())
    for times in (1, 3):
        event["Records"][0]["attributes"] = {"ApproximateReceiveCount": str(times)}
        function("signals").handler(event, Context())
    assert asked == [{"r": 1}, {"r": 3}]


def test_what_kills_a_worker_each_time_waits_longer_as_well(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its next delivery is delayed before the work begins; else all of its tries were over in five hours."""
    asked: list[dict[str, int]] = []
    monkeypatch.setattr(SqsWorkQueue, "retry_later", lambda _, received: asked.append(received))
    module = function("signals")
    monkeypatch.setattr(module, "work", lambda *_, **__: sys.exit("out of memory"))
    event = batch(d.query_alarm())
    for times in range(1, tries_before_parking() + 1):
        event["Records"][0]["attributes"] = {"ApproximateReceiveCount": str(times)}
        with pytest.raises(SystemExit):
            module.handler(event, Context())
    hidden = [HIDDEN_S] * (tries_before_parking() - len(asked))
    hidden += [retry_delay_s(each["r"]) for each in asked]
    assert min(hidden) >= HIDDEN_S
    assert 24 * 3_600 <= sum(hidden) < 25 * 3_600


def test_what_there_is_no_time_for_is_not_begun_and_goes_back_to_the_queue(
    deployment: Deployment, function: Function, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    with monkeypatch.context() as short:
        short.setattr(Context, "get_remaining_time_in_millis", lambda _: 19_000)
        answer = function("signals").handler(batch(alarm_for(volume)), Context())
    assert answer == {"batchItemFailures": []}
    assert deployment.iops_of(volume) == 3000
    assert emitted(capsys.readouterr().out) == {}
    function("signals").handler({"Records": deployment.received()}, Context())
    assert deployment.iops_of(volume) > 3000


def test_what_cannot_be_put_back_is_delivered_again(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    monkeypatch.setattr(Context, "get_remaining_time_in_millis", lambda _: 19_000)
    sqs = deployment.client("sqs")
    sqs.delete_queue(QueueUrl=deployment.settings.queue_url)
    answer = function("signals").handler(batch(alarm_for(volume)), Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}]}


def test_an_event_within_a_minute_of_a_reconciliation_waits_and_an_older_one_is_answered(
    deployment: Deployment, function: Function
) -> None:
    volume = deployment.volume(mode=None)
    deployment.starve(volume)
    handler = function("signals").handler
    handler(batch(alarm_for(volume)), Context())
    assert deployment.steps() == ["decided"]
    deployment.set_clock(NOW + timedelta(seconds=30))
    handler(batch(alarm_for(volume) | {"time": "2026-01-05T12:00:20Z"}), Context())
    assert deployment.steps() == ["decided"]
    assert waiting(deployment) == 1, "it is put back for a minute"
    handler(batch(alarm_for(volume) | {"time": "2026-01-05T11:59:20Z"}), Context())
    assert waiting(deployment) == 1


def test_an_alarm_with_many_contributors_is_spread_over_other_workers(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = tuple(ref(f"vol-{number}") for number in range(100))
    monkeypatch.setattr(CloudWatchMetrics, "contributors", lambda *_: refs)
    answer = function("signals").handler(batch(d.query_alarm()), Context())
    assert answer == {"batchItemFailures": []}
    messages = [deployment.received(), deployment.received()]
    every = [
        json.loads(one["body"])["headroom_work"]["items"] for batch in messages for one in batch
    ]
    assert [len(items) for items in every] == [10] * 10
    assert {item["arn"] for items in every for item in items} == {one.arn for one in refs}


def test_of_a_message_with_several_only_what_failed_goes_back_alone(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = deployment.volume(mode=None)
    deployment.starve(volume)
    broken, whole = ref("vol-broken"), ref(volume)
    items = [
        WorkItem(ref=one, trigger="alarm", since=NOW, must_record=True) for one in (broken, whole)
    ]
    view = EbsFleet.view

    def fail(self: EbsFleet, of: ResourceRef) -> StorageView:
        if of == broken:
            raise ReadFailed("DescribeVolumes: RequestLimitExceeded")
        return view(self, of)

    monkeypatch.setattr(EbsFleet, "view", fail)
    handler = function("signals").handler
    assert handler(batch(items_message(items)), Context()) == {"batchItemFailures": []}
    assert deployment.steps() == ["decided"]
    (alone,) = deployment.received()
    answer = handler({"Records": [alone]}, Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": alone["messageId"]}]}


def test_each_event_about_a_volume_that_failed_gets_its_result(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in a message of its own, which comes again, and one in a message of several, which does not."""
    failed, whole = deployment.volume(mode=None), deployment.volume(mode=None)
    for volume in (failed, whole):
        deployment.starve(volume)
    view, views = EbsFleet.view, EbsFleet.views

    def fail(self: EbsFleet, of: ResourceRef) -> StorageView:
        if of.resource_id == failed:
            raise ReadFailed("DescribeVolumes: RequestLimitExceeded")
        return view(self, of)

    def others(self: EbsFleet, refs: Sequence[ResourceRef]) -> Mapping[str, StorageView]:
        return views(self, [one for one in refs if one.resource_id != failed])

    alone = d.metric_alarm(failed) | {"id": "alone"}
    several = d.metric_alarm(failed, whole) | {"id": "several"}
    handler = function("signals").handler
    with monkeypatch.context() as outage:
        outage.setattr(EbsFleet, "view", fail)
        outage.setattr(EbsFleet, "views", others)
        answer = handler(batch(alone, several), Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    handler(batch(alone), Context())
    handler({"Records": deployment.received()}, Context())
    led_to = {name: record.outcome.led_to for name, record in deployment.events().items()}
    assert set(led_to) == {"alone", "several"}
    assert LedTo.UNREADABLE not in led_to.values()


def waiting(deployment: Deployment) -> int:
    """Messages that come later."""
    found = deployment.client("sqs").get_queue_attributes(
        QueueUrl=deployment.settings.queue_url,
        AttributeNames=["ApproximateNumberOfMessagesDelayed"],
    )
    return int(found["Attributes"]["ApproximateNumberOfMessagesDelayed"])


def test_a_message_that_could_not_be_sent_is_counted(
    deployment: Deployment, function: Function, capsys: Capture
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    deployment.client("sns").delete_topic(TopicArn=deployment.settings.topic_arn)
    function("signals").handler(batch(alarm_for(volume)), Context())
    assert deployment.iops_of(volume) > 3000
    assert emitted(capsys.readouterr().out) == {"FailedNotifications": 1}


def test_an_event_about_a_volume_that_is_gone_is_done_with(
    deployment: Deployment, function: Function
) -> None:
    answer = function("signals").handler(batch(d.contributor(), d.notification()), Context())
    assert answer == {"batchItemFailures": []}
    assert deployment.steps() == []


@pytest.mark.parametrize("text", ["{", '{"defaults": {"max_iops": -1}}'])
def test_an_unreadable_policy_changes_nothing_and_says_so(
    deployment: Deployment, function: Function, text: str
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    deployment.publish_policy(text)
    answer = function("signals").handler(batch(alarm_for(volume)), Context())
    assert answer == {"batchItemFailures": []}
    assert deployment.iops_of(volume) == 3000
    assert deployment.steps() == ["decided"]


def test_a_policy_published_between_two_invocations_is_in_force_at_the_second(
    deployment: Deployment, function: Function
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    handler = function("signals").handler
    deployment.publish_policy("{")
    handler(batch(alarm_for(volume)), Context())
    assert deployment.iops_of(volume) == 3000
    deployment.publish_policy('{"defaults": {}}')
    deployment.set_clock(NOW + timedelta(minutes=1))
    handler(batch(alarm_for(volume) | {"time": "2026-01-05T12:01:00Z"}), Context())
    assert deployment.iops_of(volume) > 3000


def test_a_decision_is_logged_with_its_id_and_resource(
    deployment: Deployment, function: Function, caplog: pytest.LogCaptureFixture
) -> None:
    volume = deployment.volume()
    deployment.starve(volume)
    function("signals").handler(batch(alarm_for(volume)), Context())
    (logged,) = [r.__dict__ for r in caplog.records if hasattr(r, "decision_id")]
    assert logged["resource"].endswith(volume)
    assert logged["answer"] == "Act"
    assert len(logged["decision_id"]) >= 16


@pytest.mark.parametrize("other", [{"account_id": "999999999999"}, {"region": "eu-west-1"}])
def test_work_about_a_resource_of_another_place_is_never_done(
    deployment: Deployment, function: Function, other: dict[str, str]
) -> None:
    """It is delivered again, and parked in the end."""
    volume = deployment.volume()
    deployment.starve(volume)
    items = [
        WorkItem(ref=replace(of, **other), trigger="alarm", since=NOW, must_record=True, events=())
        for of in (ref(volume),)
    ]
    answer = function("signals").handler(batch(items_message(items)), Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert deployment.iops_of(volume) == 3_000
    assert deployment.steps() == []
