"""Messages that a person can act on, sent once and never in the way."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber
from hypothesis import given
from hypothesis import strategies as st

from headroom.adapters.notifications import SnsNotifier
from headroom.adapters.notifications.messages import decision_message
from headroom.adapters.notifications.slack import blocks
from headroom.adapters.notifications.text import subject as subject_of
from headroom.adapters.notifications.text import text_of_message
from headroom.domain.decision import Act, Decision, Escalate, Hold, Reason, decide
from headroom.domain.ledger import (
    breaker_closed_record,
    breaker_opened_text,
    notice_of,
    pause_record,
)
from headroom.domain.policy import CodeOwned
from headroom.domain.state import INDEFINITE, Breaker, Notice, Notify, Record, Step
from headroom.ports import NoticeDetail, NotSent
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


@cache
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


def notice(decision: Decision, step: Step, text: str) -> Notice:
    return Notice(
        decision_id=decision.decision_id, sequence=2, step=step, resource=ref("vol-1").arn, at=NOW,
        text=text, about=decision.decision_id,
    )  # fmt: skip


def notifier(topic: Any) -> SnsNotifier:
    return SnsNotifier(topic, topic_arn=TOPIC)


def notify(topic: Any, decision: Decision | None, step: Step, text: str) -> None:
    about = notice(decision or acting(), step, text)
    notifier(topic).notify(NoticeDetail(notice=about, decision=decision))


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


def notified(decision: Decision, step: Step = Step.APPLIED) -> list[dict[str, str]]:
    topic: Any = FakeTopic()
    notify(topic, decision, step, "AWS accepted the change")
    published: list[dict[str, str]] = topic.published
    return published


def test_an_act_shows_what_why_price_and_proof() -> None:
    decision = acting()
    (said,) = notified(decision)
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


def test_an_escalation_shows_what_the_owner_can_do() -> None:
    (said,) = notified(escalating(), Step.DECIDED)
    assert said["Subject"] == "Headroom: vol-1 needs you"
    assert "Cause: max_iops is 3,000" in by_mail(said)
    assert "What to do: raise max_iops to 6,000" in by_mail(said)
    assert "Proposed change:" in by_mail(said)


def test_what_sns_refuses_was_not_sent_and_any_other_failure_is_unknown() -> None:
    refusal = ClientError({"Error": {"Code": "AuthorizationError"}}, "Publish")
    with pytest.raises(NotSent, match="AuthorizationError"):
        notify(FakeTopic(refusal), acting(), Step.APPLIED, "done")
    with pytest.raises(TimeoutError):
        notify(FakeTopic(TimeoutError()), acting(), Step.APPLIED, "done")


def test_without_its_decision_a_notice_still_says_what_happened_to_what() -> None:
    topic: Any = FakeTopic()
    notify(topic, None, Step.AWAITING, "vol-1 waits\nfor you")
    (said,) = topic.published
    assert said["Subject"] == "Headroom: vol-1 waits for your approval"
    assert by_mail(said).startswith("vol-1 waits for you")
    assert "headroom audit --decision" in by_mail(said)


def test_a_decision_that_cannot_be_described_does_not_stop_its_message() -> None:
    topic: Any = FakeTopic()
    notify(topic, replace(acting(), observation=None), Step.FAILED, "it failed")  # type: ignore[arg-type]
    assert "it failed" in by_mail(topic.published[0])


def test_several_notices_are_one_message_that_names_each_and_how_to_answer() -> None:
    topic: Any = FakeTopic()
    asked = notice(acting(), Step.AWAITING, "it waits " + "x" * 900)
    done = [replace(notice(acting(), Step.APPLIED, "done"), decision_id=f"d{n}") for n in range(60)]
    notifier(topic).summarize([asked, *done])
    (said,) = topic.published
    text = by_mail(said)
    assert said["Subject"] == (
        f"Headroom: 1 change waits for approval, 60 other messages: account {ACCOUNT}, {REGION}"
    )
    commands = json.loads(json.loads(said["Message"])["lambda"])["commands"]
    assert commands["What waits for approval"] == f"headroom approvals --region {REGION}"
    assert f"headroom approve {asked.decision_id} --region {REGION}" in text
    assert f"and 21 more: headroom audit --since {NOW:%Y-%m-%dT%H:%M:%SZ} --region {REGION}" in text
    facts = json.loads(json.loads(said["Message"])["lambda"])["headroom"]
    assert [one["decision_id"] for one in facts["notices"]][:2] == [asked.decision_id, "d0"]
    assert facts["count"] == 61


def test_a_stop_of_the_whole_account_says_so_with_the_cause_and_the_command_that_ends_it() -> None:
    topic: Any = FakeTopic()
    breaker = Breaker(
        resource=f"account#{ACCOUNT}#{REGION}", opened_at=NOW, failures=10,
        why="AWS refused (UnauthorizedOperation): no " + "x" * 900,
    )  # fmt: skip
    text = breaker_opened_text(breaker, ref("vol-9"))
    opened = replace(notice(acting(), Step.BREAKER_OPENED, text), resource=breaker.resource)
    command = f"headroom breaker close --account --region {REGION}"
    for decision in (acting(), None):
        topic.published.clear()
        notifier(topic).notify(NoticeDetail(notice=opened, decision=decision))
        (said,) = topic.published
        assert said["Subject"] == (
            f"Headroom: ALL changes are stopped in account {ACCOUNT}, {REGION}"
        )
        lead = by_mail(said).splitlines()[0]
        assert "the last of vol-9: AWS refused (UnauthorizedOperation): no" in lead
        assert lead.endswith(f"`{command}`")
        facts = json.loads(json.loads(said["Message"])["lambda"])
        assert facts["commands"] == {"Once the cause is removed": command}
        assert facts["headroom"]["resource"] == breaker.resource
    notifier(topic).summarize([opened, notice(acting(), Step.AWAITING, "it waits")])
    said = topic.published[-1]
    assert said["Subject"].startswith(
        "Headroom: ALL changes are stopped, 1 change waits for approval:"
    )
    assert f"Once the cause is removed: {command}" in by_mail(said)


def test_a_stop_of_one_volume_names_the_command_that_ends_it() -> None:
    topic: Any = FakeTopic()
    notify(topic, acting(), Step.BREAKER_OPENED, "5 changes of vol-1 in a row failed")
    (said,) = topic.published
    assert said["Subject"] == "Headroom: vol-1 is stopped after repeated failures"
    assert f"headroom breaker close vol-1 --region {REGION}" in by_mail(said)


def test_an_escalation_among_several_messages_needs_you_and_has_its_id() -> None:
    topic: Any = FakeTopic()
    asked = notice(escalating(), Step.DECIDED, "vol-1: max_iops " * 40)
    notifier(topic).summarize([asked, asked])
    text = by_mail(topic.published[0])
    assert f"{NOW:%Y-%m-%d %H:%M} vol-1 needs you: vol-1: max_iops" in text
    assert text.count(f"({asked.decision_id})") == 2
    assert "decided" not in text


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
        notify(client, acting(), Step.RELIEVED, "relieved")
        stub.assert_no_pending_responses()


def test_machines_get_blocks_and_facts_and_people_get_text() -> None:
    decision = acting()
    (said,) = notified(decision)
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


@pytest.mark.parametrize(
    ("record", "subject_line", "beginning"),
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
def test_what_a_person_switched_is_reported_with_who_and_where(
    record: Record, subject_line: str, beginning: str
) -> None:
    topic: Any = FakeTopic()
    about = notice_of(record, Notify(text=record.summary), about="")
    notifier(topic).notify(NoticeDetail(notice=about, decision=None))
    (said,) = topic.published
    assert said["Subject"] == subject_line
    assert by_mail(said).startswith(beginning)
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
def test_what_to_write_back_is_reported_line_by_line_as_it_is_pasted(
    handling: CodeOwned, step: Step
) -> None:
    decision = owned(handling)
    made = decision_message(decision, step, "done")
    yaml, patch = (part.text for part in decision.write_back)
    text = text_of_message(made)
    assert yaml in text
    assert patch in text
    texts = [str(block.get("text", {}).get("text", "")) for block in blocks(made)]  # type: ignore[attr-defined]
    assert f"```{yaml}```" in texts
    assert f"```{patch}```" in texts


def test_what_to_write_back_is_not_reported_again_with_the_relief() -> None:
    assert decision_message(owned(CodeOwned.ACT), Step.RELIEVED, "done").pastes == ()
