"""The message about a circuit breaker that opened: what is stopped, by what, and how to close it."""

from __future__ import annotations

from dataclasses import replace

from headroom.adapters.notifications.messages import (
    Message,
    decision_message,
    place_of,
    plain_message,
    single_line,
)
from headroom.domain.decision import Decision
from headroom.domain.state import Notice

ACCOUNT = "account#"
"""How the resource of an account's own breaker begins."""


def breaker_message(notice: Notice, decision: Decision | None) -> Message:
    """The message about an opened breaker, with the change that failed last where it can be read."""
    what, account, region = place_of(notice.resource)
    close = ("Once the cause is removed", close_command(notice))
    if decision is None:
        found = plain_message(notice)
    else:
        found = decision_message(decision, notice.step, notice.text)
    if not notice.resource.startswith(ACCOUNT):
        headline = single_line(f"{what} is stopped after repeated failures")
        return replace(found, headline=headline, commands=(close,))
    facts = [("Where", f"account {account}, {region}"), ("When", f"{notice.at:%Y-%m-%d %H:%M} UTC")]
    if decision is not None:
        facts.append(("Last change that failed", single_line(decision.summary)))
    return replace(
        found, headline=f"ALL changes are stopped in account {account}, {region}",
        facts=tuple(facts), commands=(close,), data={**found.data, "resource": notice.resource},
    )  # fmt: skip


def close_command(notice: Notice) -> str:
    """The command that closes a breaker."""
    what, _, region = place_of(notice.resource)
    name = "--account" if notice.resource.startswith(ACCOUNT) else single_line(what)
    return f"headroom breaker close {name} --region {region}"
