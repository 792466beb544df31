"""The daily digest as a message: at most LISTED lines of each kind, and the command for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TypeVar

from headroom.adapters.notifications.messages import (
    Message,
    Section,
    called,
    clipped,
    configuration_facts,
    single_line,
)
from headroom.domain.reports import (
    MOST_QUEUED,
    BlockedSaving,
    Change,
    Counts,
    DailyDigest,
    ObservedChange,
    PendingApproval,
    Priority,
    RecordCount,
)
from headroom.domain.state import INDEFINITE, Breaker, RecordSummary, Step

LISTED = 10
LONGEST_LINE = 260
LONGEST_QUOTE = 160
"""Characters of what AWS or a person wrote, in a line that ends in a command."""
ENDED = {
    None: "not verified yet",
    Step.RELIEVED: "helped",
    Step.UNTESTED: "untested so far",
    Step.ROLLED_BACK: "rolled back",
    Step.INEFFECTIVE: "did not help",
    Step.DIVERGED: "changed by somebody else since",
    Step.FAILED: "AWS failed to make it",
    Step.GONE: "its storage is gone",
    Step.RELEASED: "ended by hand",
}
COUNTED = {**ENDED, Step.FAILED: "that AWS failed to make", Step.GONE: "whose storage is gone"}
"""The same after a number of changes."""
T = TypeVar("T")


def digest_message(day: DailyDigest) -> Message:
    """The digest: changes, failures, approvals, stops, proposals and the budget."""
    place = f"account {day.account_id}, {day.region}"
    return Message(
        kind="digest",
        priority=Priority.ROUTINE,
        headline=_headline(day),
        lead=f"{place}, {_instant(day.since)} to {_instant(day.until)}.",
        facts=tuple(_facts(day)),
        sections=tuple(part for part in _sections(day) if part.lines),
        reference=(("All of it", _audit(day, None)),),
        data={
            "account": day.account_id,
            "region": day.region,
            "since": day.since.isoformat(),
            "until": day.until.isoformat(),
            "changes": day.changed.count,
            "ended": dict(day.ended),
            "ended_earlier": dict(day.ended_earlier),
            "unsuccessful": day.unsuccessful.count,
            "escalated": day.escalated.count,
            "awaiting": [one.decision_id for one in day.awaiting],
            "would_have_changed": {o.kind: o.volumes for o in day.observed},
            "blocked_savings_usd": {
                "+".join(one.guardrails): float(one.saving_usd) for one in day.blocked_savings
            },
            "queued": day.queued,
            "open_breakers": len(_breakers(day)),
            "newest_breakers": [b.resource for b in _breakers(day)[-LISTED:]],
            "paused": day.pause is not None,
            "policy_unreadable": day.policy_unreadable is not None,
            "increase_usd": float(day.increase_usd),
            "limit_usd": None if day.limit_usd is None else float(day.limit_usd),
            "newest_changes": [_change_facts(change) for change in day.changes[:LISTED]],
        },
    )


def _headline(day: DailyDigest) -> str:
    parts = [_many(day.changed.count, "change", more=day.changed.more)]
    if day.unsuccessful.count:
        parts.append(f"{day.unsuccessful.count:,} went wrong")
    waits = day.escalated.count + day.awaiting_count
    if waits:
        least = "at least " if day.escalated.more else ""
        parts.append(f"{least}{waits:,} {'needs' if waits == 1 else 'need'} you")
    if day.pause or day.account_breaker or day.breakers or day.policy_unreadable:
        parts.append("something is stopped")
    return f"daily digest of {day.region}: {', '.join(parts)}"


def _facts(day: DailyDigest) -> Iterator[tuple[str, str]]:
    results, earlier = _results(day.ended), _results(day.ended_earlier)
    if day.changed.count or earlier:
        made = _many(day.changed.count, "change", more=day.changed.more)
        before = [f"of earlier changes: {', '.join(earlier)}"] if earlier else []
        yield "Changes", "; ".join([made, *results, *before])
    limit = "no limit can be read" if day.limit_usd is None else f"{_usd(day.limit_usd)} allowed"
    yield "Increases in force", f"{_usd(day.increase_usd)} a month, {limit}"
    if day.queued:
        least = "at least " if day.queued >= MOST_QUEUED else ""
        yield "Waiting in the queue", f"{least}{day.queued:,}"


def _results(ends: Counts) -> list[str]:
    return [f"{count:,} {COUNTED.get(Step(step), step)}" for step, count in ends]


def _sections(day: DailyDigest) -> Iterator[Section]:
    yield Section(title="Stopped until you act", lines=tuple(_stops(day)))
    yield Section(
        title="Waits for your approval",
        lines=_listed(day.awaiting, lambda a: _awaited(day, a), day.awaiting_count,
                      f"headroom approvals --region {day.region}"),
    )  # fmt: skip
    yield Section(
        title="Needs you",
        lines=_listed(day.escalated.newest, lambda g: _open_since(day, g), day.escalated.count,
                      _audit_escalations(day), more=day.escalated.more),
    )  # fmt: skip
    yield Section(title="Went wrong", lines=_wrong(day, day.unsuccessful))
    yield Section(
        title="Changed",
        lines=_listed(day.changes, _change, day.changed.count, _audit(day, "applied"),
                      more=day.changed.more),
    )  # fmt: skip
    yield Section(title="Would change if the mode allowed it", lines=tuple(_observed(day)))
    yield Section(
        title="Savings that your limits block",
        lines=tuple(_blocked(one) for one in day.blocked_savings[:LISTED]),
    )


def _stops(day: DailyDigest) -> Iterator[str]:
    if day.policy_unreadable is not None:
        yield _line(f"nothing is changed: {day.policy_unreadable}")
    if day.pause is not None:
        until = (
            "without end" if day.pause.until >= INDEFINITE else f"until {_instant(day.pause.until)}"
        )
        because = f": {_quoted(day.pause.reason)}" if day.pause.reason else ""
        yield (
            f"paused {until} by {_quoted(day.pause.who)}{because}; "
            f"headroom resume --region {day.region}"
        )
    for breaker in _breakers(day)[:LISTED]:
        name = single_line(called(breaker.resource))
        close = name
        if name.startswith("account#"):
            name, close = "the whole account", "--account"
        yield (
            f"{name} since {_instant(breaker.opened_at)}, after {breaker.failures} failures "
            f"({_quoted(breaker.why)}); headroom breaker close {close} --region {day.region}"
        )
    more = len(_breakers(day)) - LISTED
    if more > 0:
        yield f"and {more:,} more: headroom breaker list --region {day.region}"


def _breakers(day: DailyDigest) -> tuple[Breaker, ...]:
    return (*((day.account_breaker,) if day.account_breaker else ()), *day.breakers)


def _awaited(day: DailyDigest, awaited: PendingApproval) -> str:
    until = "" if awaited.expires is None else f", until {_instant(awaited.expires)}"
    command = f"headroom approve {awaited.decision_id} --region {day.region}"
    change = awaited.change
    what = clipped(single_line(awaited.summary), LONGEST_LINE - 120)
    if change is not None:
        what = (
            f"{single_line(change.resource)}: {change.origin} -> {change.target}, "
            f"{change.price_change_usd:+,.2f} USD a month"
        )
    return f"{what}{until}; {command}"


def _change(change: Change) -> str:
    return _line(
        f"{change.resource}: {change.origin} -> {change.target}, "
        f"{change.price_change_usd:+,.2f} USD a month, {ENDED.get(change.ended, '')} "
        f"({change.decision_id})"
    )


def _open_since(day: DailyDigest, escalation: RecordSummary) -> str:
    """An open escalation, with its time where an earlier digest had it."""
    what = clipped(single_line(escalation.summary), LONGEST_LINE - 30)
    since = f", since {_instant(escalation.at)}" if escalation.at <= day.since else ""
    return f"{what}{since} ({escalation.decision_id})"


def _audit_escalations(day: DailyDigest) -> str:
    oldest = min((g.at for g in day.escalated.newest), default=day.since)
    return _audit(replace(day, since=min(day.since, oldest)), "escalate")


def _wrong(day: DailyDigest, wrong: RecordCount) -> tuple[str, ...]:
    def line(record_summary: RecordSummary) -> str:
        name = called(record_summary.resource)
        said = f"{name}, {record_summary.step.value.replace('_', ' ')}: {record_summary.summary}"
        return f"{clipped(single_line(said), LONGEST_LINE - 30)} ({record_summary.decision_id})"

    return _listed(wrong.newest, line, wrong.count, _audit(day, None), more=wrong.more)


def _observed(day: DailyDigest) -> Iterator[str]:
    for group in day.observed:
        yield _group(group)
    if day.observed and day.held > day.observed_read:
        most = f"{'at least ' if day.held_more else ''}{day.held:,}"
        yield (
            f"this is the newest {day.observed_read:,} of {most} resources: {_audit(day, 'hold')}"
        )


def _group(group: ObservedChange) -> str:
    return (
        f"{_many(group.volumes, group.noun)} {group.kind}, "
        f"{group.price_change_usd:+,.2f} USD a month together"
    )


def _blocked(one: BlockedSaving) -> str:
    return _line(
        f"{' and '.join(one.guardrails)}: {_usd(one.saving_usd)} a month, "
        f"{_many(one.volumes, one.noun)}"
    )


def _listed(
    shown: Sequence[T], line: Callable[[T], str], count: int, command: str, *, more: bool = False
) -> tuple[str, ...]:
    """The first LISTED lines, and how many more there are with the command that lists them."""
    lines = [line(one) for one in shown[:LISTED]]
    left = count - len(lines)
    if lines and left > 0:
        lines.append(f"and {'at least ' if more else ''}{left:,} more: {command}")
    return tuple(lines)


def _audit(day: DailyDigest, outcome: str | None) -> str:
    of = "" if outcome is None else f" --outcome {outcome}"
    return (
        f"headroom audit{of} --since {_exact(day.since)} --until {_exact(day.until)} "
        f"--region {day.region}"
    )


def _change_facts(change: Change) -> dict[str, object]:
    return {
        "decision_id": change.decision_id,
        "resource": change.resource,
        "from": configuration_facts(change.origin),
        "to": configuration_facts(change.target),
        "price_change_usd": round(float(change.price_change_usd), 6),
        "ended": None if change.ended is None else change.ended.value,
    }


def _many(count: int, noun: str, *, more: bool = False) -> str:
    least = "at least " if more else ""
    return f"{least}{count:,} {noun}{'' if count == 1 else 's'}"


def _usd(amount: Decimal) -> str:
    return f"{amount:,.2f} USD"


def _line(text: str) -> str:
    return clipped(single_line(text), LONGEST_LINE)


def _quoted(text: str) -> str:
    return clipped(single_line(text), LONGEST_QUOTE)


def _instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _exact(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
