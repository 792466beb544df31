"""Every event leaves one record of what it led to, whatever becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.adapters.ebs import EbsFleet
from headroom.adapters.ledger import DynamoLedger
from headroom.domain.state import EventRecord, LedTo
from headroom.ports import ContributorsUnknown, ReadFailed
from tests.adapters.events import deliveries as d
from tests.builders import NOW, ref
from tests.lambdas.conftest import Context, Deployment
from tests.lambdas.test_signals import Function, alarm_for, batch


def named(event_id: str, event: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return event | {"id": event_id} | changes


def led_to(deployment: Deployment) -> dict[str, LedTo]:
    return {name: record.outcome.led_to for name, record in deployment.events().items()}


def test_a_storm_of_alarms_on_few_volumes_leaves_a_record_for_each_event(
    deployment: Deployment, function: Function
) -> None:
    volumes = [deployment.volume(mode=None) for _ in range(2)]
    for volume in volumes:
        deployment.starve(volume)
    storm = [named(f"e{n}", alarm_for(volumes[n % 2])) for n in range(10)]
    handler = function("signals").handler
    handler(batch(*storm), Context())
    handler(batch(*storm[:3]), Context())
    found = deployment.events()
    assert set(found) == {f"e{n}" for n in range(10)}
    assert {record.outcome.led_to for record in found.values()} == {LedTo.DECISION}
    assert len({record.outcome.which for record in found.values()}) == 2
    assert {r.resources for r in found.values()} == {(ref(volume).arn,) for volume in volumes}


def test_an_event_that_waits_for_a_minute_gets_its_record_then(
    deployment: Deployment, function: Function
) -> None:
    volume = deployment.volume(mode=None)
    deployment.starve(volume)
    handler = function("signals").handler
    handler(batch(named("first", alarm_for(volume))), Context())
    deployment.set_clock(NOW + timedelta(seconds=30))
    handler(batch(named("busy", alarm_for(volume), time="2026-01-05T12:00:20Z")), Context())
    handler(batch(named("late", alarm_for(volume), time="2026-01-05T11:59:20Z")), Context())
    assert led_to(deployment) == {"first": LedTo.DECISION, "late": LedTo.COALESCED}
    assert deployment.events()["late"].outcome.which == NOW.isoformat()


def test_what_is_put_back_keeps_its_events(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = deployment.volume(mode=None)
    deployment.starve(volume)
    handler = function("signals").handler
    with monkeypatch.context() as short:
        short.setattr(Context, "get_remaining_time_in_millis", lambda _: 19_000)
        handler(batch(named("a", alarm_for(volume)), named("b", alarm_for(volume))), Context())
    assert deployment.events() == {}
    handler({"Records": deployment.received()}, Context())
    assert led_to(deployment) == {"a": LedTo.DECISION, "b": LedTo.DECISION}


@pytest.mark.parametrize("port", [EbsFleet, CloudWatchMetrics])
def test_an_event_that_cannot_be_read_says_so_until_it_can(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch, port: type
) -> None:
    volume = deployment.volume(mode=None)
    deployment.starve(volume)
    handler, event = function("signals").handler, batch(named("e", alarm_for(volume)))

    def fail(*_: object) -> None:
        raise ReadFailed("RequestLimitExceeded")

    with monkeypatch.context() as outage:
        outage.setattr(port, "view" if port is EbsFleet else "activity", fail)
        if port is EbsFleet:
            outage.setattr(port, "views", fail)
        assert handler(event, Context())["batchItemFailures"] == [{"itemIdentifier": "m0"}]
    assert led_to(deployment) == {"e": LedTo.UNREADABLE}
    assert "RequestLimitExceeded" in deployment.events()["e"].outcome.detail
    assert handler(event, Context()) == {"batchItemFailures": []}
    assert led_to(deployment) == {"e": LedTo.DECISION}


def test_an_event_that_cannot_be_recorded_is_delivered_again(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = deployment.volume(mode=None)
    deployment.starve(volume)
    handler, event = function("signals").handler, batch(named("e", alarm_for(volume)))

    def fail(*_: object) -> None:
        raise ReadFailed("PutItem")

    with monkeypatch.context() as outage:
        outage.setattr(DynamoLedger, "record_events", fail)
        assert handler(event, Context())["batchItemFailures"] == [{"itemIdentifier": "m0"}]
    deployment.set_clock(NOW + timedelta(minutes=2))
    handler(event, Context())
    assert set(deployment.events()) == {"e"}


def test_an_event_that_cannot_be_recorded_keeps_no_other_from_its_record(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    volumes = [deployment.volume(mode=None) for _ in range(3)]
    for one in volumes:
        deployment.starve(one)
    handler, record_events = function("signals").handler, DynamoLedger.record_events

    def refuse(ledger: DynamoLedger, records: Sequence[EventRecord]) -> None:
        if any(one.event.event_id == "bad" for one in records):
            raise ReadFailed("TransactWriteItems: ValidationException")
        record_events(ledger, records)

    monkeypatch.setattr(DynamoLedger, "record_events", refuse)
    names = ("first", "bad", "last")
    events = [named(name, alarm_for(one)) for name, one in zip(names, volumes, strict=True)]
    assert handler(batch(*events), Context())["batchItemFailures"] == [{"itemIdentifier": "m1"}]
    assert set(deployment.events()) == {"first", "last"}


def test_what_leads_to_no_decision_says_why(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    off, changing = deployment.volume(mode="off"), deployment.volume()
    deployment.starve(changing)
    handler = function("signals").handler
    handler(batch(named("acts", alarm_for(changing))), Context())
    deployment.set_clock(NOW + timedelta(minutes=2))
    monkeypatch.setattr(
        CloudWatchMetrics, "contributors", lambda *_: tuple(ref(f"vol-{n}") for n in range(100))
    )
    muted = alarm_for(changing)
    muted["detail"] = muted["detail"] | {"muteDetail": {"mutedBy": "x"}}
    after = "2026-01-05T12:01:00Z"
    handler(
        batch(
            named("off", alarm_for(off)),
            named("open", alarm_for(changing), time=after),
            named("gone", alarm_for("vol-0123456789abcdef0")),
            named("spread", d.query_alarm()),
            named("muted", muted),
            named("created", d.notification(event="createVolume")),
        ),
        Context(),
    )
    assert led_to(deployment) == {
        "acts": LedTo.DECISION, "off": LedTo.OFF, "open": LedTo.CHANGE_OPEN, "gone": LedTo.GONE,
        "spread": LedTo.SPREAD, "muted": LedTo.MUTED, "created": LedTo.IRRELEVANT,
    }  # fmt: skip
    found = deployment.events()
    assert found["open"].outcome.which == found["acts"].outcome.which
    assert len(found["spread"].resources) == 4


def test_an_alarm_whose_contributors_aws_will_not_say_is_recorded_and_left_to_the_scan(
    deployment: Deployment, function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> None:
        raise ContributorsUnknown("the contributors of alarm fleet are not known: AccessDenied")

    monkeypatch.setattr(CloudWatchMetrics, "contributors", denied)
    answer = function("signals").handler(batch(d.query_alarm()), Context())
    assert answer == {"batchItemFailures": []}
    (record,) = deployment.events().values()
    assert record.outcome.led_to is LedTo.SCAN
    assert "AccessDenied" in record.outcome.detail
    assert record.outcome.final
