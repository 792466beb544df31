"""Events that others can build on: every one fits its published schema."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber
from jsonschema import Draft7Validator

from headroom.adapters.events import EventBus
from headroom.adapters.events.bus import (
    BATCH_LIMIT,
    BUS,
    DETAIL_TYPES,
    LARGEST,
    LONGEST,
    SOURCE,
    detail,
    detail_type,
    entry,
)
from headroom.adapters.events.schemas import file_name, schema, schema_text
from headroom.domain.aurora import decide_cluster
from headroom.domain.decision import Act, decide
from headroom.domain.ledger import (
    breaker_closed_record,
    breaker_opened_record,
    first_record,
    next_record,
    pause_record,
)
from headroom.domain.policy import CodeOwned, Mode
from headroom.domain.state import INDEFINITE, Breaker, Record, Step
from headroom.ports import Delivery, Recorded
from headroom.serialization import decision_to_json, to_json
from tests import ROOT
from tests.adapters.notifications.test_topic import acting, escalating, holding
from tests.builders import ACCOUNT, NOW, REGION, decision_input, policy, ref, starved_gp3, volume
from tests.domain.clusters import cluster_input

FILES = ROOT / "docs" / "events"
PLACE = f"account#{ACCOUNT}#{REGION}"


def decided(decision: Any) -> Recorded:
    return Recorded(record=first_record(decision, decision_to_json(decision)), decision=None)


@cache
def first_of_acting() -> Record:
    return decided(acting()).record


def later(step: Step, summary: str = "so it is", body: str = "{}") -> Recorded:
    record = next_record(first_of_acting(), step, at=NOW, summary=summary, body=body)
    return Recorded(record=record, decision=acting())


def stopped() -> list[Recorded]:
    who = to_json({"who": "arn:aws:iam::1:user/ann", "reason": "migration", "until": INDEFINITE})
    breaker = Breaker(resource=ref("vol-1").arn, opened_at=NOW, failures=5, why="denied")
    failed = to_json({"decision_id": "d5", "failures": 5})
    return [
        Recorded(record=record, decision=None)
        for record in (
            pause_record(PLACE, INDEFINITE, at=NOW, who="ann", body=who, reason="migration"),
            pause_record(
                PLACE, None, at=NOW, who="ann", body=to_json({"who": "ann", "until": None})
            ),
            breaker_opened_record(breaker, decision_id="d5", body=failed),
            breaker_closed_record(
                PLACE, at=NOW, who="ann", reason="", body=to_json({"who": "ann"})
            ),
        )
    ]


EVERY = [
    *map(decided, (acting(), holding(), escalating())),
    *(later(step) for step in Step if step not in {Step.DECIDED, Step.REJECTED_SIGNAL}),
    *stopped(),
]


def as_received(put: Any) -> dict[str, Any]:
    """The event that a rule's target gets for an entry of PutEvents."""
    return {
        "version": "0", "id": "5f0c6c1e-8a51-4c53-9d55-2f9d3c0c7a11",
        "detail-type": put["DetailType"], "source": put["Source"], "account": ACCOUNT,
        "time": f"{put['Time']:%Y-%m-%dT%H:%M:%SZ}", "region": REGION,
        "resources": put["Resources"], "detail": json.loads(put["Detail"]),
    }  # fmt: skip


@pytest.mark.parametrize("recorded", EVERY, ids=lambda r: r.record.step.value)
def test_every_event_fits_its_schema_and_has_no_field_that_is_not_in_it(recorded: Recorded) -> None:
    event = as_received(entry(recorded))
    kind = schema(event["detail-type"])
    Draft7Validator(kind).validate(event)
    known: Any = kind["properties"]
    assert set(event) == set(known)
    assert set(event["detail"]) == set(known["detail"]["properties"])


def test_a_decision_about_a_cluster_fits_the_schema_too() -> None:
    decision = decide_cluster(cluster_input(policy(mode=Mode.AUTO)))
    event = as_received(entry(decided(decision)))
    Draft7Validator(schema(event["detail-type"])).validate(event)
    body = event["detail"]
    assert (body["binding"], body["reason"]) == ("storage_mode", "cheaper")
    assert body["plan"]["to"]["volume_type"] == "aurora-iopt1"
    assert body["resource"].endswith(":cluster:orders")


