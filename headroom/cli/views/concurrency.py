"""What `headroom status` displays about changes in progress, closed hours and the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import utc
from headroom.domain.policy import (
    Policy,
    Windows,
    frozen_until,
    is_open,
    next_closing,
    next_opening,
)
from headroom.domain.state import CalendarState, ConcurrencyState
from headroom.ports import QueuedResource

QUEUE_READ = 1_000
QUEUE_LISTED = 5
OF_BUDGET = ", for the account's budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyView:
    """All of it at one instant. `queue` has at most QUEUE_READ entries, in their order."""

    policy: Policy
    concurrency: ConcurrencyState
    queue: tuple[QueuedResource, ...]
    calendars: tuple[CalendarState, ...]
    now: datetime


def lines(view: ConcurrencyView) -> Iterator[str]:
    """A line each, for people."""
    now, limits, concurrency = view.now, view.policy.blast_radius, view.concurrency
    under_way = concurrency.in_flight_elsewhere("", now)
    zones = Counter(change.zone for change in under_way)
    yield (
        f"In progress: {len(under_way)} of at most {limits.max_in_flight} changes"
        + "".join(
            f", {count} of {limits.max_in_flight_per_az} in {zone}"
            for zone, count in sorted(zones.items())
        )
        + f"; started in the last 60 minutes: {len(concurrency.started_last_hour(now))} of at most "
        f"{limits.max_changes_per_hour}."
    )
    until = frozen_until(view.policy.freezes, now)
    if until is not None:
        reasons = sorted({f.reason for f in view.policy.freezes if f.is_active(now) and f.reason})
        yield f"Frozen until {utc(until)}{': ' if reasons else ''}{'; '.join(reasons)}"
    for one in view.calendars:
        if not one.open:
            yield f"Frozen: {_closed(one)}"
    for where, windows in _windows(view.policy):
        yield f"Change windows of {where}: {_state(windows, now)}"
    for quota in concurrency.quota_full:
        if quota.until > now:
            yield (
                f"A regional quota for {quota.volume_type} is full: Headroom asks AWS again at "
                f"{utc(quota.until)}"
            )
    if view.queue:
        more = "at least " if len(view.queue) == QUEUE_READ else ""
        yield f"In the queue: {more}{len(view.queue)}, the next of them {_next(view.queue)}"


def as_object(view: ConcurrencyView) -> dict[str, object]:
    """The same for JSON."""
    now, limits, concurrency = view.now, view.policy.blast_radius, view.concurrency
    under_way = concurrency.in_flight_elsewhere("", now)
    until = frozen_until(view.policy.freezes, now)
    return {
        "in_flight": [
            {"resource": c.resource, "decision_id": c.decision_id, "zone": c.zone,
             "since": c.since}
            for c in under_way
        ],
        "max_in_flight": limits.max_in_flight,
        "max_in_flight_per_az": limits.max_in_flight_per_az,
        "begun_in_the_last_hour": len(concurrency.started_last_hour(now)),
        "max_changes_per_hour": limits.max_changes_per_hour,
        "frozen_until": until,
        "calendars": [
            {"name": c.name, "open": c.open, "problem": c.problem,
             "changes_at": c.changes_at}
            for c in view.calendars
        ],
        "change_windows": [
            {"of": where, "windows": [str(w) for w in windows], "open": is_open(windows, now),
             "opens_at": next_opening(windows, now)}
            for where, windows in _windows(view.policy)
        ],
        "quotas_full": [
            {"volume_type": q.volume_type.value, "until": q.until}
            for q in concurrency.quota_full if q.until > now
        ],
        "queue": [
            {"resource": one.ref.arn, "starved_minutes": one.waiting.starved_minutes,
             "since": one.waiting.since, "zone": one.waiting.zone,
             "not_before": one.waiting.not_before,
             "adds_usd": one.waiting.adds_usd}
            for one in view.queue
        ],
    }  # fmt: skip


def _windows(policy: Policy) -> Iterator[tuple[str, Windows]]:
    """Where the policy sets windows; what a volume's own tags say is for `headroom policy show`."""
    if policy.defaults.change_windows:
        yield "the defaults", policy.defaults.change_windows
    for number, rule in enumerate(policy.rules, 1):
        windows = dict(rule.settings).get("change_windows")
        if isinstance(windows, tuple) and windows:
            yield f"rule {number}", windows


def _state(windows: Windows, now: datetime) -> str:
    if is_open(windows, now):
        closes = next_closing(windows, now)
        return "open" if closes is None else f"open until {utc(closes)}"
    opens = next_opening(windows, now)
    return "never open" if opens is None else f"closed until {utc(opens)}"


def _closed(one: CalendarState) -> str:
    if one.problem is not None:
        return f"the calendar {one.name} cannot be read: {one.problem}"
    until = "" if one.changes_at is None else f" until {utc(one.changes_at)}"
    return f"the calendar {one.name} is closed{until}"


def _next(queue: Sequence[QueuedResource]) -> str:
    return ", ".join(
        f"{short(one.ref.arn)} ({one.waiting.starved_minutes} starved minutes, since "
        f"{utc(one.waiting.since)}{'' if one.waiting.adds_usd is None else OF_BUDGET})"
        for one in queue[:QUEUE_LISTED]
    )
