"""docs/operate/notifications.md shows messages as they are sent."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from headroom.adapters.day_message import LISTED, of_day
from headroom.adapters.messages import Message, of_decision, of_switch
from headroom.adapters.notifier import UNCOUNTED, document, with_withheld
from headroom.adapters.plain_text import plain_text, subject
from headroom.application.day import MOST_COUNTED, MOST_READ
from headroom.domain.answers import Act, Escalate, Reason
from headroom.domain.day import LEASE, SETTLING
from headroom.domain.decision import Decision
from headroom.domain.links import closed, switch
from headroom.domain.message_rate import Admission, Priority, share
from headroom.domain.policy import Policy
from headroom.domain.records import Step
from headroom.domain.stops import ENDLESS
from tests.adapters.test_day_message import BUSY
from tests.adapters.test_notifier import acting
from tests.builders import ACCOUNT, NOW, REGION, ref

PAGE = Path(__file__).parents[1] / "docs" / "operate" / "notifications.md"
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
        reason=Reason.BLOCKED_FOR_GOOD, cause="max_iops",
        remedy="the owner could change: max_iops", would_take=decision.answer.plan,
    )  # fmt: skip
    return replace(decision, answer=answer)


def examples() -> list[tuple[str, Message]]:
    withheld = Admission(allowed=True, withheld=(("applied", 7),), since=NOW - timedelta(minutes=9))
    asked = acted(approval="the mode is approve", expires=NOW + timedelta(hours=8))
    refused = "AWS refused (UnauthorizedOperation): You are not authorized."
    opened = (
        "5 changes of vol-1 in a row failed; it is left alone until somebody has found out why and "
        "runs `headroom breaker close vol-1 --region us-east-1`"
    )
    pause = switch(PLACE, ENDLESS, at=NOW, who=ANN, body="{}", reason="migration")
    close = closed(ref("vol-1").arn, at=NOW, who=ANN, reason="the role is mended", body="{}")
    return [
        ("A change is made", of_decision(acted(), Step.APPLIED, "AWS accepted the change")),
        ("It helped", of_decision(acted(), Step.RELIEVED, "relieved: no minute of pressure in 10")),
        (
            "It did not help, and others were withheld before",
            with_withheld(
                of_decision(acted(), Step.INEFFECTIVE,
                            "the change landed but did not help: the instance is the limit"),
                withheld,
            ),
        ),
        ("A change waits for you", of_decision(asked, Step.AWAITING, asked.summary)),
        ("Something only you can change", of_decision(escalated(), Step.DECIDED, acted().summary)),
        ("AWS said no", of_decision(acted(), Step.REFUSED, refused)),
        ("A breaker opened", of_decision(acted(), Step.BREAKER_OPENED, opened)),
        ("Somebody closed one", of_switch(close)),
        ("Somebody paused", of_switch(pause)),
        ("Once a day", of_day(BUSY)),
    ]  # fmt: skip


def shown() -> str:
    parts = ["<!-- examples -->"]
    for title, message in examples():
        text = f"Subject: {subject(message)}\n\n{plain_text(message)}"
        parts += [f"### {title}", "", "```text", text, "```", ""]
    machine = json.dumps(json.loads(document(examples()[3][1])), indent=2, ensure_ascii=False)
    parts += [
        "### For machines", "",
        "The change that waits for you once more, as subscribers by HTTPS, SQS and Lambda get it:",
        "", "```json", machine, "```", "<!-- end of examples -->",
    ]  # fmt: skip
    return "\n".join(parts)


def test_every_message_shown_is_one_that_is_sent() -> None:
    found = re.search(r"<!-- examples -->.*<!-- end of examples -->", TEXT, re.DOTALL)
    assert found, "no examples"
    assert found[0] == shown(), "run `python -m tests.test_notifications_docs`"


def test_the_rate_told_is_the_one_in_force() -> None:
    most = Policy(version="").messages_per_hour
    assert f"`account.messages_per_hour` ({most} unless" in PLAIN
    assert share(Priority.ROUTINE, most) == most * 3 // 4, "three quarters of the limit"
    assert share(Priority.NEEDS_YOU, most) == most - 1, "all but the last message"
    assert share(Priority.STOPPED, most) == most
    assert UNCOUNTED == 5
    assert "at most five messages of the second and third kind" in PLAIN


def test_the_bounds_of_a_day_are_the_real_ones() -> None:
    assert f"at most {MOST_COUNTED:,} records are counted" in PLAIN
    assert f"at most {MOST_READ} changes and {MOST_READ} plans" in PLAIN
    assert f"and {LISTED} lines of each kind" in PLAIN
    assert f"another follows after {LEASE.total_seconds() / 60:.0f} minutes" in PLAIN
    assert timedelta(minutes=2) == SETTLING
    assert "about two minutes after its time" in PLAIN


if __name__ == "__main__":  # write the page anew
    part = r"<!-- examples -->.*<!-- end of examples -->"
    PAGE.write_text(re.sub(part, lambda _: shown(), TEXT, flags=re.DOTALL), encoding="utf-8")