OWNERS: list[tuple[dict[str, str], dict[str, object]]] = [
    ({"ManagedBy": "terraform", "Name": "data"},
     {"tool": "Terraform", "name": "data", "resource_type": "aws_ebs_volume"}),
    ({"aws:cloudformation:stack-name": "orders", "aws:cloudformation:logical-id": "Data"},
     {"tool": "CloudFormation", "stack": "orders", "logical_id": "Data", "resource_type": "AWS::EC2::Volume"}),
    ({"kubernetes.io/created-for/pvc/name": "pg", "eks:eks-cluster-name": "prod"},
     {"tool": "Kubernetes", "claim": "pg", "cluster": "prod", "driver": "ebs.csi.eks.amazonaws.com",
      "resource_type": "VolumeAttributesClass"}),
    ({"pulumi": "true"}, {"tool": "Pulumi", "resource_type": "aws.ebs.Volume"}),
]  # fmt: skip


@pytest.mark.parametrize(("tags", "expected"), OWNERS, ids=lambda value: value.get("tool", ""))
def test_an_event_has_the_values_that_its_other_owner_must_write(
    tags: dict[str, str], expected: dict[str, object]
) -> None:
    decision = decide(decision_input(starved_gp3(vol=volume(tags=tuple(tags.items())))))
    event = as_received(entry(decided(decision)))
    Draft7Validator(schema(event["detail-type"])).validate(event)
    values, target = event["detail"]["write_back"], event["detail"]["plan"]["to"]
    assert {key: value for key, value in values.items() if value and key != "settings"} == expected
    numbers = [value for value in values["settings"].values() if isinstance(value, int)]
    sizes = [] if expected["tool"] == "Kubernetes" else [target["size_gib"]]
    assert numbers == [*sizes, target["iops"], target["throughput_mibps"]]


def test_code_that_is_left_alone_gets_no_values() -> None:
    tags = (("ManagedBy", "terraform"),)
    left = policy(infrastructure_as_code=CodeOwned.LEAVE)
    decision = decide(decision_input(starved_gp3(vol=volume(tags=tags)), rules=left))
    assert detail(decided(decision))["write_back"] is None


@pytest.mark.parametrize("kind", DETAIL_TYPES)
def test_the_published_schema_is_the_one_the_events_fit(kind: str) -> None:
    Draft7Validator.check_schema(schema(kind))
    written = (FILES / file_name(kind)).read_text(encoding="utf-8")
    assert written == schema_text(kind), (
        "run `python -m headroom.adapters.events.schemas docs/events`"
    )


def test_an_act_shows_its_plan_with_numbers_to_compare() -> None:
    decision = acting()
    assert isinstance(decision.answer, Act)
    plan = decision.answer.plan
    body = detail(decided(decision))
    assert body["record_hash"] == decided(decision).record.hash
    assert body["plan"]["price_change_usd"] == float(plan.price_change_usd)
    assert body["plan"]["to"]["iops"] == plan.target.iops
    assert (body["answer"], body["blocking"]) == ("act", [])
    assert detail(later(Step.APPLIED))["plan"] == body["plan"]


def test_a_hold_shows_what_stood_in_the_way() -> None:
    decision = holding()
    judged = replace(decision.judgements[0], plan=decision.answer.proposed_plan)  # type: ignore[union-attr]
    no = replace(judged.verdicts[0], value=False, limit=True)
    body = detail(decided(replace(decision, judgements=(replace(judged, verdicts=(no,)),))))
    assert body["blocking"] == [no.guardrail.value]


def test_a_stop_shows_who_and_until_when() -> None:
    pause, _, breaker, _ = (detail(one) for one in stopped())
    assert (pause["who"], pause["because"]) == ("arn:aws:iam::1:user/ann", "migration")
    assert (pause["account"], pause["region"], pause["until"][:4]) == (ACCOUNT, REGION, "9999")
    assert (breaker["failures"], breaker["last_decision_id"]) == (5, "d5")
    assert entry(stopped()[0])["Resources"] == []
    assert entry(stopped()[2])["Resources"] == [ref("vol-1").arn]


def test_every_step_is_an_event_of_one_of_few_kinds() -> None:
    assert {detail_type(step) for step in Step} <= set(DETAIL_TYPES)


