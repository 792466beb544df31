"""One message about several records, where one by one they would exceed the policy's rate."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
        headline=f"{len(notices):,} messages of account {account}, {region} in one",
        lead="One by one they would exceed the policy's rate of messages.",
        sections=(Section(title="What happened", lines=tuple(lines)),),
        commands=(("List all of it", command),),
        reference=(("Since", f"{since:%Y-%m-%d %H:%M} UTC"),),
        data={
            "account": account, "region": region, "count": len(notices),
            "notices": [notice_facts(notice) for notice in notices[:FACTS_LISTED]],
        },
    )  # fmt: skip


def _line(notice: Notice) -> str:
    what, _, region = place_of(notice.resource)
    line = f"{notice.at:%Y-%m-%d %H:%M} {notice.step.value} {what}: {notice.text}"
    if notice.step is Step.AWAITING:
        # What it is about may be cut, but neither until when it waits nor the command.
        whole = single_line(line)
        found = WAITS_UNTIL.search(whole)
        about, waits = (whole, "") if found is None else (whole[: found.start()], found[0])
        answer = f"{waits}; headroom approve {notice.decision_id} --region {region}"
        return clipped(about, max(LONGEST_ABOUT, LONGEST_SUMMARY - len(answer))) + answer
    return clipped(single_line(line), LONGEST_SUMMARY)
