"""When storage is glanced at next and what is read first: more often the more is at risk and the more it is worth.

CloudWatch bills a metric per call, whatever time the call covers: an hourly glance sees every minute
of the hour for a twelfth of the price of one every five minutes.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from headroom.domain.detection.glance import Glance, Metric
from headroom.domain.detection.troubles import (
    SUSPECT_BALANCE_PERCENT,
    Trouble,
    credits_cover,
    outstanding_at_limit,
    stirs_at,
)
from headroom.domain.resources import Configuration

SHORTEST, LONGEST = timedelta(minutes=5), timedelta(minutes=60)
"""Between two glances, at most and at least at risk."""
HOUR = timedelta(hours=1)
REST_AFTER = timedelta(minutes=55)
"""After this, a glance that stirs reads the rest again, even if it stirs no more than before."""
HUMS_FOR = timedelta(hours=4, minutes=5)
STALE = timedelta(hours=2)
"""An older glance does not show how the credits move."""
WORSE = 1.25
EMPTY_SOON_H, EMPTY_LATE_H = 2.0, 8.0
"""Credits that end within the first are as risky as it gets, after the second no risk yet."""
DRAINING_H = 4.0
"""Credits that end within this deserve a reconciliation."""
NEARLY_EMPTY_PERCENT = 10.0
BUSY_SHARE = 0.5
"""Share of the queue at a limit from which on the limit counts as near."""
USUAL_VALUE_USD_PER_MINUTE = 0.10
"""Value of a relieved minute at which a risk counts as it is: the policy's default."""
RECONCILE_AGAIN_AT_MOST = timedelta(hours=4)
DAILY, WEEKLY = timedelta(days=1), timedelta(days=7)
"""How often what is in no trouble is reconciled: what was in trouble lately, and the rest."""
LATELY = timedelta(days=35)
"""A monthly load is lately until it comes again."""
OF_SPACE = frozenset({Trouble.SPACE})
"""Trouble that comes so slowly that no alarm is needed."""
TICK_SLACK = timedelta(seconds=150)
"""Half of the shortest interval: runs do not come at exact distances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlanceState:
    """What the last glances at a resource found. A stored one outlives the release that wrote it."""

    at: datetime
    """The last glance."""
    next_at: datetime
    balance_percent: float | None = None
    level: float = 0.0
    """How much the first metrics stirred when the rest was last read."""
    rest_at: datetime | None = None
    """When the rest was last read."""
    checked: bool = False
    """Whether the Exceeded checks were published then."""
    troubles: tuple[Trouble, ...] = ()
    since: datetime | None = None
    """Since when it is in these troubles, none of them ending for an hour."""
    trouble_at: datetime | None = None
    """When it was last in trouble."""
    silent: int = 0
    """Glances in a row that found nothing published."""
    late: float = 0.0
    """How late its pressure was seen, at most: hours of all onsets, those of a week ago counted half."""
    busy_hours: int = 0
    """A bit for each hour of the UTC day in which it was in trouble when that hour last came."""
    mode: str = ""
    """The policy's mode for it."""
    policy: str = ""
    """The version of the policy."""

    def active(self, now: datetime) -> tuple[Trouble, ...]:
        """The troubles of the last hour."""
        return self.troubles if self.trouble_at and now - self.trouble_at < HOUR else ()