def test_a_decision_nobody_can_read_is_reported_without_its_plan() -> None:
    broken = decided(acting())
    record = replace(broken.record, body='{"of":"a later release"}')
    body = detail(Recorded(record=record, decision=None))
    assert (body["plan"], body["answer"], body["blocking"]) == (None, None, [])
    assert body["record_hash"] == broken.record.hash


class FakeBus:
    """Answers each call with what `outcomes` says of its entries: an error code or None."""

    def __init__(self, *outcomes: Any):
        self.outcomes = list(outcomes)
        self.calls: list[list[Any]] = []

    def put_events(self, *, Entries: list[Any]) -> Any:
        self.calls.append(Entries)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, Exception):
            raise outcome
        codes = outcome or [None] * len(Entries)
        entries = [{"EventId": "e"} if code is None else {"ErrorCode": code} for code in codes]
        return {"FailedEntryCount": sum(c is not None for c in codes), "Entries": entries}


def published(bus: FakeBus, recorded: list[Recorded]) -> tuple[Delivery, ...]:
    client: Any = bus
    return EventBus(lambda: client).publish(recorded)


def test_a_call_has_at_most_ten_entries_for_the_default_bus() -> None:
    bus = FakeBus()
    assert published(bus, EVERY[:3] * 9) == (Delivery.ACCEPTED,) * 27
    assert [len(call) for call in bus.calls] == [10, 10, 7]
    assert {(e["Source"], e["EventBusName"]) for call in bus.calls for e in call} == {(SOURCE, BUS)}


def test_a_call_is_never_larger_than_eventbridge_takes() -> None:
    huge = later(Step.REFUSED, summary="é" * 200_000)
    bus = FakeBus()
    published(bus, [huge] * 25)
    for call in bus.calls:
        assert len(call) <= BATCH_LIMIT
        assert len(json.dumps(call, default=str, ensure_ascii=False).encode()) <= LARGEST
        assert len(json.loads(call[0]["Detail"])["summary"]) == LONGEST


@pytest.mark.parametrize(
    ("code", "delivery"),
    [("MalformedDetail", Delivery.REFUSED), ("NotAuthorizedForSource", Delivery.REFUSED),
     ("ThrottlingException", Delivery.UNSENT), ("InternalFailure", Delivery.UNSENT)],
)  # fmt: skip
def test_entries_that_failed_are_distinguished(code: str, delivery: Delivery) -> None:
    """What may be taken a minute later is never given up, however old its record is."""
    bus = FakeBus([None, code, None])
    assert published(bus, EVERY[:3]) == (Delivery.ACCEPTED, delivery, Delivery.ACCEPTED)


@pytest.mark.parametrize("error", [RuntimeError("down"), KeyError("Entries"), TimeoutError()])
def test_a_bus_that_fails_stops_nothing_and_what_it_took_before_is_known(error: Exception) -> None:
    bus = FakeBus(None, error)
    deliveries = published(bus, EVERY[:1] * 15)
    assert deliveries == (Delivery.ACCEPTED,) * 10 + (Delivery.UNSENT,) * 5


def test_a_client_that_cannot_be_made_stops_nothing() -> None:
    def fail() -> Any:
        raise ValueError("Unknown service: 'events'")

    assert EventBus(fail).publish(EVERY[:2]) == (Delivery.UNSENT,) * 2


def test_a_record_no_event_can_be_made_of_does_not_stop_the_others() -> None:
    bad = replace(EVERY[3], record=replace(EVERY[3].record, summary=None))  # type: ignore[arg-type]
    deliveries = published(FakeBus(), [EVERY[0], bad, EVERY[1]])
    assert deliveries == (Delivery.ACCEPTED, Delivery.REFUSED, Delivery.ACCEPTED)


def test_the_call_has_the_shape_botocore_knows() -> None:
    client = boto3.client(
        "events", region_name=REGION, aws_access_key_id="testing", aws_secret_access_key="testing"
    )
    with Stubber(client) as stub:
        answer: Any = {"FailedEntryCount": 0, "Entries": [{"EventId": "e-1"}]}
        stub.add_response("put_events", answer, {"Entries": ANY})
        assert EventBus(lambda: client).publish(EVERY[:1]) == (Delivery.ACCEPTED,)
        stub.assert_no_pending_responses()


def test_an_event_has_the_instant_of_its_record() -> None:
    record: Record = later(Step.RELIEVED).record
    assert entry(later(Step.RELIEVED))["Time"] == record.at
    assert record.at - NOW < timedelta(seconds=1)
