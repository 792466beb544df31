"""A time of day comes once a day, whatever the clocks do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.policy import TimeOfDay, latest, zone_or_none
from headroom.domain.policy.time_of_day import time_of_day

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata",
         "America/Santiago", "Pacific/Apia")  # fmt: skip


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "now", "due"),
    [
        ("07:00", "2026-03-02T07:00", "2026-03-02T07:00"),
        ("07:00", "2026-03-02T06:59", "2026-03-01T07:00"),
        ("07:00 Europe/Berlin", "2026-03-28T12:00", "2026-03-28T06:00"),
        ("07:00 Europe/Berlin", "2026-03-29T12:00", "2026-03-29T05:00"),
        ("02:30 Europe/Berlin", "2026-03-29T12:00", "2026-03-29T01:30"),  # skipped: 03:30 it is
        ("02:30 Europe/Berlin", "2026-10-25T12:00", "2026-10-25T00:30"),  # twice: the first
        ("00:30 Pacific/Auckland", "2026-06-10T13:00", "2026-06-10T12:30"),
        ("07:00 Mars/Olympus", "2026-03-02T08:00", "2026-03-02T07:00"),
    ],
)
def test_the_last_time_it_came(text: str, now: str, due: str) -> None:
    assert latest(time_of_day(text), utc(now)) == utc(due)


@given(
    zone=st.sampled_from(ZONES), hour=st.integers(0, 23), minute=st.integers(0, 59),
    minutes=st.integers(0, 3 * 365 * 1440),
)  # fmt: skip
def test_it_comes_once_a_day(zone: str, hour: int, minute: int, minutes: int) -> None:
    now = utc("2025-01-01T00:00") + timedelta(minutes=minutes)
    at = TimeOfDay(hour=hour, minute=minute, zone=zone)
    due = latest(at, now)
    assert due <= now < due + timedelta(hours=25, minutes=1)
    before = latest(at, due - timedelta(seconds=1))
    assert timedelta(hours=22, minutes=59) <= due - before <= timedelta(hours=25)
    assert latest(at, due) == due


@pytest.mark.parametrize("text", ["07:00", "23:59 UTC", "06:30 America/Argentina/Ushuaia"])
def test_it_is_written_as_it_is_read(text: str) -> None:
    assert time_of_day(str(time_of_day(text))) == time_of_day(text)


@pytest.mark.parametrize("name", ["Europe/Atlantis", "../etc/passwd", "", "Europe"])
def test_a_zone_that_is_none_is_reported(name: str) -> None:
    assert zone_or_none(name) is None