def first_metrics(
    configuration: Configuration, before: GlanceState | None, now: datetime, *, database: bool = False
) -> frozenset[Metric]:  # fmt: skip
    """What a glance reads first, mostly one metric: the one that shows whether anything stirs.

    Of a limit that is exceeded its own check; else the credits, where every limit spends them, or the queue. Where
    the queue stirred lately and no limit was near, the checks instead: they would be read after it. The queue also
    shows what waits for the instance, or for good, which spends no credits and sets no check: hourly it is read in
    place of one check, by turns, and where the credits show every limit, in the first glance of a day.
    """
    credits = configuration.volume_type.value in ("gp2", "st1", "sc1")
    if database:
        return frozenset({Metric.QUEUE, Metric.FREE, *([Metric.BALANCE] if credits else [])})
    if credits_cover(configuration):
        anew = (
            before is None or before.silent > 0 or _hour_of(before.at) // 24 != _hour_of(now) // 24
        )
        return frozenset({Metric.BALANCE, *([Metric.QUEUE] if anew else [])})
    active = () if before is None or before.silent else before.active(now)
    checks = {Trouble.IOPS: Metric.IOPS_CHECK, Trouble.THROUGHPUT: Metric.THROUGHPUT_CHECK}
    found = {checks[trouble] for trouble in active if trouble in checks}
    if not active and not credits and _hums(configuration, before, now):
        found = set(checks.values())
        if before is not None and (
            now - before.at > SHORTEST + TICK_SLACK or _hour_of(before.at) != _hour_of(now)
        ):
            found = {Metric.QUEUE, sorted(found)[_hour_of(now) % 2]}
    return frozenset(found or {Metric.QUEUE, *([Metric.BALANCE] if credits else [])})


def was_busy(configuration: Configuration, before: GlanceState | None) -> bool:
    """Whether it was busy, not near a limit, when all was read, so that a check may have been read every other hour."""
    if before is None or before.silent or not before.checked or before.rest_at is None:
        return False
    near = BUSY_SHARE * outstanding_at_limit(configuration)
    return stirs_at(configuration) <= before.level < near


def reads_the_rest(
    configuration: Configuration, before: GlanceState | None, seen: Glance, now: datetime
) -> bool:
    """Whether the other metrics are read too: what was read first stirs, and that is news or an hour old."""
    if not _stirs(configuration, before, seen, now):
        return False
    if before is None or before.rest_at is None:
        return True
    hums = _hums(configuration, before, now)
    if now - before.rest_at >= REST_AFTER and not hums:
        return True
    return _level(seen) > WORSE * before.level


def after_glance(
    configuration: Configuration, before: GlanceState | None, seen: Glance | None,
    troubles: Set[Trouble], now: datetime, *, name: str, rest_read: bool = False,
    value_usd_per_minute: float = USUAL_VALUE_USD_PER_MINUTE, mode: str = "", policy: str = "",
) -> GlanceState:  # fmt: skip
    """The state after a glance, with the time of the next; `seen` is None where the read failed.

    `troubles` are those that the glance shows; while the rest is not read again, those that only
    the rest could show go on as long as it stirs.
    """
    silent = seen is None or seen.silent
    found = set(troubles)
    if before is not None:
        falls = seen is not None and _falls(before, seen, now)
        balance = None if seen is None else seen.lowest_burst_balance_percent
        if Trouble.CREDITS in found and balance is not None and not falls:
            found -= {Trouble.CREDITS} if balance > NEARLY_EMPTY_PERCENT else set()
        if not rest_read and seen is not None and _stirs(configuration, before, seen, now):
            shown = {Trouble.CREDITS} if balance is not None else set()
            found |= set(before.active(now)) - shown - _visible(seen)
    active = set() if before is None else set(before.active(now))
    since = None if before is None or not active else before.since
    if found - active:
        since = now
    kept = found if rest_read and found else found | active
    if not kept and before is not None:
        kept = set(before.troubles)  # the last ones: `active` says that they are over
    state = GlanceState(
        at=now, next_at=now,
        balance_percent=None if seen is None else seen.lowest_burst_balance_percent,
        level=_level(seen) if rest_read and seen is not None else 0.0 if before is None else before.level,
        rest_at=now if rest_read else None if before is None else before.rest_at,
        checked=seen is not None and seen.iops_exceeded_minutes is not None
        if rest_read
        else before is not None and before.checked,
        troubles=tuple(sorted(kept)),
        since=since,
        trouble_at=now if found else None if before is None else before.trouble_at,
        silent=(0 if before is None else before.silent) + 1 if silent else 0,
        late=_late(before, now, onset=bool(found - OF_SPACE) and not active - OF_SPACE),
        busy_hours=_busy_hours(before, bool(found), now),
        mode=mode, policy=policy,
    )  # fmt: skip
    chance = risk(configuration, before, seen, state, now)
    every = interval(chance, value_usd_per_minute, silent=state.silent)
    return _planned(state, now, every, name)


