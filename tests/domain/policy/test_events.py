"""When known events come: every day, week or month, or once, by the clocks of their time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.policy import KnownEvent, events_of, narrowed, occurrences, parse_schedule
from headroom.domain.policy.windows import WindowError
from headroom.domain.resources import Kind
from headroom.policy import parse_policy
from tests.builders import ACCOUNT, REGION, gp2, ref, volume

MONTH_END = {
    "name": "month end", "when": "monthly 28 22:00 Europe/Berlin", "for": "10h", "iops": 12_000,
}  # fmt: skip


def event(when: str, hours: float = 1) -> KnownEvent:
    schedule = parse_schedule(when)
    return KnownEvent(name=when, schedule=schedule, minutes=round(hours * 60), iops=9_000)


def begins(when: str, start: datetime, end: datetime, hours: float = 1) -> list[str]:
    found = occurrences([event(when, hours)], start, end)
    return [f"{one.start:%m-%d %H:%M}" for one in found]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("when", "start", "end", "expected"),
    [
        ("daily 01:30 UTC", "2026-03-01", "2026-03-03", ["03-01 01:30", "03-02 01:30"]),
        ("weekly Sat,Sun 02:00 UTC", "2026-03-02", "2026-03-09", ["03-07 02:00", "03-08 02:00"]),
        ("weekly Fri-Mon 02:00 UTC", "2026-03-02", "2026-03-07", ["03-02 02:00", "03-06 02:00"]),
        ("monthly 28 22:00 UTC", "2026-01-01", "2026-04-01",
         ["01-28 22:00", "02-28 22:00", "03-28 22:00"]),
        ("monthly last 22:00 UTC", "2026-01-01", "2026-04-01",
         ["01-31 22:00", "02-28 22:00", "03-31 22:00"]),
        ("monthly 30 22:00 UTC", "2026-01-01", "2026-04-01",
         ["01-30 22:00", "02-28 22:00", "03-30 22:00"]),
        ("once 2026-11-27 18:00 America/New_York", "2026-01-01", "2027-01-01", ["11-27 23:00"]),
        # Berlin: winter time until 29 March, whose hour from 02:00 is skipped.
        ("daily 02:30 Europe/Berlin", "2026-03-28", "2026-03-31",
         ["03-28 01:30", "03-29 00:30", "03-30 00:30"]),
        # 25 October has its hour from 02:00 twice: the first counts.
        ("daily 02:30 Europe/Berlin", "2026-10-25", "2026-10-27", ["10-25 00:30", "10-26 01:30"]),
    ],
)  # fmt: skip
def test_an_event_comes_when_its_words_say(
    when: str, start: str, end: str, expected: list[str]
) -> None:
    assert begins(when, at(start), at(end)) == expected
    assert str(parse_schedule(when)).split()[0] == when.split()[0]


def test_what_has_begun_before_and_what_goes_on_after_counts_with_its_own_times() -> None:
    (one,) = occurrences(
        [event("monthly 28 22:00 UTC", 10)], at("2026-01-29T07:00"), at("2026-01-29T07:01")
    )
    assert (one.start, one.end) == (at("2026-01-28T22:00"), at("2026-01-29T08:00"))
    assert (one.iops, one.mibps) == (9_000, 0)
    after = occurrences([event("monthly 28 22:00 UTC", 10)], one.end, one.end + timedelta(days=1))
    assert after == ()


WHEN = st.one_of(
    st.builds("daily {:02}:{:02} {}".format, *(hours := (st.integers(0, 23), st.integers(0, 59))),
              zones := st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"])),
    st.builds("weekly {} {:02}:{:02} {}".format, st.sampled_from(["Sun", "Mon-Fri", "Tue,Sat"]),
              *hours, zones),
    st.builds("monthly {} {:02}:{:02} {}".format, st.integers(1, 30) | st.just("last"), *hours,
              zones),
)  # fmt: skip


@given(WHEN, st.integers(0, 334 * 1_440), st.integers(1, 60 * 24))
def test_looking_further_ahead_finds_the_same_events_and_later_ones(
    when: str, ahead: int, minutes: int
) -> None:
    since = at("2026-01-01") + timedelta(minutes=ahead)
    known = [event(when, minutes / 60)]
    near = occurrences(known, since, since + timedelta(days=3))
    far = occurrences(known, since, since + timedelta(days=40))
    assert far[: len(near)] == near
    length, exact = timedelta(minutes=minutes), timedelta(milliseconds=1)
    assert all(one.end > since and abs(one.end - one.start - length) < exact for one in far)
    assert list(far) == sorted(far, key=lambda one: one.start)
    assert occurrences(known, since, since + timedelta(days=40)) == far
    assert len(far) >= 1


@pytest.mark.parametrize(
    "text",
    ["", "hourly 02:00 UTC", "daily 02:00", "daily 24:00 UTC", "daily 2:00 UTC", "monthly 0 02:00 UTC",
     "monthly 32 02:00 UTC", "weekly Sunday 02:00 UTC", "weekly Xyz 02:00 UTC",
     "once 2026-02-30 02:00 UTC", "daily 02:00 Europe/Nowhere", "daily 02:00 EST"],
)  # fmt: skip
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(WindowError):
        parse_schedule(text)


def test_an_event_is_for_the_resources_that_it_matches() -> None:
    described = {"match": {"kind": "rds", "tags": {"app": "ledger"}, "region": REGION}}
    policy = parse_policy(
        {"known_events": [{**MONTH_END, **described}, MONTH_END]}, source="policy"
    )
    both, other = policy.known_events
    database = volume(gp2(), ref=ref("orders"), tags=(("app", "ledger"),))
    assert events_of(policy, database) == (other,)
    named = volume(
        gp2(), ref=type(ref("x"))(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="x"),
        tags=(("app", "ledger"),),
    )  # fmt: skip
    assert events_of(policy, named) == (both, other)
    assert narrowed(policy, ACCOUNT, "eu-west-1").known_events == (other,)
    assert events_of(narrowed(policy, ACCOUNT, REGION), named)[1] == other
