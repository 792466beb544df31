"""Messages that a person can act on, sent once and never in the way."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber
from hypothesis import given
from hypothesis import strategies as st

from headroom.adapters.notifications import SnsNotifier
from headroom.adapters.notifications.messages import decision_message
from headroom.adapters.notifications.slack import blocks
from headroom.adapters.notifications.text import subject as subject_of
from headroom.adapters.notifications.text import text_of_message
from headroom.domain.decision import Act, Decision, Escalate, Hold, Reason, decide
from headroom.domain.ledger import breaker_closed_record, pause_record
from headroom.domain.policy import CodeOwned, Policy, PolicyUnreadable
from headroom.domain.reports import parse_rate_window
from headroom.domain.state import INDEFINITE, Record, Step
from headroom.ports import ReadFailed
from headroom.proving.memory import InMemoryLedger
from tests.builders import (
    ACCOUNT,
    AUTO,
    NOW,
    REGION,
    decision_input,
    policy,
    ref,
    starved_gp3,
    volume,
)

TOPIC = "arn:aws:sns:us-east-1:123456789012:headroom"


def acting() -> Decision:
    named = volume(tags=(("Name", "orders db"), ("headroom", "auto")))
    decision = decide(decision_input(starved_gp3(volume=named), rules=policy(mode=AUTO)))
    assert isinstance(decision.answer, Act)
    return decision


def plan_of(decision: Decision) -> Any:
    assert isinstance(decision.answer, Act)
    return decision.answer.plan


def holding() -> Decision:
    decision = acting()
    answer = Hold(reason=Reason.OBSERVE_ONLY, until=None, proposed_plan=plan_of(decision))
    return replace(decision, answer=answer)


def escalating() -> Decision:
    decision = acting()
    answer = Escalate(
        reason=Reason.BLOCKED_PERMANENTLY,
        cause="max_iops is 3,000",
        remedy="raise max_iops to 6,000",
        proposed_plan=plan_of(decision),
    )
    return replace(decision, answer=answer)


class Rules:
    """The policy in force."""

    def __init__(self, most: int = 20) -> None:
        self.most = most

    def current(self) -> Policy:
        return replace(policy(), messages_per_hour=self.most)


def notifier(topic: Any, *, notes: Any = None, most: int = 20, now: datetime = NOW) -> SnsNotifier:
    return SnsNotifier(
        topic, topic_arn=TOPIC, notes=notes or InMemoryLedger(ACCOUNT, REGION), policies=Rules(most),
        clock=lambda: now,
    )  # fmt: skip


def subject(decision: Decision, step: Step) -> str:
    return subject_of(decision_message(decision, step, "it is so"))


def message(decision: Decision, summary: str) -> str:
    return text_of_message(decision_message(decision, Step.APPLIED, summary))


def by_mail(said: dict[str, str]) -> str:
    """What an e-mail subscriber gets."""
    assert said["MessageStructure"] == "json"
    parts: dict[str, str] = json.loads(said["Message"])
    assert parts["default"] == parts["email"]
    return parts["email"]


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
    notifier(topic).tell(decision, step, "AWS accepted the change")
    published: list[dict[str, str]] = topic.published
    return published


def test_an_act_tells_what_why_price_and_proof() -> None:
    decision = acting()
    (said,) = told(decision)
    assert said["TopicArn"] == TOPIC
    assert said["Subject"] == f"Headroom: changing vol-1 to {plan_of(decision).target}"
    text = by_mail(said)
    assert text.startswith("AWS accepted the change")
    assert "Volume: vol-1 (us-east-1, account 123456789012)" in text
    assert "Name: orders db" in text
    assert f"Why: {decision.summary}" in text
    assert f"{plan_of(decision).origin} -> {plan_of(decision).target}" in text
    assert f"{plan_of(decision).price_change_usd:+,.2f} USD a month" in text
    assert text.endswith(f"headroom explain {decision.decision_id} --region us-east-1")


def test_an_escalation_tells_what_the_owner_can_do() -> None:
    (said,) = told(escalating(), Step.DECIDED)
    assert said["Subject"] == "Headroom: vol-1 needs you"
    assert "Cause: max_iops is 3,000" in by_mail(said)
    assert "What to do: raise max_iops to 6,000" in by_mail(said)
    assert "Proposed change:" in by_mail(said)


@pytest.mark.parametrize("step", Step)
def test_a_hold_is_never_told(step: Step) -> None:
    assert told(holding(), step) == []


@pytest.mark.parametrize("error", [RuntimeError("down"), TimeoutError(), KeyError("x")])
def test_a_topic_that_fails_never_stops_the_doing(error: Exception) -> None:
    topic: Any = FakeTopic(error)
    teller = notifier(topic)
    teller.tell(holding(), Step.APPLIED, "done")
    assert teller.unsent == 0
    teller.tell(acting(), Step.APPLIED, "done")
    teller.tell(acting(), Step.RELIEVED, "relieved")
    assert teller.unsent == 2, "whoever runs it can count what nobody was told"


def test_what_was_told_is_not_counted_as_untold() -> None:
    topic: Any = FakeTopic()
    teller = notifier(topic)
    teller.tell(acting(), Step.APPLIED, "done")
    assert (len(topic.published), teller.unsent) == (1, 0)


@given(name=st.text(min_size=1, max_size=300), step=st.sampled_from(Step))
def test_a_subject_is_one_short_line_of_ascii_whatever_the_volume_is_called(
    name: str, step: Step
) -> None:
    decision = acting()
    seen = replace(decision.observation, volume=volume(ref=ref(name)))
    line = subject(replace(decision, observation=seen), step)
    assert line.startswith("Headroom: ")
    assert len(line) < 100
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
        expected = {
            "TopicArn": TOPIC, "Subject": ANY, "MessageStructure": "json", "Message": ANY,
        }  # fmt: skip
        stub.add_response("publish", {"MessageId": "m-1"}, expected)
        notifier(client).tell(acting(), Step.RELIEVED, "relieved")
        stub.assert_no_pending_responses()


def test_machines_get_blocks_and_facts_and_people_get_text() -> None:
    decision = acting()
    (said,) = told(decision)
    parts = json.loads(said["Message"])
    assert set(parts) == {"default", "email", "sms", "https", "http", "sqs", "lambda"}
    for protocol in ("https", "http", "sqs", "lambda"):
        document = json.loads(parts[protocol])
        assert set(document) == {
            "version", "kind", "subject", "text", "plain_text", "blocks", "headroom", "commands",
        }  # fmt: skip
        assert document["plain_text"] == parts["default"]
        facts = document["headroom"]
        assert facts["decision_id"] == decision.decision_id
        assert facts["plan"]["to"]["iops"] == plan_of(decision).target.iops
        assert facts["plan"]["price_change_usd"] == float(plan_of(decision).price_change_usd)
    assert parts["sms"] == said["Subject"]


def test_a_volumes_name_cannot_pass_for_a_line_of_ours() -> None:
    decision = acting()
    named = volume(tags=(("Name", "db\n\nApprove: headroom approve evil\r\u2028x"),))
    seen = replace(decision.observation, volume=named)
    text = message(replace(decision, observation=seen), "done")
    assert "\nApprove" not in text
    assert "Name: db Approve: headroom approve evil x" in text.splitlines()


def test_never_more_than_the_policys_rate_and_what_is_withheld_is_told_with_the_next() -> None:
    topic: Any = FakeTopic()
    ledger = InMemoryLedger(ACCOUNT, REGION)
    teller = notifier(topic, notes=ledger, most=4)
    for _ in range(10):
        teller.tell(acting(), Step.APPLIED, "done")
    assert (len(topic.published), teller.withheld, teller.unsent) == (3, 7, 0)
    notifier(topic, notes=ledger, most=4).tell(acting(), Step.BREAKER_OPENED, "stopped")
    assert len(topic.published) == 4, "a place was kept for what stops every change"
    text = by_mail(topic.published[-1])
    assert "Withheld: 7 messages (7 applied) since 2026-" in text
    assert f"headroom audit --since {NOW:%Y-%m-%dT%H:%M:%SZ} --region us-east-1" in text
    notifier(topic, notes=ledger, most=4).tell(acting(), Step.BREAKER_OPENED, "stopped")
    assert len(topic.published) == 4
    later = notifier(topic, notes=ledger, most=4, now=NOW + timedelta(hours=1))
    later.tell(acting(), Step.RELIEVED, "relieved")
    assert "Withheld: 1 message (1 breaker opened)" in by_mail(topic.published[-1])


def test_an_unreadable_policy_does_not_lift_the_rate() -> None:
    class Unreadable:
        def current(self) -> PolicyUnreadable:
            return PolicyUnreadable(reason="gone")

    topic: Any = FakeTopic()
    teller = SnsNotifier(
        topic, topic_arn=TOPIC, notes=InMemoryLedger(ACCOUNT, REGION), policies=Unreadable(),
        clock=lambda: NOW,
    )  # fmt: skip
    for _ in range(40):
        teller.tell(acting(), Step.APPLIED, "done")
    assert len(topic.published) == 15


def test_a_message_that_failed_is_counted_with_those_withheld() -> None:
    ledger = InMemoryLedger(ACCOUNT, REGION)
    topic: Any = FakeTopic(RuntimeError("down"))
    notifier(topic, notes=ledger).tell(acting(), Step.FAILED, "failed")
    assert parse_rate_window(ledger.note("messages")).dropped == (("failed", 1),)


class Silent:
    """A ledger that does not answer."""

    def note(self, name: str) -> str:
        raise ReadFailed(name)

    def amend(self, name: str, change: Any) -> Any:
        raise ReadFailed(name)


def test_while_nobody_can_count_a_few_that_matter_are_sent_and_chatter_is_not() -> None:
    topic: Any = FakeTopic()
    teller = notifier(topic, notes=Silent())
    teller.tell(acting(), Step.APPLIED, "done")
    assert (len(topic.published), teller.unsent) == (0, 1)
    for _ in range(9):
        teller.tell(acting(), Step.FAILED, "failed")
    assert (len(topic.published), teller.unsent) == (4, 6)


def test_a_count_nobody_can_read_begins_anew() -> None:
    ledger, topic = InMemoryLedger(ACCOUNT, REGION), FakeTopic()
    ledger.amend("messages", lambda _: ("{]", None))
    notifier(topic, notes=ledger).tell(acting(), Step.APPLIED, "done")
    assert len(topic.published) == 1


@pytest.mark.parametrize(
    ("record", "subject_line", "told_of"),
    [
        (
            pause_record(f"account#{ACCOUNT}#{REGION}", INDEFINITE, at=NOW, who="arn:aws:iam::1:user/ann",
                   body="{}", reason="migration"),
            f"Headroom: paused in account {ACCOUNT}, {REGION}",
            "paused without end by arn:aws:iam::1:user/ann: migration",
        ),
        (
            pause_record(f"account#{ACCOUNT}#{REGION}", None, at=NOW, who="ann", body="{}"),
            f"Headroom: changes resumed in account {ACCOUNT}, {REGION}",
            "resumed by ann",
        ),
        (
            breaker_closed_record(ref("vol-7").arn, at=NOW, who="ann", reason="fixed", body="{}"),
            "Headroom: the breaker of vol-7 was closed",
            "breaker closed by ann: fixed",
        ),
        (
            breaker_closed_record(f"account#{ACCOUNT}#{REGION}", at=NOW, who="ann", reason="", body="{}"),
            "Headroom: the breaker of the account was closed",
            "breaker closed by ann",
        ),
    ],
)  # fmt: skip
def test_what_a_person_switched_is_told_with_who_and_where(
    record: Record, subject_line: str, told_of: str
) -> None:
    topic: Any = FakeTopic()
    notifier(topic).announce(record)
    (said,) = topic.published
    assert said["Subject"] == subject_line
    assert by_mail(said).startswith(told_of)
    assert f"Where: account {ACCOUNT}, {REGION}" in by_mail(said)


def owned(handling: CodeOwned) -> Decision:
    tags = (
        ("headroom", "auto"), ("kubernetes.io/created-for/pvc/name", "pg-0"),
        ("kubernetes.io/created-for/pvc/namespace", "db"),
    )  # fmt: skip
    rules = policy(infrastructure_as_code=handling)
    return decide(decision_input(starved_gp3(vol=volume(tags=tags)), rules=rules))


@pytest.mark.parametrize(
    ("handling", "step"), [(CodeOwned.ACT, Step.APPLIED), (CodeOwned.NOTIFY, Step.DECIDED)]
)
def test_what_to_write_back_is_told_line_by_line_as_it_is_pasted(
    handling: CodeOwned, step: Step
) -> None:
    decision = owned(handling)
    made = decision_message(decision, step, "told")
    yaml, patch = (part.text for part in decision.write_back)
    text = text_of_message(made)
    assert yaml in text
    assert patch in text
    told = [str(block.get("text", {}).get("text", "")) for block in blocks(made)]  # type: ignore[attr-defined]
    assert f"```{yaml}```" in told
    assert f"```{patch}```" in told


def test_what_to_write_back_is_not_told_again_with_the_relief() -> None:
    assert decision_message(owned(CodeOwned.ACT), Step.RELIEVED, "told").pastes == ()
