"""Messages that a person can act on, sent once and never in the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber
from hypothesis import given
from hypothesis import strategies as st

from headroom.adapters.notifier import TopicNotifier, message, subject
from headroom.domain.decision import Act, Decision, Escalate, Hold, Reason, decide
from headroom.domain.records import Step
from tests.builders import AUTO, REGION, evidence, policy, ref, starved_gp3, volume

TOPIC = "arn:aws:sns:us-east-1:123456789012:headroom"


def acting() -> Decision:
    named = volume(tags=(("Name", "orders db"), ("headroom", "auto")))
    decision = decide(evidence(starved_gp3(volume=named), rules=policy(mode=AUTO)))
    assert isinstance(decision.answer, Act)
    return decision


def plan_of(decision: Decision) -> Any:
    assert isinstance(decision.answer, Act)
    return decision.answer.plan


def holding() -> Decision:
    decision = acting()
    answer = Hold(reason=Reason.OBSERVE_ONLY, until=None, would_take=plan_of(decision))
    return replace(decision, answer=answer)


def escalating() -> Decision:
    decision = acting()
    answer = Escalate(
        reason=Reason.BLOCKED_FOR_GOOD,
        cause="max_iops is 3,000",
        remedy="raise max_iops to 6,000",
        would_take=plan_of(decision),
    )
    return replace(decision, answer=answer)


class FakeTopic:
    """Keeps what is published, or fails."""

    def __init__(self, error: Exception | None = None):
        self.error = error
        self.published: list[dict[str, str]] = []

    def publish(self, **said: str) -> None:
        if self.error is not None:
            raise self.error
        self.published.append(said)


def told(decision: Decision, step: Step = Step.APPLIED) -> list[dict[str, str]]:
    topic: Any = FakeTopic()
    TopicNotifier(topic, topic_arn=TOPIC).tell(decision, step, "AWS accepted the change")
    published: list[dict[str, str]] = topic.published
    return published


def test_an_act_tells_what_why_price_and_proof() -> None:
    decision = acting()
    (said,) = told(decision)
    assert said["TopicArn"] == TOPIC
    assert said["Subject"] == f"Headroom: changing vol-1 to {plan_of(decision).target}"
    text = said["Message"]
    assert text.startswith("AWS accepted the change")
    assert "Volume: vol-1 (us-east-1, account 123456789012)" in text
    assert "Name: orders db" in text
    assert f"Why: {decision.summary}" in text
    assert f"{plan_of(decision).origin} -> {plan_of(decision).target}" in text
    assert f"{plan_of(decision).price_change_usd:+,.2f} USD a month" in text
    assert text.endswith(f"headroom explain {decision.decision_id}")


def test_an_escalation_tells_what_the_owner_can_do() -> None:
    (said,) = told(escalating(), Step.DECIDED)
    assert said["Subject"] == "Headroom: vol-1 needs you"
    assert "Cause: max_iops is 3,000" in said["Message"]
    assert "What to do: raise max_iops to 6,000" in said["Message"]
    assert "Change it would have taken:" in said["Message"]


@pytest.mark.parametrize("step", Step)
def test_a_hold_is_never_told(step: Step) -> None:
    assert told(holding(), step) == []


@pytest.mark.parametrize("error", [RuntimeError("down"), TimeoutError(), KeyError("x")])
def test_a_topic_that_fails_never_stops_the_doing(error: Exception) -> None:
    topic: Any = FakeTopic(error)
    notifier = TopicNotifier(topic, topic_arn=TOPIC)
    notifier.tell(holding(), Step.APPLIED, "done")
    assert notifier.untold == 0
    notifier.tell(acting(), Step.APPLIED, "done")
    notifier.tell(acting(), Step.RELIEVED, "relieved")
    assert notifier.untold == 2, "whoever runs it can count what nobody was told"


def test_what_was_told_is_not_counted_as_untold() -> None:
    topic: Any = FakeTopic()
    notifier = TopicNotifier(topic, topic_arn=TOPIC)
    notifier.tell(acting(), Step.APPLIED, "done")
    assert (len(topic.published), notifier.untold) == (1, 0)


@given(name=st.text(min_size=1, max_size=300), step=st.sampled_from(Step))
def test_a_subject_is_one_short_line_of_ascii_whatever_the_volume_is_called(
    name: str, step: Step
) -> None:
    decision = acting()
    seen = replace(decision.observation, volume=volume(ref=ref(name)))
    line = subject(replace(decision, observation=seen), step)
    assert line.startswith("Headroom: ")
    assert len(line) <= 100
    assert line.isascii()
    assert line.isprintable()


def test_what_happened_is_said_once_when_it_is_the_decision_itself() -> None:
    decision = escalating()
    assert message(decision, decision.summary).count(decision.summary) == 1


def test_the_call_has_the_shape_botocore_knows() -> None:
    client = boto3.client(
        "sns", region_name=REGION, aws_access_key_id="testing", aws_secret_access_key="testing"
    )
    with Stubber(client) as stub:
        expected = {"TopicArn": TOPIC, "Subject": ANY, "Message": ANY}
        stub.add_response("publish", {"MessageId": "m-1"}, expected)
        TopicNotifier(client, topic_arn=TOPIC).tell(acting(), Step.RELIEVED, "relieved")
        stub.assert_no_pending_responses()
