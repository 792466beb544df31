"""One message about several records, where one by one they would exceed the policy's rate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headroom.adapters.notifications.breakers import ACCOUNT, close_command
from headroom.adapters.notifications.messages import (
    LONGEST_SUMMARY,
    Message,
    Section,
    clipped,
    notice_facts,
    place_of,
    single_line,
)
from headroom.domain.reports import priority_of
from headroom.domain.state import Notice, Step

LONGEST_ABOUT = 160
"""Characters kept at least of what a request is about, in such a line."""
WAITS_UNTIL = re.compile(r"; it (still )?waits for a person until .*")
LISTED = 40
"""Records listed in a message about several."""
FACTS_LISTED = 100
"""The same for machines."""


def summary_message(notices: Sequence[Notice]) -> Message:
    """One message about several records, in this order."""
    _, account, region = place_of(notices[0].resource)
    since = min(notice.at for notice in notices)
    command = f"headroom audit --since {since:%Y-%m-%dT%H:%M:%SZ} --region {region}"
    lines = [*map(_line, notices[:LISTED])]
    if len(notices) > LISTED:
        lines.append(f"and {len(notices) - LISTED:,} more: {command}")
    return Message(
        kind="summary",
        priority=max(priority_of(notice.step) for notice in notices),
        headline=_headline(notices, f"account {account}, {region}"),
        lead="One by one they would exceed the policy's rate of messages.",
        sections=(Section(title="What happened", lines=tuple(lines)),),
        commands=(*_answers(notices), ("List all of it", command)),
        reference=(("Since", f"{since:%Y-%m-%d %H:%M} UTC"),),
        data={
            "account": account, "region": region, "count": len(notices),
            "notices": [notice_facts(notice) for notice in notices[:FACTS_LISTED]],
        },
    )  # fmt: skip


def _headline(notices: Sequence[Notice], place: str) -> str:
    """What matters most of them, in words, and how many others there are."""
    opened = [n for n in notices if n.step is Step.BREAKER_OPENED]
    stopped = any(n.resource.startswith(ACCOUNT) for n in opened)
    asked = sum(n.step is Step.AWAITING for n in notices)
    if not asked and not stopped:
        return f"{len(notices):,} messages of {place} in one"
    parts = ["ALL changes are stopped"] if stopped else []
    if asked:
        parts.append(f"{asked:,} {'change waits' if asked == 1 else 'changes wait'} for approval")
    others = len(notices) - asked - stopped
    if others:
        parts.append(f"{others:,} other message{'' if others == 1 else 's'}")
    return f"{', '.join(parts)}: {place}"


def _answers(notices: Sequence[Notice]) -> Iterator[tuple[str, str]]:
    """The commands that answer what stops changes and what waits for approval."""
    for notice in notices:
        if notice.step is Step.BREAKER_OPENED and notice.resource.startswith(ACCOUNT):
            yield "Once the cause is removed", close_command(notice)
    asked = next((n for n in notices if n.step is Step.AWAITING), None)
    if asked is not None:
        _, _, region = place_of(asked.resource)
        yield "What waits for approval", f"headroom approvals --region {region}"


def _line(notice: Notice) -> str:
    what, _, region = place_of(notice.resource)
    if notice.step is Step.DECIDED:
        line = single_line(f"{notice.at:%Y-%m-%d %H:%M} {what} needs you: {notice.text}")
        return f"{clipped(line, LONGEST_SUMMARY - 30)} ({notice.decision_id})"
    step = notice.step.value.replace("_", " ")
    line = f"{notice.at:%Y-%m-%d %H:%M} {step} {what}: {notice.text}"
    if notice.step is Step.BREAKER_OPENED:
        close = f"; {close_command(notice)}"
        return clipped(single_line(line), LONGEST_SUMMARY - len(close)) + close
    if notice.step is Step.AWAITING:
        # What it is about may be cut, but neither until when it waits nor the command.
        whole = single_line(line)
        found = WAITS_UNTIL.search(whole)
        about, waits = (whole, "") if found is None else (whole[: found.start()], found[0])
        answer = f"{waits}; headroom approve {notice.decision_id} --region {region}"
        return clipped(about, max(LONGEST_ABOUT, LONGEST_SUMMARY - len(answer))) + answer
    return clipped(single_line(line), LONGEST_SUMMARY)