def risk(
    configuration: Configuration, before: GlanceState | None, seen: Glance | None,
    state: GlanceState, now: datetime,
) -> float:  # fmt: skip
    """How likely it starves before a late glance, 0 to 1; what is not known counts as 1."""
    if before is None or state.trouble_at == now or now - before.at > STALE:
        return 1.0
    found = [1.0 if _is_busy(state, now) else 0.0]
    if seen is not None:
        found.append(_credit_risk(before, seen, now))
    if seen is not None and seen.longest_queue is not None:
        near = seen.longest_queue / outstanding_at_limit(configuration)
        found.append((near - BUSY_SHARE) / (1 - BUSY_SHARE))
    if state.trouble_at is not None:
        found.append(1.0 - (now - state.trouble_at) / HOUR)
    return min(1.0, max(0.0, *found))


def interval(
    chance: float, value_usd_per_minute: float = USUAL_VALUE_USD_PER_MINUTE, *, silent: int = 0
) -> timedelta:
    """Until the next glance: from an hour at no risk to five minutes at full risk, by equal ratios.

    A resource worth more is treated as if at more risk. One that published nothing is tried again
    after five minutes, then half as often each time, if not sooner: it may be stopped for months.
    """
    weight = min(2.0, max(0.5, (value_usd_per_minute / USUAL_VALUE_USD_PER_MINUTE) ** 0.5))
    share = min(1.0, max(0.0, chance) * weight)
    every: timedelta = LONGEST * (SHORTEST / LONGEST) ** share
    if silent:
        every = min(every, SHORTEST * 2 ** min(silent - 1, 8))
    return min(LONGEST, max(SHORTEST, every))


def is_due(state: GlanceState | None, now: datetime) -> bool:
    """Whether to glance now; what nothing is known of is, and so is what claims to be of the future."""
    if state is None or state.at > now + TICK_SLACK:
        return True
    return min(state.next_at, state.at + LONGEST) <= now + TICK_SLACK


def reconciliation_due(state: GlanceState, reconciled_at: datetime | None, now: datetime) -> bool:
    """Whether a resource is worth a reconciliation, which reads twenty to thirty metrics.

    At once when trouble began after the last one; then when the trouble lasts twice as long, every
    four hours at most. What a reconciliation knows better it plans itself.
    """
    if state.trouble_at != now:
        if reconciled_at is None:
            return False  # the scan gives it its turn
        lately = state.trouble_at is not None and now - state.trouble_at < LATELY
        return now - reconciled_at >= (DAILY if lately else WEEKLY) - TICK_SLACK
    if reconciled_at is None or state.since is None or reconciled_at < state.since:
        return True
    lasted = max(SHORTEST, min(reconciled_at - state.since, RECONCILE_AGAIN_AT_MOST))
    return now - reconciled_at >= lasted - TICK_SLACK


