"""When storage is glanced at next: a table of cases, and laws of the plan."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.application.glances import BY_TURNS
from headroom.domain.detection import (
    LONGEST,
    SHORTEST,
    Glance,
    GlanceState,
    Metric,
    Trouble,
    after_glance,
    credits_cover,
    first_metrics,
    interval,
    is_due,
    reads_the_rest,
    reconciliation_due,
    stirs_at,
    troubles_of,
    was_busy,
)
from headroom.domain.resources import Configuration
from tests.builders import NOW, gp2, gp3, io

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NOTHING = Glance(
    iops_exceeded_minutes=None, throughput_exceeded_minutes=None,
    lowest_burst_balance_percent=None, longest_queue=None,
)  # fmt: skip
QUIET = GlanceState(at=NOW - HOUR, next_at=NOW, balance_percent=100.0)


def seen(**read: float | None) -> Glance:
    return replace(NOTHING, **read)  # type: ignore[arg-type]


def after(
    configuration: Configuration, before: GlanceState | None, glance: Glance | None,
    now: datetime = NOW, **how: object,
) -> GlanceState:  # fmt: skip
    troubles = troubles_of(configuration, glance)
    return after_glance(configuration, before, glance, troubles, now, name="vol-1", **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("configuration", "before", "glance", "least", "most"),
    [
        # Quiet: an hour, less the place in the hour that the name gives.
        (gp3(), QUIET, seen(longest_queue=0.0), 5, 60),
        (gp2(100), QUIET, seen(lowest_burst_balance_percent=100.0), 5, 60),
        # Never seen before, or not for hours.
        (gp3(), None, seen(longest_queue=0.0), 5, 5),
        (gp3(), replace(QUIET, at=NOW - 3 * HOUR), seen(longest_queue=0.0), 5, 5),
        # Pressed, or close to it.
        (gp3(), QUIET, seen(iops_exceeded_minutes=1), 5, 5),
        (gp3(), QUIET, seen(longest_queue=3.0), 5, 5),
        (gp3(), QUIET, seen(longest_queue=2.25), 15, 20),  # half of the way between half and full
        (gp3(), QUIET, seen(longest_queue=1.5), 5, 60),
        # Credits: 10 points an hour leave 7 hours, 20 leave 3; rising ones are no risk.
        (gp2(100), replace(QUIET, balance_percent=80.0), seen(lowest_burst_balance_percent=70.0), 30, 45),
        (gp2(100), replace(QUIET, balance_percent=80.0), seen(lowest_burst_balance_percent=60.0), 5, 8),
        (gp2(100), replace(QUIET, balance_percent=60.0), seen(lowest_burst_balance_percent=70.0), 5, 60),
        (gp2(100), replace(QUIET, balance_percent=5.0), seen(lowest_burst_balance_percent=6.0), 5, 5),
        # Half an hour after trouble ended.
        (gp3(), replace(QUIET, trouble_at=NOW - HOUR / 2), seen(longest_queue=0.0), 15, 20),
        # An hour of the day in which it was in trouble the day before.
        (gp3(), replace(QUIET, busy_hours=1 << NOW.hour), seen(longest_queue=0.0), 5, 5),
        # Nothing published: at once, then half as often each time.
        (gp3(), QUIET, NOTHING, 5, 5),
        (gp3(), replace(QUIET, silent=2), NOTHING, 20, 20),
        (gp3(), replace(QUIET, silent=9), NOTHING, 60, 60),
        (gp3(), QUIET, None, 5, 5),
    ],
)  # fmt: skip
def test_the_next_glance_comes_by_risk(
    configuration: Configuration, before: GlanceState | None, glance: Glance | None, least: float,
    most: float,
) -> None:  # fmt: skip
    planned = after(configuration, before, glance).next_at - NOW
    assert least * MINUTE <= planned <= most * MINUTE


def test_a_quiet_resource_keeps_its_place_in_the_hour() -> None:
    state, at = after(gp3(), QUIET, seen(longest_queue=0.0)), []
    for _ in range(5):
        at.append(state.next_at)
        state = after(gp3(), state, seen(longest_queue=0.0), state.next_at)
    assert len({(each.minute, each.second) for each in at}) == 1
    assert at[4] - at[0] == 4 * HOUR
    names = [after_glance(gp3(), QUIET, seen(longest_queue=0.0), frozenset(), NOW, name=f"vol-{n}")
             for n in range(600)]  # fmt: skip
    per_five = [sum(s.next_at - NOW <= m * MINUTE for s in names) for m in (15, 30, 45, 60)]
    assert per_five[3] == 600
    assert 75 < per_five[0] < 175, "spread over the hour"


def test_an_hour_that_was_busy_yesterday_is_not_slept_through() -> None:
    soon = replace(QUIET, busy_hours=1 << (NOW.hour + 1) % 24)
    opens = NOW.replace(minute=0, second=0) + HOUR
    at = after(gp3(), soon, seen(longest_queue=0.0)).next_at
    assert at <= max(opens, NOW + SHORTEST)


def test_an_hour_without_trouble_is_forgotten() -> None:
    start = NOW.replace(minute=0, second=0)
    state = GlanceState(at=start - MINUTE, next_at=start, busy_hours=1 << start.hour)
    for five in range(13):
        state = after(gp3(), state, seen(longest_queue=0.0), start + five * SHORTEST)
    assert state.busy_hours == 0


glances = st.builds(
    seen,
    iops_exceeded_minutes=st.none() | st.integers(0, 15),
    throughput_exceeded_minutes=st.none() | st.integers(0, 15),
    lowest_burst_balance_percent=st.none() | st.floats(0, 100),
    longest_queue=st.none() | st.floats(0, 200),
)
states = st.builds(
    lambda age, balance, silent, hours, trouble, level: GlanceState(
        at=NOW - age * MINUTE, next_at=NOW, balance_percent=balance, silent=silent,
        busy_hours=hours, trouble_at=None if trouble is None else NOW - trouble * MINUTE,
        troubles=() if trouble is None else (Trouble.IOPS,), level=level,
    ),
    st.integers(1, 300), st.none() | st.floats(0, 100), st.integers(0, 5),
    st.integers(0, 2**24 - 1), st.none() | st.integers(0, 600), st.floats(0, 10),
)  # fmt: skip
kinds = st.sampled_from([gp3(), gp3(iops=16_000, mibps=1_000), gp2(50), gp2(400), gp2(2_000), io()])


@given(kinds, st.none() | states, st.none() | glances, st.floats(0.001, 100))
def test_never_later_than_an_hour_and_never_sooner_than_five_minutes(
    configuration: Configuration, before: GlanceState | None, glance: Glance | None, value: float
) -> None:
    state = after(configuration, before, glance, value_usd_per_minute=value)
    assert NOW + SHORTEST <= state.next_at <= NOW + LONGEST
    assert is_due(state, NOW + LONGEST)
    assert is_due(state, state.next_at)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.001, 100), st.floats(0.001, 100))
def test_more_risk_or_more_value_is_never_later(
    one: float, other: float, cheap: float, dear: float
) -> None:
    low, high = sorted((one, other))
    less, more = sorted((cheap, dear))
    assert interval(high, less) <= interval(low, less)
    assert interval(low, more) <= interval(low, less)


@given(kinds, states, glances)
def test_what_is_missing_or_stale_makes_the_next_glance_sooner_never_later(
    configuration: Configuration, before: GlanceState, glance: Glance
) -> None:
    known = after(configuration, replace(before, silent=0), glance)
    quiet = interval(0.0)
    for unknown in (
        after(configuration, None, glance), after(configuration, replace(before, silent=0), None),
        after(configuration, replace(before, at=NOW - 5 * HOUR), glance),
    ):  # fmt: skip
        assert unknown.next_at - NOW == SHORTEST <= known.next_at - NOW <= quiet
    assert is_due(None, NOW)
    assert is_due(replace(known, at=NOW + HOUR), NOW), "a state of the future is not believed"


@pytest.mark.parametrize(
    ("configuration", "before", "metrics"),
    [
        (gp3(), None, {Metric.QUEUE}),
        (gp2(100), None, {Metric.BALANCE, Metric.QUEUE}),
        (gp2(100), QUIET, {Metric.BALANCE}),
        (gp2(100), replace(QUIET, at=NOW - 13 * HOUR), {Metric.BALANCE, Metric.QUEUE}),
        (gp2(100), replace(QUIET, silent=1), {Metric.BALANCE, Metric.QUEUE}),
        (gp2(400), None, {Metric.BALANCE, Metric.QUEUE}),  # 250 MiB/s without spending a credit
        (gp3(), replace(QUIET, troubles=(Trouble.IOPS,), trouble_at=NOW - MINUTE),
         {Metric.IOPS_CHECK}),
        (gp3(), replace(QUIET, troubles=(Trouble.IOPS, Trouble.THROUGHPUT), trouble_at=NOW - MINUTE),
         {Metric.IOPS_CHECK, Metric.THROUGHPUT_CHECK}),
        (gp3(), replace(QUIET, troubles=(Trouble.IOPS,), trouble_at=NOW - HOUR), {Metric.QUEUE}),
        (gp3(), replace(QUIET, troubles=(Trouble.IOPS,), trouble_at=NOW - MINUTE, silent=1),
         {Metric.QUEUE}),
    ],
)  # fmt: skip
def test_one_metric_is_read_first(
    configuration: Configuration, before: GlanceState | None, metrics: set[Metric]
) -> None:
    assert first_metrics(configuration, before, NOW) == metrics


@pytest.mark.parametrize(
    ("configuration", "usual_queue", "hours"),
    [
        (gp3(), 0.1, 1), (gp3(), 0.9, 1), (gp3(iops=16_000, mibps=1_000), 5.0, 1), (io(), 2.0, 1),
        (gp2(1_000), 0.4, 1), (gp2(100), 0.1, 24),
    ],
)  # fmt: skip
def test_what_waits_for_the_instance_or_for_good_is_seen_although_no_check_and_no_credits_show_it(
    configuration: Configuration, usual_queue: float, hours: int
) -> None:
    """A volume that was busy before is seen as soon as one at rest."""
    for onset in range(300, 300 + 24 * 60, 175):
        state: GlanceState | None = None
        for minute in range(0, onset + 25 * 60, 5):
            now = NOW + minute * MINUTE
            if not is_due(state, now):
                continue
            whole = Glance(
                iops_exceeded_minutes=0, throughput_exceeded_minutes=0,
                lowest_burst_balance_percent=100.0, longest_queue=200.0 if minute > onset else usual_queue,
            )  # fmt: skip
            first = whole.only(first_metrics(configuration, state, now))
            rest = reads_the_rest(configuration, state, first, now)
            found = whole if rest else first
            state = after(configuration, state, found, now, rest_read=rest)
            if troubles_of(configuration, found):
                break
        assert minute > onset
        assert minute - onset <= 60 * hours + 5


def read_over(back: timedelta, ago: int, check: str) -> Glance:
    """All of the last minutes, in which that check was 1 once, so many minutes ago; the queue shows nothing of it."""
    checks = {"iops_exceeded_minutes": 0, "throughput_exceeded_minutes": 0}
    checks[check] = int(0 <= ago <= back / MINUTE)
    return seen(longest_queue=0.9, **checks)


@pytest.mark.parametrize("check", ["iops_exceeded_minutes", "throughput_exceeded_minutes"])
def test_a_check_that_is_read_by_turns_misses_no_minute(check: str) -> None:
    """What is skipped in one hour is read in the next."""
    for touched in range(600, 600 + 300, 35):
        state: GlanceState | None = None
        for minute in range(0, touched + 300, 5):
            now = NOW + minute * MINUTE
            if not is_due(state, now):
                continue
            back = BY_TURNS if was_busy(gp3(), state) else HOUR
            whole = read_over(back, minute - touched, check)
            found = whole.only(first_metrics(gp3(), state, now))
            rest = reads_the_rest(gp3(), state, found, now)
            found = whole if rest else found
            state = after(gp3(), state, found, now, rest_read=rest)
            if troubles_of(gp3(), found):
                break
        assert 0 <= minute - touched <= 125, (touched, minute)


def test_the_rest_is_read_on_news_and_hourly() -> None:
    calm, stirs = seen(longest_queue=0.1), seen(longest_queue=2.0)
    assert not reads_the_rest(gp3(), QUIET, calm, NOW)
    assert reads_the_rest(gp3(), QUIET, stirs, NOW)
    known = after(gp3(), QUIET, replace(stirs, iops_exceeded_minutes=0), rest_read=True)
    later = NOW + SHORTEST
    assert not reads_the_rest(gp3(), known, stirs, later)
    assert reads_the_rest(gp3(), known, seen(longest_queue=3.0), later), "more than before"
    assert reads_the_rest(gp3(), known, stirs, NOW + HOUR)


def test_no_limit_is_reached_below_the_queue_that_stirs() -> None:
    """At 125 MiB/s of 256 KiB in 0.7 ms each, and 3,000 operations in 0.5 ms each."""
    assert stirs_at(gp3()) == pytest.approx(0.35)
    assert stirs_at(gp3(iops=3_000, mibps=750)) == pytest.approx(1.5)
    assert not credits_cover(gp3())
    assert not credits_cover(gp2(1_000)), "no credits from there on"
    assert credits_cover(gp2(300))


def test_trouble_that_only_the_rest_shows_goes_on_while_the_queue_stirs() -> None:
    served = seen(longest_queue=5.0, peak_iops=3_000.0)
    first = after(gp3(), QUIET, served, rest_read=True)
    assert first.troubles == (Trouble.IOPS,)
    second = after(gp3(), first, seen(longest_queue=4.0), NOW + SHORTEST)
    assert second.trouble_at == NOW + SHORTEST
    third = after(gp3(), second, seen(longest_queue=0.1), NOW + 2 * SHORTEST)
    assert third.trouble_at == NOW + SHORTEST


def test_a_reconciliation_follows_trouble_at_once_and_then_ever_more_rarely() -> None:
    state, done, glances = QUIET, NOW - HOUR, []
    for tick in range(24 * 12):
        now = NOW + tick * SHORTEST
        state = after(gp3(), state, seen(iops_exceeded_minutes=5), now)
        if reconciliation_due(state, done, now):
            done = now + MINUTE
            glances.append(tick * 5)
    assert glances[:6] == [0, 5, 10, 20, 40, 80]
    assert len(glances) < 14
    assert max(b - a for a, b in pairwise(glances)) <= 245


def test_new_trouble_is_reconciled_however_recent_the_last_reconciliation() -> None:
    state = after(gp3(), QUIET, seen(iops_exceeded_minutes=5))
    both = after(
        gp3(), state, seen(iops_exceeded_minutes=5, throughput_exceeded_minutes=5),
        NOW + SHORTEST, rest_read=True,
    )  # fmt: skip
    assert reconciliation_due(both, NOW + 4 * MINUTE, NOW + SHORTEST)
    assert not reconciliation_due(
        after(gp3(), state, seen(iops_exceeded_minutes=5), NOW + SHORTEST), NOW + 4 * MINUTE,
        NOW + SHORTEST,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("trouble", "days", "due"),
    [(None, 6, False), (None, 7, True), (10, 0.9, False), (10, 1, True), (40, 6, False)],
)
def test_what_is_in_no_trouble_is_reconciled_weekly_or_daily(
    trouble: int | None, days: float, due: bool
) -> None:
    at = None if trouble is None else NOW - timedelta(days=trouble)
    assert reconciliation_due(replace(QUIET, trouble_at=at), NOW - timedelta(days=days), NOW) is due
