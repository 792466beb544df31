"""Pauses and open circuit breakers, as text and as JSON."""

from __future__ import annotations

from datetime import datetime

from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import utc
from headroom.domain.state import INDEFINITE, Breaker, Pause, StopState, active_pause


def lines(stop_state: StopState, now: datetime) -> list[str]:
    """A line for each pause and breaker."""
    found = []
    paused = active_pause(stop_state.account.pause, now)
    if paused is not None:
        found.append(_paused(paused))
    if stop_state.account.breaker is not None:
        found.append(f"Stopped: {broken(stop_state.account.breaker)}")
    return [*found, *(f"Stopped: {broken(breaker)}" for breaker in stop_state.breakers)]


def as_object(stop_state: StopState, now: datetime) -> dict[str, object]:
    """The same for JSON."""
    paused = active_pause(stop_state.account.pause, now)
    breaker = stop_state.account.breaker
    return {
        "paused": None
        if paused is None
        else {
            "until": None if paused.until >= INDEFINITE else paused.until,
            "since": paused.since,
            "who": paused.who,
            "reason": paused.reason,
        },
        "account_breaker": None if breaker is None else breaker_object(breaker),
        "breakers": [breaker_object(one) for one in stop_state.breakers],
    }


def breaker_object(breaker: Breaker) -> dict[str, object]:
    return {"resource": breaker.resource, "opened_at": breaker.opened_at,
            "failures": breaker.failures, "why": breaker.why}  # fmt: skip


def _paused(paused: Pause) -> str:
    line = f"Paused {until_of(paused.until)}, since {utc(paused.since)} by {paused.who}"
    return f"{line}: {paused.reason}" if paused.reason else line


def until_of(until: datetime) -> str:
    return "until somebody resumes" if until >= INDEFINITE else f"until {utc(until)}"


def broken(breaker: Breaker) -> str:
    name = short(breaker.resource)
    close = f"`headroom breaker close {name}`"
    if name.startswith("account#"):
        name, close = "the whole account", "`headroom breaker close --account`"
    return (
        f"{name}, since {utc(breaker.opened_at)}, after {breaker.failures} failures in a row "
        f"({breaker.why}); {close}"
    )
