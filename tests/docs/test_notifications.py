"""docs/operate/notifications.md shows messages as they are sent."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from headroom.adapters.notifications.batch import LISTED as NOTICES_LISTED
from headroom.adapters.notifications.batch import summary_message
from headroom.adapters.notifications.breakers import breaker_message
from headroom.adapters.notifications.digest import LISTED, digest_message
from headroom.adapters.notifications.messages import (
    Message,
    decision_message,
    switch_message,
)
from headroom.adapters.notifications.text import subject, text_of_message
from headroom.adapters.notifications.topic import document
from headroom.application.reporting.digest import MOST_COUNTED, MOST_READ
from headroom.domain.decision import Act, Decision, Escalate, Reason
from headroom.domain.ledger import (
    breaker_closed_record,
    breaker_opened_text,
    notice_of,
    pause_record,
)
from headroom.domain.policy import Policy
from headroom.domain.reports import Priority
from headroom.domain.reports.daily_digest import LEASE, SETTLING
from headroom.domain.reports.message_rate import PATIENCE, priority_limit
from headroom.domain.state import INDEFINITE, Breaker, Notice, Notify, Record, Step
from tests.adapters.notifications.test_digest import BUSY
from tests.adapters.notifications.test_topic import acting
from tests.builders import ACCOUNT, NOW, REGION, ref

PAGE = Path(__file__).parents[2] / "docs" / "operate" / "notifications.md"
TEXT = PAGE.read_text(encoding="utf-8")
PLAIN = " ".join(TEXT.split())
CHAIN = "4f2a91c07be35d68a1c4"
PLACE = f"account#{ACCOUNT}#{REGION}"
ANN = f"arn:aws:iam::{ACCOUNT}:user/ann"


def acted(**answer: object) -> Decision:
    decision = replace(acting(), decision_id=CHAIN)
    assert isinstance(decision.answer, Act)
    return replace(decision, answer=replace(decision.answer, **answer))  # type: ignore[arg-type]


def escalated() -> Decision:
    decision = acted()
    assert isinstance(decision.answer, Act)
    answer = Escalate(
        reason=Reason.BLOCKED_PERMANENTLY, cause="max_iops",
        remedy="to allow it, change max_iops in the policy", proposed_plan=decision.answer.plan,
    )  # fmt: skip
    return replace(decision, answer=answer)


def heard(record: Record) -> Notice:
    return notice_of(record, Notify(text=record.summary), about="")


def opened(breaker: Breaker) -> Notice:
    return Notice(
        decision_id=CHAIN, sequence=3, step=Step.BREAKER_OPENED, resource=breaker.resource,
        at=NOW, text=breaker_opened_text(breaker, ref("vol-1")),
    )  # fmt: skip


def examples() -> list[tuple[str, Message]]:
    asked = acted(approval="the mode is approve", expires=NOW + timedelta(hours=8))
    refused = "AWS refused (UnauthorizedOperation): You are not authorized."
    volume = Breaker(resource=ref("vol-1").arn, opened_at=NOW, failures=5, why=refused)
    account = replace(volume, resource=PLACE, failures=10)
    pause = pause_record(PLACE, INDEFINITE, at=NOW, who=ANN, body="{}", reason="migration")
    close = breaker_closed_record(
        ref("vol-1").arn, at=NOW, who=ANN, reason="the role is mended", body="{}"
    )
    several = [
        Notice(
            decision_id=f"{n}{CHAIN[1:]}", sequence=2, step=step, resource=ref(f"vol-{n}").arn,
            at=NOW - timedelta(minutes=n), text=text,
        )
        for n, step, text in (
            (3, Step.AWAITING, "waits for a person until 2026-01-05 20:00 UTC: the mode is approve"),
            (2, Step.APPLIED, "AWS accepted the change"),
            (1, Step.RELIEVED, "relieved: no minute of pressure in 10"),
        )
    ]  # fmt: skip
    return [
        ("A change is made", decision_message(acted(), Step.APPLIED, "AWS accepted the change")),
        ("It helped", decision_message(acted(), Step.RELIEVED, "relieved: no minute of pressure in 10")),
        (
            "It did not help",
            decision_message(acted(), Step.INEFFECTIVE,
                             "the change landed but did not help: the instance is the limit"),
        ),
        ("A change waits for you", decision_message(asked, Step.AWAITING, asked.summary)),
        ("Something only you can change", decision_message(escalated(), Step.DECIDED, acted().summary)),
        ("AWS refused the change", decision_message(acted(), Step.REFUSED, refused)),
        ("A breaker opened", breaker_message(opened(volume), acted())),
        ("The account's breaker opened", breaker_message(opened(account), acted())),
        ("A breaker was closed", switch_message(heard(close))),
        ("A pause", switch_message(heard(pause))),
        ("Several in one message", summary_message(several)),
        ("The daily digest", digest_message(BUSY)),
    ]  # fmt: skip


def rendered() -> str:
    parts = ["<!-- examples -->"]
    for title, message in examples():
        text = f"Subject: {subject(message)}\n\n{text_of_message(message)}"
        parts += [f"### {title}", "", "```text", text, "```", ""]
    machine = json.dumps(json.loads(document(examples()[3][1])), indent=2, ensure_ascii=False)
    parts += [
        "### As JSON", "",
        "The message about approval again, as subscribers by HTTPS, SQS and Lambda receive it:",
        "", "```json", machine, "```", "<!-- end of examples -->",
    ]  # fmt: skip
    return "\n".join(parts)


def test_every_example_is_a_message_that_is_sent() -> None:
    found = re.search(r"<!-- examples -->.*<!-- end of examples -->", TEXT, re.DOTALL)
    assert found, "no examples"
    assert found[0] == rendered(), "run `python -m tests.docs.test_notifications`"


def test_the_page_states_the_message_limit_in_force() -> None:
    most = Policy(version="").messages_per_hour
    assert f"`account.messages_per_hour` ({most} unless" in PLAIN
    assert priority_limit(Priority.ROUTINE, most) == most * 3 // 4, "three quarters of the limit"
    assert priority_limit(Priority.NEEDS_YOU, most) == most - 1, "all but the last message"
    assert priority_limit(Priority.STOPPED, most) == most
    assert f"After {PATIENCE.total_seconds() / 3600:.0f} hour" in PLAIN
    assert f"lists up to {NOTICES_LISTED} of them" in PLAIN


def test_the_page_states_the_limits_of_the_digest() -> None:
    assert f"at most {MOST_COUNTED:,} records are counted" in PLAIN
    assert f"at most {MOST_READ} changes and {MOST_READ} plans" in PLAIN
    assert f"and {LISTED} lines of each kind" in PLAIN
    assert f"another follows after {LEASE.total_seconds() / 60:.0f} minutes" in PLAIN
    assert timedelta(minutes=2) == SETTLING
    assert "about two minutes after its time" in PLAIN


if __name__ == "__main__":  # write the page anew
    part = r"<!-- examples -->.*<!-- end of examples -->"
    PAGE.write_text(re.sub(part, lambda _: rendered(), TEXT, flags=re.DOTALL), encoding="utf-8")
