"""Events are hints: understood, of no consequence, or rejected on record; never guessed at."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.adapters.events.signals import EXCERPT, parse
from headroom.domain.resources import Claim, RejectedSignal, Signal
from tests.adapters.events import deliveries as d


def read_bookmark(event: object) -> tuple[Signal, ...]:
    parsed = parse(event)
    assert not isinstance(parsed, RejectedSignal), parsed.reason
    return parsed


def test_a_contributor_in_alarm_is_pressure_on_its_volume() -> None:
    (signal,) = read_bookmark(d.contributor(attributes={"VolumeId": d.VOLUME, "InstanceId": "i-1"}))
    assert signal.claim is Claim.PRESSURE
    assert signal.ref is not None
    assert signal.ref.arn == f"arn:aws:ec2:{d.REGION}:{d.ACCOUNT}:volume/{d.VOLUME}"
    assert signal.alarm_name == d.ALARM
    assert signal.claimed_at == datetime(2026, 1, 5, 12, tzinfo=UTC)
    assert not signal.muted


def test_a_query_alarm_as_a_whole_asks_for_a_reconciliation_of_its_contributors() -> None:
    (signal,) = read_bookmark(d.query_alarm())
    assert signal.claim is Claim.CHECK_CONTRIBUTORS
    assert signal.alarm_name == d.ALARM
    assert signal.ref is None


@pytest.mark.parametrize("state", ["ALARM", "OK", "INSUFFICIENT_DATA"])
def test_partial_data_asks_for_a_reconciliation_in_whatever_state(state: str) -> None:
    (signal,) = read_bookmark(d.query_alarm(state, evaluationState="PARTIAL_DATA"))
    assert signal.claim is Claim.CHECK_CONTRIBUTORS


@pytest.mark.parametrize(
    "event",
    [
        d.contributor("OK"),
        d.query_alarm("OK"),
        d.query_alarm("INSUFFICIENT_DATA"),
        d.query_alarm("OK", evaluationState="EVALUATION_ERROR"),
        d.metric_alarm(d.VOLUME, state="OK"),
    ],
)
def test_an_ok_is_never_relief(event: object) -> None:
    (signal,) = read_bookmark(event)
    assert signal.claim is Claim.NOTHING


def test_an_alarm_on_metrics_is_pressure_on_each_volume_it_names_once() -> None:
    signals = read_bookmark(d.metric_alarm("vol-1", "vol-2", "vol-1"))
    assert [s.claim for s in signals] == [Claim.PRESSURE] * 2
    assert [s.ref.resource_id for s in signals if s.ref] == ["vol-1", "vol-2"]


def test_an_alarm_about_no_volume_is_of_no_consequence() -> None:
    composite = d.query_alarm()
    composite["detail"]["configuration"] = {"alarmRule": "ALARM(a) OR ALARM(b)"}
    for event in (composite, d.metric_alarm()):
        (signal,) = read_bookmark(event)
        assert signal.claim is Claim.NOTHING


@pytest.mark.parametrize(
    "event", [d.contributor(muteDetail=d.MUTED), d.query_alarm() | {}, d.metric_alarm(d.VOLUME)]
)
def test_a_muted_alarm_says_so(event: dict[str, Any]) -> None:
    event = copy.deepcopy(event)
    event["detail"]["muteDetail"] = d.MUTED
    assert all(signal.muted for signal in read_bookmark(event))


@pytest.mark.parametrize("result", ["modifying", "optimizing", "completed", "failed", "new", ""])
@pytest.mark.parametrize("event", ["modifyVolume", " modifyVolume"])
def test_a_modification_with_any_result_means_go_and_ask(event: str, result: str) -> None:
    (signal,) = read_bookmark(d.notification(event, result))
    assert signal.claim is Claim.MODIFICATION
    assert signal.ref is not None
    assert signal.ref.resource_id == d.VOLUME


@pytest.mark.parametrize("place", ["eu-west-1:123456789012", "us-east-1:999999999999"])
def test_a_modification_of_a_volume_elsewhere_is_not_one_of_ours(place: str) -> None:
    event = d.notification()
    event["resources"] = [f"arn:aws:ec2:{place}:volume/{d.VOLUME}"]
    parsed = parse(event)
    assert isinstance(parsed, RejectedSignal)
    assert "another place" in parsed.reason


@pytest.mark.parametrize(
    "event", ["createVolume", "deleteVolume", "attachVolume", " initializeVolume", "unheardOf"]
)
def test_other_notifications_of_ebs_are_of_no_consequence(event: str) -> None:
    (signal,) = read_bookmark(d.notification(event, "available"))
    assert signal.claim is Claim.NOTHING


@pytest.mark.parametrize(
    "parameters",
    [
        {"ModifyVolumeRequest": {"VolumeId": d.VOLUME, "Size": 500}},
        {"ModifyVolumeRequest": {"volumeId": d.VOLUME}},
        {"VolumeId": d.VOLUME},
        {"volumeId": d.VOLUME},
        {"ModifyVolumeRequest": "", "volumeId": d.VOLUME},
    ],
)
def test_a_call_by_somebody_is_a_modification_wherever_the_volume_is_named(
    parameters: object,
) -> None:
    (signal,) = read_bookmark(d.api_call(parameters))
    assert signal.claim is Claim.MODIFICATION
    assert signal.ref is not None
    assert signal.ref.resource_id == d.VOLUME


@pytest.mark.parametrize(
    "event",
    [
        d.api_call(errorCode="Client.VolumeModificationRateExceeded"),
        d.api_call(errorCode="Client.DryRunOperation"),
        d.api_call(name="DescribeVolumes"),
        d.api_call(eventSource="rds.amazonaws.com"),
    ],
)
def test_a_failed_or_foreign_call_is_of_no_consequence(event: object) -> None:
    (signal,) = read_bookmark(event)
    assert signal.claim is Claim.NOTHING


def _without(event: dict[str, Any], *path: str) -> dict[str, Any]:
    event = copy.deepcopy(event)
    place = event
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return event


REJECTED: list[tuple[object, str]] = [
    (None, "not an object"),
    ("not json at all {", "not an object"),
    ([d.contributor()], "not an object"),
    ({}, "id is missing"),
    ({"alarmData": {"alarmName": "x"}, "source": "aws.cloudwatch"}, "id is missing"),
    (_without(d.contributor(), "detail"), "detail is not an object"),
    (_without(d.contributor(), "region"), "region is missing"),
    (_without(d.contributor(), "detail", "alarmName"), "alarmName is missing"),
    (_without(d.contributor(), "detail", "state"), "detail.state is not an object"),
    (_without(d.contributor(), "detail", "alarmContributor"), "alarmContributor"),
    (_without(d.query_alarm(), "detail", "configuration"), "configuration"),
    (d.contributor("PANIC"), "detail.state.value is 'PANIC'"),
    (d.contributor(attributes={"TableName": "orders"}), "names no volume"),
    (d.contributor(attributes={"VolumeId": "Other"}), "names no volume"),
    (d.contributor(attributes={"VolumeId": "vol-1; drop"}), "names no volume"),
    (d.contributor(attributes={"VolumeId": 7}), "names no volume"),
    (d.contributor() | {"time": "noon"}, "no instant"),
    (d.contributor() | {"time": "9999-12-31T23:59:59Z"}, "no instant"),
    (d.contributor() | {"time": "0001-01-01T00:00:00Z"}, "no instant"),
    (d.contributor() | {"time": 1767614400}, "time is missing or no text"),
    (d.contributor() | {"source": "aws.rds"}, "no event of ours"),
    (d.contributor() | {"detail-type": "CloudWatch Alarm Configuration Change"}, "no event"),
    (d.notification() | {"resources": []}, "names no volume"),
    (d.notification() | {"resources": ["arn:aws:ec2:us-east-1::volume/"]}, "names no volume"),
    (d.api_call({"ModifyVolumeRequest": {}}), "names no volume"),
    (d.api_call("VolumeId"), "requestParameters is not an object"),
]


@pytest.mark.parametrize(("event", "says"), REJECTED)
def test_an_unknown_shape_is_rejected_with_the_reason(event: object, says: str) -> None:
    parsed = parse(event)
    assert isinstance(parsed, RejectedSignal)
    assert says in parsed.reason
    assert parsed.event_id
    assert len(parsed.excerpt) <= EXCERPT


@pytest.mark.parametrize("place", [{"account_id": "999999999999"}, {"region": "eu-west-1"}])
def test_an_event_from_elsewhere_is_rejected(place: dict[str, str]) -> None:
    parsed = parse(d.contributor(), **place)
    assert isinstance(parsed, RejectedSignal)
    assert "not ours" in parsed.reason


def test_the_same_rejected_event_has_the_same_id_each_time() -> None:
    first, again = parse({"a": 1, "b": 2}), parse({"b": 2, "a": 1})
    assert isinstance(first, RejectedSignal)
    assert isinstance(again, RejectedSignal)
    assert first.event_id == again.event_id
    other = parse({"a": 2})
    assert isinstance(other, RejectedSignal)
    assert other.event_id != first.event_id


@pytest.mark.parametrize("own", ["\ud800", "", "a b", "x" * 129, 7, None])
def test_an_id_that_could_not_be_a_key_is_replaced_by_a_hash(own: object) -> None:
    parsed = parse({"id": own})
    assert isinstance(parsed, RejectedSignal)
    assert parsed.event_id.startswith("sha256-")
    assert (parsed.event_id + parsed.reason + parsed.excerpt).encode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
GOOD = st.sampled_from(
    [
        d.contributor(), d.query_alarm(), d.metric_alarm(d.VOLUME), d.notification(),
        d.api_call(),
    ]
)  # fmt: skip


def _places(value: object) -> list[tuple[str | int, ...]]:
    """Every path inside a JSON value."""
    children: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [(key, *rest) for key, child in children for rest in [(), *_places(child)]]


@given(JSON)
def test_nothing_that_json_can_hold_makes_it_raise(event: object) -> None:
    assert isinstance(parse(event), RejectedSignal)


@given(event=GOOD, data=st.data(), junk=JSON)
def test_an_event_with_any_part_replaced_by_anything_never_makes_it_raise(
    event: dict[str, Any], data: st.DataObject, junk: object
) -> None:
    event = copy.deepcopy(event)
    path = data.draw(st.sampled_from(_places(event)))
    place: Any = event
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = junk
    parsed = parse(event)
    if not isinstance(parsed, RejectedSignal):
        assert parsed
        for signal in parsed:
            assert signal.claimed_at.tzinfo is not None
            assert (signal.ref is not None) or signal.claim in (
                Claim.NOTHING,
                Claim.CHECK_CONTRIBUTORS,
            )


def test_nesting_without_end_is_rejected() -> None:
    event: dict[str, Any] = {}
    event["detail"] = event
    assert isinstance(parse(event), RejectedSignal)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert isinstance(parse({"id": "x", "detail": deep}), RejectedSignal)
