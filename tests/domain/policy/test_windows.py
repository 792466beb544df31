"""Change windows, to the minute and through both changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.policy import is_open, never_opens, next_closing, next_opening, parse_window
from headroom.domain.policy.windows import DAYS, ChangeWindow, Span, WindowError, both, canonical

MINUTE = timedelta(minutes=1)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("window", "now", "opens", "closes"),
    [
        # 2026-01-05 is a Monday; Berlin is at UTC+1 in winter.
        ("Mon-Fri 22:00-06:00 Europe/Berlin", "2026-01-05T12:00", "2026-01-05T21:00", None),
        ("Mon-Fri 22:00-06:00 Europe/Berlin", "2026-01-06T04:59", None, "2026-01-06T05:00"),
        ("Mon-Fri 22:00-06:00 Europe/Berlin", "2026-01-10T04:59", None, "2026-01-10T05:00"),
        ("Mon-Fri 22:00-06:00 Europe/Berlin", "2026-01-10T05:00", "2026-01-12T21:00", None),
        ("Sat,Sun 00:00-24:00 UTC", "2026-01-10T00:00", None, "2026-01-12T00:00"),
        ("Sat,Sun 00:00-24:00 UTC", "2026-01-12T00:00", "2026-01-17T00:00", None),
        ("Fri-Mon 23:30-00:00 UTC", "2026-01-05T23:59", None, "2026-01-06T00:00"),
        ("Mon-Sun 00:00-24:00 UTC", "2026-01-05T12:00", None, "never"),
        ("Mon 12:00-13:00 UTC & Mon 12:30-14:00 UTC", "2026-01-05T12:00", "2026-01-05T12:30", None),
    ],
)
def test_a_window_opens_and_closes_to_the_minute(
    window: str, now: str, opens: str | None, closes: str | None
) -> None:
    windows = (parse_window(window),)
    if opens is not None:
        assert not is_open(windows, at(now))
        assert next_opening(windows, at(now)) == at(opens)
    else:
        assert next_opening(windows, at(now)) == at(now)
        assert next_closing(windows, at(now)) == (None if closes == "never" else at(str(closes)))


@pytest.mark.parametrize(
    ("window", "now", "opens"),
    [
        # On 2026-03-29 Berlin skips 02:00 to 03:00, at 01:00 UTC.
        ("Sun 02:30-04:00 Europe/Berlin", "2026-03-29T00:00", "2026-03-29T01:00"),
        ("Sun 02:15-02:45 Europe/Berlin", "2026-03-29T00:00", "2026-04-05T00:15"),
        # On 2026-10-25 it shows 02:00 to 03:00 twice, from 00:00 and from 01:00 UTC.
        ("Sun 02:15-02:45 Europe/Berlin", "2026-10-25T00:00", "2026-10-25T00:15"),
        ("Sun 02:15-02:45 Europe/Berlin", "2026-10-25T00:45", "2026-10-25T01:15"),
        ("Sun 02:30-04:00 Europe/Berlin", "2026-10-25T01:00", "2026-10-25T01:30"),
    ],
)
def test_windows_follow_the_clock_on_the_wall_when_it_is_changed(
    window: str, now: str, opens: str
) -> None:
    assert next_opening((parse_window(window),), at(now)) == at(opens)


def test_no_windows_at_all_means_any_time() -> None:
    assert is_open((), at("2026-01-05T12:00"))
    assert next_closing((), at("2026-01-05T12:00")) is None


@pytest.mark.parametrize(
    ("written", "canonically"),
    [
        ("mon-fri 22:00-06:00 Europe/Berlin", "Mon-Fri 22:00-06:00 Europe/Berlin"),
        ("Sat,Sun 00:00-00:00 UTC", "Sat,Sun 00:00-24:00 UTC"),
        ("  Fri-Mon   01:00-02:00   UTC ", "Mon,Fri-Sun 01:00-02:00 UTC"),
        ("Sun-Sat 01:00-02:00 UTC", "Mon-Sun 01:00-02:00 UTC"),
        ("Tue 01:00-02:00 UTC & Mon 01:00-02:00 UTC",
         "Mon 01:00-02:00 UTC & Tue 01:00-02:00 UTC"),
    ],
)  # fmt: skip
def test_a_window_is_written_in_one_way(written: str, canonically: str) -> None:
    window = parse_window(written)
    assert str(window) == canonically
    assert parse_window(str(window)) == window


@pytest.mark.parametrize(
    "text", ["", "always", "Mon", "Mon 1:00-2:00 UTC", "Mon 01:00-02:00", "Mon 01:00-02:00 utc",
             "Mon- 01:00-02:00 UTC", "Mon 01:00-01:00 UTC", "Mon 01:00-02:00 ../../etc/passwd"],
)  # fmt: skip
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(WindowError):
        parse_window(text)


def test_spans_that_exclude_each_other_never_open() -> None:
    assert never_opens((parse_window("Sat 00:00-24:00 UTC & Tue 00:00-24:00 UTC"),))
    assert not never_opens((parse_window("Sun 02:15-02:45 Europe/Berlin"),))


MINUTES = st.integers(0, 1439)
SPANS = st.builds(
    lambda days, begins, lasts, zone: Span(
        days=tuple(sorted(days)), begins=begins, ends=(begins + lasts) % 1440 or 1440, zone=zone
    ),
    st.sets(st.integers(0, 6), min_size=1), MINUTES, st.integers(1, 1439), st.sampled_from(ZONES),
)  # fmt: skip
WINDOWS = st.lists(
    st.lists(SPANS, min_size=1, max_size=2).map(lambda s: ChangeWindow(spans=tuple(sorted(set(s))))),
    min_size=1, max_size=3,
).map(canonical)  # fmt: skip
TURNS = tuple(
    at(day)
    for day in ("2026-03-28T12:00", "2026-10-24T12:00", "2026-03-07T20:00", "2026-10-31T20:00",
                "2026-04-04T06:00", "2026-10-03T06:00", "2026-06-10T00:00")
)  # fmt: skip
"""Shortly before a clock is changed somewhere, and a day without any."""


def open_by_wall_clock(span: Span, now: datetime) -> bool:
    """The clock there, read off and compared by hand: no arithmetic of ours."""
    wall = now.astimezone(ZoneInfo(span.zone))
    for begun in (wall.replace(tzinfo=None), wall.replace(tzinfo=None) - timedelta(days=1)):
        midnight = begun.replace(hour=0, minute=0, second=0)
        if midnight.weekday() not in span.days:
            continue
        lasts = span.ends - span.begins + (1440 if span.ends <= span.begins else 0)
        since = midnight + timedelta(minutes=span.begins)
        if since <= wall.replace(tzinfo=None) < since + timedelta(minutes=lasts):
            return True
    return False


@settings(max_examples=60, deadline=None)
@given(WINDOWS, st.sampled_from(TURNS), st.integers(0, 600))
def test_openings_and_closings_are_those_of_checking_the_clock_every_minute(
    windows: tuple[ChangeWindow, ...], start: datetime, later: int
) -> None:
    now = start + later * MINUTE

    def open_at(then: datetime) -> bool:
        return any(
            all(open_by_wall_clock(span, then) for span in window.spans) for window in windows
        )

    minutes = [now + n * MINUTE for n in range(2 * 1440)]
    states = [open_at(then) for then in minutes]
    assert [is_open(windows, then) for then in minutes[:1500:7]] == states[:1500:7]
    for wanted, found in (
        (True, next_opening(windows, now)), (False, next_closing(windows, now)),
    ):  # fmt: skip
        by_minute = next((t for t, s in zip(minutes, states, strict=True) if s is wanted), None)
        if by_minute is not None:
            assert found == by_minute
        else:
            assert found is None or found > minutes[-1]


@settings(max_examples=100, deadline=None)
@given(WINDOWS, WINDOWS, st.sampled_from(TURNS), st.integers(0, 10_000))
def test_what_two_lists_allow_together_both_allow(
    one: tuple[ChangeWindow, ...], other: tuple[ChangeWindow, ...], start: datetime, later: int
) -> None:
    now = start + later * MINUTE
    narrower = both(one, other)
    assert is_open(narrower, now) == (is_open(one, now) and is_open(other, now))
    assert both(narrower, one) == both(narrower, other) == both(narrower, narrower) == narrower


@given(WINDOWS)
def test_every_window_reads_back_as_it_is_written(windows: tuple[ChangeWindow, ...]) -> None:
    assert canonical(parse_window(str(window)) for window in windows) == windows
    assert all(any(day in str(w) for day in DAYS) for w in windows)