def _hour_of(instant: datetime) -> int:
    """Hours since the epoch."""
    return int(instant.timestamp() // 3_600)


def _visible(seen: Glance) -> set[Trouble]:
    """The troubles that this glance would show if they were there."""
    signs = {
        Trouble.IOPS: seen.iops_exceeded_minutes is not None,
        Trouble.THROUGHPUT: seen.throughput_exceeded_minutes is not None,
        Trouble.QUEUE: seen.longest_queue is not None,
        Trouble.SPACE: seen.lowest_free_gib is not None,
    }
    return {trouble for trouble, there in signs.items() if there}


def _hums(configuration: Configuration, before: GlanceState | None, now: datetime) -> bool:
    """Whether it `was_busy` within the last hours."""
    rest_at = None if before is None else before.rest_at
    lately = rest_at is not None and now - rest_at < HUMS_FOR
    return lately and was_busy(configuration, before)


def _stirs(
    configuration: Configuration, before: GlanceState | None, seen: Glance, now: datetime
) -> bool:
    if seen.pressed_minutes:
        return True
    if seen.longest_queue is not None and seen.longest_queue >= stirs_at(configuration):
        return True
    balance = seen.lowest_burst_balance_percent
    if balance is None or balance >= SUSPECT_BALANCE_PERCENT:
        return False
    return before is None or balance <= NEARLY_EMPTY_PERCENT or _falls(before, seen, now)


def _falls(before: GlanceState, seen: Glance, now: datetime) -> bool:
    """Whether the credits end within hours at the rate since the last glance, or that is unknown."""
    left = _hours_left(before, seen, now)
    return left is None or left <= DRAINING_H


def _hours_left(before: GlanceState, seen: Glance, now: datetime) -> float | None:
    """Hours until the credits end; infinite where they do not fall, None where one side is missing."""
    balance, last = seen.lowest_burst_balance_percent, before.balance_percent
    hours = (now - before.at) / HOUR
    if balance is None or last is None or hours <= 0:
        return None
    return balance * hours / (last - balance) if balance < last else float("inf")


def _credit_risk(before: GlanceState, seen: Glance, now: datetime) -> float:
    balance = seen.lowest_burst_balance_percent
    if balance is None or balance >= SUSPECT_BALANCE_PERCENT:
        return 0.0
    left = _hours_left(before, seen, now)
    if left is None or balance <= NEARLY_EMPTY_PERCENT:
        return 1.0
    return (EMPTY_LATE_H - left) / (EMPTY_LATE_H - EMPTY_SOON_H)


def _level(seen: Glance) -> float:
    balance = seen.lowest_burst_balance_percent
    emptied = 0.0 if balance is None else (100.0 - balance) / 10
    return max(float(seen.pressed_minutes), seen.longest_queue or 0.0, emptied)


def _late(before: GlanceState | None, now: datetime, *, onset: bool) -> float:
    """The hours so far, half of them after a week, and those since the last glance where pressure began."""
    if before is None:
        return 0.0
    since = max(timedelta(0), now - before.at)
    faded = before.late * 0.5 ** (since / WEEKLY)
    return float(faded + (min(1.0, since / LONGEST) if onset else 0.0))


def _busy_hours(before: GlanceState | None, troubled: bool, now: datetime) -> int:
    """The bits with this hour's set in trouble, and last hour's cleared where it passed without."""
    bits, hour = 0 if before is None else before.busy_hours, now.astimezone(UTC).hour
    if troubled:
        return bits | 1 << hour
    started = now.replace(minute=0, second=0, microsecond=0)
    if before is None or before.at >= started or before.at < started - HOUR:
        return bits
    if before.trouble_at is not None and before.trouble_at >= started - HOUR:
        return bits
    return bits & ~(1 << (hour - 1) % 24)


def _is_busy(state: GlanceState, now: datetime) -> bool:
    return bool(state.busy_hours >> now.astimezone(UTC).hour & 1)


def _planned(state: GlanceState, now: datetime, every: timedelta, name: str) -> GlanceState:
    """The state with its next glance: quiet ones spread over the hour by name, none after a busy hour began."""
    at = now + every
    if every >= LONGEST and not state.silent:
        mine = timedelta(seconds=int.from_bytes(sha256(name.encode()).digest()[:4]) % 3_600)
        since = timedelta(seconds=(now.timestamp() - mine.total_seconds()) % 3_600)
        turn = now + LONGEST - since
        at = turn if turn >= now + SHORTEST else at
    opens = now.replace(minute=0, second=0, microsecond=0) + HOUR
    if state.busy_hours >> opens.astimezone(UTC).hour & 1 and not _is_busy(state, now):
        at = min(at, max(opens, now + SHORTEST))
    return replace(state, next_at=at)
